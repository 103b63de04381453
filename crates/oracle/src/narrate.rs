//! From changes to lines: what a person would tell of a run, and nothing that is random by nature.
//!
//! Told are: objects that come, change in what they ask for, and go; of Flux's own objects the attempts and what came of
//! them. Not told are statuses of other objects and what Kubernetes does on its own account. Attempts that end as the one
//! before did, with nothing in between, are told once more as `again` and then no more.

use std::collections::{BTreeMap, BTreeSet};

use firstpass_object::{ObjectExt, ObjectId};
use serde_json::Value;

use crate::change::{Change, Item};
use crate::recording::{Entry, Recording};
use crate::wording::normalise;

/// Kinds that Kubernetes writes for itself.
const UNSEEN_KINDS: [&str; 7] = [
    "APIService",
    "ControllerRevision",
    "EndpointSlice",
    "Endpoints",
    "Event",
    "Lease",
    "HelmChart",
];

const KUSTOMIZE_GROUP: &str = "kustomize.toolkit.fluxcd.io";
const HELM_GROUP: &str = "helm.toolkit.fluxcd.io";
const SOURCE_GROUP: &str = "source.toolkit.fluxcd.io";

/// What came of the actions of a HelmRelease, beside Ready.
const OUTCOMES: [&str; 3] = ["Released", "TestSuccess", "Remediated"];

/// Tells what happened from the step `begin` on.
pub fn narrate(items: &[Item]) -> Recording {
    let mut narrator = Narrator::default();
    let mut begun = None;
    for item in &joined(items) {
        match item {
            Item::Step { at, text } => {
                let start = *begun.get_or_insert(*at);
                narrator.step(at - start, text);
            }
            Item::Change(change) => {
                if let Some(start) = begun {
                    narrator.tell(change, change.at - start);
                }
            }
        }
    }
    narrator.recording
}

/// Within so many seconds a controller writes one status in several patches: conditions first, then the rest.
const ONE_WRITE_S: f64 = 0.3;

/// The changes, with patches of one status write joined: those that leave the Ready condition as the first wrote it.
fn joined(items: &[Item]) -> Vec<Item> {
    let mut joined: Vec<Item> = Vec::new();
    let mut last: BTreeMap<ObjectId, usize> = BTreeMap::new();
    for item in items {
        let Item::Change(change) = item else {
            joined.push(item.clone());
            continue;
        };
        if lane_of_flux_object(&change.id).is_some()
            && let Some(Item::Change(before)) = last.get(&change.id).and_then(|index| joined.get_mut(*index))
            && is_rest_of_write(before, change)
        {
            before.new.clone_from(&change.new);
            continue;
        }
        last.insert(change.id.clone(), joined.len());
        joined.push(item.clone());
    }
    joined
}

fn is_rest_of_write(before: &Change, change: &Change) -> bool {
    let (Some(old), Some(first), Some(second)) = (&before.old, &before.new, &change.new) else {
        return false;
    };
    let ready = |object: &Value| {
        object
            .condition("Ready")
            .map(|ready| (ready["status"].clone(), ready["reason"].clone()))
    };
    // What came of another action is a write of its own, however soon.
    let differ = |one: &Value, other: &Value| {
        OUTCOMES
            .iter()
            .any(|kind| outcome(one, kind) != outcome(other, kind))
    };
    first
        .condition("Ready")
        .is_some_and(|ready| ready["status"] != "Unknown")
        && (ready(old) != ready(first) || differ(old, first))
        && ready(first) == ready(second)
        && !differ(first, second)
        && change.at - before.at < ONE_WRITE_S
        && changed_parts(first, second).is_empty()
        && deletion(first) == deletion(second)
}

#[derive(Default)]
struct Narrator {
    recording: Recording,
    /// Of Flux objects: the attempt that is under way and the outcome told last.
    attempts: BTreeMap<String, Attempt>,
}

#[derive(Default)]
struct Attempt {
    /// When it began, if that is not told yet.
    began: Option<f64>,
    /// The last outcome, if nothing else happened since.
    outcome: Option<String>,
    /// Whether `again` was told.
    repeated: bool,
}

impl Narrator {
    fn step(&mut self, at: f64, text: &str) {
        self.recording.entries.push(Entry {
            at,
            tier: String::new(),
            object: String::new(),
            what: text.to_owned(),
        });
    }

    fn line(&mut self, at: f64, tier: &str, object: &str, what: String) {
        if let Some(attempt) = self.attempts.get_mut(tier) {
            attempt.outcome = None;
            attempt.repeated = false;
            if let Some(began) = attempt.began.take() {
                self.push(began, tier, &tier_object(tier), "attempt".to_owned());
            }
        }
        self.push(at, tier, object, what);
    }

    fn push(&mut self, at: f64, tier: &str, object: &str, what: String) {
        self.recording.entries.push(Entry {
            at,
            tier: tier.to_owned(),
            object: object.to_owned(),
            what,
        });
    }

