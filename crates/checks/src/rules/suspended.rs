//! A suspended tier.

use firstpass_diagnostics::{Finding, Severity};

use super::rendering;
use crate::{Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "suspended",
    summary: "a tier with `spec.suspend: true`",
    severity: Severity::Info,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/suspended.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    rendering::findings(input, &RULE)
}
