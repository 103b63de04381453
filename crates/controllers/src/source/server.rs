//! Sources that something in this very cluster serves.

use firstpass_flux::{Source, names};
use firstpass_object::{ObjectExt, ObjectId};
use serde_json::Value;

use super::chart_origin;
use crate::context::Context;

/// What in this cluster is asked when a source is fetched. An OCI index is never fetched: its charts are.
pub(super) fn server_asked(source: &Source, context: &Context<'_>) -> Option<ObjectId> {
    match chart_origin(source) {
        Some(origin) => context.contents.server_of(&origin.id()),
        None if source.oci_index => None,
        None => context.contents.server_of(&source.name.id()),
    }
}

/// Whether a server in this cluster answers: a Service that pods serve, or a release that is installed.
pub(super) fn answers(server: &ObjectId, context: &Context<'_>) -> bool {
    if let Some(namespace) = server.namespace.as_ref().filter(|_| server.is("", "Service")) {
        return context.server.is_service_serving(namespace, &server.name);
    }
    let object = context.server.object(server);
    object.is_some_and(|object| object.condition_is_true(names::condition::READY))
}

/// Whether an object may be, or bring, a server that answers from now on.
pub(super) fn has_come_up(object: &Value) -> bool {
    let id = object.id();
    id.is("", "Service")
        || id.is(names::HELM_GROUP, names::HELM_RELEASE) && object.condition_is_true(names::condition::READY)
        || crate::workload::is_workload(&id.group_kind()) && crate::workload::is_ready(object)
}
