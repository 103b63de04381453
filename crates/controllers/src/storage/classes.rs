//! Storage classes: which is the default, and what their provisioners refuse.

use std::sync::Arc;

use firstpass_object::{GroupKind, ObjectExt, ObjectId};
use serde_json::Value;

use crate::context::Context;

/// Annotations that make a class the default (Kubernetes, `IsDefaultAnnotation`).
const DEFAULT: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];

/// Provisioners that make volumes for one node at a time, as far as files go. Blocks are another matter with some of them.
const ONE_NODE: [&str; 4] = [
    "rancher.io/local-path",
    "ebs.csi.aws.com",
    "disk.csi.azure.com",
    "pd.csi.storage.gke.io",
];

/// Whether a class says that it is the default.
pub fn is_default(class: &Value) -> bool {
    DEFAULT.iter().any(|key| class.annotation(key) == Some("true"))
}

/// The default class.
pub(super) fn default_class(context: &Context<'_>) -> Option<Arc<Value>> {
    newest(is_default, context)
}

/// Of several classes the newest, and of those the first by name (Kubernetes, `GetDefaultClass`; CDI does the same).
pub(crate) fn newest(fits: impl Fn(&Value) -> bool, context: &Context<'_>) -> Option<Arc<Value>> {
    let kind = GroupKind::new("storage.k8s.io", "StorageClass");
    let classes = context.server.objects(&kind, None).map(|(_, class)| class);
    let created = |class: &Value| {
        class
            .text_at(&["metadata", "creationTimestamp"])
            .unwrap_or_default()
            .to_owned()
    };
    let best = classes.filter(|class| fits(class)).max_by(|one, other| {
        created(one)
            .cmp(&created(other))
            .then_with(|| other.name().cmp(one.name()))
    });
    best.cloned()
}

/// An access mode that the provisioner of a class refuses.
pub(super) fn refused_mode(class: &Value, claim: &Value, context: &Context<'_>) -> Option<String> {
    let provisioner = class.text_at(&["provisioner"])?;
    let is_block = claim.text_at(&["spec", "volumeMode"]) == Some("Block");
    if !ONE_NODE.contains(&provisioner) || is_block || shares_a_directory(provisioner, context) {
        return None;
    }
    let modes = claim
        .items_at(&["spec", "accessModes"])
        .iter()
        .filter_map(Value::as_str);
    let mut refused = modes.filter(|mode| *mode == "ReadWriteMany");
    refused.next().map(str::to_owned)
}

/// local-path takes every mode where it is set up with a directory that nodes share.
fn shares_a_directory(provisioner: &str, context: &Context<'_>) -> bool {
    provisioner == "rancher.io/local-path"
        && context
            .server
            .objects(&GroupKind::new("", "ConfigMap"), None)
            .filter(|(id, _): &(&ObjectId, _)| id.name.contains("local-path"))
            .any(|(_, map)| map.to_string().contains("sharedFileSystemPath"))
}
