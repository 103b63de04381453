//! Deletion: finalizers, owner references and the garbage collector.

use std::sync::Arc;

use firstpass_object::{GroupKind, ObjectExt, ObjectId, group_of};
use serde_json::Value;

use super::persist::{metadata_mut, owner_uids};
use super::policies::Judged;
use super::{ApiServer, timers::Timer};
use crate::error::{ApiError, Reason};
use crate::request::{Propagation, Response, Target};

const FOREGROUND: &str = "foregroundDeletion";
const GARBAGE_COLLECTOR: &str = "generic-garbage-collector";

fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    object
        .items_at(&["metadata", "finalizers"])
        .iter()
        .filter_map(Value::as_str)
}

impl ApiServer {
    pub(super) fn delete(
        &mut self,
        target: &Target,
        propagation: Propagation,
        uid: Option<&str>,
        by: &Arc<str>,
    ) -> Result<Response, ApiError> {
        let (resource, id) = self.locate(target)?;
        let Some(stored) = self.objects.get(&id).cloned() else {
            return Err(ApiError::not_found(&resource, &id.name));
        };
        let actual = stored.object.text_at(&["metadata", "uid"]).unwrap_or_default();
        if let Some(uid) = uid.filter(|uid| *uid != actual) {
            let message = format!(
                "Operation cannot be fulfilled on {} \"{}\": Precondition failed: UID in precondition: {uid}, UID in object meta: {actual}",
                resource.group_resource(),
                id.name
            );
            return Err(ApiError::new(409, Reason::Conflict, message));
        }
        let judged = Judged {
            resource: &resource,
            id: &id,
            object: &Value::Null,
            old: &stored.object,
            operation: "DELETE",
        };
        self.check_mutating(&judged)?;
        self.check_validating(&judged)?;
        if resource.is_namespaced() || !is_protected_namespace(&id) {
            self.delete_object(&id, propagation, by);
        } else {
            let message = format!(
                "namespaces \"{}\" is forbidden: this namespace may not be deleted",
                id.name
            );
            return Err(ApiError::new(403, Reason::Forbidden, message));
        }
        let left = self.object(&id).cloned();
        Ok(Response::Deleted {
            gone: left.is_none(),
            object: left.unwrap_or_else(|| Arc::clone(&stored.object)),
        })
    }

    /// Deletes an object, or marks it for deletion while finalizers hold it.
    pub(super) fn delete_object(&mut self, id: &ObjectId, propagation: Propagation, by: &Arc<str>) {
        let Some(stored) = self.objects.get(id).cloned() else {
            return;
        };
        if id.is("", "Namespace") {
            return self.terminate_namespace(&stored, by);
        }
        if propagation == Propagation::Orphan {
            self.orphan_dependents(&stored.object);
        }
        let uid = stored.object.text_at(&["metadata", "uid"]).unwrap_or_default();
        let foreground = propagation == Propagation::Foreground && self.owned.contains_key(uid);
        if !foreground && finalizers(&stored.object).next().is_none() {
            return self.drop_object(id, by);
        }
        if stored
            .object
            .text_at(&["metadata", "deletionTimestamp"])
            .is_some()
        {
            return;
        }
        let mut next = (*stored).clone();
        let metadata = metadata_mut(Arc::make_mut(&mut next.object));
        metadata.insert(
            "deletionTimestamp".to_owned(),
            Value::String(self.now.timestamp()),
        );
        metadata.insert("deletionGracePeriodSeconds".to_owned(), Value::from(0));
        // The server counts a graceful deletion as a change of what is wanted.
        if let Some(generation) = metadata.get("generation").and_then(Value::as_u64) {
            metadata.insert("generation".to_owned(), Value::from(generation + 1));
        }
        if foreground
            && let Value::Array(finalizers) = metadata
                .entry("finalizers")
                .or_insert_with(|| Value::Array(Vec::new()))
        {
            finalizers.push(Value::from(FOREGROUND));
        }
        let id = Arc::clone(&next.id);
        self.persist(next, by);
        if foreground {
            self.set_timer(self.delays.garbage_collection, Timer::FinishForeground(id));
        }
    }

    /// Takes a finalizer off an object; one under deletion goes with its last finalizer.
    pub(super) fn remove_finalizer(&mut self, id: &ObjectId, finalizer: &str, by: &Arc<str>) {
        let Some(stored) = self.objects.get(id).cloned() else {
            return;
        };
        let mut next = (*stored).clone();
        let metadata = metadata_mut(Arc::make_mut(&mut next.object));
        if let Some(Value::Array(finalizers)) = metadata.get_mut("finalizers") {
            finalizers.retain(|held_by| held_by != finalizer);
            if finalizers.is_empty() {
                metadata.remove("finalizers");
            }
        }
        if next.object != stored.object {
            self.persist(next, by);
        }
        self.finish_deletion(id, by);
    }

    /// Lets an object under deletion go if nothing holds it.
    pub(super) fn finish_deletion(&mut self, id: &ObjectId, by: &Arc<str>) {
        let Some(object) = self.object(id).cloned() else {
            return;
        };
        if object.text_at(&["metadata", "deletionTimestamp"]).is_none()
            || finalizers(&object).next().is_some()
        {
            return;
        }
        if id.is("", "Namespace") {
            self.set_timer(
                self.delays.namespace_deletion,
                Timer::EmptyNamespace(id.name.to_string()),
            );
        } else {
            self.drop_object(id, by);
        }
    }

