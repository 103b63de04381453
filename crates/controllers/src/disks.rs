//! CDI's disks: what a StorageProfile says of a class, and what a DataVolume makes of it, once and for good.
//!
//! cdi-controller keeps a StorageProfile for every class and writes into its status what the profile's spec says, else what
//! it infers of the provisioner (`pkg/controller/storageprofile-controller.go`). A DataVolume without modes of its own takes
//! them from that status at the moment when it makes its claim, and never looks again
//! (`pkg/controller/datavolume/util.go`, `renderPvcSpecVolumeModeAndAccessModesAndStorageClass`). A claim's modes cannot
//! change afterwards, and whether a machine on it can move to another node follows from them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use firstpass_apiserver::{Request, Target, Time};
use firstpass_knowledge::{ClaimPropertySet, VersionPoint, clone_strategy};
use firstpass_object::{GroupKind, ObjectExt, ObjectId};
use serde_json::{Value, json};

use crate::context::{Context, Controller};
use crate::operator;
use crate::storage::classes;
use crate::timers::Timers;
use crate::trouble::Trouble;

const GROUP: &str = "cdi.kubevirt.io";
const OPERATOR: &str = "cdi-operator";
const ACTOR: &str = "cdi-controller";
const DEFAULT_VIRT_CLASS: &str = "storageclass.kubevirt.io/is-default-virt-class";

/// The model of profiles and disks.
#[derive(Clone, Debug, Default)]
pub struct DiskController {
    timers: Timers<ObjectId>,
    /// What is planned already.
    planned: BTreeSet<ObjectId>,
    /// DataVolumes that found no modes, or no class.
    waiting: BTreeSet<ObjectId>,
    stamps: BTreeMap<ObjectId, Stamp>,
    /// How often each was looked at, for draws.
    looks: BTreeMap<ObjectId, u64>,
}

/// What a disk was made with, for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The class.
    pub class: String,
    /// The access modes of its claim.
    pub access_modes: Vec<String>,
    /// The volume mode of its claim.
    pub volume_mode: String,
    /// Whether a StorageProfile was asked, which a disk with modes of its own does not.
    pub from_profile: bool,
    /// How a clone is made of its source: `snapshot`, `csi-clone` or `copy`; absent for other sources.
    pub clone: Option<String>,
    /// When.
    pub at: Time,
}

impl Stamp {
    /// Whether a running machine on the disk can move to another node: several nodes have to attach it at once.
    pub fn can_move(&self) -> bool {
        self.access_modes.iter().any(|mode| mode == "ReadWriteMany")
    }
}

impl DiskController {
    /// What each disk was made with.
    pub fn stamps(&self) -> &BTreeMap<ObjectId, Stamp> {
        &self.stamps
    }

    fn plan(&mut self, id: &ObjectId, context: &Context<'_>) {
        if !self.planned.insert(id.clone()) {
            return;
        }
        let looks = self.looks.entry(id.clone()).or_default();
        let delay = context.delays.delay("reconcile", &id.to_string(), *looks);
        *looks += 1;
        self.timers.set(context.now + delay, id.clone());
    }

    fn plan_all(&mut self, kind: &str, context: &Context<'_>) {
        let all = context.server.objects(&GroupKind::new(GROUP, kind), None);
        let ids: Vec<ObjectId> = all.map(|(id, _)| id.clone()).collect();
        for id in ids {
            self.plan(&id, context);
        }
    }

