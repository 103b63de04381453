//! What the server answers when it refuses: Kubernetes' status codes, reasons and words.

use std::fmt;

use firstpass_object::{GroupVersionKind, ObjectExt};
use serde_json::Value;

use crate::Resource;
use crate::validation::{ErrorClass, FieldError};

/// The machine-readable reason of a refusal, as in a Kubernetes `Status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No reason in the answer (Go's plain errors: wrongly typed patches, webhook texts without one).
    Unknown,
    /// No such object, namespace or path: 404.
    NotFound,
    /// The object exists already: 409.
    AlreadyExists,
    /// Lost an optimistic lock, or a field belongs to another manager: 409.
    Conflict,
    /// The object is not valid, or an immutable field would change: 422.
    Invalid,
    /// Not allowed, such as creating in a terminating namespace: 403.
    Forbidden,
    /// The request makes no sense: 400.
    BadRequest,
    /// The server failed, for instance to reach a webhook: 500.
    InternalError,
    /// An aggregated API does not answer: 503.
    ServiceUnavailable,
    /// The kind is not in discovery. Not an answer of the server but of the client's mapper, before any request.
    NoKindMatch,
}

/// What in particular was wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Another field manager owns a field and force was not set.
    FieldManagerConflict,
    /// The namespace is being deleted.
    NamespaceTerminating,
    /// An admission webhook could not be called.
    WebhookUnreachable,
}

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    /// HTTP status code; 0 for [`Reason::NoKindMatch`].
    pub code: u16,
    /// Reason of the status.
    pub reason: Reason,
    /// The text, as Kubernetes words it.
    pub message: String,
    /// A finer cause, where the status carries one.
    pub cause: Option<Cause>,
}

impl Reason {
    /// How Flux writes the reason in brackets (F-222); `None` where Kubernetes gives none.
    pub fn text(self) -> Option<&'static str> {
        match self {
            Reason::Unknown | Reason::NoKindMatch => None,
            Reason::NotFound => Some("NotFound"),
            Reason::AlreadyExists => Some("AlreadyExists"),
            Reason::Conflict => Some("Conflict"),
            Reason::Invalid => Some("Invalid"),
            Reason::Forbidden => Some("Forbidden"),
            Reason::BadRequest => Some("BadRequest"),
            Reason::InternalError => Some("InternalError"),
            Reason::ServiceUnavailable => Some("ServiceUnavailable"),
        }
    }
}

impl ApiError {
    pub(crate) fn new(code: u16, reason: Reason, message: impl Into<String>) -> ApiError {
        ApiError {
            code,
            reason,
            message: message.into(),
            cause: None,
        }
    }

    pub(crate) fn because(self, cause: Cause) -> ApiError {
        ApiError {
            cause: Some(cause),
            ..self
        }
    }

    /// A named object is not there.
    pub fn not_found(resource: &Resource, name: &str) -> ApiError {
        ApiError::new(
            404,
            Reason::NotFound,
            format!("{} \"{name}\" not found", resource.group_resource()),
        )
    }

    /// The namespace of a create is not there (F-302).
    pub(crate) fn no_namespace(namespace: &str) -> ApiError {
        ApiError::new(
            404,
            Reason::NotFound,
            format!("namespaces \"{namespace}\" not found"),
        )
    }

    /// An admission plugin of Kubernetes refuses the request.
    pub fn forbidden(message: impl Into<String>) -> ApiError {
        ApiError::new(403, Reason::Forbidden, message)
    }

    /// The path is unknown: the kind is not served, or a namespaced kind was asked for without a namespace (F-300).
    pub fn unknown_path() -> ApiError {
        ApiError::new(
            404,
            Reason::NotFound,
            "the server could not find the requested resource",
        )
    }

    /// The client's mapper found no such kind in discovery (F-221).
    pub fn no_kind_match(gvk: &GroupVersionKind) -> ApiError {
        let message = format!(
            "no matches for kind \"{}\" in version \"{}\"",
            gvk.kind,
            gvk.api_version()
        );
        ApiError::new(0, Reason::NoKindMatch, message)
    }

    pub(crate) fn already_exists(resource: &Resource, name: &str) -> ApiError {
        let message = format!("{} \"{name}\" already exists", resource.group_resource());
        ApiError::new(409, Reason::AlreadyExists, message)
    }

    pub(crate) fn modified_meanwhile(resource: &Resource, name: &str) -> ApiError {
        let message = format!(
            "Operation cannot be fulfilled on {} \"{name}\": the object has been modified; please apply your changes to the latest version and try again",
            resource.group_resource()
        );
        ApiError::new(409, Reason::Conflict, message)
    }

    /// An applied object that does not fit the types of its kind.
    pub(crate) fn misfit(object: &Value, errors: &[FieldError]) -> ApiError {
        let gvk = object.gvk();
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let texts = match texts.as_slice() {
            [text] => text.clone(),
            texts => format!("errors:\n  {}", texts.join("\n  ")),
        };
        let message = format!(
            "failed to create typed patch object ({}/{}; {}/{}, Kind={}): {texts}",
            object.namespace().unwrap_or_default(),
            object.name(),
            gvk.group,
            gvk.version,
            gvk.kind
        );
        ApiError::new(500, Reason::Unknown, message)
    }

    /// An object that breaks rules; or one that cannot even be decoded.
    pub(crate) fn invalid(object: &Value, errors: &[FieldError]) -> ApiError {
        if let Some(error) = errors.iter().find(|error| error.class == ErrorClass::Undecodable) {
            let gvk = object.gvk();
            let message = format!(
                "failed to convert new object ({}/{}; {}/{}, Kind={}) to proper version: {}",
                object.namespace().unwrap_or_default(),
                object.name(),
                gvk.group,
                gvk.version,
                gvk.kind,
                error.message
            );
            return ApiError::new(500, Reason::Unknown, message);
        }
        // The real server says each thing once.
        let mut texts: Vec<String> = Vec::new();
        for text in errors.iter().map(ToString::to_string) {
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let texts = match texts.as_slice() {
            [text] => text.clone(),
            texts => format!("[{}]", texts.join(", ")),
        };
        let message = format!(
            "{} \"{}\" is invalid: {texts}",
            object.gvk().group_kind(),
            object.name()
        );
        ApiError::new(422, Reason::Invalid, message)
    }

    /// Whether the object, path or namespace is missing.
    pub fn is_not_found(&self) -> bool {
        self.reason == Reason::NotFound
    }

    /// Whether the kind is unknown to discovery.
    pub fn is_no_kind_match(&self) -> bool {
        self.reason == Reason::NoKindMatch
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ApiError {}
