//! What enqueues a Kustomization (F-100 to F-107, F-161).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use firstpass_flux::{Kustomization, KustomizeGate, names};
use firstpass_object::{GroupKind, ObjectExt, ObjectId, TierName};
use serde_json::Value;

use super::KustomizationController;
use crate::context::Context;
use crate::queue::PRIORITY_NORMAL;

impl KustomizationController {
    /// F-100: creation, a new generation, a request.
    pub(super) fn observe_own(
        &mut self,
        old: Option<&Arc<Value>>,
        new: Option<&Arc<Value>>,
        context: &mut Context<'_>,
    ) {
        let Some(new) = new else {
            if let Some(old) = old {
                let tier = tier_of(old);
                self.workers.queue.remove(&tier);
                self.tiers.remove(&tier);
                self.prepared.remove(&tier);
                if self.terminations.remove(&tier).is_some() {
                    self.workers.held.remove(&tier);
                    self.workers.queue.done(&tier);
                }
            }
            return;
        };
        let differs = |path: &[&str]| old.is_none_or(|old| old.at(path) != new.at(path));
        let woken = differs(&["metadata", "generation"])
            || differs(&["metadata", "deletionTimestamp"])
            || differs(&["metadata", "annotations", names::REQUESTED_AT]);
        if woken {
            let tier = tier_of(new);
            let spec_changed = old.is_some_and(|old| old.at(&["spec"]) != new.at(&["spec"]));
            let record = self.record(&tier);
            if spec_changed {
                record.ready_at = None;
            }
            self.enqueue(&tier, &new.id(), context);
        }
    }

    /// F-101, F-102: a source has its first artifact or a new revision.
    pub(super) fn observe_source(
        &mut self,
        old: Option<&Arc<Value>>,
        new: Option<&Arc<Value>>,
        context: &mut Context<'_>,
    ) {
        let Some(source) = new.or(old) else { return };
        let revision = |object: Option<&Arc<Value>>| {
            object
                .and_then(|object| object.text_at(&["status", "artifact", "revision"]))
                .map(str::to_owned)
        };
        // A source without an artifact wakes nobody, new or not; one that goes wakes those that are not at its revision.
        let newest = revision(new.or(old));
        if newest.is_none() {
            return;
        }
        if old.is_some() && new.is_some() && (newest.is_none() || revision(old) == newest) {
            return;
        }
        let id = source.id();
        let users: Vec<Arc<Value>> = kustomizations(context)
            .into_iter()
            .filter(|object| uses(object, &id))
            .filter(|object| !is_current(object, newest.as_deref(), context))
            .collect();
        for tier in self.in_dependency_order(&users, context) {
            if new.is_some()
                && self
                    .tiers
                    .get(&tier)
                    .is_some_and(|record| record.revision != newest)
            {
                self.record(&tier).ready_at = None;
            }
            self.enqueue(&tier, &id, context);
        }
    }

    /// F-107: ConfigMaps and Secrets that ask for it wake their users, since Flux 2.7 (F-1713).
    pub(super) fn observe_config(
        &mut self,
        old: Option<&Arc<Value>>,
        new: Option<&Arc<Value>>,
        context: &mut Context<'_>,
    ) {
        let Some(object) = new.or(old) else { return };
        let watched = object.label(names::WATCH_LABEL) == Some("Enabled");
        if !watched
            || !context.settings.flux.at_least(7)
            || context.settings.gate(KustomizeGate::DisableConfigWatchers)
        {
            return;
        }
        let content = |object: Option<&Arc<Value>>| {
            object.map(|object| (object.get("data").cloned(), object.get("stringData").cloned()))
        };
        if content(old) == content(new) {
            return;
        }
        let id = object.id();
        for user in kustomizations(context) {
            let kustomization = Kustomization::read(&user).value;
            let references = kustomization
                .spec
                .post_build
                .iter()
                .flat_map(|build| &build.substitute_from);
            let substitutes = references
                .into_iter()
                .any(|reference| reference.kind == id.kind && reference.name == id.name);
            let decrypts = kustomization
                .spec
                .decryption
                .as_ref()
                .and_then(|decryption| decryption.secret_ref.as_deref())
                == Some(id.name.as_str())
                && id.kind == "Secret";
            if id.namespace.as_deref() == Some(&kustomization.name.namespace) && (substitutes || decrypts) {
                // What it was Ready with is no longer what it is asked for.
                if let Some(record) = self.tiers.get_mut(&kustomization.name) {
                    record.ready_at = None;
                }
                self.enqueue(&kustomization.name, &id, context);
            }
        }
    }