    /// Writes what a profile comes to.
    fn report_profile(&mut self, id: &ObjectId, context: &mut Context<'_>) {
        let Some(profile) = context.server.object(id).cloned() else {
            return;
        };
        let class = ObjectId::new("storage.k8s.io", "StorageClass", None, &id.name);
        let Some(class) = context.server.object(&class).cloned() else {
            return;
        };
        let mut status = json!({
            "storageClass": id.name,
            "provisioner": class.text_at(&["provisioner"]),
            "cloneStrategy": strategy(&profile, &class, context),
        });
        let sets = property_sets(&profile, &class, context);
        status["claimPropertySets"] = serde_json::to_value(sets).unwrap_or_default();
        let same = |field: &str| profile.at(&["status", field]) == status.get(field);
        if same("claimPropertySets") && same("cloneStrategy") {
            return;
        }
        let request = Request::PatchStatus {
            target: Target::of(&profile),
            patch: status,
            manager: ACTOR.into(),
        };
        let _gone_meanwhile = context.server.call(&request);
        for volume in std::mem::take(&mut self.waiting) {
            self.plan(&volume, context);
        }
    }

    /// Makes the claim of a DataVolume, with the modes that hold at this moment.
    fn provision(&mut self, id: &ObjectId, context: &mut Context<'_>) {
        if self.stamps.contains_key(id) {
            return;
        }
        let Some(volume) = context.server.object(id).cloned() else {
            return;
        };
        let Some(stamp) = stamp(&volume, context) else {
            if self.waiting.insert(id.clone()) {
                context.note(
                    ACTOR,
                    id,
                    "waits: neither it nor its StorageProfile says how to access the disk",
                );
            }
            return;
        };
        let size = ["storage", "pvc"]
            .into_iter()
            .find_map(|field| volume.at(&["spec", field, "resources"]));
        let claim = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": id.name,
                "namespace": id.namespace,
                "ownerReferences": [{
                    "apiVersion": volume.api_version(), "kind": "DataVolume", "name": id.name, "controller": true,
                    "uid": volume.text_at(&["metadata", "uid"]).unwrap_or_default(),
                }],
            },
            "spec": {
                "accessModes": stamp.access_modes,
                "volumeMode": stamp.volume_mode,
                "storageClassName": stamp.class,
                "resources": size.cloned().unwrap_or_else(|| json!({"requests": {"storage": "1Gi"}})),
            },
        });
        let create = Request::Create {
            object: Arc::new(claim),
            manager: ACTOR.into(),
        };
        let _exists_already = context.server.call(&create);
        let line = format!(
            "made with {} and {} of class {}",
            stamp.access_modes.join(", "),
            stamp.volume_mode,
            stamp.class
        );
        context.note(ACTOR, id, line);
        self.stamps.insert(id.clone(), stamp);
    }
}

