//! A namespace that comes from a tier that waits for this one.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_order::Needed;

use super::later_tier;
use crate::{Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "namespace-in-later-tier",
    summary: "a namespace that comes only from a tier that waits for this one",
    severity: Severity::Error,
    verdict: Some(Verdict::Deadlock),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/namespace-in-later-tier.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    later_tier::check(input, &RULE, |needed| matches!(needed, Needed::Namespace(_)))
}
