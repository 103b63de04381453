//! An object that a controller reads once, from a tier that nothing orders before.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_order::{Answer, Needed};

use crate::needs::{Cause, causes};
use crate::{CheckInput, Context, Rule, Status, wording};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "read-once-without-edge",
    summary: "an object that a controller reads once and for good, from a tier that nothing orders before",
    severity: Severity::Warning,
    verdict: Some(Verdict::Hazard),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/read-once-without-edge.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let found = causes(input, |need| {
        matches!(need.needed, Needed::ReadOnce { .. })
            && matches!(
                need.answer,
                Answer::WithoutEdge { .. } | Answer::WithoutBarrier { .. }
            )
    });
    found.iter().filter_map(|cause| finding(input, cause)).collect()
}

fn finding(input: &CheckInput<'_>, cause: &Cause<'_>) -> Option<Finding> {
    let tier = cause.tier_name(input);
    let first = cause.first();
    let Needed::ReadOnce { object, fact } = &first.needed else {
        return None;
    };
    let from = input.graph.tiers.name(cause.provider()?.tier?);
    let message = format!(
        "`{}` takes values from `{object}` of `{from}` once and for good, and nothing orders the two",
        first.by
    );
    let why = format!(
        "{}. Without an edge `{tier}` and `{from}` begin at once, so what is read is `{object}` or what was there \
         before it. No retry and no later apply mends it",
        fact.trim_end_matches('.'),
    );
    let help = format!(
        "order `{tier}` after `{from}`:\n{}\nor write the values into `{}` itself",
        wording::depends_on(from, tier),
        first.by
    );
    Some(cause.finding(input, &RULE, message).with_why(why).with_help(help))
}