    /// An owner is gone: the collector will look at what it owned.
    pub(super) fn owner_removed(&mut self, owner: &Value) {
        for id in self.owned_by(owner) {
            self.set_timer(self.delays.garbage_collection, Timer::Collect(id));
        }
    }

    /// An owned object is gone: an owner under foreground deletion may go next.
    pub(super) fn dependent_removed(&mut self, id: &ObjectId, dependent: &Value) {
        for owner in owner_ids(id, dependent) {
            let waits = self
                .objects
                .get(&owner)
                .filter(|owner| finalizers(&owner.object).any(|held| held == FOREGROUND));
            if let Some(owner) = waits.map(|owner| Arc::clone(&owner.id)) {
                self.set_timer(self.delays.garbage_collection, Timer::FinishForeground(owner));
            }
        }
    }

    /// An object that was created with owners of which none exists is collected too.
    pub(super) fn collect_if_orphaned(&mut self, id: &Arc<ObjectId>, object: &Value) {
        if owner_uids(object).next().is_some() && !self.any_owner_exists(id, object) {
            self.set_timer(self.delays.garbage_collection, Timer::Collect(Arc::clone(id)));
        }
    }

    pub(super) fn collect(&mut self, id: &ObjectId) {
        let Some(object) = self.object(id).cloned() else {
            return;
        };
        // A cluster-wide object cannot have an owner in a namespace, and is left alone.
        let is_lost = id.namespace.is_none() && self.names_a_namespaced_owner(&object);
        if owner_uids(&object).next().is_some() && !is_lost && !self.any_owner_exists(id, &object) {
            self.delete_object(id, Propagation::Background, &Arc::from(GARBAGE_COLLECTOR));
        }
    }

    pub(super) fn finish_foreground(&mut self, id: &Arc<ObjectId>) {
        let Some(owner) = self.object(id).cloned() else {
            return;
        };
        let by: Arc<str> = Arc::from(GARBAGE_COLLECTOR);
        let uid = owner.text_at(&["metadata", "uid"]).unwrap_or_default();
        for dependent in &self.owned_by(&owner) {
            self.delete_object(dependent, Propagation::Foreground, &by);
        }
        // If something still blocks, its removal brings the collector here again.
        if !self
            .owned
            .get(uid)
            .is_some_and(|owned| owned.iter().any(|owned| self.blocks(owned, uid)))
        {
            self.remove_finalizer(id, FOREGROUND, &by);
        }
    }

    fn blocks(&self, dependent: &ObjectId, owner_uid: &str) -> bool {
        self.object(dependent).is_some_and(|object| {
            object
                .items_at(&["metadata", "ownerReferences"])
                .iter()
                .any(|owner| {
                    owner.text_at(&["uid"]) == Some(owner_uid)
                        && owner.get("blockOwnerDeletion") == Some(&Value::Bool(true))
                })
        })
    }

    /// The objects that name this one as an owner.
    fn owned_by(&self, owner: &Value) -> Vec<Arc<ObjectId>> {
        let uid = owner.text_at(&["metadata", "uid"]).unwrap_or_default();
        let owned = self.owned.get(uid);
        owned.into_iter().flatten().cloned().collect()
    }

    fn orphan_dependents(&mut self, owner: &Value) {
        let uid = owner.text_at(&["metadata", "uid"]).unwrap_or_default();
        for id in self.owned_by(owner) {
            let Some(stored) = self.objects.get(&id).cloned() else {
                continue;
            };
            let mut next = (*stored).clone();
            let metadata = metadata_mut(Arc::make_mut(&mut next.object));
            if let Some(Value::Array(owners)) = metadata.get_mut("ownerReferences") {
                owners.retain(|owner| owner.text_at(&["uid"]) != Some(uid));
                if owners.is_empty() {
                    metadata.remove("ownerReferences");
                }
            }
            self.persist(next, &Arc::from(GARBAGE_COLLECTOR));
        }
    }

    fn names_a_namespaced_owner(&self, object: &Value) -> bool {
        object
            .items_at(&["metadata", "ownerReferences"])
            .iter()
            .any(|owner| {
                let text = |field: &str| owner.text_at(&[field]).unwrap_or_default();
                let kind = GroupKind::new(group_of(text("apiVersion")), text("kind"));
                self.resource(&kind)
                    .is_some_and(|resource| resource.is_namespaced())
            })
    }

    fn any_owner_exists(&self, id: &ObjectId, object: &Value) -> bool {
        let uids: Vec<&str> = owner_uids(object).collect();
        owner_ids(id, object).iter().any(|owner| {
            let uid = self
                .object(owner)
                .and_then(|owner| owner.text_at(&["metadata", "uid"]));
            uid.is_some_and(|uid| uids.contains(&uid))
        })
    }
}

/// Where the owners of an object may be: in its namespace, or cluster-scoped.
fn owner_ids(id: &ObjectId, object: &Value) -> Vec<ObjectId> {
    let owners = object.items_at(&["metadata", "ownerReferences"]).iter();
    owners
        .flat_map(|owner| {
            let text = |field: &str| owner.text_at(&[field]).unwrap_or_default();
            let at = |namespace| {
                ObjectId::new(
                    group_of(text("apiVersion")),
                    text("kind"),
                    namespace,
                    text("name"),
                )
            };
            let namespaced = id.namespace.as_deref().map(|namespace| at(Some(namespace)));
            namespaced.into_iter().chain([at(None)])
        })
        .collect()
}

fn is_protected_namespace(id: &ObjectId) -> bool {
    id.is("", "Namespace") && matches!(id.name.as_str(), "default" | "kube-system" | "kube-public")
}
