//! A namespace from an earlier tier whose Ready proves nothing about it.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_order::{Answer, Needed};

use super::unordered;
use crate::needs::causes;
use crate::{Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "namespace-without-barrier",
    summary: "a namespace from an earlier tier that is Ready before the namespace is there",
    severity: Severity::Warning,
    verdict: Some(Verdict::Hazard),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/namespace-without-barrier.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let found = causes(input, |need| {
        matches!(need.needed, Needed::Namespace(_)) && matches!(need.answer, Answer::WithoutBarrier { .. })
    });
    found
        .iter()
        .map(|cause| unordered::finding(input, &RULE, cause))
        .collect()
}
