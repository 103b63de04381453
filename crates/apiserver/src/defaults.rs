//! Defaults of built-in kinds that something reads: kstatus, a workload model, a rule of validation.
//!
//! Absent on purpose: the dozens of defaults inside pod specs. Nobody reads them here, and they would double the size of
//! every workload.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use firstpass_object::ObjectExt;
use serde_json::{Map, Value, json};

/// Fills in what an object leaves open.
pub(crate) fn set(object: &mut Value) {
    let gvk = object.gvk();
    let Value::Object(fields) = object else { return };
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("", "Namespace") => namespace(fields),
        ("", "Service") => service(fields),
        ("", "Secret") => secret(fields),
        ("", "PersistentVolumeClaim") => open(spec(fields), "volumeMode", || json!("Filesystem")),
        ("", "PersistentVolume") => {
            open(spec(fields), "persistentVolumeReclaimPolicy", || json!("Retain"));
            open(spec(fields), "volumeMode", || json!("Filesystem"));
        }
        ("apps", "Deployment") => deployment(spec(fields)),
        ("apps", "StatefulSet") => stateful_set(spec(fields)),
        ("apps", "ReplicaSet") => open(spec(fields), "replicas", || json!(1)),
        ("apps", "DaemonSet") => {
            open(
                spec(fields),
                "updateStrategy",
                || json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}),
            );
        }
        ("batch", "Job") => job(spec(fields)),
        ("batch", "CronJob") => {
            open(spec(fields), "concurrencyPolicy", || json!("Allow"));
            open(spec(fields), "suspend", || json!(false));
        }
        ("autoscaling", "HorizontalPodAutoscaler") => open(spec(fields), "minReplicas", || json!(1)),
        ("storage.k8s.io", "StorageClass") => {
            open(fields, "reclaimPolicy", || json!("Delete"));
            open(fields, "volumeBindingMode", || json!("Immediate"));
        }
        _ => {}
    }
}

/// Sets a field that is missing or null.
fn open(fields: &mut Map<String, Value>, name: &str, default: impl FnOnce() -> Value) {
    if fields.get(name).is_none_or(Value::is_null) {
        fields.insert(name.to_owned(), default());
    }
}

/// A map below a map, made if it is missing; something else in its place is left alone and a scratch map is given.
fn below<'a>(
    fields: &'a mut Map<String, Value>,
    name: &str,
    scratch: &'a mut Map<String, Value>,
) -> &'a mut Map<String, Value> {
    open(fields, name, || json!({}));
    match fields.get_mut(name) {
        Some(Value::Object(map)) => map,
        _ => scratch,
    }
}

fn spec(fields: &mut Map<String, Value>) -> &mut Map<String, Value> {
    open(fields, "spec", || json!({}));
    if !fields["spec"].is_object() {
        fields.insert("spec".to_owned(), json!({}));
    }
    fields["spec"].as_object_mut().expect("made one above")
}

fn namespace(fields: &mut Map<String, Value>) {
    let mut scratch = Map::new();
    let name = fields
        .get("metadata")
        .and_then(|metadata| metadata.get("name"))
        .cloned()
        .unwrap_or_default();
    let mut other_scratch = Map::new();
    let metadata = below(fields, "metadata", &mut scratch);
    below(metadata, "labels", &mut other_scratch).insert("kubernetes.io/metadata.name".to_owned(), name);
    open(spec(fields), "finalizers", || json!(["kubernetes"]));
    open(fields, "status", || json!({"phase": "Active"}));
}

fn service(fields: &mut Map<String, Value>) {
    let spec = spec(fields);
    open(spec, "type", || json!("ClusterIP"));
    open(spec, "sessionAffinity", || json!("None"));
    for port in spec
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Value::Object(port) = port {
            open(port, "protocol", || json!("TCP"));
            let number = port.get("port").cloned().unwrap_or_default();
            open(port, "targetPort", || number);
        }
    }
}

/// `stringData` is for writing only: it ends up in `data`.
fn secret(fields: &mut Map<String, Value>) {
    open(fields, "type", || json!("Opaque"));
    let Some(Value::Object(texts)) = fields.remove("stringData") else {
        return;
    };
    let mut scratch = Map::new();
    let data = below(fields, "data", &mut scratch);
    for (key, text) in texts {
        let text = text.as_str().unwrap_or_default();
        data.insert(key, Value::String(STANDARD.encode(text)));
    }
}

fn deployment(spec: &mut Map<String, Value>) {
    open(spec, "replicas", || json!(1));
    open(spec, "progressDeadlineSeconds", || json!(600));
    open(spec, "revisionHistoryLimit", || json!(10));
    let mut scratch = Map::new();
    let strategy = below(spec, "strategy", &mut scratch);
    open(strategy, "type", || json!("RollingUpdate"));
    if strategy.get("type") == Some(&json!("RollingUpdate")) {
        open(
            strategy,
            "rollingUpdate",
            || json!({"maxUnavailable": "25%", "maxSurge": "25%"}),
        );
    }
}

fn stateful_set(spec: &mut Map<String, Value>) {
    open(spec, "replicas", || json!(1));
    open(spec, "podManagementPolicy", || json!("OrderedReady"));
    let mut scratch = Map::new();
    let strategy = below(spec, "updateStrategy", &mut scratch);
    open(strategy, "type", || json!("RollingUpdate"));
    if strategy.get("type") == Some(&json!("RollingUpdate")) {
        let mut scratch = Map::new();
        open(
            below(strategy, "rollingUpdate", &mut scratch),
            "partition",
            || json!(0),
        );
    }
}

fn job(spec: &mut Map<String, Value>) {
    if spec.get("completions").is_none() && spec.get("parallelism").is_none() {
        spec.insert("completions".to_owned(), json!(1));
    }
    open(spec, "parallelism", || json!(1));
    open(spec, "backoffLimit", || json!(6));
    open(spec, "suspend", || json!(false));
}
