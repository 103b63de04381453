//! Variables that come only after the tier that reads them.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_order::{Answer, Needed};

use super::later_tier;
use crate::needs::causes;
use crate::{Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "variables-come-too-late",
    summary: "variables that come only from the tier itself, or from one that waits for it",
    severity: Severity::Error,
    verdict: Some(Verdict::Deadlock),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/variables-come-too-late.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let found = causes(input, |need| {
        matches!(need.needed, Needed::Data { optional: false, .. })
            && matches!(need.answer, Answer::Blocked { .. })
    });
    found
        .iter()
        .map(|cause| later_tier::finding(input, &RULE, cause))
        .collect()
}
