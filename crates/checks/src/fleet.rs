//! The clusters of a repository together: what one of them differs in from the others.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use firstpass_baseline::{Stage, StageOptions};
use firstpass_object::{ObjectExt, ObjectId};
use firstpass_order::{GraphView, OrderGraph};
use firstpass_render::{
    BuildOutcome, BuiltObject, Entry, Options, Overlays, RenderedCluster, Repository, render_cluster,
};
use firstpass_source::RepoPath;
use serde_json::Value;

use crate::CheckInput;

/// All clusters that the configuration lists, where it says that they share a base.
pub struct Fleet {
    clusters: Vec<Arc<RenderedCluster>>,
    /// The graphs of the clusters, made when a rule asks for them.
    graphs: Vec<OnceCell<GraphView>>,
}

impl Fleet {
    /// Renders the clusters of the configuration; `None` where it has no `overlays`.
    pub fn of(repository: &Repository, options: &Options) -> Option<Fleet> {
        repository.config().overlays.as_ref()?;
        let configured = repository
            .entries()
            .into_iter()
            .filter(|entry| entry.cluster.is_some());
        let present = configured.filter(|entry| repository.tree().is_directory(&entry.directory));
        let render = |entry: Entry| Arc::new(render_cluster(repository, &entry, options));
        let clusters: Vec<Arc<RenderedCluster>> = present.map(render).collect();
        Some(Fleet {
            graphs: clusters.iter().map(|_| OnceCell::new()).collect(),
            clusters,
        })
    }

    /// The cluster of an entry, if it is one of these.
    pub fn cluster(&self, entry: &Entry) -> Option<&Arc<RenderedCluster>> {
        self.clusters.iter().find(|cluster| cluster.entry == *entry)
    }
}

/// One cluster as an overlay over the base.
pub(crate) struct Overlay<'a> {
    /// What the configuration says.
    pub(crate) rules: &'a Overlays,
    /// What the base builds, by identity.
    pub(crate) base: BTreeMap<ObjectId, BuiltObject>,
    /// What the cluster entry builds, without what the bootstrap keeps there.
    pub(crate) own: BTreeMap<ObjectId, BuiltObject>,
}

impl<'a> Overlay<'a> {
    /// The cluster as an overlay; `None` without `overlays`, or where base or entry cannot be built.
    pub(crate) fn of(input: &CheckInput<'a>, cluster: &RenderedCluster) -> Option<Overlay<'a>> {
        let rules = input.repository.config().overlays.as_ref()?;
        let base = build(cluster, &RepoPath::clamped(&rules.base))?;
        let mut own = build(cluster, &cluster.entry.directory)?;
        let bootstrap = cluster.entry.directory.join_clamped("flux-system");
        own.retain(|_, object| !RepoPath::clamped(&object.origin.file).is_within(&bootstrap));
        Some(Overlay { rules, base, own })
    }

    /// The identity of the object that holds the values.
    pub(crate) fn vars_id(&self) -> Option<ObjectId> {
        vars_id(self.rules)
    }

    /// A value of the object with the values, as the base or the cluster has it.
    pub(crate) fn value<'o>(
        objects: &'o BTreeMap<ObjectId, BuiltObject>,
        vars: &ObjectId,
        name: &str,
    ) -> Option<&'o str> {
        objects.get(vars)?.object.text_at(&["data", name])
    }
}

/// `ConfigMap/flux-system/cluster-vars`, taken apart.
pub(crate) fn vars_id(overlays: &Overlays) -> Option<ObjectId> {
    let parts: Vec<&str> = overlays.vars.as_deref()?.split('/').collect();
    match parts.as_slice() {
        [kind, namespace, name] => Some(ObjectId::new("", kind, Some(namespace), name)),
        _ => None,
    }
}

