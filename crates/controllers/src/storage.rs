//! Claims and volumes: when is a claim bound, and what does it wait for?
//!
//! A claim of a class that binds immediately is bound after its volume is provisioned. One whose class waits for the
//! first consumer stays pending until a pod that mounts it is there, even if a matching volume exists. A claim that names
//! its volume binds to it at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use firstpass_apiserver::{Request, Target, Time};
use firstpass_object::{GroupKind, ObjectExt, ObjectId};
use serde_json::{Value, json};

use crate::context::{Context, Controller};
use crate::timers::Timers;
use crate::workload::{is_workload, needs};

const ACTOR: &str = "persistentvolume-controller";
const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// The model of claims and volumes.
#[derive(Clone, Debug, Default)]
pub struct StorageController {
    claims: BTreeMap<ObjectId, ClaimRecord>,
    /// Which workloads mount a claim.
    consumers: BTreeMap<ObjectId, BTreeSet<ObjectId>>,
    timers: Timers<ObjectId>,
    /// Classes that nothing brings and that are taken to exist, with a claim that uses each.
    assumed: BTreeMap<String, ObjectId>,
}

/// What became of a claim so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimRecord {
    /// What it waits for; absent once it is bound or on its way.
    pub waits_for: Option<ClaimWait>,
    under_way: bool,
    bound: bool,
}

/// What a claim waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimWait {
    /// A pod that mounts it, since its class binds at the first consumer.
    Consumer {
        /// The class.
        class: String,
    },
    /// Its class does not exist yet.
    Class {
        /// The class; empty for "the default class".
        class: String,
    },
    /// A volume that fits, since nothing provisions one.
    Volume {
        /// The class; empty for none.
        class: String,
    },
}

/// How a claim can be bound.
enum Binding {
    /// Now.
    Bind,
    /// Not yet.
    Wait(ClaimWait),
}

impl StorageController {
    /// What became of each claim so far.
    pub fn claims(&self) -> &BTreeMap<ObjectId, ClaimRecord> {
        &self.claims
    }

    /// Classes that nothing brings and that are taken to exist, with a claim that uses each.
    pub fn assumed(&self) -> &BTreeMap<String, ObjectId> {
        &self.assumed
    }

    fn look(&mut self, id: &ObjectId, context: &mut Context<'_>) {
        let Some(claim) = context.server.object(id).cloned() else {
            return;
        };
        let record = self.claims.entry(id.clone()).or_default();
        if record.bound || record.under_way {
            return;
        }
        if claim.text_at(&["status", "phase"]) == Some("Bound") {
            record.bound = true;
            return;
        }
        match self.binding(id, &claim, context) {
            Binding::Bind => {
                let delay = context.delays.delay("volume-provision", &id.to_string(), 0);
                self.timers.set(context.now + delay, id.clone());
                let record = self.claims.entry(id.clone()).or_default();
                record.under_way = true;
                record.waits_for = None;
            }
            Binding::Wait(wait) => {
                let record = self.claims.entry(id.clone()).or_default();
                if record.waits_for.as_ref() != Some(&wait) {
                    context.note(ACTOR, id, format!("pending: {wait}"));
                    write_phase(&claim, "Pending", context);
                }
                let record = self.claims.entry(id.clone()).or_default();
                record.waits_for = Some(wait);
            }
        }
    }

    fn binding(&mut self, id: &ObjectId, claim: &Value, context: &Context<'_>) -> Binding {
        if claim
            .text_at(&["spec", "volumeName"])
            .is_some_and(|name| !name.is_empty())
        {
            return Binding::Bind;
        }
        let named = claim.text_at(&["spec", "storageClassName"]);
        let class = match named {
            Some("") => return bind_statically("", claim, context),
            Some(name) => {
                let class_id = ObjectId::new("storage.k8s.io", "StorageClass", None, name);
                match context.server.object(&class_id) {
                    Some(class) => Arc::clone(class),
                    None if find_volume(name, claim, context) => return Binding::Bind,
                    None if context.contents.brings(&class_id) || context.contents.rules_out(&class_id) => {
                        return Binding::Wait(ClaimWait::Class {
                            class: name.to_owned(),
                        });
                    }
                    None => {
                        self.assumed.entry(name.to_owned()).or_insert_with(|| id.clone());
                        return Binding::Bind;
                    }
                }
            }
            None => match default_class(context) {
                Some(class) => class,
                // Nothing says that there is one; charts of storage systems often bring it.
                None => {
                    self.assumed.entry(String::new()).or_insert_with(|| id.clone());
                    return Binding::Bind;
                }
            },
        };
        let waits = class.text_at(&["volumeBindingMode"]) == Some("WaitForFirstConsumer");
        let has_consumer = self
            .consumers
            .get(id)
            .is_some_and(|consumers| !consumers.is_empty());
        if waits && !has_consumer {
            return Binding::Wait(ClaimWait::Consumer {
                class: class.name().to_owned(),
            });
        }
        if class.text_at(&["provisioner"]) == Some(NO_PROVISIONER) {
            return bind_statically(class.name(), claim, context);
        }
        Binding::Bind
    }

