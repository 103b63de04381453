//! How healthy does an object say it is? The rules of kstatus as Flux uses it (F-510 to F-531).
//!
//! ```text
//! deletion ──► generation ──► Reconciling, Stalled ──► rules of the kind ──► Ready condition ──► Current
//! ```
//!
//! The first that has an answer decides. Mind the end of the chain: an object that reports nothing is Current (F-515),
//! which is why waiting for it proves nothing.

mod conditions;
mod pods;
mod rollouts;

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::{ObjectExt, selects};
use conditions::Conditions;

/// The status of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatusKind {
    /// As wanted.
    Current,
    /// On the way.
    InProgress,
    /// It will not get there by itself.
    Failed,
    /// Being deleted.
    Terminating,
    /// Not there.
    NotFound,
    /// Cannot be told.
    Unknown,
}

/// A status and the reason for it in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The status.
    pub kind: StatusKind,
    /// Why, as kstatus words it.
    pub message: String,
}

/// The status of an object that exists.
///
/// `now_unix_s` is the time in seconds since 1970, for pods that wait to be scheduled. `pods` are pods of the object's
/// namespace; they only matter where [`looks_at_pods`] says so (F-530).
///
/// ```
/// use firstpass_object::kstatus::{StatusKind, compute};
/// let claim = serde_json::json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": "Pending"}});
/// assert_eq!(compute(&claim, 0, &[]).kind, StatusKind::InProgress);
/// ```
pub fn compute(object: &Value, now_unix_s: u64, pods: &[Arc<Value>]) -> Status {
    let status = compute_alone(object, now_unix_s);
    if status.kind == StatusKind::InProgress && looks_at_pods(object) {
        let failed = pods::count_failed(object, now_unix_s, pods);
        if failed > 0 {
            return Status::failed(format!("{failed} pods have failed"));
        }
    }
    status
}

/// Whether the status of the object depends on its pods while it is in progress (F-530): StatefulSets and ReplicaSets,
/// not Deployments and DaemonSets.
pub fn looks_at_pods(object: &Value) -> bool {
    crate::group_of(object.api_version()) == "apps" && matches!(object.kind(), "StatefulSet" | "ReplicaSet")
}

