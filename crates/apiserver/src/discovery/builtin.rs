//! The kinds that come with Kubernetes, by minor version.

use std::collections::BTreeMap;
use std::sync::Arc;

use firstpass_object::GroupKind;
use firstpass_schema::Served;

use super::{Resource, resource::compare_versions};

/// Kinds whose objects count `metadata.generation` (all of these and those of CRDs; others never get one).
const WITH_GENERATION: &[(&str, &[&str])] = &[
    ("", &["Pod", "PodTemplate", "ReplicationController"]),
    ("admissionregistration.k8s.io", &["*"]),
    ("apiextensions.k8s.io", &["*"]),
    ("apps", &["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]),
    ("batch", &["*"]),
    ("discovery.k8s.io", &["*"]),
    ("flowcontrol.apiserver.k8s.io", &["*"]),
    ("networking.k8s.io", &["Ingress", "IngressClass", "NetworkPolicy"]),
    ("policy", &["*"]),
    ("resource.k8s.io", &["DeviceClass", "ResourceSlice"]),
    ("scheduling.k8s.io", &["*"]),
];

/// Kinds whose status is a subresource.
const WITH_STATUS: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "Namespace",
            "Node",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Pod",
            "ReplicationController",
            "ResourceQuota",
            "Service",
        ],
    ),
    ("admissionregistration.k8s.io", &["ValidatingAdmissionPolicy"]),
    ("apiextensions.k8s.io", &["*"]),
    ("apiregistration.k8s.io", &["*"]),
    ("apps", &["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]),
    ("autoscaling", &["*"]),
    ("batch", &["*"]),
    ("certificates.k8s.io", &["CertificateSigningRequest"]),
    ("flowcontrol.apiserver.k8s.io", &["*"]),
    ("networking.k8s.io", &["Ingress", "ServiceCIDR"]),
    ("policy", &["*"]),
    ("resource.k8s.io", &["ResourceClaim"]),
    ("storage.k8s.io", &["VolumeAttachment"]),
];

fn lists(table: &[(&str, &[&str])], group: &str, kind: &str) -> bool {
    table
        .iter()
        .any(|(of, kinds)| *of == group && kinds.iter().any(|name| *name == "*" || *name == kind))
}

/// The kinds that a minor version of Kubernetes serves by itself, and those that `--runtime-config` can ask of it: whether
/// somebody does is not known here.
pub(super) fn resources(minor: u16) -> Arc<BTreeMap<GroupKind, Arc<Resource>>> {
    let mut resources: BTreeMap<GroupKind, Resource> = BTreeMap::new();
    let stored = firstpass_schema::kinds::all().iter().filter(|row| !row.is_call);
    for row in stored.filter(|row| matches!(row.served(minor), Served::Yes | Served::OptIn)) {
        let resource = resources
            .entry(GroupKind::new(row.group, row.kind))
            .or_insert_with(|| Resource {
                group: row.group.into(),
                kind: row.kind.into(),
                plural: row.plural.to_owned(),
                scope: row.scope,
                versions: Vec::new(),
                has_status: lists(WITH_STATUS, row.group, row.kind),
                has_generation: lists(WITH_GENERATION, row.group, row.kind),
                crd: None,
            });
        resource.versions.push(row.version.to_owned());
        resource.versions.sort_by(|a, b| compare_versions(a, b));
    }
    Arc::new(
        resources
            .into_iter()
            .map(|(kind, resource)| (kind, Arc::new(resource)))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minors_serve_what_they_serve() {
        let hpa = GroupKind::new("autoscaling", "HorizontalPodAutoscaler");
        assert_eq!(resources(25)[&hpa].versions, ["v2", "v1", "v2beta2"]);
        assert_eq!(resources(26)[&hpa].versions, ["v2", "v1"]);
        assert!(resources(30)[&GroupKind::new("apps", "Deployment")].has_status);
        assert!(!resources(30).contains_key(&GroupKind::new("policy", "PodSecurityPolicy")));
        // Off by default, and after the versions that are on.
        let policy = GroupKind::new("admissionregistration.k8s.io", "MutatingAdmissionPolicy");
        assert_eq!(resources(34)[&policy].versions, ["v1beta1", "v1alpha1"]);
        assert_eq!(resources(36)[&policy].versions[0], "v1");
        assert!(!resources(31).contains_key(&policy));
    }
}
