//! Requests and answers as plain values.

use std::sync::Arc;

use ecow::EcoString;
use firstpass_object::{GroupVersionKind, ObjectExt, ObjectId};
use serde_json::Value;

/// Where a request goes: a kind in one of its versions, and a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Group, version and kind.
    pub gvk: GroupVersionKind,
    /// Namespace of the URL; ignored for cluster-scoped kinds (F-217).
    pub namespace: Option<EcoString>,
    /// Name of the object.
    pub name: EcoString,
}

/// One request to the server.
#[derive(Clone, Debug)]
pub enum Request {
    /// Reads one object.
    Get(Target),
    /// Reads the objects of a kind.
    List {
        /// Group, version and kind.
        gvk: GroupVersionKind,
        /// Only this namespace; `None` for all.
        namespace: Option<String>,
    },
    /// Server-side apply.
    Apply(Apply),
    /// Creates an object.
    Create {
        /// The object.
        object: Arc<Value>,
        /// Field manager that comes to own its fields.
        manager: Arc<str>,
    },
    /// Replaces an object but for its status; an object with a resource version must be the newest one.
    Update {
        /// The object.
        object: Arc<Value>,
        /// Field manager that comes to own what changes.
        manager: Arc<str>,
    },
    /// Replaces the status of an object.
    UpdateStatus {
        /// The object; only its `status` counts.
        object: Arc<Value>,
        /// Field manager that comes to own what changes.
        manager: Arc<str>,
    },
    /// JSON merge patch (RFC 7396) of everything but the status.
    Patch {
        /// The object.
        target: Target,
        /// The patch.
        patch: Value,
        /// Field manager that comes to own what changes.
        manager: Arc<str>,
    },
    /// JSON merge patch of the status; `patch` is what goes below `status`.
    PatchStatus {
        /// The object.
        target: Target,
        /// The patch of the status.
        patch: Value,
        /// Field manager that comes to own what changes.
        manager: Arc<str>,
    },
    /// Deletes an object.
    Delete {
        /// The object.
        target: Target,
        /// What happens to the objects it owns.
        propagation: Propagation,
        /// Only delete the object of this uid.
        uid: Option<String>,
        /// Who asks. The real server does not keep that; the log does.
        by: Arc<str>,
    },
}

/// A server-side apply.
#[derive(Clone, Debug)]
pub struct Apply {
    /// What the manager wants, and nothing else.
    pub object: Arc<Value>,
    /// The field manager.
    pub manager: Arc<str>,
    /// Take fields from other managers instead of failing with a conflict. Flux always does (F-245).
    pub force: bool,
    /// Answer as if, and store nothing.
    pub dry_run: bool,
    /// Texts whose real value nobody knows, such as `${SECRET_DOMAIN}`. A string that holds one of them is not judged.
    pub unknown_tokens: Arc<[String]>,
}

/// What deleting an owner does to the objects it owns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Propagation {
    /// The owner goes at once, its objects follow.
    #[default]
    Background,
    /// The owner waits until its objects are gone.
    Foreground,
    /// The objects stay and lose the owner reference.
    Orphan,
}

/// What an apply did, or would have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The object is new.
    Created,
    /// Something changed.
    Configured,
    /// Nothing changed, not even the resource version.
    Unchanged,
}

/// The answer to a request that was not refused.
#[derive(Clone, Debug)]
pub enum Response {
    /// The object, as it is now.
    Object(Arc<Value>),
    /// The objects, by namespace and name.
    List(Vec<Arc<Value>>),
    /// The object as applied and what that did. After a dry-run of a new object it has no resource version (F-217).
    Applied {
        /// The merged object.
        object: Arc<Value>,
        /// Created, configured or unchanged.
        outcome: Outcome,
    },
    /// The object is gone or going.
    Deleted {
        /// The last state.
        object: Arc<Value>,
        /// Whether it is gone already; `false` while finalizers hold it.
        gone: bool,
    },
}

impl Target {
    /// Where an object of this content lives.
    pub fn of(object: &Value) -> Target {
        Target {
            gvk: object.gvk(),
            namespace: object.namespace().map(EcoString::from),
            name: object.name().into(),
        }
    }

    /// An object by `apiVersion`, kind, namespace and name.
    pub fn new(api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Target {
        Target {
            gvk: GroupVersionKind::new(api_version, kind),
            namespace: namespace
                .filter(|namespace| !namespace.is_empty())
                .map(EcoString::from),
            name: name.into(),
        }
    }

    /// Identity of the target, without its version.
    pub fn id(&self) -> ObjectId {
        ObjectId {
            group: self.gvk.group.clone(),
            kind: self.gvk.kind.clone(),
            namespace: self.namespace.clone().filter(|namespace| !namespace.is_empty()),
            name: self.name.clone(),
        }
    }
}

impl Apply {
    /// A forced apply, as Flux does it (F-245).
    pub fn forced(object: Arc<Value>, manager: impl Into<Arc<str>>) -> Apply {
        Apply {
            object,
            manager: manager.into(),
            force: true,
            dry_run: false,
            unknown_tokens: Arc::from([]),
        }
    }

    /// The same as a dry-run.
    #[must_use]
    pub fn as_dry_run(mut self) -> Apply {
        self.dry_run = true;
        self
    }

    /// The same, with texts whose value nobody knows.
    #[must_use]
    pub fn with_unknown(mut self, tokens: Arc<[String]>) -> Apply {
        self.unknown_tokens = tokens;
        self
    }
}

impl Request {
    /// Group, version and kind that the request is about.
    pub fn gvk(&self) -> GroupVersionKind {
        match self {
            Request::Get(target)
            | Request::Patch { target, .. }
            | Request::PatchStatus { target, .. }
            | Request::Delete { target, .. } => target.gvk.clone(),
            Request::List { gvk, .. } => gvk.clone(),
            Request::Apply(Apply { object, .. })
            | Request::Create { object, .. }
            | Request::Update { object, .. }
            | Request::UpdateStatus { object, .. } => object.gvk(),
        }
    }

    /// A background deletion without precondition, by nobody in particular.
    pub fn delete(target: Target) -> Request {
        Request::delete_by(target, "delete")
    }

    /// A background deletion without precondition.
    pub fn delete_by(target: Target, by: &str) -> Request {
        Request::Delete {
            target,
            propagation: Propagation::Background,
            uid: None,
            by: by.into(),
        }
    }
}

impl Response {
    /// The object of the answer; `None` for a list.
    pub fn object(&self) -> Option<&Arc<Value>> {
        match self {
            Response::Object(object)
            | Response::Applied { object, .. }
            | Response::Deleted { object, .. } => Some(object),
            Response::List(_) => None,
        }
    }

    /// The objects of a list; empty for other answers.
    pub fn items(&self) -> &[Arc<Value>] {
        match self {
            Response::List(items) => items,
            _ => &[],
        }
    }

    /// What an apply did; `None` for other answers.
    pub fn outcome(&self) -> Option<Outcome> {
        match self {
            Response::Applied { outcome, .. } => Some(*outcome),
            _ => None,
        }
    }
}
