//! Safety first: runs with faults, and sampled schedules, are watched by the laws of crate `sim`. A law that is broken is a
//! fault of the models and no word about the repository; what kustomize-controller deletes although the revision declares it
//! is a finding.

use std::collections::{BTreeMap, BTreeSet};

use firstpass_apiserver::Time;
use firstpass_controllers::kustomization::InventoryEntry;
use firstpass_diagnostics::{Finding, Location, Severity, Verdict, duration_text};
use firstpass_flux::names;
use firstpass_object::{ObjectExt, ObjectId, TierName, group_of};
use firstpass_sim::World;
use firstpass_sim::laws::{Broken, Deletion, Law, Laws};
use serde_json::Value;

use crate::explain::Explainer;

/// A law that was broken, and the schedule that shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenLaw {
    /// What was broken.
    pub broken: Broken,
    /// The seed of the schedule.
    pub seed: u64,
}

/// What a run leaves behind that has to be the same however it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FinalState {
    /// Every object. Whose labels one bears that two tiers declare is left to chance (F-423).
    objects: BTreeSet<ObjectId>,
    /// The revision that each Flux Kustomization has applied, and what it remembers.
    tiers: BTreeMap<TierName, (String, BTreeSet<ObjectId>)>,
}

impl FinalState {
    pub(crate) fn of(world: &World) -> FinalState {
        let mut state = FinalState {
            objects: BTreeSet::new(),
            tiers: BTreeMap::new(),
        };
        for (id, object) in world.server.all_objects() {
            state.objects.insert(id.clone());
            if id.is(names::KUSTOMIZE_GROUP, names::KUSTOMIZATION) {
                let name = TierName::new(object.namespace().unwrap_or_default(), object.name());
                let revision = object
                    .text_at(&["status", "lastAppliedRevision"])
                    .unwrap_or_default();
                let inventory = InventoryEntry::all_of(object);
                let ids = inventory.into_iter().map(|entry| entry.id).collect();
                state.tiers.insert(name, (revision.to_owned(), ids));
            }
        }
        state
    }

    /// The first thing in which two states differ, in words.
    fn difference(&self, other: &FinalState) -> Option<String> {
        if let Some(id) = self.objects.difference(&other.objects).next() {
            return Some(format!("{id} is there, and is not without faults"));
        }
        if let Some(id) = other.objects.difference(&self.objects).next() {
            return Some(format!("{id} is not there, and is without faults"));
        }
        let differs = self
            .tiers
            .iter()
            .find(|(name, own)| other.tiers.get(*name) != Some(*own));
        differs.map(|(name, _)| {
            format!("{name} ends at another revision, or remembers other objects, than without faults")
        })
    }
}

/// Compares the end of a run whose faults have healed with the end of the same schedule without faults.
pub(crate) fn compare(laws: &mut Laws, at: Time, own: &FinalState, calm: &FinalState) {
    let difference = own.difference(calm);
    laws.judge(Law::HealsAlike, at, difference.is_none(), || {
        difference.clone().unwrap_or_default()
    });
}

/// What kustomize-controller deleted although the revision declares it.
pub(crate) fn losses(explainer: &Explainer<'_>, deletions: &[Deletion]) -> Vec<Finding> {
    let mut told: BTreeSet<ObjectId> = BTreeSet::new();
    let mut findings = Vec::new();
    for deletion in deletions {
        let id = deletion.object.id();
        let Some(holder) = explainer.bringer(&id) else {
            continue;
        };
        if !told.insert(id.clone()) {
            continue;
        }
        let by = deletion.by.as_ref().unwrap_or(holder);
        let way = if deletion.forced {
            "to create it anew, since it could not be changed (`force`)".to_owned()
        } else if by == holder {
            "since a later build of it no longer held it".to_owned()
        } else {
            format!("while `{holder}` declares it")
        };
        let severity = if holds_data(&deletion.object) {
            Severity::Error
        } else {
            Severity::Warning
        };
        let mut finding = Finding::new(
            "declared-object-deleted",
            severity,
            Some(Verdict::Hazard),
            format!("`{by}` deleted `{id}`, which the repository declares"),
        )
        .with_tier(by)
        .with_object(&id)
        .with_why(format!(
            "at {} `{by}` deleted it {way}; what it held, and what hangs on it, is gone",
            duration_text(explainer.seconds(deletion.at))
        ))
        .with_help("let one Flux Kustomization declare it, and mark what must outlive a mistake with `kustomize.toolkit.fluxcd.io/prune: disabled`");
        finding.location = explainer
            .rendered(&id)
            .map(|object| Location::new(&object.origin.file, object.origin.line.max(1), 1));
        finding.schedules = Some(crate::findings::SEEN);
        findings.push(finding);
    }
    findings
}

/// Objects whose deletion takes data, or other objects, along.
fn holds_data(object: &Value) -> bool {
    matches!(
        (group_of(object.api_version()), object.kind()),
        (
            "",
            "PersistentVolumeClaim" | "PersistentVolume" | "Namespace" | "Secret"
        ) | ("apiextensions.k8s.io", "CustomResourceDefinition")
            | ("cdi.kubevirt.io", "DataVolume")
            | ("kubevirt.io", "VirtualMachine")
            | ("postgresql.cnpg.io", "Cluster")
    )
}
