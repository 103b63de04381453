//! What the pods of a workload cannot do without: accounts, ConfigMaps, Secrets, claims.

use std::collections::BTreeSet;

use firstpass_object::{ObjectExt, ObjectId};
use serde_json::Value;

/// What a workload's pods need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// ConfigMaps, Secrets, ServiceAccounts, classes: without them no container starts.
    pub(crate) objects: BTreeSet<ObjectId>,
    /// Claims that the pods mount, and by that consume.
    pub(crate) claims: BTreeSet<ObjectId>,
}

/// The classes that a pod names, without which none is admitted.
const CLASSES: [(&str, &str, &str); 2] = [
    ("scheduling.k8s.io", "PriorityClass", "priorityClassName"),
    ("node.k8s.io", "RuntimeClass", "runtimeClassName"),
];

/// The priority classes that every cluster has.
const BUILT_IN_PRIORITIES: [&str; 2] = ["system-cluster-critical", "system-node-critical"];

/// The pod template of a workload, or the pod itself.
pub(crate) fn pod_spec(workload: &Value) -> Option<&Value> {
    match workload.kind() {
        "Pod" => workload.at(&["spec"]),
        "CronJob" => workload.at(&["spec", "jobTemplate", "spec", "template", "spec"]),
        _ => workload.at(&["spec", "template", "spec"]),
    }
}

/// The labels of the pods of a workload.
pub(crate) fn pod_labels(workload: &Value) -> Option<&Value> {
    match workload.kind() {
        "Pod" => workload.at(&["metadata", "labels"]),
        _ => workload.at(&["spec", "template", "metadata", "labels"]),
    }
}

/// How long the repository itself says that pods take before they count as ready or available: the first readiness probe
/// comes after `initialDelaySeconds`, and a pod is available `minReadySeconds` after it is ready.
pub(crate) fn declared_delay_s(workload: &Value) -> u64 {
    let containers = pod_spec(workload).map_or(&[][..], |spec| spec.items_at(&["containers"]));
    let probe = containers
        .iter()
        .filter_map(|container| container.at(&["readinessProbe", "initialDelaySeconds"])?.as_u64())
        .max();
    let available = workload.at(&["spec", "minReadySeconds"]).and_then(Value::as_u64);
    // A day is longer than any run.
    probe
        .unwrap_or(0)
        .saturating_add(available.unwrap_or(0))
        .min(86_400)
}

/// How many pods of a workload start one after another: those of a StatefulSet that is not told otherwise.
pub(crate) fn pods_in_a_row(workload: &Value) -> u64 {
    let ordered = workload.kind() == "StatefulSet"
        && workload.text_at(&["spec", "podManagementPolicy"]) != Some("Parallel");
    let replicas = workload
        .at(&["spec", "replicas"])
        .and_then(Value::as_u64)
        .unwrap_or(1);
    if ordered { replicas.clamp(1, 100) } else { 1 }
}

/// The images of the pods of a workload, init containers included.
pub(crate) fn images(workload: &Value) -> Vec<&str> {
    let Some(spec) = pod_spec(workload) else {
        return Vec::new();
    };
    let containers = spec
        .items_at(&["containers"])
        .iter()
        .chain(spec.items_at(&["initContainers"]));
    containers
        .filter_map(|container| container.text_at(&["image"]))
        .collect()
}

