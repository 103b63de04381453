//! Server-side apply.

use std::borrow::Cow;
use std::sync::Arc;

use firstpass_object::{GroupVersionKind, ObjectExt, ObjectId};
use serde_json::{Map, Value, json};

use super::persist::metadata_mut;
use super::policies::Judged;
use super::{ApiServer, in_version};
use crate::apply::{
    FieldSet, Manager, Managers, Operation, PathElement, Shape, compare, holds, merge, remove_owned,
};
use crate::crd::Structural;
use crate::discovery::Resource;
use crate::error::{ApiError, Cause, Reason};
use crate::request::{Apply, Outcome, Response, Target};
use crate::store::Stored;
use crate::validation::{
    ErrorClass, FieldError, Unread, check_types, check_update, prune_and_default, validate_builtin,
    validate_structural,
};

/// Metadata that belongs to the server: no manager owns it, and a configuration that states it is not listened to.
pub(super) const SERVER_METADATA: &[&str] = &[
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// A write worked out but not yet stored.
pub(super) struct Planned {
    pub(super) stored: Stored,
    pub(super) outcome: Outcome,
    /// CEL rules that could not be judged.
    pub(super) unread: Unread,
}

impl ApiServer {
    pub(super) fn apply(&mut self, apply: &Apply) -> Result<Response, ApiError> {
        let mut planned = self.plan_apply(apply)?;
        let gvk = apply.object.gvk();
        self.note_unread(&gvk.group_kind(), std::mem::take(&mut planned.unread));
        if apply.dry_run || planned.outcome == Outcome::Unchanged {
            return Ok(Response::Applied {
                object: in_version(&planned.stored.object, &gvk),
                outcome: planned.outcome,
            });
        }
        if planned.outcome == Outcome::Created {
            self.next_uid();
        }
        let id = Arc::clone(&planned.stored.id);
        let object = self.persist(planned.stored, &apply.manager);
        self.finish_deletion(&id, &apply.manager);
        Ok(Response::Applied {
            object: in_version(&object, &gvk),
            outcome: planned.outcome,
        })
    }

    /// Works out what an apply would store. This is all that a dry-run does.
    pub(super) fn plan_apply(&self, apply: &Apply) -> Result<Planned, ApiError> {
        let config = &*apply.object;
        let (resource, id) = self.locate(&Target::of(config))?;
        let gvk = config.gvk();
        self.check_conversion(&gvk)?;
        if id.name.is_empty() {
            return Err(ApiError::new(
                400,
                Reason::BadRequest,
                "resource name may not be empty",
            ));
        }
        if !config.items_at(&["metadata", "managedFields"]).is_empty() {
            return Err(ApiError::new(
                400,
                Reason::BadRequest,
                "metadata.managedFields must be nil",
            ));
        }
        let schema = self.schema_of(config);
        let shape = shape_of(&gvk, schema.as_deref());
        let misfits = check_types(config, schema.as_deref(), shape, &apply.unknown_tokens);
        if !misfits.is_empty() {
            return Err(ApiError::misfit(config, &misfits));
        }
        let live = self.objects.get(&id).cloned();
        check_preconditions(config, live.as_deref().map(|live| &*live.object), &resource, &id)?;

        let config = stated_config(config, &resource);
        let fields = config_fields(&config, shape);
        let mut managers = live
            .as_deref()
            .map(|live| live.managers.clone())
            .unwrap_or_default();
        let last = managers
            .get(&apply.manager, Operation::Apply)
            .map(|entry| Arc::clone(&entry.fields));
        // Nearly all applies of a cluster's life change nothing.
        if let Some(live) = &live
            && last.as_deref() == Some(&fields)
            && holds(&live.object, &config, shape)
        {
            let judged = Judged {
                resource: &resource,
                id: &id,
                object: &live.object,
                old: &live.object,
                operation: "UPDATE",
            };
            self.check_mutating(&judged)?;
            self.check_validating(&judged)?;
            return Ok(Planned {
                stored: (**live).clone(),
                outcome: Outcome::Unchanged,
                unread: Vec::new(),
            });
        }
        let mut merged = match &live {
            Some(live) => (*live.object).clone(),
            None => json!({}),
        };
        merge(&mut merged, &config, shape);
        if let Some(last) = last.filter(|last| **last != fields) {
            let gone = last.minus(&fields);
            if !gone.is_empty() {
                let others: Vec<&FieldSet> = managers
                    .iter()
                    .filter(|entry| !entry.is(&apply.manager, Operation::Apply, None))
                    .map(|entry| &*entry.fields)
                    .chain([&fields])
                    .collect();
                remove_owned(&mut merged, &gone, &others, shape);
            }
        }
        if resource.crd.is_none() {
            crate::defaults::as_go_keeps_it(&mut merged);
        }
        if let Some(live) = &live
            && managers
                .iter()
                .any(|entry| !entry.is(&apply.manager, Operation::Apply, None))
        {
            let changed = compare(&live.object, &merged, shape).set;
            let conflicts = conflicts(&managers, &apply.manager, &changed);
            if !apply.force && !conflicts.is_empty() {
                return Err(conflict_error(&conflicts));
            }
            managers.take(&changed, (&apply.manager, Operation::Apply, None));
        }
        managers.set(Manager {
            name: Arc::clone(&apply.manager),
            operation: Operation::Apply,
            subresource: None,
            api_version: Arc::from(gvk.api_version()),
            fields: Arc::new(fields),
        });
        self.plan_write(
            &resource,
            id,
            live.as_deref(),
            merged,
            managers,
            &apply.unknown_tokens,
        )
    }

    /// The second half of every write to an object: metadata of the server, defaults, admission, validation.
    pub(super) fn plan_write(
        &self,
        resource: &Resource,
        id: ObjectId,
        live: Option<&Stored>,
        mut object: Value,
        managers: Managers,
        unknown_tokens: &[String],
    ) -> Result<Planned, ApiError> {
        match live {
            None => {
                self.check_namespace(resource, &id)?;
                if self.crd_is_terminating(&id) {
                    let message = "create not allowed while custom resource definition is terminating";
                    return Err(ApiError::new(405, Reason::Unknown, message));
                }
                self.start_metadata(resource, &id, &mut object);
                self.set_defaults(&mut object, true);
                let judged = Judged {
                    resource,
                    id: &id,
                    object: &object,
                    old: &Value::Null,
                    operation: "CREATE",
                };
                self.check_mutating(&judged)?;
                let mut unread = Vec::new();
                self.validate_write(resource, None, &object, unknown_tokens, &mut unread)?;
                self.check_validating(&judged)?;
                let stored = Stored {
                    id: Arc::new(id),
                    object: Arc::new(object),
                    managers,
                };
                Ok(Planned {
                    stored,
                    outcome: Outcome::Created,
                    unread,
                })
            }
            Some(live) => {
                keep_metadata(&mut object, &live.object);
                if id.is("", "Service") {
                    super::defaults::keep_addresses(&mut object, &live.object);
                }
                self.set_defaults(&mut object, false);
                let differs = wanted_differs(resource, &live.object, &object)
                    && (resource.crd.is_some() || wanted_differs_in_full(resource, &live.object, &object));
                if !differs {
                    // Who writes defaults out changes nothing.
                    keep_wanted(&mut object, resource, &live.object);
                }
                // The generation of a PriorityClass stays what it was.
                let moves = resource.has_generation && resource.kind != "PriorityClass";
                if moves && (differs || raises_generation(resource, &live.object, &object)) {
                    let metadata = metadata_mut(&mut object);
                    let generation = metadata.get("generation").and_then(Value::as_u64).unwrap_or(0);
                    metadata.insert("generation".to_owned(), Value::from(generation + 1));
                }
                self.check_mutating(&judged_update(resource, &id, &object, &live.object))?;
                // The version that an object is written in is no part of it.
                let written_in = object["apiVersion"].take();
                object["apiVersion"] = live.object["apiVersion"].clone();
                let same = object == *live.object;
                let mut unread = Vec::new();
                if !same {
                    let stored_in = std::mem::replace(&mut object["apiVersion"], written_in);
                    self.validate_write(resource, Some(&live.object), &object, unknown_tokens, &mut unread)?;
                    object["apiVersion"] = stored_in;
                    if id.is("", "PersistentVolumeClaim") {
                        self.check_resize(&live.object, &object)?;
                    }
                }
                self.check_validating(&judged_update(resource, &id, &object, &live.object))?;
                let outcome = if same && managers.same_as(&live.managers) {
                    Outcome::Unchanged
                } else {
                    Outcome::Configured
                };
                let object = if same {
                    Arc::clone(&live.object)
                } else {
                    Arc::new(object)
                };
                let stored = Stored {
                    id: Arc::clone(&live.id),
                    object,
                    managers,
                };
                Ok(Planned {
                    stored,
                    outcome,
                    unread,
                })
            }
        }
    }

    /// Fills in what the object leaves open and the API decides.
    fn set_defaults(&self, object: &mut Value, is_new: bool) {
        match self.schema_of(object) {
            Some(schema) => prune_and_default(object, &schema),
            None => {
                crate::defaults::set(object);
                if is_new {
                    self.set_defaults_of_cluster(object);
                }
            }
        }
    }

    /// What is wrong with an object that is about to be stored.
    fn validate_write(
        &self,
        resource: &Resource,
        old: Option<&Value>,
        object: &Value,
        unknown_tokens: &[String],
        unread: &mut Unread,
    ) -> Result<(), ApiError> {
        let mut errors = if self.discovery.is_builtin(&resource.group_kind()) {
            validate_builtin(object, self.minor, unknown_tokens)
        } else {
            let schema = self.schema_of(object);
            // Statuses are written by models that leave out what nobody here reads, so they are not judged.
            let mut object = Cow::Borrowed(object);
            if resource.has_status && object.get("status").is_some() {
                object.to_mut()["status"] = json!({});
            }
            let errors = validate_structural(&object, old, schema.as_deref(), unknown_tokens, unread);
            let is_status = |error: &FieldError| error.path.starts_with("status");
            errors.into_iter().filter(|error| !is_status(error)).collect()
        };
        if let Some(old) = old {
            errors.extend(new_finalizers(old, object));
            errors.extend(check_update(old, object, unknown_tokens));
        }
        if errors.is_empty() {
            Ok(())
        } else {
            Err(ApiError::invalid(object, &errors))
        }
    }

    fn start_metadata(&self, resource: &Resource, id: &ObjectId, object: &mut Value) {
        let metadata = metadata_mut(object);
        for field in SERVER_METADATA {
            metadata.remove(*field);
        }
        metadata.insert("name".to_owned(), Value::from(id.name.as_str()));
        match &id.namespace {
            Some(namespace) => metadata.insert("namespace".to_owned(), Value::from(namespace.as_str())),
            None => metadata.remove("namespace"),
        };
        metadata.insert("uid".to_owned(), Value::from(self.peek_uid()));
        metadata.insert("creationTimestamp".to_owned(), Value::from(self.now.timestamp()));
        if resource.has_generation {
            metadata.insert("generation".to_owned(), Value::from(1));
        }
    }
}

/// What is being deleted takes no more finalizers.
fn new_finalizers(old: &Value, object: &Value) -> Option<FieldError> {
    old.text_at(&["metadata", "deletionTimestamp"])?;
    let before = old.items_at(&["metadata", "finalizers"]);
    let now = object.items_at(&["metadata", "finalizers"]).iter();
    let mut new: Vec<String> = now
        .filter(|name| !before.contains(name))
        .map(ToString::to_string)
        .collect();
    new.sort();
    (!new.is_empty()).then(|| FieldError {
        path: "metadata.finalizers".to_owned(),
        message: format!(
            "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            new.join(", ")
        ),
        class: ErrorClass::Invalid,
    })
}

fn judged_update<'a>(
    resource: &'a Resource,
    id: &'a ObjectId,
    object: &'a Value,
    old: &'a Value,
) -> Judged<'a> {
    Judged {
        resource,
        id,
        object,
        old,
        operation: "UPDATE",
    }
}

