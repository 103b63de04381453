//! Services: their addresses, and whether somebody answers.

use firstpass_apiserver::{Request, Target};
use firstpass_object::{ObjectExt, ObjectId};
use serde_json::Value;

use super::endpoints::{picks, selector};
use super::{WorkloadController, report};
use crate::context::Context;

/// A Service without an address gets one.
pub(super) fn give_address(service: &Value, context: &mut Context<'_>) {
    let kind = service.text_at(&["spec", "type"]).unwrap_or("ClusterIP");
    if kind == "ExternalName" || service.at(&["spec", "clusterIP"]).is_some() {
        return;
    }
    let number = context.server.log().head().0 % 65_025;
    let patch = Request::Patch {
        target: Target::of(service),
        patch: serde_json::json!({"spec": {"clusterIP": format!("10.43.{}.{}", number / 255, number % 255 + 1)}}),
        manager: "kube-apiserver".into(),
    };
    let _gone_meanwhile = context.server.call(&patch);
}

impl WorkloadController {
    /// The Services that pick the pods of a workload may have got, or lost, somebody to answer.
    pub(super) fn update_services(&self, workload: &Value, context: &mut Context<'_>) {
        for service in self.endpoints.services_of(workload) {
            let service = context.server.object(service).cloned();
            if let Some(service) = service.filter(|service| picks(service, workload)) {
                self.update_service(&service, context);
            }
        }
    }

    /// A Service serves if its selector picks the pods of a workload that is ready, or whose old pods still run.
    pub(super) fn update_service(&self, service: &Value, context: &mut Context<'_>) {
        if selector(service).is_none() {
            return;
        }
        let answers = |id: &ObjectId, workload: &Value| {
            let record = self.workloads.get(id);
            report::is_ready(workload) || record.is_some_and(|record| record.serves_still)
        };
        let is_serving = self.endpoints.workloads_of(service).any(|id| {
            let workload = context.server.object(id);
            workload.is_some_and(|workload| picks(service, workload) && answers(id, workload))
        });
        let namespace = service.namespace().unwrap_or_default();
        context
            .server
            .set_service_serving(namespace, service.name(), is_serving);
    }
}
