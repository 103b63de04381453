//! The metadata of any object.

use firstpass_object::ObjectExt;
use serde_json::Value;

use super::{Checker, Path, names};

/// The size of all annotations together, keys and values.
const ANNOTATIONS_SIZE_MAX: usize = 256 * 1024;

const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// Groups with a dot in them whose kinds take such finalizers only.
const STRICT_GROUPS: [&str; 6] = [
    "networking.k8s.io/",
    "rbac.authorization.k8s.io/",
    "storage.k8s.io/",
    "scheduling.k8s.io/",
    "node.k8s.io/",
    "coordination.k8s.io/",
];

/// Name, labels, annotations, finalizers and owners.
pub(super) fn check(checker: &mut Checker<'_>, object: &Value) {
    let path = Path::ROOT.field("metadata");
    check_name(checker, object, &path);
    labels(checker, &object["metadata"]["labels"], &path.field("labels"));
    annotations(
        checker,
        &object["metadata"]["annotations"],
        &path.field("annotations"),
    );
    let finalizers = path.field("finalizers");
    for (index, finalizer) in object.items_at(&["metadata", "finalizers"]).iter().enumerate() {
        let finalizer = finalizer.as_str().unwrap_or_default();
        let messages = names::qualified_name(finalizer);
        checker.text(finalizers, finalizer, messages);
        let is_core = !object.api_version().contains('.')
            || STRICT_GROUPS
                .iter()
                .any(|group| object.api_version().starts_with(group));
        if !is_core {
            continue;
        }
        // Kinds of Kubernetes itself look more closely.
        if !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer) {
            checker.invalid_text(
                finalizers.index(index),
                finalizer,
                "name is neither a standard finalizer name nor is it fully qualified",
            );
        }
    }
    let owners = path.field("ownerReferences");
    let references = object.items_at(&["metadata", "ownerReferences"]);
    let controllers: Vec<String> = references
        .iter()
        .filter(|owner| owner.get("controller") == Some(&Value::Bool(true)))
        .map(|owner| {
            let text = |field: &str| owner.text_at(&[field]).unwrap_or_default();
            format!("{}/{}", text("kind"), text("name"))
        })
        .collect();
    if let [first, second, ..] = controllers.as_slice() {
        checker.invalid(
            owners,
            &object["metadata"]["ownerReferences"],
            format!(
                "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {second}"
            ),
        );
    }
    for (index, owner) in object
        .items_at(&["metadata", "ownerReferences"])
        .iter()
        .enumerate()
    {
        for field in ["apiVersion", "kind", "name", "uid"] {
            if owner.text_at(&[field]).unwrap_or_default().is_empty() {
                checker.invalid_text(
                    owners.index(index).field(field),
                    "",
                    format!("{field} must not be empty"),
                );
            }
        }
    }
}

fn check_name(checker: &mut Checker<'_>, object: &Value, metadata: &Path<'_>) {
    let path = metadata.field("name");
    let name = object.name();
    if name.is_empty() {
        if object
            .text_at(&["metadata", "generateName"])
            .unwrap_or_default()
            .is_empty()
        {
            checker.required(path, "name or generateName is required");
        }
        return;
    }
    let gvk = object.gvk();
    let messages = match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("", "Service") if checker.minor < 36 => names::dns1035_label(name),
        ("", "Service") => names::dns1123_label(name),
        // Kubernetes forgets to look at this one.
        ("policy", "PodDisruptionBudget") => Vec::new(),
        ("apiregistration.k8s.io", "APIService") => names::path_segment(name),
        ("", "Namespace") | ("apps", "StatefulSet") => names::dns1123_label(name),
        ("rbac.authorization.k8s.io" | "certificates.k8s.io" | "flowcontrol.apiserver.k8s.io", _) => {
            names::path_segment(name)
        }
        _ => names::dns1123_subdomain(name),
    };
    checker.text(path, name, messages);
    if let Some(namespace) = object.namespace() {
        checker.text(
            metadata.field("namespace"),
            namespace,
            names::dns1123_label(namespace),
        );
    }
}

/// Keys and values of labels. Kubernetes names the map, not the key.
pub(super) fn labels(checker: &mut Checker<'_>, labels: &Value, path: &Path<'_>) {
    for (key, value) in labels.as_object().into_iter().flatten() {
        checker.text(path, key, names::qualified_name(key));
        if let Some(value) = value.as_str() {
            checker.text(path, value, names::label_value(value));
        }
    }
}

/// Keys and size of annotations.
pub(super) fn annotations(checker: &mut Checker<'_>, annotations: &Value, path: &Path<'_>) {
    let mut size = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        checker.text(path, key, names::qualified_name(&key.to_lowercase()));
        size += key.len() + value.as_str().unwrap_or_default().len();
    }
    if size > ANNOTATIONS_SIZE_MAX {
        checker.push(
            path,
            format!("Too long: may not be more than {ANNOTATIONS_SIZE_MAX} bytes"),
        );
    }
}
