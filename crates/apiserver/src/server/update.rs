//! Creating, replacing and patching.

use std::sync::Arc;

use firstpass_object::{ObjectExt, ObjectId};
use serde_json::{Map, Value, json};

use super::ApiServer;
use super::apply::{Planned, forget_identity, shape_of};
use super::persist::metadata_mut;
use crate::apply::{FieldSet, Manager, Operation, compare};
use crate::discovery::Resource;
use crate::error::ApiError;
use crate::request::{Outcome, Response, Target};
use crate::store::Stored;
use crate::validation::drop_nulls;

impl ApiServer {
    pub(super) fn create(&mut self, object: &Arc<Value>, manager: &Arc<str>) -> Result<Response, ApiError> {
        let (resource, id) = self.locate(&Target::of(object))?;
        if self.objects.get(&id).is_some() {
            return Err(ApiError::already_exists(&resource, &id.name));
        }
        let mut content = (**object).clone();
        if resource.has_status
            && let Value::Object(fields) = &mut content
        {
            fields.remove("status");
        }
        self.drop_nulls(&mut content);
        let mut planned = self.plan_write(&resource, id, None, content, Default::default(), &[])?;
        self.note_unread(&resource.group_kind(), std::mem::take(&mut planned.unread));
        self.own_changes(&mut planned.stored, &json!({}), manager, None);
        self.next_uid();
        Ok(Response::Object(self.persist(planned.stored, manager)))
    }

    pub(super) fn update(&mut self, object: &Arc<Value>, manager: &Arc<str>) -> Result<Response, ApiError> {
        let (resource, id) = self.locate(&Target::of(object))?;
        let live = self.live(&resource, &id)?;
        check_version(object, &live.object, &resource, &id)?;
        let mut content = (**object).clone();
        if resource.has_status {
            copy_field(&live.object, &mut content, "status");
        }
        self.write(&resource, &live, content, manager)
    }

    pub(super) fn patch(
        &mut self,
        target: &Target,
        patch: &Value,
        manager: &Arc<str>,
    ) -> Result<Response, ApiError> {
        let (resource, live, mut content) = self.patched(target, patch)?;
        check_version(&content, &live.object, &resource, &live.id)?;
        if resource.has_status {
            copy_field(&live.object, &mut content, "status");
        }
        self.write(&resource, &live, content, manager)
    }

    pub(super) fn update_status(
        &mut self,
        object: &Arc<Value>,
        manager: &Arc<str>,
    ) -> Result<Response, ApiError> {
        let (resource, id) = self.locate(&Target::of(object))?;
        let live = self.live(&resource, &id)?;
        check_version(object, &live.object, &resource, &id)?;
        if live.object.get("status") == object.get("status") {
            return Ok(Response::Object(Arc::clone(&live.object)));
        }
        let mut content = without_status(&live.object);
        copy_field(object, &mut content, "status");
        self.write_status(&resource, &live, content, manager)
    }

    pub(super) fn patch_status(
        &mut self,
        target: &Target,
        patch: &Value,
        manager: &Arc<str>,
    ) -> Result<Response, ApiError> {
        let (resource, live, content) = self.patched(target, &json!({"status": patch}))?;
        self.write_status(&resource, &live, content, manager)
    }

    /// The live object that a patch is for, and what the patch makes of it.
    fn patched(
        &self,
        target: &Target,
        patch: &Value,
    ) -> Result<(Arc<Resource>, Arc<Stored>, Value), ApiError> {
        let (resource, id) = self.locate(target)?;
        let live = self.live(&resource, &id)?;
        let mut content = (*live.object).clone();
        merge_patch(&mut content, patch);
        Ok((resource, live, content))
    }

    fn drop_nulls(&self, object: &mut Value) {
        if let Some(schema) = self.schema_of(object) {
            drop_nulls(object, &schema);
        }
    }

    fn live(&self, resource: &Resource, id: &ObjectId) -> Result<Arc<Stored>, ApiError> {
        self.objects
            .get(id)
            .cloned()
            .ok_or_else(|| ApiError::not_found(resource, &id.name))
    }

