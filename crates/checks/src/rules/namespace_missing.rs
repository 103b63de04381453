//! A namespace that nobody makes.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_order::{Answer, Needed};

use super::missing;
use crate::needs::{Cause, causes};
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "namespace-missing",
    summary: "objects in a namespace that nothing makes",
    severity: Severity::Error,
    verdict: Some(Verdict::NeverReady),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/namespace-missing.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let found = causes(input, |need| {
        matches!(need.needed, Needed::Namespace(_)) && matches!(need.answer, Answer::Nobody { .. })
    });
    found.iter().filter_map(|cause| finding(input, cause)).collect()
}

fn finding(input: &CheckInput<'_>, cause: &Cause<'_>) -> Option<Finding> {
    let tier = cause.tier_name(input);
    let first = cause.first();
    let (Needed::Namespace(namespace), Answer::Nobody { provable, .. }) = (&first.needed, &first.answer)
    else {
        return None;
    };
    let others = if *provable { "" } else { " that firstpass can see" };
    let message = format!("nothing{others} makes the namespace `{namespace}`");
    let why = format!(
        "Flux creates no namespaces by itself, not even a `targetNamespace`. The dry-run of `{}` fails with `namespaces \
         \"{namespace}\" not found`, and with it the whole pass of `{tier}`",
        first.by
    );
    let help = format!(
        "add the Namespace to `{tier}` (it is applied in an earlier stage of the same pass) or to a tier before it:\n  \
         apiVersion: v1\n  kind: Namespace\n  metadata:\n    name: {namespace}"
    );
    let finding = cause.finding(input, &RULE, message).with_why(why).with_help(help);
    let blocks = input.blocked_by(cause.tier, false);
    Some(missing::weigh(finding.with_blocks(blocks), *provable))
}
