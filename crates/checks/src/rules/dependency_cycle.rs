//! Tiers that depend on each other.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_order::{Deadlock, Wait};

use super::circle;
use crate::{CheckInput, Context, Rule, Status, wording};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "dependency-cycle",
    summary: "tiers that depend on each other",
    severity: Severity::Error,
    verdict: Some(Verdict::Deadlock),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/dependency-cycle.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let found = input.graph.deadlocks();
    let by_edges = |deadlock: &&Deadlock| {
        let mut waits = deadlock.steps.iter().map(|step| &step.wait);
        waits.all(|wait| matches!(wait, Wait::Dependency | Wait::Parent | Wait::OwnApply))
    };
    found
        .iter()
        .filter(by_edges)
        .map(|deadlock| finding(input, deadlock))
        .collect()
}

fn finding(input: &CheckInput<'_>, deadlock: &Deadlock) -> Finding {
    let tiers = &input.graph.tiers;
    let members = circle::tiers(deadlock);
    let by_parent = deadlock.steps.iter().any(|step| step.wait == Wait::Parent);
    // Where a tier names another as its dependency, something can be changed.
    let edge = deadlock.steps.iter().find(|step| step.wait == Wait::Dependency);
    let (first, on) = edge.map_or((members[0], members[0]), |step| (step.tier, step.leads_to));
    let (name, on_name) = (tiers.name(first), tiers.name(on));
    let names: Vec<String> = members
        .iter()
        .map(|tier| format!("`{}`", tiers.name(*tier)))
        .collect();
    let message = if members.len() == 1 {
        format!("{} depends on itself", names[0])
    } else if by_parent {
        format!("`{name}` depends on `{on_name}`, which begins only after it")
    } else {
        format!("{} depend on each other", wording::and(&names))
    };
    let none = if members.len() == 1 {
        "It never begins"
    } else {
        "None of them ever begins"
    };
    let why = format!(
        "{}. {none}, and neither does anything that depends on them. Nor can Flux sort what a new commit \
         concerns while there is a cycle, so other tiers of the same source hear of it only at their interval",
        circle::chain(input, deadlock)
    );
    let help = format!(
        "take one edge out, such as `{}` from the `dependsOn` of `{name}`",
        on_name.name
    );
    let others = members.iter().filter(|tier| **tier != first);
    let never = tiers.never_apply(&deadlock.members, false);
    let mut finding = RULE
        .finding(message)
        .with_tier(name)
        .with_object(&circle::object(name))
        .with_related(others.map(|tier| circle::object(tiers.name(*tier)).to_string()))
        .with_why(why)
        .with_help(help)
        // The members are named as well: the finding is at one of them, and none ever applies.
        .with_blocks(never.into_iter().map(|tier| tiers.name(tier).clone()));
    if let Some(rendered) = input.tier(first) {
        finding.location = circle::place_of_dependency(input, rendered, on_name);
    }
    finding
}
