//! Objects that models bring into the cluster because knowledge says that a chart or an operator does: CRDs, workloads,
//! webhooks.

use std::sync::Arc;

use firstpass_apiserver::{Apply, CrdSketch, Scope, Webhook};
use firstpass_knowledge::{KindDef, KindSelector, Knowledge, PlacedWorkload, VersionPoint, WorkloadKind};
use firstpass_object::{ObjectExt, ObjectId};
use serde_json::{Value, json};

use crate::context::Context;
use crate::marks;

/// Brings an object into the cluster; `false` if it is refused for now.
pub(crate) fn bring(object: Value, manager: &str, context: &mut Context<'_>) -> bool {
    context.apply(Apply::forced(Arc::new(object), manager)).is_ok()
}

/// The CRD of a kind in some versions, and in those of `written` of which nothing is known: what the files use is taken to
/// be served.
pub fn crd(def: &KindDef, versions: &[&str], written: &[String]) -> Value {
    let unknown = written
        .iter()
        .filter(|version| def.versions.iter().all(|known| known.name != **version));
    let sketch = CrdSketch {
        group: def.group.clone(),
        kind: def.kind.clone(),
        plural: Some(def.plural.clone()),
        scope: match def.scope {
            firstpass_knowledge::Scope::Namespaced => Scope::Namespaced,
            firstpass_knowledge::Scope::Cluster => Scope::Cluster,
        },
        versions: versions
            .iter()
            .map(|version| (*version).to_owned())
            .chain(unknown.cloned())
            .collect(),
    };
    let mut crd = sketch.to_crd();
    if !def.initial_status.is_null() {
        set_initial_status(&mut crd, &def.initial_status);
    }
    crd
}

/// Makes the CRD's schema give every new object this status.
pub fn set_initial_status(crd: &mut Value, status: &Value) {
    for version in crd["spec"]["versions"].as_array_mut().into_iter().flatten() {
        version["schema"]["openAPIV3Schema"]["properties"]["status"] = json!({
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": true,
            "default": status,
        });
    }
}

/// The CRD of a kind in the versions that a release serves.
pub(crate) fn crd_at(def: &KindDef, point: VersionPoint, written: &[String]) -> Option<Value> {
    let versions = def.served(point);
    (!versions.is_empty()).then(|| crd(def, &versions, written))
}

/// A workload that knowledge names, of a release of the product, started with the values of a chart.
pub fn workload(placed: &PlacedWorkload<'_>, version: Option<&str>, values: &Value) -> Value {
    let known = placed.workload;
    let mut annotations = serde_json::Map::new();
    let marks = [
        (marks::OPERATOR, known.operator.clone()),
        (marks::READY_AFTER, known.ready_after.clone()),
        (marks::VERSION, version.map(str::to_owned)),
        (marks::VALUES, known.operator.as_ref().map(|_| values.to_string())),
    ];
    for (key, value) in marks {
        if let Some(value) = value {
            annotations.insert(key.to_owned(), Value::String(value));
        }
    }
    plain_workload(known.kind, &placed.namespace, &placed.name, &annotations, &[])
}

/// A workload of which only the name is known, and the claims that it mounts.
pub(crate) fn plain_workload(
    kind: WorkloadKind,
    namespace: &str,
    name: &str,
    annotations: &serde_json::Map<String, Value>,
    claims: &[String],
) -> Value {
    // Names may be longer than what a label holds.
    let label: String = name.chars().take(63).collect();
    let labels = json!({"app.kubernetes.io/name": label.trim_end_matches(['-', '.'])});
    let volume = |claim: &String| json!({"name": claim, "persistentVolumeClaim": {"claimName": claim}});
    let pod = json!({
        "containers": [{"name": "main", "image": "firstpass.invalid/unseen:latest"}],
        "volumes": claims.iter().map(volume).collect::<Vec<_>>(),
    });
    let mut spec = json!({"template": {"metadata": {"labels": labels}, "spec": pod}});
    match kind {
        WorkloadKind::Job => spec["template"]["spec"]["restartPolicy"] = "Never".into(),
        WorkloadKind::StatefulSet => {
            spec["selector"] = json!({"matchLabels": labels});
            spec["serviceName"] = name.into();
        }
        WorkloadKind::Deployment | WorkloadKind::DaemonSet => {
            spec["selector"] = json!({"matchLabels": labels});
        }
    }
    json!({
        "apiVersion": format!("{}/v1", kind.group()),
        "kind": kind.as_str(),
        "metadata": {"name": name, "namespace": namespace, "labels": labels, "annotations": annotations},
        "spec": spec,
    })
}

