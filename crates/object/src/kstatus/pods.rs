//! Pods, alone and as part of what they belong to.

use std::sync::Arc;

use serde_json::Value;

use super::conditions::Conditions;
use super::{Status, StatusKind, compute_alone, selects_pod};
use crate::{ObjectExt, parse_timestamp};

/// How long a pod may be unschedulable before that counts as a failure (F-524).
const SCHEDULE_WINDOW_S: u64 = 15;

/// F-524, F-531.
pub(super) fn pod(object: &Value, conditions: &Conditions, now_unix_s: u64) -> Status {
    match object.text_at(&["status", "phase"]).unwrap_or_default() {
        "Succeeded" => Status::current("Pod has completed successfully"),
        "Failed" => Status::current("Pod has completed, but not successfully"),
        "Running" => running(object, conditions),
        "Pending" if !is_unschedulable(conditions) => Status::in_progress("Pod is in the Pending phase"),
        "Pending" => {
            let created = object
                .text_at(&["metadata", "creationTimestamp"])
                .and_then(parse_timestamp);
            if created.unwrap_or(0) + SCHEDULE_WINDOW_S > now_unix_s {
                Status::in_progress("Pod has not been scheduled")
            } else {
                Status::failed("Pod could not be scheduled")
            }
        }
        phase => Status::in_progress(format!("Pod is in an unknown phase `{phase}`")),
    }
}

fn running(object: &Value, conditions: &Conditions) -> Status {
    if conditions.find("Ready").is_some_and(|ready| ready.is("True")) {
        return Status::current("Pod is Ready");
    }
    let crashing: Vec<&str> = object
        .items_at(&["status", "containerStatuses"])
        .iter()
        .filter(|container| container.text_at(&["state", "waiting", "reason"]) == Some("CrashLoopBackOff"))
        .filter_map(|container| container.text_at(&["name"]))
        .collect();
    if crashing.is_empty() {
        Status::in_progress("Pod is running but is not Ready")
    } else {
        Status::failed(format!("Containers in CrashLoop state: {}", crashing.join(",")))
    }
}

fn is_unschedulable(conditions: &Conditions) -> bool {
    conditions
        .find("PodScheduled")
        .is_some_and(|condition| condition.is("False") && condition.reason == "Unschedulable")
}

/// How many pods of an object have failed for good (F-530): not those being deleted, not those that found no node.
pub(super) fn count_failed(object: &Value, now_unix_s: u64, pods: &[Arc<Value>]) -> usize {
    pods.iter()
        .filter(|pod| pod.namespace() == object.namespace() && selects_pod(object, pod))
        .filter(|pod| compute_alone(pod, now_unix_s).kind == StatusKind::Failed)
        .filter(|pod| Conditions::of(pod).is_ok_and(|conditions| !is_unschedulable(&conditions)))
        .count()
}