/// The modes, the class and the way of cloning of a disk as they hold now; `None` if something of that is not known yet.
fn stamp(volume: &Value, context: &Context<'_>) -> Option<Stamp> {
    let modes = |spec: &Value| -> Vec<String> {
        let modes = spec.items_at(&["accessModes"]).iter();
        modes.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let spec = volume
        .at(&["spec", "storage"])
        .or_else(|| volume.at(&["spec", "pvc"]))?;
    let asks = volume.at(&["spec", "storage"]).is_some();
    let class = class_of(spec.text_at(&["storageClassName"]), asks, context)?;
    let own = modes(spec);
    let own_mode = spec.text_at(&["volumeMode"]);
    let profile = ObjectId::new(GROUP, "StorageProfile", None, &class);
    let profile = context.server.object(&profile);
    let sets: Vec<ClaimPropertySet> = profile
        .and_then(|profile| profile.at(&["status", "claimPropertySets"]))
        .and_then(|sets| serde_json::from_value(sets.clone()).ok())
        .unwrap_or_default();
    let fits = |set: &&ClaimPropertySet| {
        own_mode.is_none_or(|mode| mode == set.volume_mode)
            && (own.is_empty() || own.iter().all(|mode| set.access_modes.contains(mode)))
    };
    let (access_modes, volume_mode, from_profile) = if !asks || (!own.is_empty() && own_mode.is_some()) {
        (own, own_mode.unwrap_or("Filesystem").to_owned(), false)
    } else {
        match sets.iter().find(fits) {
            Some(set) if own.is_empty() => (set.access_modes.clone(), set.volume_mode.clone(), true),
            Some(set) => (own, set.volume_mode.clone(), true),
            None if !own.is_empty() => (own, own_mode.unwrap_or("Filesystem").to_owned(), false),
            None => return None,
        }
    };
    let is_clone = ["pvc", "snapshot"]
        .into_iter()
        .any(|source| volume.at(&["spec", "source", source]).is_some());
    let strategy = || {
        profile
            .and_then(|profile| profile.text_at(&["status", "cloneStrategy"]))
            .map(|wanted| way_of_cloning(volume, &class, &volume_mode, wanted, context))
    };
    let clone = is_clone.then(strategy).flatten();
    Some(Stamp {
        class,
        access_modes,
        volume_mode,
        from_profile,
        clone,
        at: context.now,
    })
}

/// The class of a disk: the one it names, else the default for machines, else the default.
fn class_of(named: Option<&str>, for_machines: bool, context: &Context<'_>) -> Option<String> {
    if let Some(name) = named.filter(|name| !name.is_empty()) {
        let id = ObjectId::new("storage.k8s.io", "StorageClass", None, name);
        return context.server.object(&id).map(|_| name.to_owned());
    }
    let for_machine = |class: &Value| class.annotation(DEFAULT_VIRT_CLASS) == Some("true");
    let chosen = for_machines
        .then(|| classes::newest(for_machine, context))
        .flatten();
    let chosen = chosen.or_else(|| classes::newest(classes::is_default, context));
    chosen.map(|class| class.name().to_owned())
}

/// How a clone is made: as the profile says, unless that is not possible, since the source lies on another driver or in another
/// volume mode, or the driver has no snapshot class. Then the data is copied (CDI, `pkg/controller/clone/planner.go`,
/// `computeStrategyForSourcePVC`).
fn way_of_cloning(volume: &Value, class: &str, mode: &str, wanted: &str, context: &Context<'_>) -> String {
    let driver = |class: &str| {
        let id = ObjectId::new("storage.k8s.io", "StorageClass", None, class);
        let class = context.server.object(&id)?;
        class.text_at(&["provisioner"]).map(str::to_owned)
    };
    let target = driver(class);
    let source = volume.at(&["spec", "source", "pvc"]).and_then(|source| {
        let namespace = source.text_at(&["namespace"]).or(volume.namespace());
        let id = ObjectId::new("", "PersistentVolumeClaim", namespace, source.text_at(&["name"])?);
        context.server.object(&id)
    });
    let differs = source.is_some_and(|source| {
        let class = source.text_at(&["spec", "storageClassName"]);
        let source_mode = source.text_at(&["spec", "volumeMode"]).unwrap_or("Filesystem");
        class.and_then(driver) != target || source_mode != mode
    });
    let has_class = || {
        target
            .as_ref()
            .is_some_and(|driver| has_snapshot_class(driver, context))
    };
    if differs || wanted == "snapshot" && !has_class() {
        "copy".to_owned()
    } else {
        wanted.to_owned()
    }
}

fn has_snapshot_class(driver: &str, context: &Context<'_>) -> bool {
    let kind = GroupKind::new("snapshot.storage.k8s.io", "VolumeSnapshotClass");
    let mut classes = context.server.objects(&kind, None);
    classes.any(|(_, class)| class.text_at(&["driver"]) == Some(driver))
}

/// The property sets of a profile: those of its spec, else what CDI infers of the class. A provisioner that nobody has
/// described here is taken to be one that CDI knows.
fn property_sets(profile: &Value, class: &Value, context: &Context<'_>) -> Vec<ClaimPropertySet> {
    let own: Vec<ClaimPropertySet> = profile
        .at(&["spec", "claimPropertySets"])
        .and_then(|sets| serde_json::from_value(sets.clone()).ok())
        .unwrap_or_default();
    if !own.is_empty() {
        return own;
    }
    let provisioner = class.text_at(&["provisioner"]).unwrap_or_default();
    let parameters: BTreeMap<String, String> = class
        .at(&["parameters"])
        .and_then(|parameters| serde_json::from_value(parameters.clone()).ok())
        .unwrap_or_default();
    let version = operator::running_version(OPERATOR, context).unwrap_or(VersionPoint::Newest);
    let mut known = context
        .knowledge
        .storage()
        .iter()
        .filter(|entry| entry.provisioner == provisioner)
        .peekable();
    if known.peek().is_none() {
        return vec![ClaimPropertySet {
            access_modes: vec!["ReadWriteOnce".to_owned()],
            volume_mode: "Filesystem".to_owned(),
        }];
    }
    known
        .find(|entry| entry.applies(provisioner, &parameters, version))
        .map(|entry| entry.sets.clone())
        .unwrap_or_default()
}

/// How CDI clones: as the profile says, as the class says, as the provisioner insists, else by snapshot if the driver has a
/// snapshot class, else by copying (`storageprofile-controller.go`, `reconcileCloneStrategy`).
fn strategy(profile: &Value, class: &Value, context: &Context<'_>) -> String {
    let provisioner = class.text_at(&["provisioner"]).unwrap_or_default();
    let of_spec = profile.text_at(&["spec", "cloneStrategy"]);
    let of_class = class.annotation("cdi.kubevirt.io/clone-strategy");
    if let Some(strategy) = of_spec.or(of_class) {
        return strategy.to_owned();
    }
    let insisted = context
        .knowledge
        .storage()
        .iter()
        .find(|entry| entry.provisioner == provisioner)
        .and_then(|entry| entry.clone_strategy.clone());
    insisted.unwrap_or_else(|| clone_strategy(has_snapshot_class(provisioner, context)).to_owned())
}

impl Controller for DiskController {
    fn observe(&mut self, old: Option<&Arc<Value>>, new: Option<&Arc<Value>>, context: &mut Context<'_>) {
        let Some(object) = new.or(old) else { return };
        let id = object.id();
        if id.group == GROUP && matches!(id.kind.as_str(), "StorageProfile" | "DataVolume") {
            let Some(new) = new else {
                self.stamps.remove(&id);
                self.waiting.remove(&id);
                return;
            };
            let changed = old.is_none_or(|old| old.get("spec") != new.get("spec"));
            if changed && operator::runs(ACTOR, context) {
                self.plan(&id, context);
            }
            return;
        }
        if id.is("storage.k8s.io", "StorageClass") && old.is_none() {
            let profile = ObjectId::new(GROUP, "StorageProfile", None, &id.name);
            if context.server.object(&profile).is_some() && operator::runs(ACTOR, context) {
                self.plan(&profile, context);
            }
            for volume in std::mem::take(&mut self.waiting) {
                self.plan(&volume, context);
            }
        } else if id.is("snapshot.storage.k8s.io", "VolumeSnapshotClass") && old.is_none() {
            if operator::runs(ACTOR, context) {
                self.plan_all("StorageProfile", context);
            }
        } else if id.kind == "Deployment" && new.is_some_and(|new| operator::is_of(ACTOR, new)) {
            // The controller has become ready: it lists what is there.
            let is_ready = |workload: &Arc<Value>| crate::workload::is_ready(workload);
            if new.is_some_and(is_ready) && !old.is_some_and(is_ready) {
                self.plan_all("StorageProfile", context);
                self.plan_all("DataVolume", context);
            }
        }
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        while let Some(id) = self.timers.pop_due(context.now, context.delays) {
            match context.trouble(Trouble::Operate(ACTOR)) {
                Some(Time::NEVER) => continue,
                Some(until) => {
                    self.timers.set(until, id);
                    continue;
                }
                None => {}
            }
            self.planned.remove(&id);
            if id.kind == "StorageProfile" {
                self.report_profile(&id, context);
            } else {
                self.provision(&id, context);
            }
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.timers.next()
    }

    fn is_working(&self) -> bool {
        self.timers.next().is_some()
    }
}
