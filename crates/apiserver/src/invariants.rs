//! What must be true of every server at every moment. The checker stands outside: it knows only what a client can see,
//! and it remembers the whole history of what it saw.

use std::collections::BTreeMap;
use std::sync::Arc;

use firstpass_object::{ObjectExt, ObjectId};
use serde_json::Value;

use crate::{ApiServer, Cursor, EventType, Operation, PathElement, Time};

/// Follows one server (or one branch of it) and panics when it does what no server may do.
///
/// ```
/// use firstpass_apiserver::{ApiServer, Options, invariants::Witness};
/// let server = ApiServer::new(Options::minor(36));
/// let mut witness = Witness::default();
/// witness.look(&server);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Witness {
    cursor: Cursor,
    at: Time,
    /// The newest resource version seen.
    resource_version: u64,
    /// What a watcher believes to exist, from events alone.
    believed: BTreeMap<Arc<ObjectId>, Arc<Value>>,
    /// Every uid ever seen, and whose it was.
    uids: BTreeMap<String, Arc<ObjectId>>,
}

impl Witness {
    /// Looks at what happened since the last look.
    ///
    /// # Panics
    /// If an invariant does not hold; the message says which.
    pub fn look(&mut self, server: &ApiServer) {
        for event in server.events_since(self.cursor) {
            assert_eq!(event.index, self.cursor.0, "the log has no holes");
            self.cursor = Cursor(self.cursor.0 + 1);
            assert!(
                event.at >= self.at && event.at <= server.now(),
                "events come in the order of time"
            );
            self.at = event.at;
            assert_eq!(
                event.object.id(),
                *event.id,
                "an event is about the object it carries"
            );
            let before = self.believed.get(&event.id);
            match event.event_type {
                EventType::Added => {
                    assert!(before.is_none(), "{} was added twice", event.id);
                    self.check_uid(&event.id, &event.object);
                }
                EventType::Modified => {
                    let before = before.unwrap_or_else(|| panic!("{} changed before it was added", event.id));
                    check_change(&event.id, before, &event.object);
                }
                EventType::Deleted => {
                    assert!(before.is_some(), "{} went before it was added", event.id);
                    let held = event.object.items_at(&["metadata", "finalizers"]);
                    assert!(held.is_empty(), "{} went while a finalizer held it", event.id);
                    self.believed.remove(&event.id);
                    continue;
                }
            }
            let version = resource_version(&event.object);
            assert!(
                version > self.resource_version,
                "resource versions only grow: {}",
                event.id
            );
            self.resource_version = version;
            self.believed
                .insert(Arc::clone(&event.id), Arc::clone(&event.object));
        }
        self.check_state(server);
    }

    fn check_uid(&mut self, id: &Arc<ObjectId>, object: &Value) {
        let uid = object.text_at(&["metadata", "uid"]).unwrap_or_default();
        assert!(!uid.is_empty(), "{id} has no uid");
        let other = self.uids.insert(uid.to_owned(), Arc::clone(id));
        assert!(other.is_none(), "{id} has the uid of {other:?}");
    }

    /// Whoever watched from the beginning knows exactly what there is.
    fn check_state(&self, server: &ApiServer) {
        assert_eq!(
            self.believed.len(),
            server.object_count(),
            "a watch missed something"
        );
        for (id, object) in server.all_objects() {
            assert!(
                self.believed
                    .get(id)
                    .is_some_and(|believed| Arc::ptr_eq(believed, object)),
                "a watch missed a change of {id}"
            );
            let namespace = id
                .namespace
                .as_ref()
                .map(|name| ObjectId::new("", "Namespace", None, name));
            assert!(
                namespace.is_none_or(|namespace| server.object(&namespace).is_some()),
                "{id} is in no namespace"
            );
            check_owners(server, id, object);
        }
    }
}

fn resource_version(object: &Value) -> u64 {
    let version = object
        .text_at(&["metadata", "resourceVersion"])
        .and_then(|version| version.parse().ok());
    version.expect("a stored object has a resource version")
}

/// Between two states of an object some things stay, and some only grow.
fn check_change(id: &ObjectId, before: &Value, after: &Value) {
    for field in ["uid", "creationTimestamp"] {
        let path = ["metadata", field];
        assert_eq!(before.at(&path), after.at(&path), "{field} of {id} changed");
    }
    let deletion = ["metadata", "deletionTimestamp"];
    assert!(
        before.at(&deletion).is_none() || before.at(&deletion) == after.at(&deletion),
        "the deletion of {id} was taken back"
    );
    let generation = |object: &Value| object.at(&["metadata", "generation"]).and_then(Value::as_u64);
    assert!(
        generation(before) <= generation(after),
        "the generation of {id} shrank"
    );
    if generation(before).is_some() && generation(before) == generation(after) {
        assert_eq!(
            before.get("spec"),
            after.get("spec"),
            "the spec of {id} changed without its generation"
        );
    }
}

/// Every field that a manager is said to have applied is there, except for empty maps and lists of built-in kinds, which
/// Go's types drop.
fn check_owners(server: &ApiServer, id: &ObjectId, object: &Value) {
    let is_custom = server
        .resource(&id.group_kind())
        .is_some_and(|resource| resource.crd.is_some());
    for manager in server
        .managers(id)
        .into_iter()
        .flat_map(|managers| managers.iter())
    {
        assert!(
            !manager.fields.is_empty(),
            "{} owns nothing of {id}",
            manager.name
        );
        for path in manager.fields.paths() {
            let fields_only = path.iter().all(|step| matches!(step, PathElement::Field(_)));
            // What `stringData` states ends up in `data`.
            let is_written_only = path.first().is_some_and(|step| step.to_string() == ".stringData");
            // Empty maps and lists of built-in kinds are owned and not stored.
            let may_be_dropped = !is_custom
                && matches!(path.last(), Some(PathElement::Field(name)) if name == "data" || name == "rules");
            if manager.operation == Operation::Apply && fields_only && !is_written_only && !may_be_dropped {
                let mut value = Some(object);
                for step in &path {
                    if let PathElement::Field(name) = step {
                        value = value.and_then(|value| value.get(name.as_str()));
                    }
                }
                assert!(
                    value.is_some(),
                    "{} owns {path:?} of {id}, which is not there",
                    manager.name
                );
            }
        }
    }
}
