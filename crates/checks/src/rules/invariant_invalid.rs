//! An invariant that cannot be evaluated.

use firstpass_diagnostics::{Finding, Severity};

use crate::input::At as _;
use crate::invariants::{Outcome, Values, evaluate};
use crate::{Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "invariant-invalid",
    summary: "a fact of `invariants` in firstpass.yaml whose expression does not compile or has no truth value",
    severity: Severity::Error,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/invariant-invalid.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let invariants = &input.repository.config().invariants;
    if invariants.is_empty() {
        return Vec::new();
    }
    let values = Values::of(input);
    let mut findings = Vec::new();
    for invariant in invariants {
        let Outcome::Invalid(why) = evaluate(input, &values, invariant) else {
            continue;
        };
        let mut finding = RULE
            .finding(format!("invariant `{}` cannot be evaluated: {why}", invariant.name))
            .with_why(format!("an invariant that has no answer guards nothing: {}", invariant.message))
            .with_help(
                "an invariant is a CEL expression over `vars`, `objects` and `tiers` that yields true or false; a variable that not every \
                 cluster has is asked for with `has(vars.NAME)`",
            )
            .at(invariant.location.clone());
        if let Some(root) = input.cluster.roots.first() {
            finding = finding.with_tier(root);
        }
        findings.push(finding);
    }
    findings
}
