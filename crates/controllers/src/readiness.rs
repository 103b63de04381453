//! How healthy an object is, as Flux's pollers see it (F-510 to F-531).

use firstpass_flux::FluxVersion;
use firstpass_object::{GroupKind, ObjectExt, kstatus};
use serde_json::Value;

pub use firstpass_object::kstatus::Status;

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
        Health { status, message: message.into(), error: None }
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
        Health { status: Status::Unknown, message: error.clone(), error: Some(error) }
    }
}

/// The health of a stored object without expressions of its own.
pub fn health(object: &Value, flux: FluxVersion) -> Health {
    if GroupKind::new(firstpass_object::group_of(object.api_version()), object.kind()).is("batch", "Job") {
        return job(object, flux);
    }
    let computed = kstatus::compute(object);
    Health::new(computed.status, computed.message)
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
