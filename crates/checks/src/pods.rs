//! What the pods of a workload cannot start without.

use firstpass_object::{ObjectExt, ObjectId};
use serde_json::Value;

/// Something that a pod refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PodNeed {
    /// The object: a ConfigMap, a Secret, a ServiceAccount, a claim or a class.
    pub(crate) object: ObjectId,
    /// Where the workload names it.
    pub(crate) path: Vec<String>,
}

/// Where the pod spec of a workload is; `None` for kinds that start no pods, or only later (a CronJob).
fn pod_spec(object: &Value) -> Option<(&Value, &'static [&'static str])> {
    let path: &[&str] = match object.kind() {
        "Pod" => &["spec"],
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job" => &["spec", "template", "spec"],
        _ => return None,
    };
    Some((object.at(path)?, path))
}

/// Whether a workload starts no pod: it is scaled to nothing or suspended.
fn is_idle(object: &Value) -> bool {
    object.at(&["spec", "replicas"]) == Some(&Value::from(0))
        || object.at(&["spec", "suspend"]) == Some(&Value::Bool(true))
}

/// The classes that a pod names, without which none is admitted.
const CLASSES: [(&str, &str, &str); 2] = [
    ("scheduling.k8s.io", "PriorityClass", "priorityClassName"),
    ("node.k8s.io", "RuntimeClass", "runtimeClassName"),
];

/// The priority classes that every cluster has.
const BUILT_IN_PRIORITIES: [&str; 2] = ["system-cluster-critical", "system-node-critical"];

/// What the pods of a workload cannot start without; optional references are left out.
pub(crate) fn needs(object: &Value) -> Vec<PodNeed> {
    let Some((pod, prefix)) = pod_spec(object).filter(|_| !is_idle(object)) else {
        return Vec::new();
    };
    let namespace = object.namespace();
    let mut found = Vec::new();
    add_reference(
        &mut found,
        ("ServiceAccount", namespace),
        pod,
        "serviceAccountName",
        prefix,
        &["serviceAccountName"],
    );
    for (group, kind, field) in CLASSES {
        let named = pod
            .text_at(&[field])
            .filter(|name| !name.is_empty() && !BUILT_IN_PRIORITIES.contains(name));
        found.extend(named.map(|name| {
            PodNeed {
                object: ObjectId::new(group, kind, None, name),
                path: prefix
                    .iter()
                    .chain(&[field])
                    .map(|part| (*part).to_owned())
                    .collect(),
            }
        }));
    }
    let mut add = |kind: &str, reference: &Value, name: &str, path: &[&str]| {
        add_reference(&mut found, (kind, namespace), reference, name, prefix, path);
    };
    for (index, volume) in pod.items_at(&["volumes"]).iter().enumerate() {
        let at = index.to_string();
        let sources = [
            ("ConfigMap", "configMap", "name"),
            ("Secret", "secret", "secretName"),
            ("PersistentVolumeClaim", "persistentVolumeClaim", "claimName"),
        ];
        for (kind, source, name) in sources {
            add(kind, &volume[source], name, &["volumes", &at, source, name]);
        }
    }
    for list in ["initContainers", "containers"] {
        for (index, container) in pod.items_at(&[list]).iter().enumerate() {
            let at = index.to_string();
            for (place, from) in container.items_at(&["envFrom"]).iter().enumerate() {
                let place = place.to_string();
                for (kind, source) in [("ConfigMap", "configMapRef"), ("Secret", "secretRef")] {
                    add(
                        kind,
                        &from[source],
                        "name",
                        &[list, &at, "envFrom", &place, source, "name"],
                    );
                }
            }
            for (place, variable) in container.items_at(&["env"]).iter().enumerate() {
                let place = place.to_string();
                for (kind, source) in [("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef")] {
                    let path = [list, &at, "env", &place, "valueFrom", source, "name"];
                    add(kind, &variable["valueFrom"][source], "name", &path);
                }
            }
        }
    }
    found
}

/// A reference by name, unless it is optional.
fn add_reference(
    found: &mut Vec<PodNeed>,
    (kind, namespace): (&str, Option<&str>),
    reference: &Value,
    name: &str,
    prefix: &[&str],
    path: &[&str],
) {
    let optional = reference.get("optional") == Some(&Value::Bool(true));
    if let Some(name) = reference
        .text_at(&[name])
        .filter(|name| !optional && !name.is_empty())
    {
        let path = prefix.iter().chain(path).map(|part| (*part).to_owned());
        found.push(PodNeed {
            object: ObjectId::new("", kind, namespace, name),
            path: path.collect(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn required_references_are_found() {
        let object = json!({"kind": "Deployment", "metadata": {"namespace": "a"}, "spec": {"template": {"spec": {
            "serviceAccountName": "web",
            "volumes": [{"name": "c", "configMap": {"name": "c"}}, {"name": "s", "secret": {"secretName": "s", "optional": true}}],
            "containers": [{"envFrom": [{"secretRef": {"name": "e"}}], "env": [{"valueFrom": {"configMapKeyRef": {"name": "k"}}}]}],
        }}}});
        let found = needs(&object);
        let names: Vec<String> = found.iter().map(|need| need.object.to_string()).collect();
        assert_eq!(
            names,
            [
                "ServiceAccount/a/web",
                "ConfigMap/a/c",
                "Secret/a/e",
                "ConfigMap/a/k"
            ]
        );
        assert_eq!(
            found[2].path.join("."),
            "spec.template.spec.containers.0.envFrom.0.secretRef.name"
        );
    }

    #[test]
    fn idle_workloads_need_nothing() {
        let object = json!({"kind": "Deployment", "spec": {"replicas": 0, "template": {"spec": {"serviceAccountName": "web"}}}});
        assert!(needs(&object).is_empty());
    }
}