    fn tell(&mut self, change: &Change, at: f64) {
        if is_unseen(change) {
            return;
        }
        let object = change.id.to_string();
        let own_lane = lane_of_flux_object(&change.id);
        let owner = owner(change);
        let by_flux = change.by == "kustomize-controller" || change.by == "helm-controller";
        let lane = if change.by == "helm-controller" && own_lane.is_none() {
            // Whose releases an object is of is said by helm's storage, not by the object.
            String::new()
        } else if !is_end(change) && (by_flux || is_direct_deletion(change)) {
            owner.unwrap_or_default()
        } else {
            own_lane.clone().unwrap_or_default()
        };
        match (&change.old, &change.new) {
            (None, Some(_)) => self.line(at, &lane, &object, format!("created by {}", who(change))),
            (Some(_), None) => self.line(at, &lane, &object, "gone".to_owned()),
            (Some(old), Some(new)) => {
                if deletion(old).is_none() && deletion(new).is_some() {
                    self.line(at, &lane, &object, "deleting".to_owned());
                }
                let parts = changed_parts(old, new);
                if !parts.is_empty() {
                    self.line(
                        at,
                        &lane,
                        &object,
                        format!("changed by {}: {}", who(change), parts.join(", ")),
                    );
                }
                self.tell_status(at, own_lane.as_deref(), &object, old, new);
            }
            (None, None) => {}
        }
    }

    fn tell_status(&mut self, at: f64, lane: Option<&str>, object: &str, old: &Value, new: &Value) {
        if new.kind() == "CustomResourceDefinition"
            && new.condition_is_true("Established")
            && !old.condition_is_true("Established")
        {
            self.line(at, "", object, "established".to_owned());
        }
        let group = firstpass_object::group_of(new.api_version());
        if group == SOURCE_GROUP && new.kind() == "GitRepository" {
            let revision =
                |object: &Value| object.text_at(&["status", "artifact", "revision"]).map(normalise);
            if let Some(now) = revision(new).filter(|now| revision(old).as_ref() != Some(now)) {
                self.line(at, "", object, format!("artifact: {now}"));
            }
        }
        let Some(lane) = lane else { return };
        if group == KUSTOMIZE_GROUP {
            let (before, after) = (inventory(old), inventory(new));
            if before != after {
                let gone = before.difference(&after).map(|id| format!("-{id}"));
                let come = after.difference(&before).map(|id| format!("+{id}"));
                let words: Vec<String> = come.chain(gone).collect();
                self.line(at, lane, object, format!("inventory: {}", words.join(" ")));
            }
        }
        for (field, word) in [
            ("lastAttemptedRevision", "attempted"),
            ("lastAppliedRevision", "applied"),
        ] {
            let value = |object: &Value| object.text_at(&["status", field]).map(normalise);
            // helm-controller's are those of charts, and said by its conditions.
            if let Some(now) =
                value(new).filter(|now| group == KUSTOMIZE_GROUP && value(old).as_ref() != Some(now))
            {
                self.line(at, lane, object, format!("{word}: {now}"));
            }
        }
        for kind in OUTCOMES {
            let now = outcome(new, kind);
            if let Some(now) = now.filter(|now| outcome(old, kind).as_ref() != Some(now)) {
                self.line(at, lane, object, now);
            }
        }
        self.tell_ready(at, lane, object, old, new);
    }

    fn tell_ready(&mut self, at: f64, lane: &str, object: &str, old: &Value, new: &Value) {
        let status = |object: &Value| {
            let ready = object.condition("Ready");
            ready
                .and_then(|ready| ready["status"].as_str())
                .unwrap_or("")
                .to_owned()
        };
        let attempt = self.attempts.entry(lane.to_owned()).or_default();
        if status(new) == "Unknown" {
            if status(old) != "Unknown" {
                attempt.began = Some(at);
            }
            return;
        }
        let Some(now) = outcome(new, "Ready") else { return };
        let was_attempt = status(old) == "Unknown";
        if !was_attempt && outcome(old, "Ready").as_ref() == Some(&now) {
            return;
        }
        if attempt.outcome.as_ref() == Some(&now) {
            let waits = now.contains("DependencyNotReady") || now.contains("retrying in");
            let tell = !attempt.repeated && was_attempt && !waits;
            attempt.began = None;
            if tell {
                attempt.repeated = true;
                self.push(at, lane, object, "again".to_owned());
            }
            return;
        }
        self.line(at, lane, object, now.clone());
        let attempt = self.attempts.entry(lane.to_owned()).or_default();
        attempt.outcome = Some(now);
    }
}

/// A condition in words, with what else says whether it will be tried again.
fn outcome(object: &Value, kind: &str) -> Option<String> {
    let condition = object.condition(kind)?;
    let text = |field: &str| condition[field].as_str().unwrap_or_default();
    let mut words = format!(
        "{kind}={} {}: {}",
        text("status"),
        text("reason"),
        normalise(text("message"))
    );
    if kind == "Ready" {
        if object.condition_is_true("Stalled") {
            words.push_str(" [stalled]");
        }
        let generation = object.at(&["metadata", "generation"]).and_then(Value::as_i64);
        let observed = object
            .at(&["status", "observedGeneration"])
            .and_then(Value::as_i64);
        // Being deleted is a generation of its own, which nobody observes.
        if generation != observed && deletion(object).is_none() {
            words.push_str(" [not observed]");
        }
    }
    Some(words)
}

