//! What a Flux Kustomization remembers of the objects that it applied (F-400 to F-402).

use ecow::EcoString;
use firstpass_object::{GroupVersionKind, ObjectId};
use serde_json::{Value, json};

/// One object that a Flux Kustomization applied: its identity, and the version in which it was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The object.
    pub id: ObjectId,
    /// The version alone, such as `v1`.
    pub version: EcoString,
}

impl Entry {
    /// The entry of an object in a version.
    pub fn new(id: ObjectId, version: &str) -> Entry {
        Entry {
            id,
            version: version.into(),
        }
    }

    /// What the inventory of a Flux Kustomization holds.
    pub fn all_of(kustomization: &Value) -> Vec<Entry> {
        read(kustomization["status"].get("inventory"))
    }

    /// Group, version and kind of the object.
    pub fn gvk(&self) -> GroupVersionKind {
        GroupVersionKind {
            group: self.id.group.clone(),
            version: self.version.clone(),
            kind: self.id.kind.clone(),
        }
    }

    /// `<namespace>_<name>_<group>_<kind>`; colons in names of RBAC objects become `__` (F-400).
    fn key(&self) -> String {
        let ObjectId {
            group,
            kind,
            namespace,
            name,
        } = &self.id;
        let name = if group == "rbac.authorization.k8s.io" {
            name.replace(":", "__")
        } else {
            name.clone()
        };
        format!(
            "{}_{name}_{group}_{kind}",
            namespace.as_deref().unwrap_or_default()
        )
    }

    fn parse(key: &str, version: &str) -> Option<Entry> {
        let (namespace, rest) = key.split_once('_')?;
        let (rest, kind) = rest.rsplit_once('_')?;
        let (name, group) = rest.rsplit_once('_')?;
        let name = if group == "rbac.authorization.k8s.io" {
            name.replace("__", ":")
        } else {
            name.to_owned()
        };
        Some(Entry::new(
            ObjectId::new(group, kind, Some(namespace), &name),
            version,
        ))
    }
}

/// Reads `status.inventory`.
pub(super) fn read(status_inventory: Option<&Value>) -> Vec<Entry> {
    let entries = status_inventory.and_then(|inventory| inventory["entries"].as_array());
    let parse = |entry: &Value| Entry::parse(entry["id"].as_str()?, entry["v"].as_str()?);
    entries.map_or_else(Vec::new, |entries| entries.iter().filter_map(parse).collect())
}

/// Writes `status.inventory`.
pub(super) fn write(entries: &[Entry]) -> Value {
    let entry = |entry: &Entry| json!({"id": entry.key(), "v": entry.version});
    json!({"entries": entries.iter().map(entry).collect::<Vec<_>>()})
}

/// The entries of the old inventory that the new one lacks (F-402). The version is no part of the identity.
pub(super) fn stale(old: &[Entry], new: &[Entry]) -> Vec<Entry> {
    let present: std::collections::BTreeSet<&ObjectId> = new.iter().map(|entry| &entry.id).collect();
    old.iter()
        .filter(|entry| !present.contains(&entry.id))
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_written_and_read_as_flux_does() {
        // F-400
        let table = [
            (ObjectId::new("", "ConfigMap", Some("ns"), "n"), "ns_n__ConfigMap"),
            (
                ObjectId::new("rbac.authorization.k8s.io", "ClusterRole", None, "system:x"),
                "_system__x_rbac.authorization.k8s.io_ClusterRole",
            ),
        ];
        for (id, key) in table {
            let entry = Entry::new(id, "v1");
            assert_eq!(entry.key(), key);
            assert_eq!(read(Some(&write(std::slice::from_ref(&entry)))), [entry]);
        }
        assert_eq!(
            read(Some(&json!({"entries": [{"id": "nonsense", "v": "v1"}]}))),
            []
        );
    }

    #[test]
    fn a_changed_version_is_not_stale() {
        // F-402
        let entry = |kind: &str, version: &str| Entry::new(ObjectId::new("g", kind, None, "x"), version);
        let old = [entry("A", "v1"), entry("B", "v1")];
        assert_eq!(stale(&old, &[entry("A", "v2")]), [entry("B", "v1")]);
    }
}
