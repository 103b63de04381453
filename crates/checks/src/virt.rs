//! Virtual machines and their storage: what CDI makes of a StorageClass, and which disks a machine has.

use std::collections::BTreeMap;

use firstpass_knowledge::ClaimPropertySet;
use firstpass_object::{ObjectExt, ObjectId};
use firstpass_render::RenderedObject;
use serde_json::Value;

use crate::CheckInput;

/// Marks the class that disks get which name none.
pub(crate) const DEFAULT_VIRT_CLASS: &str = "storageclass.kubevirt.io/is-default-virt-class";
const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";
const READ_WRITE_MANY: &str = "ReadWriteMany";

/// The storage of a cluster as CDI sees it.
pub(crate) struct Storage<'a> {
    input: CheckInput<'a>,
    classes: BTreeMap<String, &'a RenderedObject>,
    profiles: BTreeMap<String, &'a Value>,
}

/// What CDI knows of a class.
pub(crate) struct Abilities {
    /// How claims can be made, the preferred way first.
    pub(crate) sets: Vec<ClaimPropertySet>,
    /// How disks are cloned: `csi-clone`, `snapshot` or `copy`.
    pub(crate) clone: String,
    /// Where that comes from.
    pub(crate) source: String,
}

impl<'a> Storage<'a> {
    pub(crate) fn of(input: &CheckInput<'a>) -> Storage<'a> {
        let of_kind = |group: &'static str, kind: &'static str| {
            let objects = input.cluster.objects();
            objects
                .filter(move |(_, object)| object.is(group, kind))
                .map(|(_, object)| object)
        };
        let name = |object: &RenderedObject| object.object.name().to_owned();
        Storage {
            input: *input,
            classes: of_kind("storage.k8s.io", "StorageClass")
                .map(|class| (name(class), class))
                .collect(),
            profiles: of_kind("cdi.kubevirt.io", "StorageProfile")
                .map(|profile| (name(profile), &*profile.object))
                .collect(),
        }
    }

    /// The classes of the repository.
    pub(crate) fn classes(&self) -> impl Iterator<Item = &'a RenderedObject> {
        self.classes.values().copied()
    }

    /// The class that a disk gets which names none.
    fn default_class(&self) -> Option<&'a RenderedObject> {
        let marked = |annotation: &str| {
            let mut classes = self.classes.values();
            classes
                .find(|class| class.object.annotation(annotation) == Some("true"))
                .copied()
        };
        marked(DEFAULT_VIRT_CLASS).or_else(|| marked(DEFAULT_CLASS))
    }

    /// What CDI knows of a class; nothing of a provisioner that it does not know.
    pub(crate) fn abilities(&self, class: &Value) -> Option<Abilities> {
        let provisioner = class.text_at(&["provisioner"])?;
        let parameters: BTreeMap<String, String> = class
            .get("parameters")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect();
        let inferred = self
            .input
            .knowledge
            .storage_inference(provisioner, &parameters, None);
        let profile = self.profiles.get(class.name());
        let sets_of_profile = profile
            .map(|profile| profile.items_at(&["spec", "claimPropertySets"]))
            .unwrap_or_default();
        let written: Vec<ClaimPropertySet> = sets_of_profile
            .iter()
            .filter_map(|set| serde_json::from_value(set.clone()).ok())
            .collect();
        let (sets, source) = match (written.is_empty(), inferred) {
            (false, _) => (written, format!("`StorageProfile/{}`", class.name())),
            (true, Some(inferred)) => (
                inferred.sets.clone(),
                format!("CDI's own table ({})", inferred.file),
            ),
            (true, None) => return None,
        };
        let has_snapshots = self.input.cluster.objects().any(|(_, object)| {
            object.id().is("snapshot.storage.k8s.io", "VolumeSnapshotClass")
                && object.object.text_at(&["driver"]) == Some(provisioner)
        });
        let clone = profile
            .and_then(|profile| profile.text_at(&["spec", "cloneStrategy"]))
            .map(str::to_owned)
            .or_else(|| inferred?.clone_strategy.clone())
            .unwrap_or_else(|| firstpass_knowledge::clone_strategy(has_snapshots).to_owned());
        Some(Abilities { sets, clone, source })
    }
}

impl Abilities {
    /// Whether several nodes can have a disk at once, as a live migration needs it.
    pub(crate) fn shares(&self) -> bool {
        self.sets.iter().any(|set| is_shared(&set.access_modes))
    }

    /// Whether a clone is made by the storage and not byte by byte.
    pub(crate) fn clones(&self) -> bool {
        self.clone != "copy"
    }
}

