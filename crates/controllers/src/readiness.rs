//! How healthy an object is, as Flux's pollers see it (F-510 to F-531, F-1750, F-1751).

use std::sync::Arc;

use firstpass_apiserver::{ApiServer, Time};
use firstpass_flux::FluxVersion;
use firstpass_object::kstatus::{self, StatusKind};
use firstpass_object::{GroupKind, ObjectExt, ObjectId};
use serde_json::Value;

/// What a poll saw of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// kstatus' word.
    pub status: StatusKind,
    /// Why.
    pub message: String,
    /// What went wrong when looking.
    pub error: Option<String>,
}

impl Health {
    /// A status with its reason.
    pub fn new(status: StatusKind, message: impl Into<String>) -> Health {
        Health {
            status,
            message: message.into(),
            error: None,
        }
    }

    /// Not looked at yet.
    pub fn unknown() -> Health {
        Health::new(StatusKind::Unknown, "not looked at yet")
    }

    /// Not there.
    pub fn not_found() -> Health {
        Health::new(StatusKind::NotFound, "it does not exist")
    }

    /// Could not be looked at.
    pub fn error(error: String) -> Health {
        Health {
            status: StatusKind::Unknown,
            message: error.clone(),
            error: Some(error),
        }
    }
}

/// The health of an object of the cluster, without expressions of its own.
pub fn health(id: &ObjectId, server: &ApiServer, flux: FluxVersion) -> Health {
    match server.object(id) {
        Some(object) => health_of(object, server, server.now(), flux),
        None => Health::not_found(),
    }
}

fn health_of(object: &Value, server: &ApiServer, now: Time, flux: FluxVersion) -> Health {
    let suspended = object.at(&["spec", "suspend"]) == Some(&Value::Bool(true));
    let is_job = object.kind() == "Job" && firstpass_object::group_of(object.api_version()) == "batch";
    if is_job && suspended && !flux.at_least(8) {
        // F-1751: up to 2.7 a suspended Job stays in progress.
        return Health::new(StatusKind::InProgress, "Job in progress");
    }
    let pods: Vec<Arc<Value>> = if kstatus::looks_at_pods(object) {
        let pods = server.objects(&GroupKind::new("", "Pod"), object.namespace());
        pods.map(|(_, pod)| Arc::clone(pod)).collect()
    } else {
        Vec::new()
    };
    let status = kstatus::compute(object, now.unix_s(), &pods);
    Health::new(status.kind, status.message)
}
