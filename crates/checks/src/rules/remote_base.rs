//! A remote base.

use firstpass_diagnostics::{Finding, Severity};

use super::rendering;
use crate::{Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "remote-base",
    summary: "a part of a build that is fetched from elsewhere",
    severity: Severity::Info,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/remote-base.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    rendering::findings(input, &RULE)
}
