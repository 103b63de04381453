//! A kind that a chart brings, in the same pass as the release of the chart.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_order::{Answer, Blocked, How, Needed};

use super::same_pass;
use crate::needs::causes;
use crate::{Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "chart-kind-in-same-pass",
    summary: "a kind whose CRD comes from a chart that this very pass would release",
    severity: Severity::Error,
    verdict: Some(Verdict::Deadlock),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/chart-kind-in-same-pass.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let found = causes(input, |need| {
        matches!(need.needed, Needed::Kind { .. })
            && matches!(
                &need.answer,
                Answer::Blocked { provider, how: Blocked::SamePass }
                    if matches!(provider.how, How::Chart { .. } | How::Manifest)
            )
    });
    found
        .iter()
        .map(|cause| same_pass::finding(input, &RULE, cause))
        .collect()
}