/// How the fields of an object merge.
pub(super) fn shape_of<'a>(gvk: &GroupVersionKind, schema: Option<&'a Structural>) -> Shape<'a> {
    match schema {
        Some(schema) => Shape::Structural(schema),
        None => Shape::builtin(gvk),
    }
}

/// Puts back the metadata that only the server sets.
fn keep_metadata(object: &mut Value, live: &Value) {
    let live = live.get("metadata");
    let metadata = metadata_mut(object);
    for field in SERVER_METADATA.iter().chain(&["name", "namespace"]) {
        match live.and_then(|live| live.get(field)) {
            Some(value) => metadata.insert((*field).to_owned(), value.clone()),
            None => metadata.remove(*field),
        };
    }
}

/// The same with all defaults filled in.
fn wanted_differs_in_full(resource: &Resource, old: &Value, new: &Value) -> bool {
    let (mut old, mut new) = (old.clone(), new.clone());
    crate::defaults::complete(&mut old);
    crate::defaults::complete(&mut new);
    wanted_differs(resource, &old, &new)
}

/// Puts back what is wanted as it is stored.
fn keep_wanted(object: &mut Value, resource: &Resource, live: &Value) {
    let (Value::Object(fields), Value::Object(live)) = (object, live) else {
        return;
    };
    let is_kept = |name: &str| {
        let is_status = resource.has_status && name == "status";
        !is_status && !matches!(name, "apiVersion" | "kind" | "metadata")
    };
    fields.retain(|name, _| !is_kept(name));
    for (name, field) in live.iter().filter(|(name, _)| is_kept(name)) {
        fields.insert(name.clone(), field.clone());
    }
}

