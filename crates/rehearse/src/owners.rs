//! Who owns each object at the end of a rehearsal?

use std::collections::{BTreeMap, BTreeSet};

use firstpass_baseline::Release;
use firstpass_controllers::kustomization::InventoryEntry;
use firstpass_flux::{HelmRelease, names};
use firstpass_object::{GroupKind, ObjectExt, ObjectId, TierName};
use serde::Serialize;

use crate::Rehearsal;

/// An object of the cluster and its owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OwnedObject {
    /// `Kind/name` or `Kind/namespace/name`.
    pub object: String,
    /// Who brought it and keeps it.
    pub owner: Owner,
    /// Everybody who owns fields of it, in the order in which they first wrote.
    pub managers: Vec<FieldManager>,
}

/// Who brought an object and keeps it. The order is that of the bring-up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "kind", content = "name", rename_all = "kebab-case")]
pub enum Owner {
    /// It was there before Flux.
    Baseline,
    /// A Flux Kustomization: its labels say so, and its inventory holds it.
    Tier(TierName),
    /// A Flux Kustomization by the object's labels, whose inventory does not hold it: nobody will prune it.
    LabelsOnly(TierName),
    /// A HelmRelease, by namespace and name.
    Release(TierName),
    /// An operator.
    Operator(String),
    /// The object that a controller owner reference names.
    Object(String),
    /// A controller of Kubernetes or Flux, by its field manager.
    Controller(String),
}

/// Somebody who owns fields of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldManager {
    /// Its name.
    pub name: String,
    /// Whether it wrote the status and nothing else.
    pub status_only: bool,
}

impl Rehearsal {
    /// Every object with its owner, in the order of owners, then of objects.
    pub fn owners(&self) -> Vec<OwnedObject> {
        let known = Known::of(self);
        let server = &self.world.server;
        let mut owned: Vec<(Owner, &ObjectId, Vec<FieldManager>)> = server
            .all_objects()
            .map(|(id, object)| {
                let managers = self.managers(id);
                (known.owner(id, object, &managers), id, managers)
            })
            .collect();
        owned.sort_by(|one, other| (&one.0, one.1).cmp(&(&other.0, other.1)));
        let listed = owned.into_iter().map(|(owner, id, managers)| OwnedObject {
            object: id.to_string(),
            owner,
            managers,
        });
        listed.collect()
    }

    fn managers(&self, id: &ObjectId) -> Vec<FieldManager> {
        let mut managers: Vec<FieldManager> = Vec::new();
        for manager in self
            .world
            .server
            .managers(id)
            .into_iter()
            .flat_map(|managers| managers.iter())
        {
            let status_only = manager.subresource.is_some();
            match managers.iter_mut().find(|known| *known.name == *manager.name) {
                Some(known) => known.status_only &= status_only,
                None => managers.push(FieldManager {
                    name: manager.name.to_string(),
                    status_only,
                }),
            }
        }
        managers
    }
}

/// What is known of who made what.
struct Known {
    inventories: BTreeMap<TierName, BTreeSet<ObjectId>>,
    releases: BTreeMap<ObjectId, TierName>,
    operators: BTreeSet<String>,
    /// HelmCharts that helm-controller made, by name.
    charts: BTreeMap<String, TierName>,
    /// The kinds that a chart brings.
    chart_kinds: BTreeMap<GroupKind, TierName>,
}

