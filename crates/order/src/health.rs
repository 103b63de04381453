//! Health checks: an object that a health check names has to exist, or the tier is never Ready.

use firstpass_object::ObjectId;

use crate::need::{Answer, Hint, Need, Needed};
use crate::tiers::{Before, Gate, TierIndex};
use crate::world::World;

/// The objects that `healthChecks` of a tier names. With `wait: true` the list is not looked at (F-500).
pub(crate) fn needs(world: &World<'_>, tier: TierIndex, before: &Before) -> Vec<Need> {
    let Gate::Listed(targets) = &world.tiers.node(tier).gate else {
        return Vec::new();
    };
    let rendered = world.tier(tier);
    let by = ObjectId::new(
        "kustomize.toolkit.fluxcd.io",
        "Kustomization",
        Some(&rendered.name.namespace),
        &rendered.name.name,
    );
    let need = |target: &ObjectId| Need {
        tier,
        needed: Needed::HealthTarget(target.clone()),
        by: by.clone(),
        also: Vec::new(),
        origin: rendered.origin.clone(),
        answer: answer(world, tier, before, target),
    };
    if rendered.objects().is_empty() && !rendered.is_rendered() {
        return Vec::new();
    }
    targets.iter().map(need).collect()
}

fn answer(world: &World<'_>, tier: TierIndex, before: &Before, target: &ObjectId) -> Answer {
    if let Some(places) = world.by_id.get(target) {
        let answers = places.iter().map(|place| {
            let in_time = place.tier == tier || before.certainty(place.tier).is_some();
            let provider = world.manifest(*place);
            match world.waits_for(place.tier, tier).filter(|_| !in_time) {
                Some(crate::Blocked::BehindUs(behind)) => Answer::Blocked {
                    provider,
                    how: crate::Blocked::BehindUs(behind),
                },
                // A tier of its own time, or a child: the check waits until the object is there.
                _ => Answer::Guaranteed {
                    provider,
                    barrier: "the health check waits for it".to_owned(),
                },
            }
        });
        if let Some(best) = answers.reduce(Answer::better) {
            return best;
        }
    }
    if let Some(answer) = made_at_runtime(world, target) {
        return answer;
    }
    if let Some(from) = world.stage.brings(target) {
        return Answer::There { from };
    }
    let seen_all =
        world.unknowns.is_empty() && nobody_else_makes(world, target) && !world.stage.may_bring(target);
    let provable = never_a_kind(target) || seen_all;
    Answer::Nobody {
        provable,
        hint: near_miss(world, target).map(Hint::new),
    }
}

/// Charts and operators make workloads and CRDs.
fn made_at_runtime(world: &World<'_>, target: &ObjectId) -> Option<Answer> {
    let there = |from: &str| {
        Some(Answer::There {
            from: from.to_owned(),
        })
    };
    if target.is("apiextensions.k8s.io", "CustomResourceDefinition") {
        let (plural, group) = target.name.split_once('.')?;
        if world
            .stage
            .kinds
            .iter()
            .any(|(kind, staged)| kind.group == group && staged.plural == plural)
        {
            return there("the baseline");
        }
        let mut triggered = world.triggered.values().flatten();
        if triggered.any(|triggered| triggered.crd_name == target.name) {
            return there("an operator");
        }
        let def = world
            .knowledge
            .kinds_of_group(group)
            .find(|def| def.plural == plural)?;
        let kind = firstpass_object::GroupKind::new(&def.group, &def.kind);
        let comes = world.releases_by_kind.contains_key(&kind)
            || world.started.contains_key(&kind)
            || world.triggered.contains_key(&kind);
        return if comes {
            there("a chart or an operator")
        } else {
            None
        };
    }
    for at in &world.releases {
        let Some(facts) = &at.facts else { continue };
        let workload = facts.workloads.iter().any(|placed| {
            placed.workload.kind.as_str() == target.kind
                && placed.name == target.name
                && target.namespace.as_deref() == Some(placed.namespace.as_str())
        });
        let object = facts
            .objects
            .iter()
            .any(|object| firstpass_object::ObjectExt::id(object) == *target);
        if workload || object {
            return Some(Answer::Guaranteed {
                provider: at.provider(),
                barrier: "the health check waits for it".to_owned(),
            });
        }
    }
    None
}

/// Whether Kubernetes owns the group and has no such kind in it: a check without `apiVersion` means `apps/v1` (F-501).
fn never_a_kind(target: &ObjectId) -> bool {
    let owned = firstpass_schema::kinds::all()
        .iter()
        .any(|kind| kind.group == target.group);
    owned && firstpass_schema::kinds::versions_of(&target.group, &target.kind).is_empty()
}

/// Whether no chart and no operator could make the object: what a known chart starts is known only in part.
fn nobody_else_makes(world: &World<'_>, target: &ObjectId) -> bool {
    if target.group.ends_with(".toolkit.fluxcd.io") {
        return true;
    }
    let same_namespace =
        |at: &crate::world::ReleaseAt<'_>| target.namespace.as_deref() == Some(&at.release.namespace);
    let by_release = world
        .releases
        .iter()
        .any(|at| target.namespace.is_none() || same_namespace(at));
    let by_operator = world.operators.iter().any(|at| !at.operator.on_object.is_empty());
    !by_release && !by_operator
}

/// An object of the same kind that could be meant.
fn near_miss(world: &World<'_>, target: &ObjectId) -> Option<String> {
    let mut same_kind = world
        .by_id
        .keys()
        .filter(|id| id.group == target.group && id.kind == target.kind);
    let near = same_kind
        .clone()
        .find(|id| id.name == target.name || id.namespace == target.namespace);
    near.or_else(|| same_kind.next())
        .map(|id| format!("there is `{id}`"))
}
