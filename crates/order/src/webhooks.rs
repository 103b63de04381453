//! Admission webhooks: once registered, a webhook that fails closed has to serve, or objects of its kinds are refused.
//!
//! Only custom kinds are looked at. A webhook over built-in kinds meets nearly every tier of nearly every cluster; what
//! happens there is for the rehearsal to show.

use firstpass_baseline::PlacedWebhook;
use firstpass_knowledge::{FailurePolicy, Webhook};
use firstpass_object::{GroupKind, ObjectExt, ObjectId};

use crate::answer::Proof;
use crate::need::{Answer, Need, Needed};
use crate::tiers::{Before, TierIndex};
use crate::world::{Place, ReleaseAt, World, origin_of};

/// The webhooks that a tier's objects meet. Where the kind itself already comes too late from the same release, that is
/// the one cause and the webhook is not named again.
pub(crate) fn needs(world: &World<'_>, tier: TierIndex, before: &Before, kinds: &[Need]) -> Vec<Need> {
    let mut needs = Vec::new();
    for need in kinds {
        let Needed::Kind { kind, .. } = &need.needed else {
            continue;
        };
        if is_built_in(kind) {
            continue;
        }
        let late_from = (!need.answer.is_met())
            .then(|| need.answer.provider().and_then(|p| p.object.clone()))
            .flatten();
        for at in &world.releases {
            if at.place.tier == tier
                || late_from.as_ref() == Some(&at.id)
                || !at.release.waits && late_from.is_some()
                || is_seeded(world, at)
            {
                continue;
            }
            let Some(facts) = &at.facts else { continue };
            for placed in &facts.webhooks {
                let met = met_by(world, tier, kind, placed.webhook);
                let Some((first, rest)) = met.split_first() else {
                    continue;
                };
                needs.push(Need {
                    tier,
                    needed: Needed::Webhook {
                        name: placed.name.clone(),
                        kind: kind.clone(),
                    },
                    by: first.id(),
                    also: rest.iter().map(Place::id).collect(),
                    origin: origin_of(*first),
                    answer: answer(world, tier, before, at, placed),
                });
            }
        }
    }
    // One need per release and kind: several webhooks of a chart have one cause.
    let mut seen: Vec<(Option<ObjectId>, GroupKind)> = Vec::new();
    needs.retain(|need| {
        let Needed::Webhook { kind, .. } = &need.needed else {
            return true;
        };
        let key = (
            need.answer
                .provider()
                .and_then(|provider| provider.object.clone()),
            kind.clone(),
        );
        let new = !seen.contains(&key);
        if new {
            seen.push(key);
        }
        new
    });
    needs
}

/// Whether a bootstrap stage has installed the very release: then its webhooks serve before Flux begins, and Flux's
/// HelmRelease only takes it over.
fn is_seeded(world: &World<'_>, at: &ReleaseAt<'_>) -> bool {
    world.stage.releases.iter().any(|seeded| {
        !seeded.crds_only
            && seeded.release.name == at.release.name
            && seeded.release.namespace == at.release.namespace
    })
}

fn is_built_in(kind: &GroupKind) -> bool {
    !firstpass_schema::kinds::versions_of(&kind.group, &kind.kind).is_empty()
}

fn answer(
    world: &World<'_>,
    tier: TierIndex,
    before: &Before,
    at: &ReleaseAt<'_>,
    placed: &PlacedWebhook<'_>,
) -> Answer {
    let serves = |id: &ObjectId| {
        id.name == placed.served_by && id.namespace.as_deref() == Some(placed.namespace.as_str())
    };
    let void = (!at.release.waits).then(|| format!("`{}` does not wait for its pods (`disableWait`)", at.id));
    let mut proofs = vec![Proof {
        object: at.id.clone(),
        void,
    }];
    proofs.extend(at.workloads().filter(serves).map(Proof::by));
    match world.answer(tier, before, at.provider(), false, &proofs) {
        // What comes only after this tier cannot stand in its way on a cold start.
        Answer::Blocked { provider, .. } => Answer::Guaranteed {
            provider,
            barrier: "it is registered only afterwards".to_owned(),
        },
        answer => answer,
    }
}

/// The objects of a kind that a webhook is asked about.
fn met_by<'a>(world: &World<'a>, tier: TierIndex, kind: &GroupKind, webhook: &Webhook) -> Vec<Place<'a>> {
    if webhook.failure_policy != FailurePolicy::Fail || !webhook.covers(&kind.group, &kind.kind) {
        return Vec::new();
    }
    let asked = |object: &&firstpass_render::RenderedObject| {
        let content = &*object.object;
        let excepted = content
            .namespace()
            .is_some_and(|namespace| webhook.except_namespaces.iter().any(|e| e == namespace));
        content.gvk().group_kind() == *kind
            && !excepted
            && webhook.only.as_ref().is_none_or(|only| only.holds(content))
    };
    world
        .objects(tier)
        .iter()
        .filter(asked)
        .map(|object| Place { tier, object })
        .collect()
}