/// A workload of which only the name is known, as a health check gives it.
pub fn stand_in(api_version: &str, id: &ObjectId) -> Value {
    let kind = match id.kind.as_str() {
        "Deployment" => Some(WorkloadKind::Deployment),
        "StatefulSet" => Some(WorkloadKind::StatefulSet),
        "DaemonSet" => Some(WorkloadKind::DaemonSet),
        "Job" => Some(WorkloadKind::Job),
        _ => None,
    };
    match (kind, &id.namespace) {
        (Some(kind), Some(namespace)) => {
            plain_workload(kind, namespace, &id.name, &serde_json::Map::new(), &[])
        }
        _ => json!({
            "apiVersion": api_version,
            "kind": id.kind,
            "metadata": {"name": id.name, "namespace": id.namespace},
        }),
    }
}

/// A webhook that covers some kinds and is served by a workload, whose name and namespace stand for its Service. `None`
/// for one that is asked about some objects only, which nobody here can tell.
pub fn webhook(
    webhook: &firstpass_knowledge::Webhook,
    name: &str,
    server: (&str, &str),
    knowledge: &Knowledge,
) -> Option<Webhook> {
    if webhook.only.is_some() {
        return None;
    }
    let except: Vec<&str> = webhook.except_namespaces.iter().map(String::as_str).collect();
    let namespace_selector = (!except.is_empty()).then(|| {
        json!({"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": except}]})
    });
    Some(Webhook {
        name: name.to_owned(),
        service: Some((server.0.to_owned(), server.1.to_owned())),
        path: "/".to_owned(),
        fails_closed: webhook.failure_policy == firstpass_knowledge::FailurePolicy::Fail,
        rules: webhook
            .covers
            .iter()
            .map(|selector| rule(selector, knowledge))
            .collect(),
        namespace_selector,
        object_selector: None,
        match_conditions: Vec::new(),
        is_exact: false,
        timeout_s: 10,
    })
}

fn rule(selector: &KindSelector, knowledge: &Knowledge) -> Value {
    let group = selector.group();
    let resource = match (group, selector.kind()) {
        (Some(group), Some(kind)) => plural(group, kind, knowledge),
        _ => "*".to_owned(),
    };
    json!({
        "apiGroups": [group.unwrap_or("*")],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": [resource],
    })
}

fn plural(group: &str, kind: &str, knowledge: &Knowledge) -> String {
    let built_in = firstpass_schema::kinds::versions_of(group, kind)
        .first()
        .map(|kind| kind.plural.to_owned());
    let custom = || knowledge.custom_kind(group, kind).map(|def| def.plural.clone());
    built_in
        .or_else(custom)
        .unwrap_or_else(|| format!("{}s", kind.to_lowercase()))
}

/// Whether a workload object was made by a model.
pub(crate) fn is_made(workload: &Value) -> bool {
    workload
        .at(&["metadata", "annotations"])
        .and_then(Value::as_object)
        .is_some_and(|annotations| {
            annotations
                .keys()
                .any(|key| key.starts_with("firstpass.invalid/"))
        })
}

/// The images of a workload's pods; `None` if the object is no workload.
pub fn workload_images(object: &Value) -> Option<Vec<&str>> {
    crate::workload::is_workload(&object.id().group_kind()).then(|| crate::workload::needs::images(object))
}
