//! A tier whose substitution fails.

use firstpass_diagnostics::{Finding, Severity, Verdict};

use super::rendering;
use crate::{Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "substitution-failed",
    summary: "a `${…}` that Flux cannot parse, or a variable source that it refuses",
    severity: Severity::Error,
    verdict: Some(Verdict::Invalid),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/substitution-failed.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    rendering::findings(input, &RULE)
}
