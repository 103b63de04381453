//! How healthy an object is, as Flux's pollers see it (F-510 to F-531).

use firstpass_flux::FluxVersion;
use firstpass_object::{GroupKind, ObjectExt};
use serde_json::Value;

/// kstatus' words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// As desired.
    Current,
    /// On its way.
    InProgress,
    /// Broken.
    Failed,
    /// Being deleted.
    Terminating,
    /// Not there.
    NotFound,
    /// Nobody knows.
    Unknown,
}

impl Status {
    /// As Flux writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Current => "Current",
            Status::InProgress => "InProgress",
            Status::Failed => "Failed",
            Status::Terminating => "Terminating",
            Status::NotFound => "NotFound",
            Status::Unknown => "Unknown",
        }
    }
}

/// What a poll saw of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// kstatus' word.
    pub status: Status,
    /// Why.
    pub message: String,
    /// What went wrong when looking.
    pub error: Option<String>,
}

impl Health {
    /// A status with its reason.
    pub fn new(status: Status, message: impl Into<String>) -> Health {
        Health {
            status,
            message: message.into(),
            error: None,
        }
    }

    /// Not looked at yet.
    pub fn unknown() -> Health {
        Health::new(Status::Unknown, "not looked at yet")
    }

    /// Not there.
    pub fn not_found() -> Health {
        Health::new(Status::NotFound, "it does not exist")
    }

    /// Could not be looked at.
    pub fn error(error: String) -> Health {
        Health {
            status: Status::Unknown,
            message: error.clone(),
            error: Some(error),
        }
    }
}

/// The health of a stored object without expressions of its own.
pub fn health(object: &Value, flux: FluxVersion) -> Health {
    if GroupKind::new(firstpass_object::group_of(object.api_version()), object.kind()).is("batch", "Job") {
        return job(object, flux);
    }
    compute(object)
}

/// Flux's own reader for Jobs (F-528, F-1751).
fn job(object: &Value, flux: FluxVersion) -> Health {
    let suspended = object.at(&["spec", "suspend"]) == Some(&Value::Bool(true));
    if object.condition_is_true("Failed") {
        Health::new(Status::Failed, "Job Failed")
    } else if object.condition_is_true("Complete") {
        Health::new(Status::Current, "Job Completed")
    } else if suspended && flux.at_least(8) {
        Health::new(Status::Current, "Job suspended")
    } else {
        Health::new(Status::InProgress, "Job in progress")
    }
}

fn compute(object: &Value) -> Health {
    if object.at(&["metadata", "deletionTimestamp"]).is_some() {
        return Health::new(Status::Terminating, "being deleted");
    }
    let number = |path: &[&str]| object.at(path).and_then(Value::as_i64);
    if let (Some(generation), Some(observed)) = (
        number(&["metadata", "generation"]),
        number(&["status", "observedGeneration"]),
    ) && generation != observed
    {
        return Health::new(Status::InProgress, "generation not observed");
    }
    for condition in object.items_at(&["status", "conditions"]) {
        match (condition.text_at(&["type"]), condition.text_at(&["status"])) {
            (Some("Reconciling"), Some("True")) => {
                return Health::new(
                    Status::InProgress,
                    condition.text_at(&["message"]).unwrap_or_default(),
                );
            }
            (Some("Stalled"), Some("True")) => {
                return Health::new(
                    Status::Failed,
                    condition.text_at(&["message"]).unwrap_or_default(),
                );
            }
            _ => {}
        }
    }
    let group = firstpass_object::group_of(object.api_version());
    let progress = |done: bool| {
        if done {
            Health::new(Status::Current, "ready")
        } else {
            Health::new(Status::InProgress, "not ready")
        }
    };
    let want = number(&["spec", "replicas"]).unwrap_or(1);
    match (group, object.kind()) {
        ("apps", "Deployment" | "StatefulSet" | "ReplicaSet") => {
            let failed = object
                .condition("Progressing")
                .is_some_and(|c| c.text_at(&["reason"]) == Some("ProgressDeadlineExceeded"));
            if failed {
                return Health::new(Status::Failed, "progress deadline exceeded");
            }
            progress(number(&["status", "readyReplicas"]).unwrap_or(0) >= want)
        }
        ("apps", "DaemonSet") => progress(number(&["status", "numberReady"]).unwrap_or(0) >= 1),
        ("", "PersistentVolumeClaim") => progress(object.text_at(&["status", "phase"]) == Some("Bound")),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            progress(object.condition_is_true("Established"))
        }
        _ => match object.condition("Ready") {
            Some(ready) => progress(ready.text_at(&["status"]) == Some("True")),
            None => Health::new(Status::Current, "current"),
        },
    }
}
