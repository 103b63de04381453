//! What no rehearsal may break.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use firstpass_apiserver::{Cursor, Event, EventType, Time};
use firstpass_controllers::kustomization::{Obstacle, TierRecord};
use firstpass_flux::names;
use firstpass_object::{ObjectExt, ObjectId, TierName};
use firstpass_sim::World;
use serde_json::Value;

use super::repository::Plan;

/// Deletions that somebody asked for are written under this name.
const DELETION: &str = "delete";

/// Checks that follow a world from its first event on.
#[derive(Default)]
pub(super) struct Laws {
    cursor: Cursor,
    /// Flux Kustomizations as they were last seen.
    tiers: BTreeMap<TierName, Arc<Value>>,
    /// Those that have been Ready.
    ready: BTreeSet<TierName>,
    /// What kustomize-controller wrote of the objects of a tier, and when.
    applied: BTreeMap<TierName, Vec<(Time, ObjectId)>>,
    /// How many failed attempts of each tier have been looked at.
    failures: BTreeMap<TierName, usize>,
}

impl Laws {
    /// Looks at what happened since the last look.
    pub(super) fn look(&mut self, world: &World, plan: &Plan) {
        let events: Vec<Event> = world.server.events_since(self.cursor).cloned().collect();
        self.cursor = world.server.log().head();
        for event in &events {
            self.check_deletion(event);
            if event.id.is(names::KUSTOMIZE_GROUP, names::KUSTOMIZATION) {
                self.follow_tier(event, plan);
            }
            if let Some(owner) = owner(&event.object)
                && &*event.by == names::KUSTOMIZE_MANAGER
                && !event.id.is(names::KUSTOMIZE_GROUP, names::KUSTOMIZATION)
            {
                self.applied
                    .entry(owner)
                    .or_default()
                    .push((event.at, (*event.id).clone()));
            }
        }
        for (tier, record) in world.kustomizations.tiers() {
            self.check_failures(tier, record);
        }
    }

    /// No prune without ownership (F-420 to F-426): what kustomize-controller deletes carries the labels of a Flux
    /// Kustomization that prunes, and nothing that asks to be left alone.
    fn check_deletion(&self, event: &Event) {
        let is_deletion = event.event_type == EventType::Deleted
            || event.object.at(&["metadata", "deletionTimestamp"]).is_some()
                && event
                    .previous
                    .as_ref()
                    .is_some_and(|previous| previous.at(&["metadata", "deletionTimestamp"]).is_none());
        if !is_deletion || &*event.by != DELETION {
            return;
        }
        let owner =
            owner(&event.object).unwrap_or_else(|| panic!("{} was deleted and nobody owned it", event.id));
        let tier = &self.tiers[&owner];
        assert_eq!(
            tier.at(&["spec", "prune"]),
            Some(&Value::Bool(true)),
            "{} was deleted, but {owner} does not prune",
            event.id
        );
        assert_ne!(
            event.object.annotation(names::PRUNE),
            Some(names::DISABLED),
            "{} was deleted, but asks to be left alone",
            event.id
        );
    }

    /// No Ready before dependencies (F-120 to F-123).
    fn follow_tier(&mut self, event: &Event, plan: &Plan) {
        let name = TierName::new(event.object.namespace().unwrap_or_default(), event.object.name());
        if event.event_type != EventType::Deleted {
            self.tiers.insert(name.clone(), Arc::clone(&event.object));
        }
        if !event.object.condition_is_true(names::condition::READY) {
            return;
        }
        for dependency in plan.dependencies(&name.name).unwrap_or_default() {
            let dependency = TierName::new(&name.namespace, &dependency);
            assert!(
                self.ready.contains(&dependency),
                "{name} is Ready and {dependency} never was"
            );
        }
        self.ready.insert(name);
    }

    /// No apply past a failed dry-run of its stage (F-212): at the moment of a refusal nothing of the same stage, or of
    /// a later one, is written.
    fn check_failures(&mut self, tier: &TierName, record: &TierRecord) {
        let seen = self.failures.entry(tier.clone()).or_default();
        for failed in record.failures.iter().skip(*seen) {
            let is_dry_run = ["dry-run failed", "not found: ", "namespace not specified: "]
                .iter()
                .any(|text| failed.failure.message.contains(text));
            let stage = failed.failure.obstacles.iter().find_map(refused).map(stage_of);
            let (true, Some(stage)) = (is_dry_run, stage) else {
                continue;
            };
            let written = self.applied.get(tier).into_iter().flatten();
            for (at, id) in written {
                assert!(
                    *at <= failed.began_at || *at > failed.ended_at || stage_of(id) < stage,
                    "{tier} wrote {id} at {at}, although a dry-run of its stage failed at {}: {}",
                    failed.ended_at,
                    failed.failure.message
                );
            }
        }
        *seen = record.failures.len();
    }
}

/// The Flux Kustomization that an object's labels name.
fn owner(object: &Value) -> Option<TierName> {
    let namespace = object.label(names::OWNER_NAMESPACE_LABEL)?;
    Some(TierName::new(namespace, object.label(names::OWNER_NAME_LABEL)?))
}

fn refused(obstacle: &Obstacle) -> Option<&ObjectId> {
    match obstacle {
        Obstacle::UnknownKind { object, .. }
        | Obstacle::NamespaceUnset { object }
        | Obstacle::NamespaceMissing { object, .. }
        | Obstacle::NamespaceTerminating { object, .. }
        | Obstacle::Webhook { object, .. }
        | Obstacle::Refused { object, .. } => Some(object),
        _ => None,
    }
}

/// Definitions go first, then classes, then the rest (F-210).
fn stage_of(id: &ObjectId) -> u8 {
    match id.kind.as_str() {
        "CustomResourceDefinition" | "Namespace" | "ClusterRole" => 0,
        "StorageClass" => 1,
        _ => 2,
    }
}
