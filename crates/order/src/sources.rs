//! Sources that tiers name and nothing defines: made by somebody else, or misnamed?

use firstpass_flux::SourceKind;
use firstpass_object::ObjectId;
use firstpass_render::RenderedCluster;

/// Names shorter than this are too short to tell a slip from another name.
const NAME_LENGTH_MIN: usize = 5;
/// How many letters a slip gets wrong at most.
const LETTERS_WRONG_MAX: usize = 2;

/// The source that was meant by a reference to one that nothing defines: one of the same name in another namespace, since a
/// reference without a namespace means the referrer's own, one of the same name and another kind, or one whose name is a slip away. `None` if the source is
/// defined, or if nothing is near: then somebody else makes it.
pub fn misnamed_source(cluster: &RenderedCluster, wanted: &ObjectId) -> Option<ObjectId> {
    if cluster.defined(wanted).is_some() {
        return None;
    }
    let seeds = cluster.seeds.iter().map(firstpass_render::RenderedObject::id);
    let applied = cluster.objects().map(|(_, object)| object.id());
    let sources: Vec<ObjectId> = seeds
        .chain(applied)
        .filter(|id| id.group == wanted.group)
        .collect();
    let mut defined: Vec<&ObjectId> = sources.iter().filter(|id| id.kind == wanted.kind).collect();
    defined.sort();
    // The same source by the wrong kind: `OCIRepository` where a GitRepository is meant.
    let other_kind = || {
        let same = |id: &&ObjectId| id.name == wanted.name && id.namespace == wanted.namespace;
        let is_source = |id: &&ObjectId| SourceKind::ALL.iter().any(|kind| kind.as_str() == id.kind);
        sources.iter().find(|id| same(id) && is_source(id))
    };
    let elsewhere = defined.iter().copied().find(|id| id.name == wanted.name);
    let slip = || {
        defined.iter().copied().find(|id| {
            let length = id.name.chars().count().min(wanted.name.chars().count());
            id.namespace == wanted.namespace
                && length >= NAME_LENGTH_MIN
                && firstpass_yaml::distance(&id.name, &wanted.name) <= LETTERS_WRONG_MAX
                && letters(&id.name) != letters(&wanted.name)
        })
    };
    elsewhere.or_else(other_kind).or_else(slip).cloned()
}

/// A name without its digits: names that differ by a number are different names.
fn letters(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}