/// Kinds whose metadata takes part in what is wanted.
fn raises_generation(resource: &Resource, old: &Value, new: &Value) -> bool {
    let field = match (resource.group.as_str(), resource.kind.as_str()) {
        ("apps", "Deployment") => "annotations",
        ("discovery.k8s.io", "EndpointSlice") => "labels",
        _ => return false,
    };
    old.at(&["metadata", field]) != new.at(&["metadata", field])
}

/// Whether anything but metadata and (where it is a subresource) status differs.
fn wanted_differs(resource: &Resource, old: &Value, new: &Value) -> bool {
    let wanted = |object: &Value| -> Map<String, Value> {
        let mut fields = object.as_object().cloned().unwrap_or_default();
        for ignored in ["apiVersion", "kind", "metadata"] {
            fields.remove(ignored);
        }
        if resource.has_status {
            fields.remove("status");
        }
        fields
    };
    wanted(old) != wanted(new)
}

/// The configuration without what it has no say in.
fn stated_config<'a>(config: &'a Value, resource: &Resource) -> Cow<'a, Value> {
    let metadata = config.get("metadata");
    let says = |field: &&str| metadata.is_some_and(|metadata| metadata.get(field).is_some());
    let is_clean = SERVER_METADATA.iter().all(|field| !says(field))
        && (resource.is_namespaced() || !says(&"namespace"))
        && !(resource.has_status && config.get("status").is_some());
    if is_clean {
        return Cow::Borrowed(config);
    }
    let mut config = config.clone();
    let metadata = metadata_mut(&mut config);
    for field in SERVER_METADATA {
        metadata.remove(*field);
    }
    if !resource.is_namespaced() {
        metadata.remove("namespace");
    }
    if resource.has_status
        && let Value::Object(fields) = &mut config
    {
        fields.remove("status");
    }
    Cow::Owned(config)
}