/// The other clusters of the fleet.
pub(crate) fn others<'a>(input: &CheckInput<'a>) -> impl Iterator<Item = &'a RenderedCluster> {
    let clusters = input
        .fleet
        .map(|fleet| fleet.clusters.as_slice())
        .unwrap_or_default();
    let own = &input.cluster.entry;
    clusters
        .iter()
        .map(|cluster| &**cluster)
        .filter(move |cluster| cluster.entry.directory != own.directory)
}

/// The graph of another cluster of the fleet, as `firstpass graph` shows it.
pub(crate) fn graph_of<'a>(input: &CheckInput<'a>, other: &RenderedCluster) -> Option<&'a GraphView> {
    let fleet = input.fleet?;
    let index = fleet
        .clusters
        .iter()
        .position(|cluster| cluster.entry == other.entry)?;
    let graph = fleet.graphs[index].get_or_init(|| {
        let repository = input.repository;
        let helmfiles = repository.helmfiles(&other.entry);
        let options = StageOptions::default();
        let stage = Stage::set(other, &**repository.tree(), &helmfiles, input.knowledge, &options);
        GraphView::new(other, &OrderGraph::build(other, &stage, input.knowledge))
    });
    Some(graph)
}

/// What the tier that syncs a cluster would build of a directory.
fn build(cluster: &RenderedCluster, directory: &RepoPath) -> Option<BTreeMap<ObjectId, BuiltObject>> {
    let syncs = |name: &&firstpass_object::TierName| {
        let tier = cluster.tier(name);
        tier.is_some_and(|tier| RepoPath::clamped(&tier.kustomization.spec.path) == cluster.entry.directory)
    };
    let root = cluster
        .roots
        .iter()
        .find(syncs)
        .or_else(|| cluster.roots.first())?;
    let mut kustomization = (*cluster.tier(root)?.kustomization).clone();
    directory.as_str().clone_into(&mut kustomization.spec.path);
    match &*cluster.builder.build(&kustomization) {
        BuildOutcome::Built(built) => Some(
            built
                .objects
                .iter()
                .map(|object| (object.object.id(), object.clone()))
                .collect(),
        ),
        BuildOutcome::Failed(_) | BuildOutcome::Unrendered(_) => None,
    }
}

/// The fields in which two objects differ, as paths.
pub(crate) fn differences(base: &Value, own: &Value) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    compare(base, own, &mut Vec::new(), &mut found);
    found
}

fn compare(base: &Value, own: &Value, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    match (base, own) {
        (Value::Object(before), Value::Object(after)) => {
            let added = after.keys().filter(|key| !before.contains_key(*key));
            for key in before.keys().chain(added) {
                path.push(key.clone());
                match (before.get(key), after.get(key)) {
                    (Some(before), Some(after)) => compare(before, after, path, found),
                    _ => found.push(path.clone()),
                }
                path.pop();
            }
        }
        (before, after) if before != after => found.push(path.clone()),
        _ => {}
    }
}

/// Whether a field is one of those listed, or lies below one.
pub(crate) fn is_allowed(field: &[String], allowed: &[String]) -> bool {
    allowed.iter().any(|allowed| {
        let mut parts = allowed.split('.');
        let mut field = field.iter();
        parts.all(|part| field.next().is_some_and(|own| own == part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn differences_are_paths_and_lists_count_as_one() {
        let base = json!({"spec": {"path": "a", "dependsOn": [{"name": "a"}], "wait": true}});
        let own = json!({"spec": {"path": "a", "dependsOn": [], "suspend": true, "decryption": {"provider": "sops"}}});
        let found: Vec<String> = differences(&base, &own)
            .iter()
            .map(|path| path.join("."))
            .collect();
        assert_eq!(
            found,
            ["spec.dependsOn", "spec.wait", "spec.decryption", "spec.suspend"]
        );
        let allowed = ["spec.decryption".to_owned()];
        let path = |text: &str| text.split('.').map(str::to_owned).collect::<Vec<_>>();
        assert!(is_allowed(&path("spec.decryption.provider"), &allowed));
        assert!(!is_allowed(&path("spec.dependsOn"), &allowed) && !is_allowed(&path("spec"), &allowed));
    }
}
