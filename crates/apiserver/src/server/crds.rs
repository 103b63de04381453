//! The life of a CRD: accepted, established, listed in discovery, and the end of its objects with it.

use std::sync::Arc;

use firstpass_object::{ObjectExt, ObjectId, version_of};
use serde_json::{Value, json};

use super::persist::metadata_mut;
use super::{ApiServer, timers::Timer};
use crate::crd::Definition;
use crate::request::Propagation;

const APIEXTENSIONS: &str = "kube-apiserver";
/// Holds a CRD until its objects are gone.
const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

impl ApiServer {
    pub(super) fn crd_created(&mut self, id: &Arc<ObjectId>) {
        self.set_timer(self.delays.crd_established, Timer::Establish(Arc::clone(id)));
    }

    /// A changed CRD is served as it is now; discovery follows.
    pub(super) fn crd_changed(&mut self, id: &Arc<ObjectId>, crd: &Value) {
        if crd.text_at(&["metadata", "deletionTimestamp"]).is_some() {
            self.set_timer(self.delays.garbage_collection, Timer::EmptyCrd(Arc::clone(id)));
        }
        let Ok(definition) = Definition::read(crd) else {
            return;
        };
        let kind = definition.resource.group_kind();
        let Some(served) = self.discovery.definition(&kind) else {
            return;
        };
        if served.name != definition.name {
            return;
        }
        let relist = served.resource != definition.resource;
        self.remember_storage_version(id, &definition.storage_version);
        self.discovery.serve(Arc::new(definition));
        if relist {
            self.set_timer(self.delays.discovery_lag, Timer::List(kind));
        }
    }

    /// The status remembers every version that objects may still be stored in.
    fn remember_storage_version(&mut self, id: &Arc<ObjectId>, version: &str) {
        let Some(stored) = self.objects.get(id).cloned() else {
            return;
        };
        let known = stored.object.items_at(&["status", "storedVersions"]);
        if known.is_empty() || known.iter().any(|known| known == version) {
            return;
        }
        let mut next = (*stored).clone();
        if let Some(Value::Array(versions)) =
            Arc::make_mut(&mut next.object).pointer_mut("/status/storedVersions")
        {
            versions.push(Value::from(version));
        }
        self.persist(next, &Arc::from(APIEXTENSIONS));
    }

    /// The CRD gets its conditions; if its names are free, its kind is served from now on.
    pub(super) fn establish(&mut self, id: &Arc<ObjectId>) {
        let Some(stored) = self.objects.get(id).cloned() else {
            return;
        };
        let definition = Definition::read(&stored.object);
        let accepted = match &definition {
            Err(_) => false,
            Ok(definition) => {
                let kind = definition.resource.group_kind();
                let taken_by_other = self
                    .discovery
                    .definition(&kind)
                    .is_some_and(|other| other.name != definition.name);
                !taken_by_other && !self.discovery.is_builtin(&kind)
            }
        };
        let now = self.now.timestamp();
        let condition = |kind: &str, status: bool, reason: &str, message: &str| {
            json!({
                "type": kind, "status": if status { "True" } else { "False" }, "reason": reason, "message": message,
                "lastTransitionTime": now,
            })
        };
        let conditions = if accepted {
            json!([
                condition("NamesAccepted", true, "NoConflicts", "no conflicts found"),
                condition(
                    "Established",
                    true,
                    "InitialNamesAccepted",
                    "the initial names have been accepted"
                ),
            ])
        } else {
            let kind = stored
                .object
                .text_at(&["spec", "names", "kind"])
                .unwrap_or_default();
            json!([
                condition(
                    "NamesAccepted",
                    false,
                    "KindConflict",
                    &format!("\"{kind}\" is already in use")
                ),
                condition("Established", false, "NotAccepted", "not all names are accepted"),
            ])
        };
        let spec = &stored.object["spec"];
        let stored_versions: Vec<&Value> = spec
            .items_at(&["versions"])
            .iter()
            .filter(|version| version.get("storage") == Some(&Value::Bool(true)))
            .filter_map(|version| version.get("name"))
            .collect();
        let status = json!({
            "conditions": conditions,
            "acceptedNames": if accepted { spec["names"].clone() } else { json!({"kind": "", "plural": ""}) },
            "storedVersions": stored_versions,
        });
        let mut next = (*stored).clone();
        let object = Arc::make_mut(&mut next.object);
        object["status"] = status;
        if accepted
            && let Value::Array(finalizers) = metadata_mut(object)
                .entry("finalizers")
                .or_insert_with(|| json!([]))
            && !finalizers.iter().any(|finalizer| finalizer == CLEANUP_FINALIZER)
        {
            finalizers.push(Value::from(CLEANUP_FINALIZER));
        }
        self.persist(next, &Arc::from(APIEXTENSIONS));
        if let (true, Ok(definition)) = (accepted, definition) {
            let kind = definition.resource.group_kind();
            self.discovery.serve(Arc::new(definition));
            self.set_timer(self.delays.discovery_lag, Timer::List(kind));
        }
    }

    /// Deletes the objects of a CRD under deletion; lets the CRD go when none is left.
    pub(super) fn empty_crd(&mut self, id: &Arc<ObjectId>) {
        let Some(crd) = self.objects.get(id).map(|stored| Arc::clone(&stored.object)) else {
            return;
        };
        let Ok(definition) = Definition::read(&crd) else {
            self.remove_finalizer(id, CLEANUP_FINALIZER, &Arc::from(APIEXTENSIONS));
            return;
        };
        let kind = definition.resource.group_kind();
        let is_ours = self
            .discovery
            .definition(&kind)
            .is_some_and(|served| served.name == definition.name);
        let objects: Vec<Arc<ObjectId>> = self
            .objects
            .list(&kind, None)
            .filter(|_| is_ours)
            .map(|stored| Arc::clone(&stored.id))
            .collect();
        for object in &objects {
            self.delete_object(object, Propagation::Background, &Arc::from(APIEXTENSIONS));
        }
        if !is_ours || self.objects.list(&kind, None).next().is_none() {
            self.remove_finalizer(id, CLEANUP_FINALIZER, &Arc::from(APIEXTENSIONS));
        }
    }

    pub(super) fn crd_removed(&mut self, crd: &Value) {
        let Ok(definition) = Definition::read(crd) else {
            return;
        };
        let kind = definition.resource.group_kind();
        if self
            .discovery
            .definition(&kind)
            .is_some_and(|served| served.name == definition.name)
        {
            self.discovery.remove(&kind);
        }
    }

    /// Whether an object may exist: its kind's CRD is not about to go.
    pub(super) fn crd_is_terminating(&self, id: &ObjectId) -> bool {
        let Some(definition) = self.discovery.definition(&id.group_kind()) else {
            return false;
        };
        let crd = ObjectId::new(
            "apiextensions.k8s.io",
            "CustomResourceDefinition",
            None,
            &definition.name,
        );
        self.object(&crd)
            .is_some_and(|crd| crd.text_at(&["metadata", "deletionTimestamp"]).is_some())
    }

    /// The version of a custom resource's schema that a request in `api_version` is held against.
    pub(super) fn schema_of(&self, object: &Value) -> Option<Arc<crate::crd::Structural>> {
        let definition = self.discovery.definition(&object.gvk().group_kind())?;
        definition.schemas.get(version_of(object.api_version())).cloned()
    }
}
