//! A namespace from a tier that nothing orders before this one.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_order::{Answer, Needed};

use super::unordered;
use crate::needs::causes;
use crate::{Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "namespace-without-edge",
    summary: "a namespace from another tier, and no `dependsOn` orders the two",
    severity: Severity::Warning,
    verdict: Some(Verdict::Hazard),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/namespace-without-edge.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let found = causes(input, |need| {
        matches!(need.needed, Needed::Namespace(_)) && matches!(need.answer, Answer::WithoutEdge { .. })
    });
    found
        .iter()
        .map(|cause| unordered::finding(input, &RULE, cause))
        .collect()
}
