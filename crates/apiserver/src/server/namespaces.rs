//! The life of a namespace.

use std::sync::Arc;

use firstpass_object::{ObjectExt, ObjectId};
use serde_json::{Value, json};

use super::persist::metadata_mut;
use super::{ApiServer, timers::Timer};
use crate::discovery::Resource;
use crate::error::{ApiError, Cause, Reason};
use crate::request::Propagation;
use crate::store::Stored;

const NAMESPACE_CONTROLLER: &str = "kube-controller-manager";
const NAMES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

pub(super) fn namespace_id(name: &str) -> ObjectId {
    ObjectId::new("", "Namespace", None, name)
}

fn is_terminating(object: &Value) -> bool {
    object.text_at(&["metadata", "deletionTimestamp"]).is_some()
}

impl ApiServer {
    pub(super) fn create_default_namespaces(&mut self) {
        for name in NAMES {
            let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            self.create(&Arc::new(object), &Arc::from("kube-apiserver"))
                .expect("an empty cluster takes its first namespaces");
        }
    }

    /// Each namespace gets its default service account.
    pub(super) fn namespace_created(&mut self, name: &str) {
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": name},
        });
        // It can only fail if the account exists, and then there is nothing to do.
        let _ = self.create(&Arc::new(account), &Arc::from(NAMESPACE_CONTROLLER));
    }

    /// Whether something may be created in a namespace.
    pub(super) fn check_namespace(&self, resource: &Resource, id: &ObjectId) -> Result<(), ApiError> {
        let Some(name) = &id.namespace else { return Ok(()) };
        let namespace = self
            .object(&namespace_id(name))
            .ok_or_else(|| ApiError::no_namespace(name))?;
        if is_terminating(namespace) {
            let message = format!(
                "{} \"{}\" is forbidden: unable to create new content in namespace {name} because it is being terminated",
                resource.group_resource(),
                id.name
            );
            return Err(ApiError::new(403, Reason::Forbidden, message).because(Cause::NamespaceTerminating));
        }
        Ok(())
    }

    /// A namespace is asked to go: its phase says so, and the controller comes by later.
    pub(super) fn terminate_namespace(&mut self, stored: &Stored, by: &Arc<str>) {
        if is_terminating(&stored.object) {
            return;
        }
        let mut next = stored.clone();
        let object = Arc::make_mut(&mut next.object);
        metadata_mut(object).insert(
            "deletionTimestamp".to_owned(),
            Value::String(self.now.timestamp()),
        );
        object["status"] = json!({"phase": "Terminating"});
        let name = next.id.name.clone();
        self.persist(next, by);
        self.set_timer(
            self.delays.namespace_deletion,
            Timer::EmptyNamespace(name.to_string()),
        );
    }

    /// Deletes what is in a terminating namespace; the namespace goes when nothing is left and no finalizer of its own
    /// holds it.
    pub(super) fn empty_namespace(&mut self, name: &str) {
        let by: Arc<str> = Arc::from(NAMESPACE_CONTROLLER);
        let id = namespace_id(name);
        if !self
            .object(&id)
            .is_some_and(|namespace| is_terminating(namespace))
        {
            return;
        }
        let contents: Vec<Arc<ObjectId>> = self
            .objects
            .in_namespace(name)
            .map(|stored| Arc::clone(&stored.id))
            .collect();
        for object in &contents {
            self.delete_object(object, Propagation::Background, &by);
        }
        if self.objects.in_namespace(name).next().is_none() && self.can_discover_all(&id, &by) {
            self.finish_namespace(&id, &by);
        }
    }

    fn finish_namespace(&mut self, id: &ObjectId, by: &Arc<str>) {
        let Some(stored) = self.objects.get(id).cloned() else {
            return;
        };
        if stored.object.items_at(&["metadata", "finalizers"]).is_empty() {
            self.drop_object(id, by);
        }
    }

    /// After an object went: a terminating namespace or CRD that waited for it may go too.
    pub(super) fn look_again_after_removal(&mut self, id: &ObjectId) {
        if let Some(name) = &id.namespace
            && self
                .object(&namespace_id(name))
                .is_some_and(|namespace| is_terminating(namespace))
            && self.objects.in_namespace(name).next().is_none()
        {
            self.set_timer(
                self.delays.namespace_deletion,
                Timer::EmptyNamespace(name.to_string()),
            );
        }
        if id.kind == "APIService" {
            self.apis_changed();
        }
        if self.crd_is_terminating(id)
            && self.objects.list(&id.group_kind(), None).next().is_none()
            && let Some(definition) = self.discovery.definition(&id.group_kind())
        {
            let crd = ObjectId::new(
                "apiextensions.k8s.io",
                "CustomResourceDefinition",
                None,
                &definition.name,
            );
            self.set_timer(self.delays.garbage_collection, Timer::EmptyCrd(Arc::new(crd)));
        }
    }
}
