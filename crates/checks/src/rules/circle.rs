//! Words and places for tiers that wait for each other in a circle.

use std::collections::BTreeSet;

use firstpass_diagnostics::Location;
use firstpass_object::{ObjectId, TierName};
use firstpass_order::{Answer, Deadlock, Need, Needed, TierIndex, Wait};
use firstpass_render::Tier;

use crate::{CheckInput, wording};

/// The tiers on the way around, each once.
pub(crate) fn tiers(deadlock: &Deadlock) -> Vec<TierIndex> {
    let mut seen = BTreeSet::new();
    let tiers = deadlock.steps.iter().map(|step| step.tier);
    tiers.filter(|tier| seen.insert(*tier)).collect()
}

/// Whether a need is part of a circle without a single blocked need in it: there the circle is the cause, and the edge
/// that would order the two tiers would close it.
pub(crate) fn explains(deadlocks: &[Deadlock], input: &CheckInput<'_>, need: &Need) -> bool {
    deadlocks.iter().any(|deadlock| {
        let needs = deadlock.steps.iter().filter_map(|step| match step.wait {
            Wait::Need(index) => input.graph.needs.get(index),
            _ => None,
        });
        let needs: Vec<&Need> = needs.collect();
        needs.iter().any(|other| std::ptr::eq(*other, need))
            && !needs
                .iter()
                .any(|other| matches!(other.answer, Answer::Blocked { .. }))
    })
}

/// The way around as a sentence.
pub(crate) fn chain(input: &CheckInput<'_>, deadlock: &Deadlock) -> String {
    let tiers = &input.graph.tiers;
    let steps = deadlock.steps.iter().filter(|step| step.wait != Wait::OwnApply);
    let steps = steps.map(|step| {
        let (from, to) = (tiers.name(step.tier), tiers.name(step.leads_to));
        match &step.wait {
            Wait::Dependency => format!("`{from}` depends on `{to}`"),
            Wait::Parent => format!("`{from}` is applied by `{to}`"),
            Wait::Gate => format!("`{from}` is Ready only when `{to}` is"),
            Wait::Need(index) => format!("`{from}` needs {} from `{to}`", needed(input, *index)),
            Wait::OwnApply => String::new(),
        }
    });
    wording::and(&steps.collect::<Vec<_>>())
}

fn needed(input: &CheckInput<'_>, index: usize) -> String {
    match input.graph.needs.get(index).map(|need| &need.needed) {
        Some(Needed::Kind { kind, .. }) => format!("the kind `{}`", kind.kind),
        Some(Needed::Namespace(namespace)) => format!("namespace `{namespace}`"),
        Some(Needed::Data { object, .. }) => format!("the variables of `{object}`"),
        Some(Needed::HealthTarget(object) | Needed::ReadOnce { object, .. }) => format!("`{object}`"),
        Some(Needed::Webhook { name, .. }) => format!("the webhook `{name}`"),
        Some(Needed::Consumer { claim }) => format!("a pod for `{claim}`"),
        None => "something".to_owned(),
    }
}

/// The Flux Kustomization of a tier.
pub(crate) fn object(tier: &TierName) -> ObjectId {
    ObjectId::new(
        "kustomize.toolkit.fluxcd.io",
        "Kustomization",
        Some(&tier.namespace),
        &tier.name,
    )
}

/// Where a tier names another as its dependency.
pub(crate) fn place_of_dependency(input: &CheckInput<'_>, tier: &Tier, on: &TierName) -> Option<Location> {
    let index = tier.kustomization.dependencies().position(|entry| entry == *on);
    let index = index.unwrap_or_default().to_string();
    input.place_in_tier(tier, &["spec", "dependsOn", &index, "name"])
}
