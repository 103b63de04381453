//! HelmReleases that depend on each other.

use std::collections::{BTreeMap, BTreeSet};

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_flux::{HelmRelease, names};
use firstpass_object::ObjectId;
use firstpass_render::{RenderedObject, Tier};

use super::release;
use super::waited_for::never_healthy;
use crate::input::At as _;
use crate::{CheckInput, Context, Rule, Status, wording};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "release-dependency-cycle",
    summary: "HelmReleases that depend on each other",
    severity: Severity::Error,
    verdict: Some(Verdict::Deadlock),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/release-dependency-cycle.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let releases: Vec<(&Tier, &RenderedObject)> = release::all(input).collect();
    let index: BTreeMap<ObjectId, usize> = releases
        .iter()
        .enumerate()
        .map(|(index, (_, object))| (object.id(), index))
        .collect();
    let edges: Vec<Vec<usize>> = releases
        .iter()
        .map(|(_, object)| {
            let read = HelmRelease::read(&object.object).value;
            let ids = read.dependencies().map(|on| {
                ObjectId::new(
                    names::HELM_GROUP,
                    names::HELM_RELEASE,
                    Some(&on.namespace),
                    &on.name,
                )
            });
            ids.filter_map(|id| index.get(&id).copied()).collect()
        })
        .collect();
    let cycles = firstpass_order::cycles(&edges);
    cycles
        .iter()
        .map(|cycle| finding(input, &releases, cycle))
        .collect()
}

fn finding(input: &CheckInput<'_>, releases: &[(&Tier, &RenderedObject)], cycle: &[usize]) -> Finding {
    let members: Vec<&(&Tier, &RenderedObject)> = cycle.iter().map(|index| &releases[*index]).collect();
    let names: Vec<String> = members
        .iter()
        .map(|(_, object)| format!("`{}`", object.id()))
        .collect();
    let (tier, first) = members[0];
    let message = if members.len() == 1 {
        format!("{} depends on itself", names[0])
    } else {
        format!("{} depend on each other", wording::and(&names))
    };
    let mut found = RULE
        .finding(message)
        .with_tier(&tier.name)
        .with_object(&first.id())
        .with_related(members[1..].iter().map(|(_, object)| object.id().to_string()))
        .with_why(
            "helm-controller installs a release only when the HelmReleases that it depends on are Ready, so none of them is ever \
             installed",
        )
        .with_help(format!("take one entry out of the `dependsOn` of `{}`", first.id()))
        .at(input
            .repository
            .locate(&first.origin, &["spec", "dependsOn", "0", "name"]));
    // Every tier that waits for one of them is stuck; without a wait the tiers come up and the releases do not.
    let weighed: Vec<Finding> = members
        .iter()
        .map(|(tier, object)| never_healthy(input, tier, &object.id(), found.clone()))
        .collect();
    match weighed.iter().find(|weighed| weighed.severity == Severity::Error) {
        Some(_) => {
            let blocks: BTreeSet<_> = weighed
                .into_iter()
                .filter(|weighed| weighed.severity == Severity::Error)
                .flat_map(|weighed| weighed.blocks)
                .collect();
            found.blocks = blocks.into_iter().collect();
        }
        None => {
            found.severity = Severity::Warning;
            found.verdict = Some(Verdict::Hazard);
        }
    }
    found
}
