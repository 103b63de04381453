//! What the pods of a workload cannot do without: accounts, classes, ConfigMaps, Secrets, claims.

use std::collections::{BTreeMap, BTreeSet};

use firstpass_flux::names;
use firstpass_object::{ObjectExt, ObjectId};
use serde_json::Value;

/// Annotations that say nothing about somebody who writes into an object.
const SILENT_MARKS: [&str; 8] = [
    "kustomize.toolkit.fluxcd.io/",
    "reconcile.fluxcd.io/",
    "kubectl.kubernetes.io/",
    "config.kubernetes.io/",
    "internal.config.kubernetes.io/",
    "app.kubernetes.io/",
    "meta.helm.sh/",
    "description",
];

/// A day in seconds.
const DAY_S: u64 = 86_400;

/// What a workload's pods need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// ServiceAccounts and classes: without them no pod is taken.
    pub(crate) admission: BTreeSet<ObjectId>,
    /// ConfigMaps and Secrets: without them no container starts.
    pub(crate) objects: BTreeSet<ObjectId>,
    /// Keys that have to be in them.
    pub(crate) keys: BTreeMap<ObjectId, BTreeSet<String>>,
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

/// How long the repository itself says that pods take before they count as ready or available: the first probe of a container
/// comes after `initialDelaySeconds`, a sidecar's startup probe holds up what comes after it, and a pod is available
/// `minReadySeconds` after it is ready.
pub(crate) fn declared_delay_s(workload: &Value) -> u64 {
    let delay = |container: &Value, probe: &str| {
        let seconds = container.at(&[probe, "initialDelaySeconds"]);
        seconds.and_then(Value::as_u64).unwrap_or(0)
    };
    let spec = pod_spec(workload);
    let is_sidecar = |container: &&Value| container.text_at(&["restartPolicy"]) == Some("Always");
    let sidecars: Vec<&Value> = spec
        .map_or(&[][..], |spec| spec.items_at(&["initContainers"]))
        .iter()
        .filter(is_sidecar)
        .collect();
    let in_a_row: u64 = sidecars
        .iter()
        .map(|sidecar| delay(sidecar, "startupProbe").min(DAY_S))
        .sum();
    let main = spec.map_or(&[][..], |spec| spec.items_at(&["containers"]));
    let at_once = main
        .iter()
        .map(|container| delay(container, "readinessProbe").max(delay(container, "startupProbe")))
        .chain(sidecars.iter().map(|sidecar| delay(sidecar, "readinessProbe")))
        .max()
        .unwrap_or(0);
    let available = workload
        .at(&["spec", "minReadySeconds"])
        .and_then(Value::as_u64)
        .unwrap_or(0);
    // A day is longer than any run.
    in_a_row
        .saturating_add(at_once)
        .saturating_add(available)
        .min(DAY_S)
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

/// How many rounds of pods a Job takes: `completions`, as many at once as `parallelism` allows.
pub(crate) fn rounds(workload: &Value) -> u64 {
    let count = |field: &str| workload.at(&["spec", field]).and_then(Value::as_u64);
    match count("completions").filter(|_| workload.kind() == "Job") {
        Some(completions) => completions
            .div_ceil(count("parallelism").unwrap_or(1).max(1))
            .clamp(1, 1000),
        None => 1,
    }
}

/// The images of the pods of a workload, init containers included.
pub(crate) fn images(workload: &Value) -> Vec<&str> {
    let Some(spec) = pod_spec(workload) else {
        return Vec::new();
    };
    containers(spec)
        .filter_map(|container| container.text_at(&["image"]))
        .collect()
}

/// What the pods of a workload need. Optional references are left out.
pub(crate) fn of(workload: &Value) -> Needs {
    let mut needs = Needs::default();
    let Some(spec) = pod_spec(workload) else {
        return needs;
    };
    needs.admission = admission(workload);
    let mut reader = Reader {
        namespace: workload.namespace(),
        needs: &mut needs,
    };
    for container in containers(spec) {
        for variable in container.items_at(&["env"]) {
            for (field, kind) in [("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")] {
                let reference = variable.at(&["valueFrom", field]);
                let key = reference.and_then(|reference| reference.text_at(&["key"]));
                reader.add(kind, reference, "name", key);
            }
        }
        for source in container.items_at(&["envFrom"]) {
            for (field, kind) in [("configMapRef", "ConfigMap"), ("secretRef", "Secret")] {
                reader.add(kind, source.at(&[field]), "name", None);
            }
        }
    }
    for volume in spec.items_at(&["volumes"]) {
        reader.add_files("ConfigMap", volume.at(&["configMap"]), "name");
        reader.add_files("Secret", volume.at(&["secret"]), "secretName");
        for source in volume.items_at(&["projected", "sources"]) {
            reader.add_files("ConfigMap", source.at(&["configMap"]), "name");
            reader.add_files("Secret", source.at(&["secret"]), "name");
        }
        if let Some(name) = volume.text_at(&["persistentVolumeClaim", "claimName"]) {
            let claim = ObjectId::new("", "PersistentVolumeClaim", workload.namespace(), name);
            reader.needs.claims.insert(claim);
        }
    }
    for claim in claim_templates(workload) {
        needs.claims.insert(claim.id());
    }
    needs
}

/// What has to be there for the API server to take the pods of a workload at all. Secrets to pull images with are not among
/// it: the kubelet tries without.
pub(crate) fn admission(workload: &Value) -> BTreeSet<ObjectId> {
    let mut found = BTreeSet::new();
    let Some(spec) = pod_spec(workload) else {
        return found;
    };
    let named = |field: &str| spec.text_at(&[field]).filter(|name| !name.is_empty());
    if let Some(name) = named("serviceAccountName") {
        found.insert(ObjectId::new("", "ServiceAccount", workload.namespace(), name));
    }
    for (group, kind, field) in CLASSES {
        if let Some(name) = named(field).filter(|name| !BUILT_IN_PRIORITIES.contains(name)) {
            found.insert(ObjectId::new(group, kind, None, name));
        }
    }
    found
}

/// All containers of a pod.
fn containers(spec: &Value) -> impl Iterator<Item = &Value> {
    let init = spec.items_at(&["initContainers"]);
    spec.items_at(&["containers"]).iter().chain(init)
}

/// Collects references of a pod.
struct Reader<'a> {
    namespace: Option<&'a str>,
    needs: &'a mut Needs,
}