/// Statuses are told of Flux's objects that make others.
fn lane_of_flux_object(id: &ObjectId) -> Option<String> {
    let name = |prefix: &str| match id.namespace.as_deref() {
        Some("flux-system") | None => format!("{prefix}{}", id.name),
        Some(namespace) => format!("{prefix}{namespace}/{}", id.name),
    };
    if id.is(KUSTOMIZE_GROUP, "Kustomization") {
        Some(name(""))
    } else if id.is(HELM_GROUP, "HelmRelease") {
        Some(name("hr:"))
    } else {
        None
    }
}

/// The object of a lane.
fn tier_object(lane: &str) -> String {
    let (kind, name) = match lane.strip_prefix("hr:") {
        Some(name) => ("HelmRelease", name),
        None => ("Kustomization", lane),
    };
    match name.split_once('/') {
        Some((namespace, name)) => format!("{kind}/{namespace}/{name}"),
        None => format!("{kind}/flux-system/{name}"),
    }
}

/// The tier that an object's labels name.
fn owner(change: &Change) -> Option<String> {
    let of = |object: &Value| {
        for (group, prefix) in [(KUSTOMIZE_GROUP, ""), (HELM_GROUP, "hr:")] {
            let label = |key: &str| object.label(&format!("{group}/{key}")).map(str::to_owned);
            if let (Some(name), Some(namespace)) = (label("name"), label("namespace")) {
                return Some(match namespace.as_str() {
                    "flux-system" => format!("{prefix}{name}"),
                    _ => format!("{prefix}{namespace}/{name}"),
                });
            }
        }
        None
    };
    let helm = |object: &Value| {
        let is_helm = change.by == "helm-controller";
        is_helm.then(|| object.annotation("meta.helm.sh/release-name").map(str::to_owned))?
    };
    change
        .new
        .as_deref()
        .and_then(of)
        .or_else(|| change.old.as_deref().and_then(of))
        .or_else(|| {
            change
                .new
                .as_deref()
                .and_then(helm)
                .map(|name| format!("hr:{name}"))
        })
}

/// Whether an object went at once when somebody deleted it.
fn is_direct_deletion(change: &Change) -> bool {
    match (&change.old, &change.new) {
        (Some(old), None) => deletion(old).is_none(),
        (Some(old), Some(new)) => deletion(old).is_none() && deletion(new).is_some(),
        _ => false,
    }
}

/// Whether an object goes that was being deleted before: whoever took its last finalizer off did it.
fn is_end(change: &Change) -> bool {
    let was_deleted = change.old.as_deref().and_then(deletion).is_some();
    change.new.is_none() && was_deleted
}

fn deletion(object: &Value) -> Option<&Value> {
    object.at(&["metadata", "deletionTimestamp"])
}

/// What an object asks for that is not as it was.
fn changed_parts(old: &Value, new: &Value) -> Vec<String> {
    let mut parts: BTreeSet<String> = BTreeSet::new();
    for object in [old, new] {
        for key in object.as_object().into_iter().flatten().map(|(key, _)| key) {
            let is_content = !matches!(key.as_str(), "metadata" | "status" | "apiVersion" | "kind");
            if is_content && old.get(key) != new.get(key) {
                parts.insert(key.clone());
            }
        }
    }
    for key in ["labels", "annotations"] {
        if old.at(&["metadata", key]) != new.at(&["metadata", key]) {
            parts.insert(key.to_owned());
        }
    }
    // A namespace that ends loses Kubernetes' own finalizer in its spec.
    if new.kind() == "Namespace" {
        parts.remove("spec");
    }
    parts.into_iter().collect()
}

fn inventory(object: &Value) -> BTreeSet<String> {
    let entries = object.items_at(&["status", "inventory", "entries"]).iter();
    entries
        .filter_map(|entry| entry["id"].as_str())
        .map(str::to_owned)
        .collect()
}

fn who(change: &Change) -> &str {
    match change.by.as_str() {
        "" => "somebody",
        by => by,
    }
}

fn is_unseen(change: &Change) -> bool {
    let id = &change.id;
    if UNSEEN_KINDS.contains(&id.kind.as_str()) {
        return true;
    }
    let namespace = id.namespace.as_deref().unwrap_or_default();
    if namespace.starts_with("kube-") || namespace == "oracle-steps" || id.name == "oracle-steps" {
        return true;
    }
    let is_flux_crd = id.kind == "CustomResourceDefinition" && id.name.ends_with(".toolkit.fluxcd.io");
    is_flux_crd
        || id.is("", "ConfigMap") && id.name == "kube-root-ca.crt"
        || id.is("", "ServiceAccount") && id.name == "default"
        || id.is("", "Secret") && id.name.starts_with("sh.helm.release.")
}