    fn write(
        &mut self,
        resource: &Resource,
        live: &Stored,
        mut content: Value,
        manager: &Arc<str>,
    ) -> Result<Response, ApiError> {
        self.drop_nulls(&mut content);
        let id = (*live.id).clone();
        let mut planned = self.plan_write(resource, id, Some(live), content, live.managers.clone(), &[])?;
        if planned.outcome == Outcome::Unchanged {
            return Ok(Response::Object(planned.stored.object));
        }
        self.own_changes(&mut planned.stored, &live.object, manager, None);
        self.finish_write(planned, manager)
    }

    /// Stores a new status. Validation of statuses is absent on purpose: only controllers of ours write them.
    fn write_status(
        &mut self,
        resource: &Resource,
        live: &Stored,
        content: Value,
        manager: &Arc<str>,
    ) -> Result<Response, ApiError> {
        if content == *live.object {
            return Ok(Response::Object(Arc::clone(&live.object)));
        }
        let mut stored = Stored {
            object: Arc::new(content),
            ..live.clone()
        };
        let subresource = resource.has_status.then_some("status");
        self.own_changes(&mut stored, &live.object, manager, subresource);
        self.finish_write(
            Planned {
                stored,
                outcome: Outcome::Configured,
                unread: Vec::new(),
            },
            manager,
        )
    }

    fn finish_write(&mut self, planned: Planned, manager: &Arc<str>) -> Result<Response, ApiError> {
        let id = Arc::clone(&planned.stored.id);
        let object = self.persist(planned.stored, manager);
        self.finish_deletion(&id, manager);
        Ok(Response::Object(object))
    }

    /// What a manager changed becomes its own, and stops being anybody else's.
    fn own_changes(
        &self,
        stored: &mut Stored,
        before: &Value,
        manager: &Arc<str>,
        subresource: Option<&'static str>,
    ) {
        let schema = self.schema_of(&stored.object);
        let shape = shape_of(&stored.object.gvk(), schema.as_deref());
        let changes = compare(before, &stored.object, shape);
        let entry = stored
            .managers
            .iter()
            .find(|entry| entry.is(manager, Operation::Update, subresource))
            .map(|entry| (*entry.fields).clone());
        let mut fields: FieldSet = entry.unwrap_or_default();
        fields.extend(&changes.set);
        fields = fields.minus(&changes.removed);
        for path in super::apply::SERVER_METADATA {
            fields.forget(&["metadata", path]);
        }
        forget_identity(&mut fields);
        let mut lost = changes.set;
        lost.extend(&changes.removed);
        stored
            .managers
            .take(&lost, (manager, Operation::Update, subresource));
        stored.managers.set(Manager {
            name: Arc::clone(manager),
            operation: Operation::Update,
            subresource,
            api_version: Arc::from(stored.object.api_version()),
            fields: Arc::new(fields),
        });
    }
}

/// An object that states a resource version must state the newest one.
fn check_version(object: &Value, live: &Value, resource: &Resource, id: &ObjectId) -> Result<(), ApiError> {
    let version = |object: &Value| {
        object
            .text_at(&["metadata", "resourceVersion"])
            .unwrap_or_default()
            .to_owned()
    };
    let stated = version(object);
    if stated.is_empty() || stated == version(live) {
        Ok(())
    } else {
        Err(ApiError::modified_meanwhile(resource, &id.name))
    }
}

fn copy_field(from: &Value, to: &mut Value, field: &str) {
    metadata_mut(to); // makes it a map
    let Value::Object(fields) = to else { return };
    match from.get(field) {
        Some(value) => fields.insert(field.to_owned(), value.clone()),
        None => fields.remove(field),
    };
}

/// A copy without the status, which may be most of an object.
fn without_status(object: &Value) -> Value {
    let fields = object.as_object().into_iter().flatten();
    let kept = fields.filter(|(name, _)| *name != "status");
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// JSON merge patch, RFC 7396.
fn merge_patch(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(fields) = target else { return };
    for (name, value) in patch {
        if value.is_null() {
            fields.remove(name);
        } else {
            merge_patch(fields.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}
