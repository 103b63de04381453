//! A kind that a controller creates, in the same pass as what makes the controller create it.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_order::{Answer, Blocked, How, Needed};

use super::same_pass;
use crate::needs::causes;
use crate::{Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "second-order-kind-in-same-pass",
    summary: "a kind that a controller creates only after this very pass has applied something",
    severity: Severity::Error,
    verdict: Some(Verdict::Deadlock),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/second-order-kind-in-same-pass.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let found = causes(input, |need| {
        matches!(need.needed, Needed::Kind { .. })
            && matches!(
                &need.answer,
                Answer::Blocked { provider, how: Blocked::SamePass }
                    if matches!(provider.how, How::OperatorStart { .. } | How::OperatorObject { .. })
            )
    });
    found
        .iter()
        .map(|cause| same_pass::finding(input, &RULE, cause))
        .collect()
}