impl Known {
    fn of(rehearsal: &Rehearsal) -> Known {
        let world = &rehearsal.world;
        let mut inventories: BTreeMap<TierName, BTreeSet<ObjectId>> = BTreeMap::new();
        for tier in world.kustomizations.tiers().keys() {
            let id = ObjectId::new(
                names::KUSTOMIZE_GROUP,
                names::KUSTOMIZATION,
                Some(&tier.namespace),
                &tier.name,
            );
            let Some(object) = world.server.object(&id) else {
                continue;
            };
            let entries = InventoryEntry::all_of(object);
            inventories.insert(tier.clone(), entries.into_iter().map(|entry| entry.id).collect());
        }
        let mut releases = BTreeMap::new();
        let mut charts = BTreeMap::new();
        for (release, record) in world.releases.releases() {
            // F-1000: the chart of a release is an object of its own, named after it.
            charts.insert(format!("{}-{}", release.namespace, release.name), release.clone());
            for made in record.made() {
                releases.entry(made.clone()).or_insert_with(|| release.clone());
            }
        }
        let mut chart_kinds = BTreeMap::new();
        let script = rehearsal.script();
        let objects = script.cluster.objects().map(|(_, object)| object);
        for object in objects.filter(|object| HelmRelease::is(&object.object)) {
            let release = Release::of_object(&object.object, &|id| world.server.object(id).cloned());
            let id = object.id();
            let name = TierName::new(id.namespace.unwrap_or_default(), id.name);
            let kinds = release
                .facts(&script.knowledge)
                .map(|facts| facts.kinds)
                .unwrap_or_default();
            for kind in kinds {
                let kind = GroupKind::new(&kind.def.group, &kind.def.kind);
                chart_kinds.entry(kind).or_insert_with(|| name.clone());
            }
        }
        let operators = world
            .operators
            .running()
            .map(|(name, _)| name.to_owned())
            .collect();
        Known {
            inventories,
            releases,
            charts,
            operators,
            chart_kinds,
        }
    }

    fn owner(&self, id: &ObjectId, object: &serde_json::Value, managers: &[FieldManager]) -> Owner {
        let owners = object.items_at(&["metadata", "ownerReferences"]).iter();
        if let Some(owner) = owners
            .filter(|owner| owner["controller"] == true)
            .find_map(|owner| {
                Some(format!(
                    "{}/{}",
                    owner.text_at(&["kind"])?,
                    owner.text_at(&["name"])?
                ))
            })
        {
            return Owner::Object(owner);
        }
        let label = |name: &str| object.text_at(&["metadata", "labels", name]);
        if let (Some(name), Some(namespace)) = (
            label(names::OWNER_NAME_LABEL),
            label(names::OWNER_NAMESPACE_LABEL),
        ) {
            let tier = TierName::new(namespace, name);
            let is_kept = self
                .inventories
                .get(&tier)
                .is_some_and(|inventory| inventory.contains(id));
            return if is_kept {
                Owner::Tier(tier)
            } else {
                Owner::LabelsOnly(tier)
            };
        }
        if let (Some(name), Some(namespace)) =
            (label(names::HELM_NAME_LABEL), label(names::HELM_NAMESPACE_LABEL))
        {
            return Owner::Release(TierName::new(namespace, name));
        }
        if let Some(release) = self.releases.get(id) {
            return Owner::Release(release.clone());
        }
        let writers = managers.iter().filter(|manager| !manager.status_only);
        let Some(writer) = writers.map(|manager| manager.name.as_str()).next() else {
            return Owner::Baseline;
        };
        match writer {
            crate::stage::MANAGER | "kube-apiserver" => Owner::Baseline,
            "helm-controller" => {
                let of_chart = || {
                    self.charts
                        .get(id.name.as_str())
                        .filter(|_| id.is(names::SOURCE_GROUP, "HelmChart"))
                };
                let of_crd = || kind_of_crd(object).and_then(|kind| self.chart_kinds.get(&kind));
                let release = of_chart().or_else(of_crd);
                release.map_or_else(
                    || Owner::Controller(writer.to_owned()),
                    |release| Owner::Release(release.clone()),
                )
            }
            operator if self.operators.contains(operator) => Owner::Operator(operator.to_owned()),
            other => Owner::Controller(other.to_owned()),
        }
    }
}

fn kind_of_crd(object: &serde_json::Value) -> Option<GroupKind> {
    let group = object.text_at(&["spec", "group"])?;
    let kind = object.text_at(&["spec", "names", "kind"])?;
    Some(GroupKind::new(group, kind))
}