fn is_shared(modes: &[String]) -> bool {
    modes.iter().any(|mode| mode == READ_WRITE_MANY)
}

/// One disk of a machine that cannot follow it to another node, and why.
pub(crate) struct FixedDisk {
    /// Its claim or DataVolume.
    pub(crate) volume: ObjectId,
    /// Why.
    pub(crate) why: String,
}

/// The first disk of a machine that keeps it on its node.
pub(crate) fn fixed_disk(storage: &Storage<'_>, machine: &Value) -> Option<FixedDisk> {
    let namespace = machine.namespace();
    let volumes = machine.items_at(&["spec", "template", "spec", "volumes"]);
    volumes.iter().find_map(|volume| {
        let (kind, name) = match (
            volume.text_at(&["dataVolume", "name"]),
            volume.text_at(&["persistentVolumeClaim", "claimName"]),
        ) {
            (Some(name), _) => ("DataVolume", name),
            (None, Some(name)) => ("PersistentVolumeClaim", name),
            (None, None) => return None,
        };
        let claim = claim_of(storage, machine, namespace, name)?;
        let why = why_fixed(storage, claim)?;
        let group = if kind == "DataVolume" {
            "cdi.kubevirt.io"
        } else {
            ""
        };
        Some(FixedDisk {
            volume: ObjectId::new(group, kind, namespace, name),
            why,
        })
    })
}

/// The part of a DataVolume or claim that asks for storage.
fn claim_of<'v>(
    storage: &Storage<'v>,
    machine: &'v Value,
    namespace: Option<&str>,
    name: &str,
) -> Option<&'v Value> {
    let templates = machine.items_at(&["spec", "dataVolumeTemplates"]).iter();
    let mut own = templates.filter(|template| template.name() == name);
    let spec = own.next().and_then(|template| template.get("spec"));
    let spec = spec.or_else(|| {
        storage.input.cluster.objects().find_map(|(_, object)| {
            let content = &*object.object;
            let is_it = content.name() == name && content.namespace() == namespace;
            match content.kind() {
                "DataVolume" | "PersistentVolumeClaim" if is_it => content.get("spec"),
                _ => None,
            }
        })
    })?;
    Some(spec.get("storage").or_else(|| spec.get("pvc")).unwrap_or(spec))
}

fn why_fixed(storage: &Storage<'_>, claim: &Value) -> Option<String> {
    let asked: Vec<String> = claim
        .items_at(&["accessModes"])
        .iter()
        .filter_map(|mode| mode.as_str().map(str::to_owned))
        .collect();
    if !asked.is_empty() && !is_shared(&asked) {
        return Some(format!(
            "it asks for `{}`, which one node at a time can have",
            asked.join("`, `")
        ));
    }
    let class = match claim.text_at(&["storageClassName"]) {
        Some(name) => storage.classes.get(name).copied(),
        None => storage.default_class(),
    }?;
    let abilities = storage.abilities(&class.object)?;
    let name = class.object.name();
    match (asked.is_empty(), abilities.shares()) {
        (_, false) => Some(format!(
            "its class `{name}` gives no `ReadWriteMany` ({})",
            abilities.source
        )),
        (true, true) if !is_shared(&abilities.sets.first()?.access_modes) => Some(format!(
            "it names no access mode, and the preferred one of class `{name}` is `{}` ({})",
            abilities.sets.first()?.access_modes.join("`, `"),
            abilities.source
        )),
        _ => None,
    }
}

/// Where a machine's eviction strategy comes from.
pub(crate) struct Eviction {
    /// `LiveMigrate`, `LiveMigrateIfPossible`, `External` or `None`.
    pub(crate) strategy: String,
    /// The KubeVirt object that sets it for all machines, if the machine does not.
    pub(crate) from: Option<ObjectId>,
}

/// What happens to a machine when its node is drained.
pub(crate) fn eviction(input: &CheckInput<'_>, machine: &Value) -> Option<Eviction> {
    let own = machine.text_at(&["spec", "template", "spec", "evictionStrategy"]);
    if let Some(own) = own {
        return Some(Eviction {
            strategy: own.to_owned(),
            from: None,
        });
    }
    input.cluster.objects().find_map(|(_, object)| {
        if !object.id().is("kubevirt.io", "KubeVirt") {
            return None;
        }
        let strategy = object
            .object
            .text_at(&["spec", "configuration", "evictionStrategy"])?;
        Some(Eviction {
            strategy: strategy.to_owned(),
            from: Some(object.id()),
        })
    })
}