    /// Adds a key, and ends its health wait where the gate says so (F-160, F-161, F-1718).
    fn enqueue(&mut self, tier: &TierName, trigger: &ObjectId, context: &Context<'_>) {
        self.workers.queue.add(tier.clone(), context.now, PRIORITY_NORMAL);
        let cancels = context
            .settings
            .gate(KustomizeGate::CancelHealthCheckOnNewRevision)
            && (context.settings.flux.at_least(8) || trigger.group == names::SOURCE_GROUP);
        if let Some(attempt) = self.workers.attempts.get_mut(tier)
            && cancels
            && attempt.is_in_health_wait()
        {
            attempt.canceled_by = Some(trigger.to_string());
            attempt.next_at = context.now;
        }
    }

    /// F-103, F-104: dependencies first; those outside of the set join it since Flux 2.7 (F-1710). A cycle, and nothing
    /// is enqueued.
    fn in_dependency_order(&self, users: &[Arc<Value>], context: &Context<'_>) -> Vec<TierName> {
        let joins = context.settings.flux.at_least(7);
        let mut dependencies: BTreeMap<TierName, Vec<TierName>> = BTreeMap::new();
        for user in users {
            let kustomization = Kustomization::read(user).value;
            dependencies.insert(kustomization.name.clone(), kustomization.dependencies().collect());
        }
        let mut order = Vec::new();
        let mut done = BTreeSet::new();
        for tier in dependencies.keys() {
            let mut path = Vec::new();
            if !visit(tier, &dependencies, joins, &mut path, &mut done, &mut order) {
                return Vec::new();
            }
        }
        order
    }
}

/// Appends a tier after its dependencies; `false` on a cycle. The stack is explicit, since a chain may be long.
fn visit(
    tier: &TierName,
    dependencies: &BTreeMap<TierName, Vec<TierName>>,
    joins: bool,
    path: &mut Vec<(TierName, usize)>,
    done: &mut BTreeSet<TierName>,
    order: &mut Vec<TierName>,
) -> bool {
    if done.contains(tier) {
        return true;
    }
    let mut on_path = BTreeSet::from([tier.clone()]);
    path.push((tier.clone(), 0));
    while let Some((current, index)) = path.last_mut() {
        let next = dependencies
            .get(current)
            .and_then(|list| list.get(*index))
            .cloned();
        *index += 1;
        let Some(next) = next else {
            let (finished, _) = path.pop().unwrap_or_else(|| (tier.clone(), 0));
            on_path.remove(&finished);
            if done.insert(finished.clone()) {
                order.push(finished);
            }
            continue;
        };
        if on_path.contains(&next) {
            // F-1711: up to 2.6 a dependency on oneself goes unnoticed.
            if !joins && *current == next {
                continue;
            }
            return false;
        }
        if done.contains(&next) || !(joins || dependencies.contains_key(&next)) {
            continue;
        }
        on_path.insert(next.clone());
        path.push((next, 0));
    }
    true
}

/// Whether a Kustomization is built from a source. Nearly all are built from another one, which shows without reading all of
/// it.
fn uses(kustomization: &Value, source: &ObjectId) -> bool {
    let reference = |field: &str| kustomization.text_at(&["spec", "sourceRef", field]);
    let may_use = reference("kind") == Some(&source.kind) && reference("name") == Some(&source.name);
    let source_of = |object| Kustomization::read(object).value.source();
    may_use && source_of(kustomization).is_some_and(|used| used.id() == *source)
}

/// F-102: nothing to do for those that have, or are at, the newest revision already.
fn is_current(object: &Value, newest: Option<&str>, context: &Context<'_>) -> bool {
    let attempted = object.text_at(&["status", "lastAttemptedRevision"]);
    let ready = object.condition_is_true(names::condition::READY);
    // F-1712
    let counts_running =
        context.settings.flux.kustomize_controller() >= firstpass_flux::ControllerVersion::new(8, 2);
    let reconciling = counts_running && object.condition_is_true(names::condition::RECONCILING);
    newest.is_some() && attempted == newest && (ready || reconciling)
}

fn tier_of(object: &Value) -> TierName {
    TierName::new(object.namespace().unwrap_or_default(), object.name())
}

pub(super) fn kustomizations(context: &Context<'_>) -> Vec<Arc<Value>> {
    let kind = GroupKind::new(names::KUSTOMIZE_GROUP, names::KUSTOMIZATION);
    context
        .server
        .objects(&kind, None)
        .map(|(_, object)| Arc::clone(object))
        .collect()
}
