//! Claims and volumes: when is a claim bound, and what does it wait for?
//!
//! A claim of a class that binds immediately gets a volume that fits, or is bound after one is provisioned. One whose class
//! waits for the first consumer stays pending until a pod that mounts it is there, unless a volume is reserved for it. A claim
//! that names its volume waits for that one. A claim without a class gets the default class, also one that comes later.

pub(crate) mod classes;
mod volumes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use firstpass_apiserver::{Request, Target, Time};
use firstpass_object::{ObjectExt, ObjectId};
use serde_json::{Value, json};

use crate::context::{Context, Controller};
use crate::timers::Timers;
use crate::workload::{is_workload, needs};

const ACTOR: &str = "persistentvolume-controller";
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
    /// Volumes that a claim has, or had: whoever deletes it does not give the volume back.
    taken: BTreeMap<ObjectId, ObjectId>,
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
    /// The volume that it names.
    Named {
        /// Its name.
        volume: String,
        /// What is wrong with it; `None` if it does not exist yet.
        objection: Option<&'static str>,
    },
    /// A provisioner that can do what it asks for: its class's cannot.
    Mode {
        /// The class.
        class: String,
        /// The access mode that is refused.
        mode: String,
    },
}

/// How a claim can be bound.
enum Binding {
    /// Now, to a volume that is made for it or that nobody here can see.
    Bind,
    /// Now, to this volume.
    To(ObjectId),
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
        let binding = self.binding(id, &claim, context);
        if let Binding::To(volume) = &binding {
            self.taken.insert(volume.clone(), id.clone());
        }
        match binding {
            Binding::Bind | Binding::To(_) => {
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
        let named_class = claim.text_at(&["spec", "storageClassName"]);
        let named_volume = claim.text_at(&["spec", "volumeName"]);
        if let Some(volume) = named_volume.filter(|volume| !volume.is_empty()) {
            return self.bind_to(volume, named_class, claim, context);
        }
        let class = match named_class {
            Some("") => return self.bind_statically("", claim, context),
            Some(name) => {
                let class_id = ObjectId::new("storage.k8s.io", "StorageClass", None, name);
                match context.server.object(&class_id) {
                    Some(class) => Arc::clone(class),
                    None => {
                        if let Some(volume) = volumes::find(name, claim, false, &self.taken, context) {
                            return Binding::To(volume);
                        }
                        if context.contents.brings(&class_id) || context.contents.rules_out(&class_id) {
                            return Binding::Wait(ClaimWait::Class {
                                class: name.to_owned(),
                            });
                        }
                        self.assumed.entry(name.to_owned()).or_insert_with(|| id.clone());
                        return Binding::Bind;
                    }
                }
            }
            None => match classes::default_class(context) {
                Some(class) => class,
                None if context.contents.brings_default_class() => {
                    return Binding::Wait(ClaimWait::Class { class: String::new() });
                }
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
        let only_reserved = waits && !has_consumer;
        if let Some(volume) = volumes::find(class.name(), claim, only_reserved, &self.taken, context) {
            return Binding::To(volume);
        }
        if only_reserved {
            return Binding::Wait(ClaimWait::Consumer {
                class: class.name().to_owned(),
            });
        }
        if class.text_at(&["provisioner"]) == Some(NO_PROVISIONER) {
            return self.bind_statically(class.name(), claim, context);
        }
        if let Some(mode) = classes::refused_mode(&class, claim, context) {
            return Binding::Wait(ClaimWait::Mode {
                class: class.name().to_owned(),
                mode,
            });
        }
        Binding::Bind
    }

    /// A claim that names its volume gets that one or none.
    fn bind_to(&self, name: &str, class: Option<&str>, claim: &Value, context: &Context<'_>) -> Binding {
        let volume_id = ObjectId::new("", "PersistentVolume", None, name);
        let wait = |objection| {
            Binding::Wait(ClaimWait::Named {
                volume: name.to_owned(),
                objection,
            })
        };
        let Some(volume) = context.server.object(&volume_id) else {
            let is_seen = context.contents.brings(&volume_id) || context.contents.rules_out(&volume_id);
            return if is_seen { wait(None) } else { Binding::Bind };
        };
        let default = classes::default_class(context);
        let class = class
            .or_else(|| default.as_deref().map(ObjectExt::name))
            .unwrap_or_default();
        match volumes::objection(class, claim, volume, self.taken.contains_key(&volume_id)) {
            Some(objection) => wait(Some(objection)),
            None => Binding::To(volume_id),
        }
    }

    fn bind_statically(&self, class: &str, claim: &Value, context: &Context<'_>) -> Binding {
        match volumes::find(class, claim, false, &self.taken, context) {
            Some(volume) => Binding::To(volume),
            None => Binding::Wait(ClaimWait::Volume {
                class: class.to_owned(),
            }),
        }
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
        } else if kind.is("storage.k8s.io", "StorageClass") && metadata_changed(old, new)
            || kind.is("", "PersistentVolume") && old.is_none()
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
            ClaimWait::Class { class } if class.is_empty() => {
                formatter.write_str("waits for a default storage class")
            }
            ClaimWait::Class { class } => write!(formatter, "waits for StorageClass/{class}"),
            ClaimWait::Volume { class } if class.is_empty() => {
                formatter.write_str("waits for a volume that fits")
            }
            ClaimWait::Volume { class } => write!(formatter, "waits for a volume of class {class} that fits"),
            ClaimWait::Named { volume, objection } => match objection {
                None => write!(formatter, "waits for PersistentVolume/{volume}"),
                Some(objection) => write!(formatter, "names PersistentVolume/{volume}, which {objection}"),
            },
            ClaimWait::Mode { class, mode } => {
                write!(
                    formatter,
                    "asks for {mode}, which the provisioner of StorageClass/{class} refuses"
                )
            }
        }
    }
}

/// Whether an object is new, or its annotations are.
fn metadata_changed(old: Option<&Arc<Value>>, new: Option<&Arc<Value>>) -> bool {
    let annotations =
        |object: Option<&Arc<Value>>| object.map(|object| object.at(&["metadata", "annotations"]).cloned());
    annotations(old) != annotations(new)
}

fn write_phase(claim: &Value, phase: &str, context: &mut Context<'_>) {
    let request = Request::PatchStatus {
        target: Target::of(claim),
        patch: json!({"phase": phase}),
        manager: "kube-controller-manager".into(),
    };
    let _gone_meanwhile = context.server.call(&request);
}
