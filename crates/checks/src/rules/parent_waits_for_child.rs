//! A tier that waits for a child that waits for it.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_order::{Deadlock, Wait};

use super::circle;
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "parent-waits-for-child",
    summary: "a tier whose wait covers another tier that waits for it",
    severity: Severity::Error,
    verdict: Some(Verdict::Deadlock),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/parent-waits-for-child.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let found = input.graph.deadlocks();
    let by_wait = |deadlock: &&Deadlock| {
        let mut waits = deadlock.steps.iter().map(|step| &step.wait);
        !waits.any(|wait| matches!(wait, Wait::Need(_)))
    };
    let findings = found.iter().filter(by_wait);
    findings.filter_map(|deadlock| finding(input, deadlock)).collect()
}

fn finding(input: &CheckInput<'_>, deadlock: &Deadlock) -> Option<Finding> {
    let tiers = &input.graph.tiers;
    let gate = deadlock.steps.iter().find(|step| step.wait == Wait::Gate)?;
    let (parent, child) = (gate.tier, gate.leads_to);
    let (name, child_name) = (tiers.name(parent), tiers.name(child));
    let by_list = input
        .tier(parent)
        .is_some_and(|tier| !tier.kustomization.spec.wait);
    let wait = if by_list {
        "its `healthChecks` name it"
    } else {
        "`wait: true` covers every object that it applies, Flux Kustomizations too"
    };
    let message = format!("`{name}` waits for `{child_name}`, which waits for `{name}`");
    let why = format!(
        "{}: {wait}. So `{name}` is never Ready",
        circle::chain(input, deadlock)
    );
    let edge = deadlock.steps.iter().find(|step| step.wait == Wait::Dependency);
    let (from, on) = edge.map_or((child_name, name), |step| {
        (tiers.name(step.tier), tiers.name(step.leads_to))
    });
    let instead = if by_list {
        format!("take `{child_name}` out of the `healthChecks` of `{name}`")
    } else {
        format!("replace `wait: true` of `{name}` by `healthChecks` that leave `{child_name}` out")
    };
    let help = format!(
        "take `{}` out of the `dependsOn` of `{from}`: `{name}` has applied everything else before its children begin; or \
         {instead}",
        on.name
    );
    let others = circle::tiers(deadlock).into_iter().filter(|tier| *tier != child);
    let related: Vec<String> = others
        .map(|tier| circle::object(tiers.name(tier)).to_string())
        .collect();
    let mut finding = RULE
        .finding(message)
        .with_tier(name)
        .with_object(&circle::object(child_name))
        .with_related(related)
        .with_why(why)
        .with_help(help)
        .with_blocks(input.blocked_by(parent, true));
    if let Some(rendered) = input.tier(parent) {
        let field = if by_list { "healthChecks" } else { "wait" };
        finding.location = input.place_in_tier(rendered, &["spec", field]);
    }
    Some(finding)
}
