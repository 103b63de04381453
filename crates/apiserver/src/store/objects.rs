//! The objects by kind, namespace and name.

use std::collections::BTreeMap;
use std::sync::Arc;

use ecow::EcoString;
use firstpass_object::{GroupKind, ObjectId};
use serde_json::Value;

use crate::apply::Managers;

/// One object as stored: its content and, beside it, who owns which field. Field ownership stays out of the content
/// because it would double it, and because no rule of Flux but its undo list (F-246) reads it.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) id: Arc<ObjectId>,
    pub(crate) object: Arc<Value>,
    pub(crate) managers: Managers,
}

type ByName = BTreeMap<EcoString, Arc<Stored>>;
type ByNamespace = BTreeMap<EcoString, Arc<ByName>>;

/// All objects. The namespace of cluster-scoped objects is the empty text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects {
    by_kind: BTreeMap<GroupKind, Arc<ByNamespace>>,
    len: usize,
}

fn namespace_of(id: &ObjectId) -> &str {
    id.namespace.as_deref().unwrap_or_default()
}

impl Objects {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, id: &ObjectId) -> Option<&Arc<Stored>> {
        self.by_kind
            .get(&id.group_kind())?
            .get(namespace_of(id))?
            .get(id.name.as_str())
    }

    pub(crate) fn insert(&mut self, stored: Stored) {
        let id = Arc::clone(&stored.id);
        let by_namespace = Arc::make_mut(self.by_kind.entry(id.group_kind()).or_default());
        let namespace = namespace_of(&id);
        if !by_namespace.contains_key(namespace) {
            by_namespace.insert(namespace.into(), Arc::default());
        }
        let by_name = Arc::make_mut(by_namespace.get_mut(namespace).expect("inserted above"));
        let previous = match by_name.get_mut(id.name.as_str()) {
            Some(slot) => Some(std::mem::replace(slot, Arc::new(stored))),
            None => by_name.insert(id.name.clone(), Arc::new(stored)),
        };
        if previous.is_none() {
            self.len += 1;
        }
    }

    pub(crate) fn remove(&mut self, id: &ObjectId) -> Option<Arc<Stored>> {
        let by_namespace = Arc::make_mut(self.by_kind.get_mut(&id.group_kind())?);
        let by_name = Arc::make_mut(by_namespace.get_mut(namespace_of(id))?);
        let removed = by_name.remove(id.name.as_str())?;
        self.len -= 1;
        if by_name.is_empty() {
            by_namespace.remove(namespace_of(id));
        }
        Some(removed)
    }

    /// The objects of a kind by namespace and name; of one namespace, or of all.
    pub(crate) fn list<'a>(
        &'a self,
        kind: &GroupKind,
        namespace: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Arc<Stored>> + use<'a> {
        let by_namespace = self.by_kind.get(kind);
        let one = namespace.and_then(|namespace| by_namespace?.get(namespace));
        let all = if namespace.is_none() { by_namespace } else { None };
        one.into_iter()
            .chain(all.into_iter().flat_map(|all| all.values()))
            .flat_map(|by_name| by_name.values())
    }

    /// Everything in a namespace, by kind and name.
    pub(crate) fn in_namespace<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Arc<Stored>> {
        self.by_kind
            .values()
            .filter_map(move |by_namespace| by_namespace.get(namespace))
            .flat_map(|by_name| by_name.values())
    }

    /// Everything there is, by kind, namespace and name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Stored>> {
        self.by_kind
            .values()
            .flat_map(|by_namespace| by_namespace.values())
            .flat_map(|by_name| by_name.values())
    }
}
