//! Services: their addresses, and whether somebody answers.

use std::sync::Arc;

use firstpass_apiserver::{Request, Target};
use firstpass_object::{GroupKind, ObjectExt};
use serde_json::Value;

use super::{WorkloadController, needs, report};
use crate::context::Context;

const KINDS: [(&str, &str); 5] = [
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("apps", "DaemonSet"),
    ("apps", "ReplicaSet"),
    ("", "Pod"),
];

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
    /// The services of a workload's namespace may have got, or lost, somebody to answer.
    pub(super) fn update_services(&self, workload: &Value, context: &mut Context<'_>) {
        let namespace = workload.namespace().unwrap_or_default().to_owned();
        let services: Vec<Arc<Value>> = context
            .server
            .objects(&GroupKind::new("", "Service"), Some(&namespace))
            .map(|(_, service)| Arc::clone(service))
            .collect();
        for service in services {
            self.update_service(&service, context);
        }
    }

    /// A Service serves if its selector picks the pods of a workload that is ready, or whose old pods still run.
    pub(super) fn update_service(&self, service: &Value, context: &mut Context<'_>) {
        let Some(selector) = service.at(&["spec", "selector"]).and_then(Value::as_object) else {
            return;
        };
        let namespace = service.namespace().unwrap_or_default().to_owned();
        let picks = |workload: &Value| {
            let labels = needs::pod_labels(workload);
            selector
                .iter()
                .all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value))
        };
        let answers = |workload: &Value| {
            let record = self.workloads.get(&workload.id());
            report::is_ready(workload) || record.is_some_and(|record| record.serves_still)
        };
        let serving = !selector.is_empty()
            && KINDS.iter().any(|(group, kind)| {
                let kind = GroupKind::new(*group, *kind);
                let mut workloads = context.server.objects(&kind, Some(&namespace));
                workloads.any(|(_, workload)| picks(workload) && answers(workload))
            });
        context
            .server
            .set_service_serving(&namespace, service.name(), serving);
    }
}
