//! What workloads write into their status, so that everybody who looks sees the truth.

use firstpass_apiserver::Request;
use firstpass_object::ObjectExt;
use serde_json::{Value, json};

use crate::context::Context;
use crate::flux_api::generation;
use crate::marks::{POD_OF, PODS_RUNNING};

/// How far the pods of a workload are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// Something that they need is not there.
    Pending,
    /// Images are pulled.
    Starting,
    /// Processes crash as soon as they run, and are started again after a while.
    Crashing,
    /// It has failed for good: a Job after its last retry.
    Failed,
    /// A Job that was not done before its deadline.
    TooLate,
    /// Processes run.
    Running,
    /// Ready, or complete.
    Ready,
}

/// What holds pods up that cannot start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// The API server refuses them.
    Refused,
    /// They find no node.
    Unscheduled,
    /// They wait on their node.
    OnNode,
}

/// Whether a workload has nothing to do: no replicas, or suspended.
pub(super) fn is_idle(workload: &Value) -> bool {
    let none = workload.at(&["spec", "replicas"]).and_then(Value::as_i64) == Some(0);
    let suspended = workload.at(&["spec", "suspend"]) == Some(&Value::Bool(true));
    match workload.kind() {
        "Job" => suspended,
        "Deployment" | "StatefulSet" | "ReplicaSet" => none,
        _ => false,
    }
}

/// Whether a workload says that it is ready.
pub(crate) fn is_ready(workload: &Value) -> bool {
    let observed = crate::flux_api::observed_generation(workload)
        .is_none_or(|observed| observed == generation(workload));
    let ready = match workload.kind() {
        "Deployment" => workload.condition_is_true("Available"),
        "DaemonSet" => {
            workload
                .at(&["status", "numberReady"])
                .and_then(Value::as_i64)
                .unwrap_or(0)
                > 0
        }
        "Pod" => workload.condition_is_true("Ready"),
        _ => {
            workload
                .at(&["status", "readyReplicas"])
                .and_then(Value::as_i64)
                .unwrap_or(0)
                > 0
        }
    };
    observed && ready
}

/// What being ready is called.
pub(super) fn ready_word(workload: &Value) -> &'static str {
    match workload.kind() {
        "Deployment" => "available",
        "Job" if is_idle(workload) => "suspended",
        "Job" => "complete",
        _ => "ready",
    }
}

/// Writes the status that goes with a stage.
pub(super) fn write(workload: &Value, stage: Stage, nodes: u64, context: &mut Context<'_>) {
    let status = status(workload, stage, nodes, &context.now.timestamp());
    write_status(workload, status, context);
}

/// Writes the status of a workload whose pods cannot start.
pub(super) fn write_held(workload: &Value, held: Held, nodes: u64, context: &mut Context<'_>) {
    let now = context.now.timestamp();
    let mut status = status(workload, Stage::Pending, nodes, &now);
    match (held, workload.kind()) {
        (Held::Refused, "Deployment" | "StatefulSet" | "ReplicaSet") => {
            for field in [
                "replicas",
                "updatedReplicas",
                "currentReplicas",
                "fullyLabeledReplicas",
            ] {
                if status.get(field).is_some() {
                    status[field] = 0.into();
                }
            }
        }
        (Held::Refused, "DaemonSet") => {
            status["currentNumberScheduled"] = 0.into();
            status["updatedNumberScheduled"] = 0.into();
        }
        (Held::Refused, "Job") => status["active"] = 0.into(),
        (Held::Unscheduled, "Pod") => {
            status["conditions"][0] = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": now});
        }
        _ => {}
    }
    write_status(workload, status, context);
}

/// Writes that a Deployment has made no progress for too long (F-520).
pub(super) fn write_deadline(workload: &Value, nodes: u64, context: &mut Context<'_>) {
    let mut status = status(workload, Stage::Running, nodes, &context.now.timestamp());
    let message = format!("ReplicaSet \"{}\" has timed out progressing.", workload.name());
    status["conditions"][0] = json!({
        "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": message,
    });
    write_status(workload, status, context);
}

fn write_status(workload: &Value, status: Value, context: &mut Context<'_>) {
    if workload.get("status") == Some(&status) {
        return;
    }
    let mut object = json!({
        "apiVersion": workload.api_version(),
        "kind": workload.kind(),
        "metadata": {"name": workload.name(), "namespace": workload.namespace()},
    });
    object["status"] = status;
    let request = Request::UpdateStatus {
        object: object.into(),
        manager: "kube-controller-manager".into(),
    };
    let _gone_meanwhile = context.server.call(&request);
}

