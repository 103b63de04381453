//! Flux Kustomizations as a watcher sees them, and what their being Ready has to mean.

use std::collections::BTreeSet;
use std::sync::Arc;

use firstpass_apiserver::Event;
use firstpass_controllers::kustomization::InventoryEntry;
use firstpass_flux::{Kustomization, names};
use firstpass_object::kstatus::{self, StatusKind};
use firstpass_object::{ObjectExt, ObjectId, TierName, label_or_annotation};
use serde_json::Value;

use super::{Law, Laws, Written};
use crate::world::World;

/// A Flux Kustomization that is followed.
#[derive(Clone, Debug)]
pub struct FollowedTier {
    /// As it was last seen.
    pub object: Arc<Value>,
    /// The revisions at which it has been Ready.
    pub ready_at: BTreeSet<String>,
    /// What was stored for it since its attempt began.
    pub written: Vec<Written>,
    /// How many of its failed attempts have been looked at.
    pub failures: usize,
}

impl Laws {
    /// Takes a state of a Flux Kustomization.
    pub(super) fn follow(&mut self, name: &TierName, object: &Arc<Value>, before: Option<&Arc<Value>>) {
        let tier = self.tiers.entry(name.clone()).or_insert_with(|| FollowedTier {
            object: Arc::clone(object),
            ready_at: BTreeSet::new(),
            written: Vec::new(),
            failures: 0,
        });
        tier.object = Arc::clone(object);
        // What it was Ready at before anybody watched counts as well.
        if let Some(revision) = revision(object).filter(|_| is_ready(object) && before.is_none()) {
            tier.ready_at.insert(revision.to_owned());
        }
    }

    /// What has to be true when a Flux Kustomization turns Ready.
    pub(super) fn check_ready(&mut self, name: &TierName, event: &Event, world: &World) {
        let turns = is_ready(&event.object) && !event.previous.as_ref().is_some_and(|old| is_ready(old));
        let Some(revision) = revision(&event.object).filter(|_| turns) else {
            return;
        };
        // The attempt followed the spec that it began with.
        let generation = |path: &[&str]| event.object.at(path).and_then(Value::as_i64);
        let is_own_spec =
            generation(&["status", "observedGeneration"]) == generation(&["metadata", "generation"]);
        let kustomization = Kustomization::read(&event.object).value;
        let is_unseen = world
            .kustomizations
            .tiers()
            .get(name)
            .is_none_or(|record| record.unrendered);
        if is_own_spec {
            self.check_dependencies(name, &kustomization, revision, event, world);
        }
        if !is_unseen {
            self.check_inventory(name, event, world);
            if is_own_spec && kustomization.spec.wait && kustomization.spec.health_check_exprs.is_empty() {
                self.check_health(name, event, world);
            }
        }
        if let Some(tier) = self.tiers.get_mut(name) {
            tier.ready_at.insert(revision.to_owned());
        }
    }

    fn check_inventory(&mut self, name: &TierName, event: &Event, world: &World) {
        let inventory: BTreeSet<ObjectId> = ids(&event.object);
        let record = world.kustomizations.tiers().get(name);
        let applied: BTreeSet<ObjectId> = record
            .map(|record| record.objects.iter().cloned().collect())
            .unwrap_or_default();
        let written = self
            .tiers
            .get(name)
            .map(|tier| tier.written.clone())
            .unwrap_or_default();
        let forgotten = written.iter().find(|written| !inventory.contains(&written.id));
        let holds = inventory == applied && forgotten.is_none();
        self.judge(Law::InventoryTrue, event.at, holds, || match forgotten {
            Some(written) => format!("{name} stored {} and does not remember it", written.id),
            None => {
                let odd: Vec<String> = inventory
                    .symmetric_difference(&applied)
                    .map(ToString::to_string)
                    .collect();
                format!(
                    "{name} applied other objects than it remembers: {}",
                    odd.join(", ")
                )
            }
        });
    }

    /// What changed at this very moment may have changed after the look at it.
    fn check_health(&mut self, name: &TierName, event: &Event, world: &World) {
        let unhealthy = ids(&event.object).into_iter().find_map(|id| {
            let object = world.server.object(&id)?;
            let left_alone = label_or_annotation(object, names::RECONCILE, names::DISABLED)
                || object.annotation(names::SSA).is_some();
            let status = kstatus::compute(object, event.at.unix_s(), &[]);
            let just_changed = super::history::resource_version(object) > self.moment.1;
            (status.kind != StatusKind::Current && !left_alone && !just_changed)
                .then_some((id, status.message))
        });
        self.judge(Law::ReadyMeansHealthy, event.at, unhealthy.is_none(), || {
            let (id, message) = unhealthy.unwrap_or_else(|| (ObjectId::new("", "", None, ""), String::new()));
            format!("{name} turned Ready over {id}: {message}")
        });
    }
}

/// Whether a Flux Kustomization says that it is Ready.
pub(super) fn is_ready(object: &Value) -> bool {
    object.condition_is_true(names::condition::READY)
}

fn revision(object: &Value) -> Option<&str> {
    object.text_at(&["status", "lastAppliedRevision"])
}

fn ids(object: &Value) -> BTreeSet<ObjectId> {
    InventoryEntry::all_of(object)
        .into_iter()
        .map(|entry| entry.id)
        .collect()
}
