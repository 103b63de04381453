//! A tier that cannot be seen.

use firstpass_diagnostics::{Finding, Severity};

use super::rendering;
use crate::{Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "unrendered",
    summary: "a tier whose contents are not in this repository",
    severity: Severity::Info,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/unrendered.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    rendering::findings(input, &RULE)
}