/// The paths that a manager comes to own by applying a configuration.
fn config_fields(config: &Value, shape: Shape<'_>) -> FieldSet {
    let mut fields = FieldSet::of(config, shape);
    forget_identity(&mut fields);
    fields
}

/// What says which object it is belongs to nobody.
pub(super) fn forget_identity(fields: &mut FieldSet) {
    for path in [
        &["apiVersion"][..],
        &["kind"],
        &["metadata", "name"],
        &["metadata", "namespace"],
    ] {
        fields.forget(path);
    }
}

/// A configuration that names a uid or a resource version only fits the object that has it.
fn check_preconditions(
    config: &Value,
    live: Option<&Value>,
    resource: &Resource,
    id: &ObjectId,
) -> Result<(), ApiError> {
    let stated = |field: &str| {
        config
            .text_at(&["metadata", field])
            .filter(|text| !text.is_empty())
    };
    let actual = |field: &str| {
        live.and_then(|live| live.text_at(&["metadata", field]))
            .unwrap_or_default()
    };
    if let Some(uid) = stated("uid").filter(|uid| *uid != actual("uid")) {
        if live.is_some() {
            let message = format!("Invalid value: {uid:?}: field is immutable");
            let error = FieldError {
                path: "metadata.uid".to_owned(),
                message,
                class: ErrorClass::Invalid,
            };
            return Err(ApiError::invalid(config, &[error]));
        }
        let message = format!(
            "Operation cannot be fulfilled on {} \"{}\": Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            resource.group_resource(),
            id.name,
            actual("uid")
        );
        return Err(ApiError::new(409, Reason::Conflict, message));
    }
    match stated("resourceVersion") {
        Some(version) if live.is_some() && version != actual("resourceVersion") => {
            Err(ApiError::modified_meanwhile(resource, &id.name))
        }
        _ => Ok(()),
    }
}