fn status(workload: &Value, stage: Stage, nodes: u64, now: &str) -> Value {
    let replicas = workload
        .at(&["spec", "replicas"])
        .and_then(Value::as_i64)
        .unwrap_or(1);
    let running = stage >= Stage::Running;
    let ready = if stage == Stage::Ready { replicas } else { 0 };
    let generation = generation(workload);
    let running_condition =
        json!({"type": PODS_RUNNING, "status": truth(running), "lastTransitionTime": now});
    match workload.kind() {
        "Deployment" => {
            let done = stage == Stage::Ready;
            let reason = if done {
                "NewReplicaSetAvailable"
            } else {
                "ReplicaSetUpdated"
            };
            json!({
                "observedGeneration": generation,
                "replicas": replicas,
                "updatedReplicas": replicas,
                "readyReplicas": ready,
                "availableReplicas": ready,
                "unavailableReplicas": replicas - ready,
                "conditions": [
                    {"type": "Progressing", "status": "True", "reason": reason},
                    {"type": "Available", "status": truth(done), "reason": if done { "MinimumReplicasAvailable" } else { "MinimumReplicasUnavailable" }},
                    running_condition,
                ],
            })
        }
        "StatefulSet" => json!({
            "observedGeneration": generation,
            "replicas": replicas,
            "readyReplicas": ready,
            "availableReplicas": ready,
            "currentReplicas": replicas,
            "updatedReplicas": replicas,
            "currentRevision": format!("{}-{generation}", workload.name()),
            "updateRevision": format!("{}-{generation}", workload.name()),
            "conditions": [running_condition],
        }),
        "ReplicaSet" => json!({
            "observedGeneration": generation,
            "replicas": replicas,
            "fullyLabeledReplicas": replicas,
            "readyReplicas": ready,
            "availableReplicas": ready,
            "conditions": [running_condition],
        }),
        "DaemonSet" => {
            let ready = if stage == Stage::Ready { nodes } else { 0 };
            json!({
                "observedGeneration": generation,
                "desiredNumberScheduled": nodes,
                "currentNumberScheduled": nodes,
                "updatedNumberScheduled": nodes,
                "numberMisscheduled": 0,
                "numberReady": ready,
                "numberAvailable": ready,
                "numberUnavailable": nodes - ready,
                "conditions": [running_condition],
            })
        }
        "Job" => job(workload, stage, now),
        _ => pod(workload, stage, now),
    }
}

fn job(workload: &Value, stage: Stage, now: &str) -> Value {
    if workload.at(&["spec", "suspend"]) == Some(&Value::Bool(true)) {
        return json!({"conditions": [{"type": "Suspended", "status": "True", "reason": "JobSuspended"}]});
    }
    match stage {
        Stage::Pending | Stage::Starting | Stage::Crashing => {
            json!({"active": 1, "ready": 0, "startTime": now})
        }
        Stage::Failed => json!({
            "failed": 1, "startTime": now,
            "conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit"}],
        }),
        Stage::TooLate => json!({
            "failed": 1, "startTime": now,
            "conditions": [{"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "Job was active longer than specified deadline"}],
        }),
        Stage::Running => json!({
            "active": 1, "ready": 1, "startTime": now,
            "conditions": [{"type": PODS_RUNNING, "status": "True"}],
        }),
        Stage::Ready => json!({
            "succeeded": workload.at(&["spec", "completions"]).and_then(Value::as_i64).unwrap_or(1), "startTime": now, "completionTime": now,
            "conditions": [{"type": PODS_RUNNING, "status": "True"}, {"type": "Complete", "status": "True"}],
        }),
    }
}

fn pod(workload: &Value, stage: Stage, now: &str) -> Value {
    let runs_once = workload.text_at(&["spec", "restartPolicy"]) == Some("Never");
    let phase = match stage {
        Stage::Pending | Stage::Starting => "Pending",
        Stage::Failed | Stage::TooLate => "Failed",
        Stage::Running | Stage::Crashing => "Running",
        Stage::Ready if runs_once => "Succeeded",
        Stage::Ready => "Running",
    };
    let waiting = if stage == Stage::Crashing {
        container_statuses(workload)
    } else {
        json!([])
    };
    json!({
        "phase": phase,
        "containerStatuses": waiting,
        "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": now},
            {"type": "Ready", "status": truth(stage == Stage::Ready && !runs_once), "lastTransitionTime": now},
            {"type": PODS_RUNNING, "status": truth(stage >= Stage::Running)},
        ],
    })
}

/// What the containers of a crashing pod say.
fn container_statuses(workload: &Value) -> Value {
    let containers = super::needs::pod_spec(workload).map_or(&[][..], |spec| spec.items_at(&["containers"]));
    let status = |container: &Value| json!({"name": container.text_at(&["name"]), "ready": false, "state": {"waiting": {"reason": "CrashLoopBackOff"}}});
    containers.iter().map(status).collect()
}

/// The crashing pod of a workload whose health depends on its pods (F-530).
pub(super) fn crashing_pod(workload: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("{}-0", workload.name()),
            "namespace": workload.namespace(),
            "labels": super::needs::pod_labels(workload),
            "annotations": {POD_OF: workload.id().to_string()},
        },
        "spec": super::needs::pod_spec(workload),
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}], "containerStatuses": container_statuses(workload)},
    })
}

fn truth(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}
