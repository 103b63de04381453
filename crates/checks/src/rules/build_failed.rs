//! A tier that cannot be built.

use firstpass_diagnostics::{Finding, Severity, Verdict};

use super::rendering;
use crate::{Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "build-failed",
    summary: "kustomize or Flux cannot build the path of a tier",
    severity: Severity::Error,
    verdict: Some(Verdict::Invalid),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/build-failed.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    rendering::findings(input, &RULE)
}
