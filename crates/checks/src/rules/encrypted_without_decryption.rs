//! An encrypted Secret that Flux refuses.

use firstpass_diagnostics::{Finding, Severity, Verdict};

use super::rendering;
use crate::{Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "encrypted-without-decryption",
    summary: "an encrypted Secret in a tier without `spec.decryption`",
    severity: Severity::Error,
    verdict: Some(Verdict::Invalid),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/encrypted-without-decryption.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    rendering::findings(input, &RULE)
}