impl Reader<'_> {
    fn add(&mut self, kind: &str, reference: Option<&Value>, field: &str, key: Option<&str>) {
        let Some(reference) = reference else { return };
        let optional = reference.get("optional") == Some(&Value::Bool(true));
        if let Some(name) = reference.text_at(&[field]).filter(|_| !optional) {
            let id = ObjectId::new("", kind, self.namespace, name);
            if let Some(key) = key {
                self.needs
                    .keys
                    .entry(id.clone())
                    .or_default()
                    .insert(key.to_owned());
            }
            self.needs.objects.insert(id);
        }
    }

    /// A volume of files: all keys, or those that `items` names, each of which has to be there.
    fn add_files(&mut self, kind: &str, reference: Option<&Value>, field: &str) {
        self.add(kind, reference, field, None);
        let items = reference.map_or(&[][..], |reference| reference.items_at(&["items"]));
        for item in items {
            self.add(kind, reference, field, item.text_at(&["key"]));
        }
    }
}

/// The keys of a ConfigMap or Secret that are not there, as far as that can be known: whoever else may write into it, as
/// annotations and the like show, may bring them.
pub(crate) fn missing_keys(object: &Value, keys: &BTreeSet<String>) -> BTreeSet<String> {
    let is_ours = object.label(names::OWNER_NAME_LABEL).is_some();
    let kind = object.text_at(&["type"]).unwrap_or("Opaque");
    let marks = |field: &str| object.at(&["metadata", field]).and_then(Value::as_object);
    let is_silent = |key: &str| SILENT_MARKS.iter().any(|domain| key.starts_with(domain));
    let others_write = marks("annotations")
        .into_iter()
        .flatten()
        .any(|(key, _)| !is_silent(key))
        || marks("labels")
            .into_iter()
            .flatten()
            .any(|(key, _)| key.contains("inject"))
        || kind != "Opaque"
        || !object.items_at(&["metadata", "ownerReferences"]).is_empty();
    if !is_ours || others_write {
        return BTreeSet::new();
    }
    let holds = |key: &str| {
        ["data", "binaryData", "stringData"]
            .iter()
            .any(|field| object.at(&[field, key]).is_some())
    };
    let is_known = |key: &&String| !key.contains("${");
    keys.iter()
        .filter(is_known)
        .filter(|key| !holds(key))
        .cloned()
        .collect()
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
                "priorityClassName": "high",
                "runtimeClassName": "gvisor",
                "imagePullSecrets": [{"name": "pull"}],
                "containers": [{
                    "env": [
                        {"valueFrom": {"secretKeyRef": {"name": "token", "key": "a"}}},
                        {"valueFrom": {"configMapKeyRef": {"name": "maybe", "key": "a", "optional": true}}},
                    ],
                    "envFrom": [{"configMapRef": {"name": "settings"}}],
                }],
                "volumes": [
                    {"secret": {"secretName": "tls", "items": [{"key": "tls.key", "path": "key"}]}},
                    {"persistentVolumeClaim": {"claimName": "data"}},
                    {"projected": {"sources": [{"configMap": {"name": "ca"}}]}},
                ],
            }}},
        });
        let needs = of(&workload);
        let names = |ids: &BTreeSet<ObjectId>| ids.iter().map(ToString::to_string).collect::<Vec<String>>();
        assert_eq!(
            names(&needs.objects),
            [
                "ConfigMap/web/ca",
                "ConfigMap/web/settings",
                "Secret/web/tls",
                "Secret/web/token"
            ]
        );
        assert_eq!(
            names(&needs.admission),
            [
                "ServiceAccount/web/web",
                "RuntimeClass/gvisor",
                "PriorityClass/high"
            ]
        );
        let keys: Vec<String> = needs
            .keys
            .iter()
            .map(|(id, keys)| format!("{id}: {}", keys.iter().cloned().collect::<Vec<_>>().join(" ")))
            .collect();
        assert_eq!(keys, ["Secret/web/tls: tls.key", "Secret/web/token: a"]);
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

    #[test]
    fn keys_are_missed_where_nobody_else_may_bring_them() {
        let keys: BTreeSet<String> = ["a".to_owned(), "b".to_owned(), "${C}".to_owned()].into();
        let mut object = json!({
            "kind": "ConfigMap",
            "metadata": {"name": "x", "labels": {"kustomize.toolkit.fluxcd.io/name": "apps"}},
            "data": {"a": ""},
        });
        assert_eq!(missing_keys(&object, &keys), ["b".to_owned()].into());
        object["metadata"]["annotations"] = json!({"reflector.v1.k8s.emberstack.com/reflects": "a/b"});
        assert!(missing_keys(&object, &keys).is_empty());
        object["metadata"] = json!({"name": "x"});
        assert!(missing_keys(&object, &keys).is_empty(), "who knows who made it");
    }

    #[test]
    fn what_the_repository_says_of_delays_adds_up() {
        let workload = json!({
            "kind": "Deployment",
            "spec": {"minReadySeconds": 7, "template": {"spec": {
                "initContainers": [
                    {"restartPolicy": "Always", "startupProbe": {"initialDelaySeconds": 20}},
                    {"startupProbe": {"initialDelaySeconds": 1000}},
                ],
                "containers": [
                    {"readinessProbe": {"initialDelaySeconds": 5}},
                    {"readinessProbe": {"initialDelaySeconds": 3}, "startupProbe": {"initialDelaySeconds": 10}},
                ],
            }}},
        });
        assert_eq!(declared_delay_s(&workload), 20 + 10 + 7);
        let job =
            |parallelism: u64| json!({"kind": "Job", "spec": {"completions": 5, "parallelism": parallelism}});
        assert_eq!((rounds(&job(1)), rounds(&job(2)), rounds(&job(9))), (5, 3, 1));
    }
}