/// What the pods of a workload need. Optional references are left out.
pub(crate) fn of(workload: &Value) -> Needs {
    let mut needs = Needs::default();
    let namespace = workload.namespace();
    let Some(spec) = pod_spec(workload) else {
        return needs;
    };
    let id = |kind: &str, name: &str| ObjectId::new("", kind, namespace, name);
    if let Some(name) = spec
        .text_at(&["serviceAccountName"])
        .filter(|name| !name.is_empty())
    {
        needs.objects.insert(id("ServiceAccount", name));
    }
    for (group, kind, field) in CLASSES {
        let named = spec
            .text_at(&[field])
            .filter(|name| !name.is_empty() && !BUILT_IN_PRIORITIES.contains(name));
        needs
            .objects
            .extend(named.map(|name| ObjectId::new(group, kind, None, name)));
    }
    let containers = spec
        .items_at(&["containers"])
        .iter()
        .chain(spec.items_at(&["initContainers"]));
    for container in containers {
        for variable in container.items_at(&["env"]) {
            for (field, kind) in [("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")] {
                add(&mut needs, variable.at(&["valueFrom", field]), "name", |name| {
                    id(kind, name)
                });
            }
        }
        for source in container.items_at(&["envFrom"]) {
            for (field, kind) in [("configMapRef", "ConfigMap"), ("secretRef", "Secret")] {
                add(&mut needs, source.at(&[field]), "name", |name| id(kind, name));
            }
        }
    }
    for volume in spec.items_at(&["volumes"]) {
        add(&mut needs, volume.at(&["configMap"]), "name", |name| {
            id("ConfigMap", name)
        });
        add(&mut needs, volume.at(&["secret"]), "secretName", |name| {
            id("Secret", name)
        });
        for source in volume.items_at(&["projected", "sources"]) {
            add(&mut needs, source.at(&["configMap"]), "name", |name| {
                id("ConfigMap", name)
            });
            add(&mut needs, source.at(&["secret"]), "name", |name| {
                id("Secret", name)
            });
        }
        if let Some(name) = volume.text_at(&["persistentVolumeClaim", "claimName"]) {
            needs.claims.insert(id("PersistentVolumeClaim", name));
        }
    }
    for claim in claim_templates(workload) {
        needs.claims.insert(claim.id());
    }
    needs
}

/// The claims that a StatefulSet makes for its pods, one per template and replica.
pub(crate) fn claim_templates(workload: &Value) -> Vec<Value> {
    let mut claims = Vec::new();
    if workload.kind() != "StatefulSet" {
        return claims;
    }
    let replicas = workload
        .at(&["spec", "replicas"])
        .and_then(Value::as_u64)
        .unwrap_or(1);
    // More replicas than this say nothing new.
    for replica in 0..replicas.min(10) {
        for template in workload.items_at(&["spec", "volumeClaimTemplates"]) {
            let name = format!("{}-{}-{replica}", template.name(), workload.name());
            claims.push(serde_json::json!({
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": name, "namespace": workload.namespace()},
                "spec": template.get("spec"),
            }));
        }
    }
    claims
}

fn add(needs: &mut Needs, reference: Option<&Value>, field: &str, id: impl Fn(&str) -> ObjectId) {
    let Some(reference) = reference else { return };
    let optional = reference.get("optional") == Some(&Value::Bool(true));
    if let Some(name) = reference.text_at(&[field]).filter(|_| !optional) {
        needs.objects.insert(id(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn needs_are_what_is_not_optional() {
        let workload = json!({
            "kind": "Deployment", "metadata": {"name": "web", "namespace": "web"},
            "spec": {"template": {"spec": {
                "serviceAccountName": "web",
                "containers": [{
                    "env": [
                        {"valueFrom": {"secretKeyRef": {"name": "token", "key": "a"}}},
                        {"valueFrom": {"configMapKeyRef": {"name": "maybe", "key": "a", "optional": true}}},
                    ],
                    "envFrom": [{"configMapRef": {"name": "settings"}}],
                }],
                "volumes": [
                    {"secret": {"secretName": "tls"}},
                    {"persistentVolumeClaim": {"claimName": "data"}},
                    {"projected": {"sources": [{"configMap": {"name": "ca"}}]}},
                ],
            }}},
        });
        let needs = of(&workload);
        let names: Vec<String> = needs.objects.iter().map(ToString::to_string).collect();
        assert_eq!(
            names,
            [
                "ConfigMap/web/ca",
                "ConfigMap/web/settings",
                "Secret/web/tls",
                "Secret/web/token",
                "ServiceAccount/web/web"
            ]
        );
        assert_eq!(
            needs.claims.iter().next().unwrap().to_string(),
            "PersistentVolumeClaim/web/data"
        );
    }

    #[test]
    fn a_stateful_set_makes_its_claims() {
        let workload = json!({
            "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "web"},
            "spec": {"replicas": 2, "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}]},
        });
        let names: Vec<String> = claim_templates(&workload)
            .iter()
            .map(|claim| claim.name().to_owned())
            .collect();
        assert_eq!(names, ["data-db-0", "data-db-1"]);
    }
}
