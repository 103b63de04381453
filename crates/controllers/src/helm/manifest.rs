//! Objects of a chart on their way to the server, and what Helm says when it does not take them.

use firstpass_apiserver::ApiError;
use firstpass_object::ObjectExt;
use serde_json::Value;

use super::attempt::Trouble;
use super::bring::{Brought, is_own_kind};
use super::record::ReleaseActionKind::{self, Install, Upgrade};
use crate::context::Context;
use crate::kustomization::{Obstacle, obstacle_of};

/// An object in the namespace of the release, if it names none and its kind has one.
pub(super) fn with_namespace(object: &Value, namespace: &str, context: &Context<'_>) -> Value {
    let mut object = object.clone();
    let namespaced = context
        .server
        .resolve(&object.gvk())
        .is_ok_and(|resource| resource.is_namespaced());
    if namespaced && object.namespace().is_none() {
        object["metadata"]["namespace"] = namespace.into();
    }
    object
}

/// Objects of kinds that are not served, and that the chart itself does not bring either: Helm cannot read its manifest.
pub(super) fn missing_kinds(
    brought: &Brought,
    action: ReleaseActionKind,
    context: &Context<'_>,
) -> Option<Trouble> {
    let missing: Vec<&Value> = brought
        .objects
        .iter()
        .filter(|object| context.server.resolve(&object.gvk()).is_err() && !is_own_kind(object, brought))
        .collect();
    if missing.is_empty() {
        return None;
    }
    let texts: Vec<String> = missing
        .iter()
        .map(|object| {
            format!(
                "resource mapping not found for name: \"{}\" namespace: \"{}\" from \"\": {}\nensure CRDs are installed first",
                object.name(),
                object.namespace().unwrap_or_default(),
                ApiError::no_kind_match(&object.gvk())
            )
        })
        .collect();
    let text = match texts.as_slice() {
        [text] => text.clone(),
        texts => format!("[{}]", texts.join(", ")),
    };
    let which = match action {
        Install => "release",
        Upgrade => "new release",
    };
    let obstacles = missing
        .into_iter()
        .map(|object| Obstacle::UnknownKind {
            object: object.id(),
            gvk: object.gvk(),
        })
        .collect();
    Some(Trouble {
        message: format!("unable to build kubernetes objects from {which} manifest: {text}"),
        obstacles,
    })
}

/// What Helm says of an object that the server refuses.
pub(super) fn refused(object: &Value, error: &ApiError, context: &Context<'_>) -> Trouble {
    let gvk = object.gvk();
    let message = if context.settings.flux.at_least(8) {
        format!(
            "server-side apply failed for object {}/{} {}/{}, Kind={}: {error}",
            object.namespace().unwrap_or_default(),
            object.name(),
            gvk.group,
            gvk.version,
            gvk.kind
        )
    } else {
        error.to_string()
    };
    Trouble {
        message,
        obstacles: vec![obstacle_of(object, error)],
    }
}