type Conflicts = Vec<(String, Vec<PathElement>)>;

/// The changed paths that belong to other managers, each with the manager as messages name it.
fn conflicts(managers: &Managers, applier: &str, changed: &FieldSet) -> Conflicts {
    managers
        .iter()
        .filter(|entry| !entry.is(applier, Operation::Apply, None))
        .flat_map(|entry| {
            let whose = match (entry.operation, entry.subresource) {
                (Operation::Apply, _) => format!("\"{}\"", entry.name),
                (Operation::Update, None) => format!("\"{}\" using {}", entry.name, entry.api_version),
                (Operation::Update, Some(subresource)) => {
                    format!(
                        "\"{}\" with subresource \"{subresource}\" using {}",
                        entry.name, entry.api_version
                    )
                }
            };
            entry
                .fields
                .and(changed)
                .paths()
                .into_iter()
                .map(move |path| (whose.clone(), path))
        })
        .collect()
}

fn conflict_error(conflicts: &Conflicts) -> ApiError {
    let path_text = |path: &[PathElement]| path.iter().map(ToString::to_string).collect::<String>();
    let message = match conflicts.as_slice() {
        [(whose, path)] => format!(
            "Apply failed with 1 conflict: conflict with {whose}: {}",
            path_text(path)
        ),
        many => {
            let mut sorted: Vec<_> = many.iter().collect();
            sorted.sort_by_key(|(whose, _)| whose);
            let mut lines = Vec::new();
            let mut last = None;
            for (whose, path) in sorted {
                if last != Some(whose) {
                    lines.push(format!("conflicts with {whose}:"));
                    last = Some(whose);
                }
                lines.push(format!("- {}", path_text(path)));
            }
            format!("Apply failed with {} conflicts: {}", many.len(), lines.join("\n"))
        }
    };
    ApiError::new(409, Reason::Conflict, message).because(Cause::FieldManagerConflict)
}
