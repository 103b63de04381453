//! The one way in which a state gets into the store and the log.

use std::sync::Arc;

use firstpass_object::{ObjectExt, ObjectId};
use serde_json::{Map, Value};

use super::ApiServer;
use crate::store::{Event, EventType, Stored};

/// The metadata of an object, made if it is missing.
pub(super) fn metadata_mut(object: &mut Value) -> &mut Map<String, Value> {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let fields = object.as_object_mut().expect("made one above");
    let metadata = fields
        .entry("metadata")
        .or_insert_with(|| Value::Object(Map::new()));
    if !metadata.is_object() {
        *metadata = Value::Object(Map::new());
    }
    metadata.as_object_mut().expect("made one above")
}

/// The uids of an object's owners.
pub(super) fn owner_uids(object: &Value) -> impl Iterator<Item = &str> {
    object
        .items_at(&["metadata", "ownerReferences"])
        .iter()
        .filter_map(|owner| owner.text_at(&["uid"]))
}

impl ApiServer {
    /// Stores a state with a new resource version, logs the change, and does what follows from it.
    pub(super) fn persist(&mut self, mut stored: Stored, by: &Arc<str>) -> Arc<Value> {
        self.resource_version += 1;
        let object = Arc::make_mut(&mut stored.object);
        let version = Value::String(self.resource_version.to_string());
        metadata_mut(object).insert("resourceVersion".to_owned(), version);
        let previous = self
            .objects
            .get(&stored.id)
            .map(|stored| Arc::clone(&stored.object));
        let object = Arc::clone(&stored.object);
        let id = Arc::clone(&stored.id);
        self.index_owners(&id, previous.as_deref(), Some(&object));
        self.objects.insert(stored);
        self.log.push(Event {
            index: 0,
            at: self.now,
            event_type: if previous.is_some() {
                EventType::Modified
            } else {
                EventType::Added
            },
            id: Arc::clone(&id),
            object: Arc::clone(&object),
            previous: previous.clone(),
            by: Arc::clone(by),
        });
        if previous.is_none() {
            self.after_create(&id, &object);
        } else {
            self.after_change(&id, &object);
        }
        object
    }

    /// Takes an object out of the store, logs that, and does what follows from it.
    pub(super) fn drop_object(&mut self, id: &ObjectId, by: &Arc<str>) {
        let Some(stored) = self.objects.remove(id) else {
            return;
        };
        self.resource_version += 1;
        self.index_owners(&stored.id, Some(&stored.object), None);
        self.log.push(Event {
            index: 0,
            at: self.now,
            event_type: EventType::Deleted,
            id: Arc::clone(&stored.id),
            object: Arc::clone(&stored.object),
            previous: Some(Arc::clone(&stored.object)),
            by: Arc::clone(by),
        });
        self.after_removal(&stored.id, &stored.object);
    }

    pub(super) fn next_uid(&mut self) -> String {
        self.uid += 1;
        uid_text(self.uid)
    }

    /// The uid that the next object will get.
    pub(super) fn peek_uid(&self) -> String {
        uid_text(self.uid + 1)
    }

    fn index_owners(&mut self, id: &Arc<ObjectId>, before: Option<&Value>, after: Option<&Value>) {
        let owners = |object: Option<&Value>| -> Vec<String> {
            object
                .map(|object| owner_uids(object).map(str::to_owned).collect())
                .unwrap_or_default()
        };
        let (before, after) = (owners(before), owners(after));
        if before == after {
            return;
        }
        let index = Arc::make_mut(&mut self.owned);
        for uid in before {
            if let Some(owned) = index.get_mut(&uid) {
                owned.remove(id);
                if owned.is_empty() {
                    index.remove(&uid);
                }
            }
        }
        for uid in after {
            index.entry(uid).or_default().insert(Arc::clone(id));
        }
    }

    fn after_create(&mut self, id: &Arc<ObjectId>, object: &Arc<Value>) {
        if id.is("apiextensions.k8s.io", "CustomResourceDefinition") {
            self.crd_created(id);
        } else if id.is("", "Namespace") {
            self.namespace_created(&id.name);
        }
        self.collect_if_orphaned(id, object);
    }

    fn after_change(&mut self, id: &Arc<ObjectId>, object: &Arc<Value>) {
        if id.is("apiextensions.k8s.io", "CustomResourceDefinition") {
            self.crd_changed(id, object);
        }
    }

    fn after_removal(&mut self, id: &ObjectId, object: &Value) {
        if id.is("apiextensions.k8s.io", "CustomResourceDefinition") {
            self.crd_removed(object);
        }
        self.owner_removed(object);
        self.dependent_removed(id, object);
        self.look_again_after_removal(id);
    }
}

/// A number in the form of a uid.
fn uid_text(number: u64) -> String {
    format!(
        "{:08x}-0000-4000-8000-{:012x}",
        number >> 48,
        number & 0xffff_ffff_ffff
    )
}
