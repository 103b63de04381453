//! Things that a controller reads at one moment and never looks at again.
//!
//! Such an object has to be in place before the one that is handled with it is applied: what was read is stamped on for
//! good, and no retry mends it.

use firstpass_knowledge::{ReadsOnce, lookup};
use firstpass_object::{ObjectExt, ObjectId};

use crate::need::{Answer, Need, Needed};
use crate::tiers::{Before, TierIndex};
use crate::world::{Place, World, origin_of};

/// What objects of a tier read once, where another tier declares it.
pub(crate) fn needs(world: &World<'_>, tier: TierIndex, before: &Before) -> Vec<Need> {
    let mut needs: Vec<Need> = Vec::new();
    for object in world.objects(tier) {
        let content = &*object.object;
        let id = object.id();
        for reads in world
            .reads_once
            .iter()
            .filter(|reads| reads.kind.matches(&id.group, &id.kind))
        {
            if reads
                .unless_set
                .iter()
                .any(|path| lookup(content, path).is_some())
            {
                continue;
            }
            for place in declared(world, reads, content) {
                let read = place.id();
                if place.tier == tier {
                    continue;
                }
                if let Some(known) = needs.iter_mut().find(|need| is_reading(need, &read)) {
                    known.also.push(id.clone());
                    continue;
                }
                needs.push(Need {
                    tier,
                    needed: Needed::ReadOnce {
                        object: read,
                        fact: reads.fact.clone(),
                    },
                    by: id.clone(),
                    also: Vec::new(),
                    origin: origin_of(Place { tier, object }),
                    answer: answer(world, tier, before, place),
                });
            }
        }
    }
    needs
}

fn is_reading(need: &Need, read: &ObjectId) -> bool {
    matches!(&need.needed, Needed::ReadOnce { object, .. } if object == read)
}

/// The objects of the repository that an object would read: of the right kind, and of the name that a field gives.
fn declared<'a>(world: &World<'a>, reads: &ReadsOnce, content: &serde_json::Value) -> Vec<Place<'a>> {
    let named = reads
        .named_by
        .as_ref()
        .map(|path| lookup(content, path).and_then(serde_json::Value::as_str));
    let fits = |id: &&ObjectId| {
        reads.reads.matches(&id.group, &id.kind)
            && match &named {
                None => true,
                Some(name) => *name == Some(id.name.as_str()),
            }
    };
    let ids = world.by_id.iter().filter(|(id, _)| fits(id));
    ids.flat_map(|(_, places)| places)
        .filter(|place| !place.object.object.name().is_empty())
        .copied()
        .collect()
}

/// Applied before is enough: what is read is the object itself.
fn answer(world: &World<'_>, tier: TierIndex, before: &Before, place: Place<'_>) -> Answer {
    let early = before.certainty(place.tier) == Some(crate::Certainty::Ready);
    match world.answer(tier, before, world.manifest(place), early, &[]) {
        // What can only come later was never meant to be read at this moment.
        Answer::Blocked { provider, .. } => Answer::WithoutEdge { provider },
        answer => answer,
    }
}