fn compute_alone(object: &Value, now_unix_s: u64) -> Status {
    let conditions = match Conditions::of(object) {
        Ok(conditions) => conditions,
        Err(message) => return Status::new(StatusKind::Unknown, message),
    };
    let gvk = object.gvk();
    let kind = (gvk.group.as_str(), gvk.kind.as_str());
    // F-528: Flux reads Jobs itself, past the generic rules.
    if kind == ("batch", "Job") {
        return job(object, &conditions);
    }
    if let Some(status) = generic(object, &conditions) {
        return status;
    }
    match kind {
        ("apps" | "extensions", "Deployment") => rollouts::deployment(object, &conditions),
        ("apps", "StatefulSet") => rollouts::stateful_set(object),
        ("apps" | "extensions", "DaemonSet") => rollouts::daemon_set(object),
        ("apps" | "extensions", "ReplicaSet") => rollouts::replica_set(object, &conditions),
        ("", "Pod") => pods::pod(object, &conditions, now_unix_s),
        ("", "PersistentVolumeClaim") => claim(object),
        ("", "Service") => service(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition(&conditions),
        // F-529
        ("", "Secret" | "ConfigMap") | ("batch", "CronJob") | ("policy", "PodDisruptionBudget") => {
            Status::current("Resource is always ready")
        }
        _ => by_ready_condition(&conditions),
    }
}

/// F-510 to F-512.
fn generic(object: &Value, conditions: &Conditions) -> Option<Status> {
    if object
        .at(&["metadata", "deletionTimestamp"])
        .is_some_and(|at| !at.is_null())
    {
        return Some(Status::new(
            StatusKind::Terminating,
            "Resource scheduled for deletion",
        ));
    }
    if let (Some(generation), Some(observed)) = (
        object.at(&["metadata", "generation"]),
        object.at(&["status", "observedGeneration"]),
    ) {
        let (Some(generation), Some(observed)) = (generation.as_i64(), observed.as_i64()) else {
            return Some(Status::new(StatusKind::Unknown, "a generation is no integer"));
        };
        if generation != observed {
            return Some(Status::in_progress(format!(
                "{} generation is {generation}, but latest observed generation is {observed}",
                object.kind()
            )));
        }
    }
    conditions.iter().find_map(|condition| match condition.name {
        "Reconciling" if condition.is("True") => Some(Status::in_progress(condition.message)),
        "Stalled" if condition.is("True") => Some(Status::failed(condition.message)),
        _ => None,
    })
}

/// F-514, F-515.
fn by_ready_condition(conditions: &Conditions) -> Status {
    for condition in conditions.iter().filter(|condition| condition.name == "Ready") {
        match condition.status {
            "True" => return Status::current("Resource is Ready"),
            "False" | "Unknown" => return Status::in_progress(condition.message),
            _ => {}
        }
    }
    Status::current("Resource is current")
}

/// F-525.
fn claim(object: &Value) -> Status {
    match object.text_at(&["status", "phase"]).unwrap_or("unknown") {
        "Bound" => Status::current("PVC is Bound"),
        phase => Status::in_progress(format!("PVC is not Bound. phase: {phase}")),
    }
}

/// F-526.
fn service(object: &Value) -> Status {
    let cluster_ip = object.text_at(&["spec", "clusterIP"]).unwrap_or_default();
    if object.text_at(&["spec", "type"]) == Some("LoadBalancer") && cluster_ip.is_empty() {
        return Status::in_progress("ClusterIP not set. Service type: LoadBalancer");
    }
    Status::current("Service is ready")
}

/// F-527.
fn definition(conditions: &Conditions) -> Status {
    for condition in conditions.iter() {
        match (condition.name, condition.status) {
            ("NamesAccepted", "False") => return Status::failed(condition.message),
            ("Established", "False") if condition.reason != "Installing" => {
                return Status::failed(condition.message);
            }
            ("Established", "True") => return Status::current("CRD is established"),
            _ => {}
        }
    }
    Status::in_progress("Install in progress")
}

/// F-528.
fn job(object: &Value, conditions: &Conditions) -> Status {
    if object.at(&["spec", "suspend"]) == Some(&Value::Bool(true)) {
        return Status::current("Job is suspended");
    }
    let count = |field: &str| object.at(&["status", field]).and_then(Value::as_i64).unwrap_or(0);
    for condition in conditions.iter().filter(|condition| condition.is("True")) {
        match condition.name {
            "Complete" => {
                return Status::current(format!("Job Completed. succeeded: {}", count("succeeded")));
            }
            "Failed" => return Status::failed(format!("Job Failed. failed: {}", count("failed"))),
            _ => {}
        }
    }
    Status::in_progress("Job in progress")
}

impl Status {
    /// A status with its reason.
    pub fn new(kind: StatusKind, message: impl Into<String>) -> Status {
        Status {
            kind,
            message: message.into(),
        }
    }

    /// The status of an object that does not exist (F-532).
    pub fn not_found() -> Status {
        Status::new(StatusKind::NotFound, "Resource not found")
    }

    fn current(message: impl Into<String>) -> Status {
        Status::new(StatusKind::Current, message)
    }

    fn in_progress(message: impl Into<String>) -> Status {
        Status::new(StatusKind::InProgress, message)
    }

    fn failed(message: impl Into<String>) -> Status {
        Status::new(StatusKind::Failed, message)
    }
}

/// The word that Flux prints (F-505).
impl fmt::Display for StatusKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            StatusKind::Current => "Current",
            StatusKind::InProgress => "InProgress",
            StatusKind::Failed => "Failed",
            StatusKind::Terminating => "Terminating",
            StatusKind::NotFound => "NotFound",
            StatusKind::Unknown => "Unknown",
        })
    }
}

/// Whether a selector in `spec.selector` selects the pod; an object without one selects nothing.
fn selects_pod(object: &Value, pod: &Value) -> bool {
    object
        .at(&["spec", "selector"])
        .is_some_and(|selector| selects(selector, pod))
}
