//! A tier that waits for a suspended one.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_order::TierIndex;

use super::circle;
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "dependency-suspended",
    summary: "a tier that waits for a suspended one",
    severity: Severity::Error,
    verdict: Some(Verdict::NeverReady),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/dependency-suspended.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let tiers = &input.graph.tiers;
    let mut findings = Vec::new();
    for tier in tiers.indices().filter(|tier| !tiers.node(*tier).suspended) {
        let suspended = |other: &&TierIndex| tiers.node(**other).suspended;
        for dependency in tiers.node(tier).depends_on.iter().filter(suspended) {
            findings.push(finding(input, tier, *dependency, false));
        }
        for child in tiers.gated(tier).iter().filter(suspended) {
            findings.push(finding(input, tier, *child, true));
        }
    }
    findings
}

fn finding(input: &CheckInput<'_>, tier: TierIndex, suspended: TierIndex, by_health: bool) -> Finding {
    let tiers = &input.graph.tiers;
    let (name, other) = (tiers.name(tier), tiers.name(suspended));
    let message = if by_health {
        format!("`{name}` waits for `{other}` to be healthy, and `{other}` is suspended")
    } else {
        format!("`{name}` depends on `{other}`, which is suspended")
    };
    let why = format!(
        "Flux leaves a suspended Flux Kustomization alone. One that is new never gets a Ready condition, so on a cold start \
         `{name}` waits for it for good; a cluster on which `{other}` was Ready before does not show it"
    );
    let help = format!("resume `{other}` (`spec.suspend`), or take it out of what `{name}` waits for");
    let mut finding = RULE
        .finding(message)
        .with_tier(name)
        .with_object(&circle::object(name))
        .with_related([circle::object(other).to_string()])
        .with_why(why)
        .with_help(help)
        .with_blocks(if by_health {
            input.blocked_by(tier, true)
        } else {
            input.never_begins(tier)
        });
    if let Some(rendered) = input.tier(tier) {
        finding.location = if by_health {
            input.place_in_tier(rendered, &["spec", "wait"])
        } else {
            circle::place_of_dependency(input, rendered, other)
        };
    }
    finding
}
