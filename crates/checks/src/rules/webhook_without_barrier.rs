//! A webhook that may be registered and not yet serve when its objects come.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_order::{Answer, Needed};

use super::unordered;
use crate::needs::causes;
use crate::{Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "webhook-without-barrier",
    summary: "objects that may meet an admission webhook before it serves",
    severity: Severity::Warning,
    verdict: Some(Verdict::Hazard),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/webhook-without-barrier.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let found = causes(input, |need| {
        matches!(need.needed, Needed::Webhook { .. })
            && matches!(
                need.answer,
                Answer::WithoutEdge { .. } | Answer::WithoutBarrier { .. }
            )
    });
    found
        .iter()
        .map(|cause| unordered::finding(input, &RULE, cause))
        .collect()
}
