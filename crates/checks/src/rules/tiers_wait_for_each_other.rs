//! Tiers that need things from each other, without a single edge that says so.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_order::{Answer, Deadlock, Wait};

use super::circle;
use crate::input::At as _;
use crate::{CheckInput, Context, Rule, Status, wording};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "tiers-wait-for-each-other",
    summary: "tiers that need something from each other before any of them can apply",
    severity: Severity::Error,
    verdict: Some(Verdict::Deadlock),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/tiers-wait-for-each-other.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let found = input.graph.deadlocks();
    found
        .iter()
        .filter_map(|deadlock| finding(input, deadlock))
        .collect()
}

fn finding(input: &CheckInput<'_>, deadlock: &Deadlock) -> Option<Finding> {
    let tiers = &input.graph.tiers;
    let needs = deadlock.steps.iter().filter_map(|step| match step.wait {
        Wait::Need(index) => input.graph.needs.get(index),
        _ => None,
    });
    let needs: Vec<_> = needs.collect();
    let first = needs.first()?;
    // A need that is blocked is the cause of a rule of its own.
    if needs
        .iter()
        .any(|need| matches!(need.answer, Answer::Blocked { .. }))
    {
        return None;
    }
    let members = circle::tiers(deadlock);
    let names: Vec<String> = members
        .iter()
        .map(|tier| format!("`{}`", tiers.name(*tier)))
        .collect();
    let message = format!("{} wait for each other", wording::and(&names));
    let why = format!(
        "{}. A pass that lacks something applies nothing of its last stage, so none of them ever brings what the others need",
        circle::chain(input, deadlock)
    );
    let help = "part one of the tiers in two: what the others need, and what needs the others";
    let never = tiers.never_apply(&deadlock.members, false);
    let related = needs[1..].iter().map(|need| need.by.to_string());
    let finding = RULE
        .finding(message)
        .with_tier(tiers.name(first.tier))
        .with_object(&first.by)
        .with_related(related)
        .with_why(why)
        .with_help(help)
        .with_blocks(never.into_iter().map(|tier| tiers.name(tier).clone()))
        .at(input.repository.locate(&first.origin, &["kind"]));
    Some(finding)
}
