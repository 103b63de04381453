//! The metadata of any object.

use firstpass_object::ObjectExt;
use serde_json::Value;

use super::{Checker, Path, names};

/// The size of all annotations together, keys and values.
const ANNOTATIONS_SIZE_MAX: usize = 256 * 1024;

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
        checker.text(
            finalizers.index(index),
            finalizer,
            names::qualified_name(finalizer),
        );
    }
    let owners = path.field("ownerReferences");
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
        ("", "Service") => names::dns1035_label(name),
        ("", "Namespace") => names::dns1123_label(name),
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