    fn bind(&mut self, id: &ObjectId, context: &mut Context<'_>) {
        let Some(claim) = context.server.object(id).cloned() else {
            self.claims.remove(id);
            return;
        };
        write_phase(&claim, "Bound", context);
        context.note(ACTOR, id, "bound");
        let record = self.claims.entry(id.clone()).or_default();
        *record = ClaimRecord {
            waits_for: None,
            under_way: false,
            bound: true,
        };
    }

    /// Looks again at every claim that waits, since a class or a volume came.
    fn look_at_all(&mut self, context: &mut Context<'_>) {
        let waiting: Vec<ObjectId> = self
            .claims
            .iter()
            .filter(|(_, record)| record.waits_for.is_some())
            .map(|(id, _)| id.clone())
            .collect();
        for claim in waiting {
            self.look(&claim, context);
        }
    }

    fn note_consumer(
        &mut self,
        old: Option<&Arc<Value>>,
        new: Option<&Arc<Value>>,
        context: &mut Context<'_>,
    ) {
        let Some(workload) = new.or(old) else { return };
        if workload.annotation(crate::marks::POD_OF).is_some() {
            return;
        }
        let id = workload.id();
        let Some(new) = new else {
            for consumers in self.consumers.values_mut() {
                consumers.remove(&id);
            }
            return;
        };
        if old.is_some_and(|old| old.get("spec") == new.get("spec")) {
            return;
        }
        // A workload without replicas has no pods that could mount anything.
        if new.at(&["spec", "replicas"]).and_then(Value::as_i64) == Some(0) {
            return;
        }
        for claim in needs::of(new).claims {
            self.consumers
                .entry(claim.clone())
                .or_default()
                .insert(id.clone());
            if self.claims.contains_key(&claim) {
                self.look(&claim, context);
            }
        }
    }
}

impl Controller for StorageController {
    fn observe(&mut self, old: Option<&Arc<Value>>, new: Option<&Arc<Value>>, context: &mut Context<'_>) {
        let Some(object) = new.or(old) else { return };
        let id = object.id();
        let kind = id.group_kind();
        if kind.is("", "PersistentVolumeClaim") {
            match new {
                Some(_) => self.look(&id, context),
                None => {
                    self.claims.remove(&id);
                }
            }
        } else if is_workload(&kind) {
            self.note_consumer(old, new, context);
        } else if old.is_none()
            && (kind.is("storage.k8s.io", "StorageClass") || kind.is("", "PersistentVolume"))
        {
            self.look_at_all(context);
        }
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        while let Some(claim) = self.timers.pop_due(context.now, context.delays) {
            self.bind(&claim, context);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.timers.next()
    }

    fn is_working(&self) -> bool {
        self.timers.next().is_some()
    }
}

impl std::fmt::Display for ClaimWait {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ClaimWait::Consumer { class } => {
                write!(
                    formatter,
                    "waits for its first consumer, as StorageClass/{class} says"
                )
            }
            ClaimWait::Class { class } => write!(formatter, "waits for StorageClass/{class}"),
            ClaimWait::Volume { class } if class.is_empty() => {
                formatter.write_str("waits for a volume that fits")
            }
            ClaimWait::Volume { class } => write!(formatter, "waits for a volume of class {class} that fits"),
        }
    }
}

fn default_class(context: &Context<'_>) -> Option<Arc<Value>> {
    let mut classes = context
        .server
        .objects(&GroupKind::new("storage.k8s.io", "StorageClass"), None);
    classes
        .find(|(_, class)| class.annotation(DEFAULT_CLASS) == Some("true"))
        .map(|(_, class)| Arc::clone(class))
}

fn bind_statically(class: &str, claim: &Value, context: &Context<'_>) -> Binding {
    if find_volume(class, claim, context) {
        Binding::Bind
    } else {
        Binding::Wait(ClaimWait::Volume {
            class: class.to_owned(),
        })
    }
}

/// Whether a volume of the class is there that the claim can have: reserved for it, or free.
fn find_volume(class: &str, claim: &Value, context: &Context<'_>) -> bool {
    let mut volumes = context
        .server
        .objects(&GroupKind::new("", "PersistentVolume"), None);
    volumes.any(|(_, volume)| {
        let same_class = volume.text_at(&["spec", "storageClassName"]).unwrap_or_default() == class;
        let reserved = volume.at(&["spec", "claimRef"]).is_none_or(|reference| {
            reference.text_at(&["name"]) == Some(claim.name())
                && reference
                    .text_at(&["namespace"])
                    .is_none_or(|namespace| Some(namespace) == claim.namespace())
        });
        same_class && reserved
    })
}

fn write_phase(claim: &Value, phase: &str, context: &mut Context<'_>) {
    let request = Request::PatchStatus {
        target: Target::of(claim),
        patch: json!({"phase": phase}),
        manager: "kube-controller-manager".into(),
    };
    let _gone_meanwhile = context.server.call(&request);
}
