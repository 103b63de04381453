//! An encrypted object that Flux applies without decrypting.

use firstpass_diagnostics::{Finding, Severity, Verdict};

use super::rendering;
use crate::{Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "ciphertext-applied",
    summary: "an encrypted object whose ciphertext is applied as it is",
    severity: Severity::Warning,
    verdict: Some(Verdict::Hazard),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/ciphertext-applied.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    rendering::findings(input, &RULE)
}
