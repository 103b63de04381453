//! What may be moved to an earlier tier. A repair must not put a component on a tier that more of the cluster waits for than
//! waits for it today: if it fails then, more stands still than before.

use firstpass_object::ObjectId;

/// Whether an object is nothing but data or a definition: it is well as soon as it is stored, so that nobody waits longer
/// where it comes earlier.
pub(crate) fn is_plain(object: &ObjectId) -> bool {
    matches!(
        (object.group.as_str(), object.kind.as_str()),
        (
            "",
            "ConfigMap" | "Secret" | "Namespace" | "ServiceAccount" | "PersistentVolumeClaim"
        ) | ("apiextensions.k8s.io", "CustomResourceDefinition")
            | ("scheduling.k8s.io", "PriorityClass")
            | ("node.k8s.io", "RuntimeClass")
            | ("storage.k8s.io", "StorageClass")
    )
}
