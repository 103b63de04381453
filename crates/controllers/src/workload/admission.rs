//! What the API server asks before it takes a pod: accounts and classes (Kubernetes admission plugins ServiceAccount, Priority
//! and RuntimeClass) of pods that are written as objects, and webhooks of those that controllers make.

use firstpass_apiserver::{ApiError, Duration, Time};
use firstpass_object::{ObjectExt, ObjectId};
use serde_json::{Value, json};

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

/// Pods of a workload that a webhook keeps from being made.
#[derive(Clone, Debug)]
pub(super) struct RefusedPods {
    /// The Service that does not answer.
    pub(super) service: ObjectId,
    /// What the API server says.
    pub(super) message: String,
    /// Since when the controller has tried.
    pub(super) since: Time,
}

/// The first wait of a workload's controller before it tries again (client-go, `DefaultTypedControllerRateLimiter`).
const RETRY_LEAST: Duration = Duration::from_millis(5);
/// The longest such wait.
const RETRY_MOST: Duration = Duration::from_secs(1000);

impl RefusedPods {
    /// What a webhook of the repository says to the pods of a workload, if nobody answers for it.
    pub(super) fn of(workload: &Value, is_first: bool, context: &Context<'_>) -> Option<RefusedPods> {
        if workload.kind() == "Pod" || crate::made::is_made(workload) {
            return None;
        }
        let spec = needs::pod_spec(workload)?;
        let template = workload.at(&["spec", "template", "metadata"]);
        let of_template = |field: &str| template.and_then(|metadata| metadata.get(field)).cloned();
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": format!("{}-0", workload.name()), "namespace": workload.namespace(),
                "labels": of_template("labels"), "annotations": of_template("annotations"),
            },
            "spec": spec,
        });
        let (refusal, service) = context.server.refusal_of_made(&pod, workload, is_first)?;
        Some(RefusedPods {
            service,
            message: refusal.to_string(),
            since: context.now,
        })
    }

    /// When the controller tries next: the waits double.
    pub(super) fn next_try(&self, now: Time) -> Time {
        let (mut at, mut wait) = (self.since, RETRY_LEAST);
        while at <= now {
            at += wait;
            wait = (wait * 2).min(RETRY_MOST);
        }
        at
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
