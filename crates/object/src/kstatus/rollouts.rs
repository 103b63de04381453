//! Workloads that count replicas.

use serde_json::Value;

use super::Status;
use super::conditions::Conditions;
use crate::ObjectExt;

fn count(object: &Value, path: &[&str]) -> Option<i64> {
    object.at(path).and_then(Value::as_i64)
}

fn status(object: &Value, field: &str) -> i64 {
    count(object, &["status", field]).unwrap_or(0)
}

fn wanted(object: &Value) -> i64 {
    count(object, &["spec", "replicas"]).unwrap_or(1)
}

/// In progress if fewer than wanted: `Ready: 0/2`.
fn at_least(what: &str, actual: i64, wanted: i64) -> Option<Status> {
    (actual < wanted).then(|| Status::in_progress(format!("{what}: {actual}/{wanted}")))
}

/// In progress if pods of an earlier state still have to go.
fn no_extra(actual: i64, wanted: i64) -> Option<Status> {
    (actual > wanted).then(|| Status::in_progress(format!("Pending termination: {}", actual - wanted)))
}

/// F-520.
pub(super) fn deployment(object: &Value, conditions: &Conditions) -> Status {
    let mut progressed = count(object, &["spec", "progressDeadlineSeconds"]).is_none();
    let mut is_available = false;
    for condition in conditions.iter() {
        match condition.name {
            "Progressing" if condition.reason == "ProgressDeadlineExceeded" => {
                return Status::failed("Progress deadline exceeded");
            }
            "Progressing" if condition.is("True") && condition.reason == "NewReplicaSetAvailable" => {
                progressed = true;
            }
            "Available" if condition.is("True") => is_available = true,
            _ => {}
        }
    }
    let (wanted, replicas) = (wanted(object), status(object, "replicas"));
    let (updated, available) = (
        status(object, "updatedReplicas"),
        status(object, "availableReplicas"),
    );
    at_least("Replicas", replicas, wanted)
        .or_else(|| at_least("Updated", updated, wanted))
        .or_else(|| no_extra(replicas, wanted))
        .or_else(|| at_least("Available", available, updated))
        .or_else(|| at_least("Ready", status(object, "readyReplicas"), wanted))
        .or_else(|| (!progressed).then(|| Status::in_progress("ReplicaSet not Available")))
        .or_else(|| (!is_available).then(|| Status::in_progress("Deployment not Available")))
        .unwrap_or_else(|| Status::current(format!("Deployment is available. Replicas: {replicas}")))
}

/// F-521.
pub(super) fn stateful_set(object: &Value) -> Status {
    if object.text_at(&["spec", "updateStrategy", "type"]) == Some("OnDelete") {
        return Status::current("StatefulSet is using the ondelete update strategy");
    }
    let (wanted, replicas) = (wanted(object), status(object, "replicas"));
    let unfinished = at_least("Replicas", replicas, wanted)
        .or_else(|| at_least("Ready", status(object, "readyReplicas"), wanted))
        .or_else(|| no_extra(replicas, wanted));
    if let Some(unfinished) = unfinished {
        return unfinished;
    }
    if let Some(partition) = count(object, &["spec", "updateStrategy", "rollingUpdate", "partition"]) {
        let updated = status(object, "updatedReplicas");
        return at_least("updated", updated, wanted - partition)
            .unwrap_or_else(|| Status::current(format!("Partition rollout complete. updated: {updated}")));
    }
    let revision = |field: &str| object.text_at(&["status", field]).unwrap_or_default();
    at_least("current", status(object, "currentReplicas"), wanted)
        .or_else(|| {
            (revision("currentRevision") != revision("updateRevision"))
                .then(|| Status::in_progress("Waiting for updated revision to match current"))
        })
        .unwrap_or_else(|| {
            Status::current(format!(
                "All replicas scheduled as expected. Replicas: {replicas}"
            ))
        })
}

/// F-522.
pub(super) fn daemon_set(object: &Value) -> Status {
    if count(object, &["metadata", "generation"]).is_none() {
        return Status::in_progress("Missing .metadata.generation");
    }
    if count(object, &["status", "observedGeneration"]).is_none() {
        return Status::in_progress("Missing .status.observedGeneration");
    }
    let Some(desired) = count(object, &["status", "desiredNumberScheduled"]) else {
        return Status::in_progress("Missing .status.desiredNumberScheduled");
    };
    [
        ("Current", "currentNumberScheduled"),
        ("Updated", "updatedNumberScheduled"),
        ("Available", "numberAvailable"),
        ("Ready", "numberReady"),
    ]
    .into_iter()
    .find_map(|(what, field)| at_least(what, status(object, field), desired))
    .unwrap_or_else(|| Status::current(format!("All replicas scheduled as expected. Replicas: {desired}")))
}

/// F-523.
pub(super) fn replica_set(object: &Value, conditions: &Conditions) -> Status {
    if conditions
        .find("ReplicaFailure")
        .is_some_and(|condition| condition.is("True"))
    {
        return Status::in_progress("Replica Failure condition. Check Pods");
    }
    let wanted = wanted(object);
    [
        ("Labelled", "fullyLabeledReplicas"),
        ("Available", "availableReplicas"),
        ("Ready", "readyReplicas"),
    ]
    .into_iter()
    .find_map(|(what, field)| at_least(what, status(object, field), wanted))
    .or_else(|| no_extra(status(object, "replicas"), wanted))
    .unwrap_or_else(|| Status::current(format!("ReplicaSet is available. Replicas: {wanted}")))
}
