//! Variables from an earlier tier whose Ready proves nothing about them.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_order::{Answer, Needed};

use super::unordered;
use crate::needs::causes;
use crate::{Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "variable-without-barrier",
    summary: "variables from an earlier tier that is Ready before they are there",
    severity: Severity::Warning,
    verdict: Some(Verdict::Hazard),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/variable-without-barrier.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let found = causes(input, |need| {
        matches!(need.needed, Needed::Data { .. }) && matches!(need.answer, Answer::WithoutBarrier { .. })
    });
    found
        .iter()
        .map(|cause| unordered::finding(input, &RULE, cause))
        .collect()
}
