//! What somebody names and nothing makes: does somebody else make it, or was another thing meant?
//!
//! A rule says so, and the rehearsal does not take such a thing to exist: both ask here.

use firstpass_flux::SourceKind;
use firstpass_object::{ObjectExt, ObjectId, Step};
use firstpass_render::{RenderedCluster, RenderedObject};
use serde_json::Value;

use crate::Unknowns;

/// Names of sources shorter than this are too short to tell a slip from another name.
const SOURCE_NAME_LENGTH_MIN: usize = 5;
/// The same for data, of which there is more.
const DATA_NAME_LENGTH_MIN: usize = 8;
/// How many letters a slip gets wrong at most.
const LETTERS_WRONG_MAX: usize = 2;
/// Letters of the hash that kustomize appends to a generated name.
const HASH_LENGTH: usize = 10;
/// Parts of the annotations by which controllers are asked to copy an object.
const COPIERS: [&str; 4] = ["reflector", "replicator", "kubed", "config-syncer"];

/// The source that was meant by a reference to one that nothing defines: one of the same name in another namespace, since a
/// reference without a namespace means the referrer's own, one of the same name and another kind, or one whose name is a slip
/// away. `None` if the source is defined, or if nothing is near: then somebody else makes it.
pub fn misnamed_source(cluster: &RenderedCluster, wanted: &ObjectId) -> Option<ObjectId> {
    if cluster.defined(wanted).is_some() {
        return None;
    }
    let seeds = cluster.seeds.iter().map(RenderedObject::id);
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
        let here = defined
            .iter()
            .copied()
            .filter(|id| id.namespace == wanted.namespace);
        let mut slips = here.filter(|id| is_slip(&id.name, &wanted.name, SOURCE_NAME_LENGTH_MIN));
        slips.next()
    };
    elsewhere.or_else(other_kind).or_else(slip).cloned()
}

/// The ConfigMap or Secret that was meant by a name that nothing makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeantData {
    /// One or two letters away.
    Misspelt(ObjectId),
    /// The same name with the hash of a generator behind it.
    Hashed(ObjectId),
    /// The same name in another namespace.
    Elsewhere(ObjectId),
}

impl MeantData {
    /// The object itself.
    pub fn id(&self) -> &ObjectId {
        let (MeantData::Misspelt(id) | MeantData::Hashed(id) | MeantData::Elsewhere(id)) = self;
        id
    }
}

/// What was meant by a ConfigMap or Secret in `substituteFrom` that nothing makes; `None` where it may come from somebody
/// unseen.
pub fn misnamed_data(cluster: &RenderedCluster, unknowns: &Unknowns, wanted: &ObjectId) -> Option<MeantData> {
    let ids = cluster.objects().map(|(_, object)| object.id());
    let same_kind: Vec<ObjectId> = ids.filter(|id| id.group_kind() == wanted.group_kind()).collect();
    if same_kind.contains(wanted) {
        return None;
    }
    if let Some(hashed) = hashed_twin(cluster, wanted) {
        return Some(MeantData::Hashed(hashed));
    }
    let mut here = same_kind.iter().filter(|id| id.namespace == wanted.namespace);
    if let Some(misspelt) = here.find(|id| is_slip(&id.name, &wanted.name, DATA_NAME_LENGTH_MIN)) {
        return Some(MeantData::Misspelt(misspelt.clone()));
    }
    let elsewhere = same_kind.iter().find(|id| id.name == wanted.name)?;
    // Somebody may copy it, and a namespace that was there before the cluster's first pass may hold it already.
    let is_new = cluster.objects().any(|(_, object)| {
        let id = object.id();
        id.is("", "Namespace") && Some(&id.name) == wanted.namespace.as_ref()
    });
    let is_told_apart = is_new && unknowns.is_empty() && !may_be_copied(cluster, elsewhere);
    is_told_apart.then(|| MeantData::Elsewhere(elsewhere.clone()))
}

/// The generated object that was meant: it is there with a hash behind the name, and without one it is not.
pub fn hashed_twin(cluster: &RenderedCluster, wanted: &ObjectId) -> Option<ObjectId> {
    let mut twin = None;
    for (_, object) in cluster.objects() {
        let id = object.id();
        if id.group_kind() != wanted.group_kind() || id.namespace != wanted.namespace {
            continue;
        }
        if id.name == wanted.name {
            return None;
        }
        let hash = id
            .name
            .strip_prefix(wanted.name.as_str())
            .and_then(|rest| rest.strip_prefix('-'));
        let mut steps = object.origin.steps.iter();
        let generated = steps.any(|step| matches!(step, Step::Generated { .. }));
        if generated && hash.is_some_and(|hash| hash.len() == HASH_LENGTH) {
            twin = Some(id);
        }
    }
    twin
}

/// Whether something copies ConfigMaps and Secrets between namespaces: an annotation for it, or a policy that generates.
fn may_be_copied(cluster: &RenderedCluster, object: &ObjectId) -> bool {
    let annotated = |annotation: &str| COPIERS.iter().any(|copier| annotation.contains(copier));
    let generates = |kind: &str| {
        matches!(
            kind,
            "ClusterPolicy" | "Policy" | "GeneratingPolicy" | "ClusterExternalSecret" | "ClusterConfigMap"
        )
    };
    cluster.objects().any(|(_, other)| {
        let annotations = other
            .object
            .at(&["metadata", "annotations"])
            .and_then(Value::as_object);
        generates(other.object.kind())
            || other.id() == *object
                && annotations.is_some_and(|annotations| annotations.keys().any(|key| annotated(key)))
    })
}

/// One or two letters away, and more than a number apart: names that differ by a number are different names.
fn is_slip(name: &str, wanted: &str, length_min: usize) -> bool {
    let letters = |name: &str| -> String { name.chars().filter(|letter| !letter.is_ascii_digit()).collect() };
    let length = name.chars().count().min(wanted.chars().count());
    length >= length_min
        && firstpass_yaml::distance(name, wanted) <= LETTERS_WRONG_MAX
        && letters(name) != letters(wanted)
}
