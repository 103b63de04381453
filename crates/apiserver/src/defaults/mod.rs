//! Defaults of built-in kinds that something reads: kstatus, a workload model, a rule of validation.
//!
//! Absent on purpose: the dozens of defaults inside pod specs. Nobody reads them here, and they would double the size of
//! every workload. They are known, in `deep`, where two states are compared.

mod deep;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use firstpass_object::ObjectExt;
use firstpass_schema::fields::{self, FieldType};
use serde_json::{Map, Value, json};

pub(crate) use deep::complete;

/// Fills in what an object leaves open.
pub(crate) fn set(object: &mut Value) {
    as_go_keeps_it(object);
    let gvk = object.gvk();
    let Value::Object(fields) = object else { return };
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("", "Namespace") => namespace(fields),
        ("", "Service") => service(fields),
        ("", "Secret") => secret(fields),
        ("", "PersistentVolumeClaim") => open(spec(fields), "volumeMode", || json!("Filesystem")),
        ("", "PersistentVolume") => {
            open_text(spec(fields), "persistentVolumeReclaimPolicy", "Retain");
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
            open_text(spec(fields), "concurrencyPolicy", "Allow");
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

/// Takes away what Go's types lose when they read an object of a built-in kind and write it again: a field that is null is
/// one that is not there, and so is an empty list or a free map without keys. A key of a free map whose value is null
/// stays, with the zero of its type.
pub(crate) fn as_go_keeps_it(object: &mut Value) {
    if !holds_nothing(object) {
        return;
    }
    let kind = fields::fields_of(object.api_version(), object.kind());
    drop_nulls(object, kind.map(Known::Struct));
}

#[derive(Clone, Copy)]
enum Known {
    Struct(&'static fields::Struct),
    Other(&'static FieldType),
}

impl Known {
    fn of(field_type: &'static FieldType) -> Known {
        match field_type {
            FieldType::Struct(id) => Known::Struct(fields::structure(*id)),
            other => Known::Other(other),
        }
    }

    fn field(self, name: &str) -> Option<Known> {
        match self {
            Known::Struct(structure) => structure
                .fields
                .get(name)
                .map(|field| Known::of(&field.field_type)),
            Known::Other(FieldType::Map(values)) => Some(Known::of(values)),
            Known::Other(_) => None,
        }
    }

    /// What stands for null as a value of a free map.
    fn zero(self) -> Option<Value> {
        match self {
            Known::Other(FieldType::Map(values)) => match &**values {
                FieldType::String | FieldType::Base64 => Some(json!("")),
                FieldType::Quantity => Some(json!("0")),
                _ => None,
            },
            _ => None,
        }
    }
}

fn holds_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty() || items.iter().any(holds_nothing),
        Value::Object(fields) => fields.is_empty() || fields.values().any(holds_nothing),
        _ => false,
    }
}

fn drop_nulls(value: &mut Value, known: Option<Known>) {
    match value {
        Value::Array(items) => {
            let known = match known {
                Some(Known::Other(FieldType::List(items))) => Some(Known::of(items)),
                _ => None,
            };
            for item in items {
                drop_nulls(item, known);
            }
        }
        Value::Object(map) => {
            if let Some(zero) = known.and_then(Known::zero) {
                for field in map.values_mut().filter(|field| field.is_null()) {
                    *field = zero.clone();
                }
            }
            map.retain(|_, field| !field.is_null());
            for (name, field) in map.iter_mut() {
                drop_nulls(field, known.and_then(|known| known.field(name)));
            }
            map.retain(
                |name, field| match (field, known.and_then(|known| known.field(name))) {
                    (Value::Object(map), Some(Known::Other(FieldType::Map(_)))) => !map.is_empty(),
                    (Value::Array(items), Some(Known::Other(FieldType::List(_)))) => !items.is_empty(),
                    _ => true,
                },
            );
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

/// Sets a text that is missing, null or empty, which is the same to Go's types.
fn open_text(fields: &mut Map<String, Value>, name: &str, default: &str) {
    let is_empty = |value: &Value| value.is_null() || value.as_str() == Some("");
    if fields.get(name).is_none_or(is_empty) {
        fields.insert(name.to_owned(), Value::from(default));
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
    open_text(spec, "type", "ClusterIP");
    open_text(spec, "sessionAffinity", "None");
    if spec.get("type") != Some(&json!("ExternalName")) {
        open(spec, "internalTrafficPolicy", || json!("Cluster"));
    }
    if matches!(
        spec.get("type").and_then(Value::as_str),
        Some("LoadBalancer" | "NodePort")
    ) {
        open_text(spec, "externalTrafficPolicy", "Cluster");
    }
    for port in spec
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Value::Object(port) = port {
            open_text(port, "protocol", "TCP");
            let number = port.get("port").cloned().unwrap_or_default();
            if port
                .get("targetPort")
                .is_none_or(|target| target == "" || target == 0 || target.is_null())
            {
                port.insert("targetPort".to_owned(), number);
            }
        }
    }
}

/// `stringData` is for writing only: it ends up in `data`.
fn secret(fields: &mut Map<String, Value>) {
    open_text(fields, "type", "Opaque");
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
    open_text(strategy, "type", "RollingUpdate");
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
    open_text(spec, "podManagementPolicy", "OrderedReady");
    let mut scratch = Map::new();
    let strategy = below(spec, "updateStrategy", &mut scratch);
    open_text(strategy, "type", "RollingUpdate");
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
