//! A suppression of nothing.

use firstpass_diagnostics::{Finding, Severity};

use crate::{Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "suppression-unused",
    summary: "a suppression that suppresses nothing",
    severity: Severity::Warning,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/suppression-unused.md"),
    check,
};

/// It is told once all other rules have spoken: see [`crate::suppress`].
fn check(_: &Context<'_>) -> Vec<Finding> {
    Vec::new()
}
