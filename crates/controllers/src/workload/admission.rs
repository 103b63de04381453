//! Pods that are written as objects: the API server takes them only with their account and their classes (Kubernetes admission
//! plugins ServiceAccount, Priority and RuntimeClass).

use firstpass_apiserver::ApiError;
use firstpass_object::{ObjectExt, ObjectId};
use serde_json::Value;

use super::needs;
use crate::context::Context;

/// Whether a new pod is taken; other objects always are. What nothing brings is taken to be there.
pub(crate) fn admit_pod(object: &Value, context: &Context<'_>) -> Result<(), ApiError> {
    if !object.id().is("", "Pod") {
        return Ok(());
    }
    let is_missing = |id: &ObjectId| {
        let is_seen = context.contents.brings(id) || context.contents.rules_out(id);
        context.server.object(id).is_none() && is_seen
    };
    match needs::admission(object).iter().find(|id| is_missing(id)) {
        None => Ok(()),
        Some(id) => {
            let message = format!("pods \"{}\" is forbidden: {}", object.name(), refusal(id));
            Err(ApiError::forbidden(message))
        }
    }
}

fn refusal(missing: &ObjectId) -> String {
    let name = &missing.name;
    match missing.kind.as_str() {
        "ServiceAccount" => format!(
            "error looking up service account {}/{name}: serviceaccount \"{name}\" not found",
            missing.namespace.as_deref().unwrap_or_default()
        ),
        "PriorityClass" => format!("no PriorityClass with name {name} was found"),
        _ => format!("pod rejected: RuntimeClass \"{name}\" not found"),
    }
}
