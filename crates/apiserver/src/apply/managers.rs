//! Who owns which fields of an object.

use std::sync::Arc;

use serde_json::Value;

use super::FieldSet;

/// How a manager came to own fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// By server-side apply: the set is what it states.
    Apply,
    /// By creating, updating or patching: the set is what it changed.
    Update,
}

/// One entry of an object's managed fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manager {
    /// Name of the field manager.
    pub name: Arc<str>,
    /// Apply or update.
    pub operation: Operation,
    /// `status` if it wrote through that subresource.
    pub subresource: Option<&'static str>,
    /// `apiVersion` that it wrote in.
    pub api_version: Arc<str>,
    /// What it owns.
    pub fields: Arc<FieldSet>,
}

/// The managed fields of one object.
#[derive(Clone, Debug, Default)]
pub struct Managers(Arc<Vec<Manager>>);

impl Managers {
    /// All entries, in the order in which they first wrote.
    pub fn iter(&self) -> impl Iterator<Item = &Manager> {
        self.0.iter()
    }

    /// The entry of a manager for the main resource.
    pub fn get(&self, name: &str, operation: Operation) -> Option<&Manager> {
        self.iter().find(|entry| entry.is(name, operation, None))
    }

    /// Whether a manager other than `name` applies the value that a JSON pointer names in an object.
    pub fn applied_by_others(&self, name: &str, object: &Value, pointer: &str) -> bool {
        let steps: Vec<String> = pointer
            .split('/')
            .skip(1)
            .map(|step| step.replace("~1", "/").replace("~0", "~"))
            .collect();
        self.iter()
            .filter(|entry| entry.operation == Operation::Apply && &*entry.name != name)
            .any(|entry| entry.fields.reaches(object, &steps))
    }

    /// Whether both say the same.
    pub(crate) fn same_as(&self, other: &Managers) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }

    /// Sets what a manager owns; an empty set removes its entry.
    pub(crate) fn set(&mut self, manager: Manager) {
        let entries = Arc::make_mut(&mut self.0);
        let place = entries
            .iter()
            .position(|entry| entry.is(&manager.name, manager.operation, manager.subresource));
        match (place, manager.fields.is_empty()) {
            (Some(index), true) => {
                entries.remove(index);
            }
            (Some(index), false) => entries[index] = manager,
            (None, true) => {}
            (None, false) => entries.push(manager),
        }
    }

    /// Takes paths away from everybody but one entry.
    pub(crate) fn take(&mut self, paths: &FieldSet, but: (&str, Operation, Option<&str>)) {
        if paths.is_empty() || !self.iter().any(|entry| !entry.fields.and(paths).is_empty()) {
            return;
        }
        let entries = Arc::make_mut(&mut self.0);
        for entry in entries.iter_mut() {
            if !entry.is(but.0, but.1, but.2) {
                let left = entry.fields.minus(paths);
                if left != *entry.fields {
                    entry.fields = Arc::new(left);
                }
            }
        }
        entries.retain(|entry| !entry.fields.is_empty());
    }

    /// Hands the fields of some entries to the apply entry of a manager, as Flux does before it applies (F-246).
    pub(crate) fn absorb(&mut self, into: &str, api_version: &str, whose: impl Fn(&Manager) -> bool) -> bool {
        let mut fields = FieldSet::default();
        let mut found = false;
        for entry in self.iter() {
            if entry.subresource.is_none() && !entry.is(into, Operation::Apply, None) && whose(entry) {
                fields.extend(&entry.fields);
                found = true;
            }
        }
        if !found {
            return false;
        }
        if let Some(own) = self.get(into, Operation::Apply) {
            fields.extend(&own.fields);
        }
        Arc::make_mut(&mut self.0).retain(|entry| {
            entry.subresource.is_some() || entry.is(into, Operation::Apply, None) || !whose(entry)
        });
        self.set(Manager {
            name: Arc::from(into),
            operation: Operation::Apply,
            subresource: None,
            api_version: Arc::from(api_version),
            fields: Arc::new(fields),
        });
        true
    }
}

impl Manager {
    pub(crate) fn is(&self, name: &str, operation: Operation, subresource: Option<&str>) -> bool {
        &*self.name == name && self.operation == operation && self.subresource == subresource
    }
}
