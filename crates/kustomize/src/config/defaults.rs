//! kustomize 5.8.1's own field specs, as tables.
//!
//! They follow `api/internal/konfig/builtinpluginconsts` of <https://github.com/kubernetes-sigs/kustomize>, tag
//! `kustomize/v5.8.1`.

use std::sync::LazyLock;

use super::{FieldSpecs, NameReference, TransformerConfig};
use crate::file::FieldSpec;
use crate::resid::Gvk;

/// Group, version and kind; empty parts match anything.
type Kind = (&'static str, &'static str, &'static str);
/// A kind and a path in its objects.
type Row = (Kind, &'static str);

const ANY: Kind = ("", "", "");

const fn kind(kind: &'static str) -> Kind {
    ("", "", kind)
}

const POD: Kind = ("", "v1", "Pod");
const REPLICATION_CONTROLLER: Kind = ("", "v1", "ReplicationController");
const DEPLOYMENT: Kind = kind("Deployment");
const REPLICA_SET: Kind = kind("ReplicaSet");
const DAEMON_SET: Kind = kind("DaemonSet");
const STATEFUL_SET: Kind = kind("StatefulSet");
const JOB: Kind = kind("Job");
const CRON_JOB: Kind = kind("CronJob");
const APPS_DEPLOYMENT: Kind = ("apps", "", "Deployment");
const APPS_STATEFUL_SET: Kind = ("apps", "", "StatefulSet");
const BATCH_JOB: Kind = ("batch", "", "Job");
const BATCH_CRON_JOB: Kind = ("batch", "", "CronJob");
const NETWORK_POLICY: Kind = ("networking.k8s.io", "", "NetworkPolicy");
const RBAC: &str = "rbac.authorization.k8s.io";
const ROLE_BINDING: Kind = (RBAC, "", "RoleBinding");
const CLUSTER_ROLE_BINDING: Kind = (RBAC, "", "ClusterRoleBinding");

/// The kinds whose pods may mount ConfigMaps and Secrets, and where their pod specs are.
const POD_SPECS: [(Kind, &str); 8] = [
    (POD, "spec"),
    (kind("PodTemplate"), "template/spec"),
    (DEPLOYMENT, "spec/template/spec"),
    (REPLICA_SET, "spec/template/spec"),
    (DAEMON_SET, "spec/template/spec"),
    (STATEFUL_SET, "spec/template/spec"),
    (JOB, "spec/template/spec"),
    (CRON_JOB, "spec/jobTemplate/spec/template/spec"),
];

/// The kinds in whose pod specs other names are looked for.
const OTHER_POD_SPECS: [(Kind, &str); 7] = [
    (kind("Pod"), "spec"),
    (STATEFUL_SET, "spec/template/spec"),
    (DEPLOYMENT, "spec/template/spec"),
    (kind("ReplicationController"), "spec/template/spec"),
    (CRON_JOB, "spec/jobTemplate/spec/template/spec"),
    (JOB, "spec/template/spec"),
    (DAEMON_SET, "spec/template/spec"),
];

/// Where labels go that are only metadata, in the objects and in what they are templates for.
const METADATA_LABELS: [Row; 10] = [
    (ANY, "metadata/labels"),
    (REPLICATION_CONTROLLER, "spec/template/metadata/labels"),
    (DEPLOYMENT, "spec/template/metadata/labels"),
    (REPLICA_SET, "spec/template/metadata/labels"),
    (DAEMON_SET, "spec/template/metadata/labels"),
    (APPS_STATEFUL_SET, "spec/template/metadata/labels"),
    (APPS_STATEFUL_SET, "spec/volumeClaimTemplates[]/metadata/labels"),
    (BATCH_JOB, "spec/template/metadata/labels"),
    (BATCH_CRON_JOB, "spec/jobTemplate/metadata/labels"),
    (BATCH_CRON_JOB, "spec/jobTemplate/spec/template/metadata/labels"),
];

/// Selectors that labels go into whether they are there or not.
const SELECTORS_MADE: [Row; 6] = [
    (("", "v1", "Service"), "spec/selector"),
    (REPLICATION_CONTROLLER, "spec/selector"),
    (DEPLOYMENT, "spec/selector/matchLabels"),
    (REPLICA_SET, "spec/selector/matchLabels"),
    (DAEMON_SET, "spec/selector/matchLabels"),
    (APPS_STATEFUL_SET, "spec/selector/matchLabels"),
];

/// Selectors that labels go into if they are there.
const SELECTORS_FOUND: [Row; 6] = [
    (BATCH_JOB, "spec/selector/matchLabels"),
    (BATCH_CRON_JOB, "spec/jobTemplate/spec/selector/matchLabels"),
    (("policy", "", "PodDisruptionBudget"), "spec/selector/matchLabels"),
    (NETWORK_POLICY, "spec/podSelector/matchLabels"),
    (NETWORK_POLICY, "spec/ingress/from/podSelector/matchLabels"),
    (NETWORK_POLICY, "spec/egress/to/podSelector/matchLabels"),
];

/// Selectors in the pod specs of Deployments and StatefulSets that labels go into if they are there.
const POD_SELECTORS: [&str; 5] = [
    "affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
    "affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels",
    "affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
    "affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels",
    "topologySpreadConstraints/labelSelector/matchLabels",
];

const ANNOTATIONS: [Row; 9] = [
    (ANY, "metadata/annotations"),
    (REPLICATION_CONTROLLER, "spec/template/metadata/annotations"),
    (DEPLOYMENT, "spec/template/metadata/annotations"),
    (REPLICA_SET, "spec/template/metadata/annotations"),
    (DAEMON_SET, "spec/template/metadata/annotations"),
    (STATEFUL_SET, "spec/template/metadata/annotations"),
    (BATCH_JOB, "spec/template/metadata/annotations"),
    (BATCH_CRON_JOB, "spec/jobTemplate/metadata/annotations"),
    (
        BATCH_CRON_JOB,
        "spec/jobTemplate/spec/template/metadata/annotations",
    ),
];

/// Namespaces beside `metadata.namespace`, which the transformer knows by itself. The last is not made if missing.
const NAMESPACES: [(Row, bool); 3] = [
    ((kind("Namespace"), "metadata/name"), true),
    (
        (
            ("apiregistration.k8s.io", "", "APIService"),
            "spec/service/namespace",
        ),
        true,
    ),
    (
        (
            ("apiextensions.k8s.io", "", "CustomResourceDefinition"),
            "spec/conversion/webhook/clientConfig/service/namespace",
        ),
        false,
    ),
];

const IMAGES: [&str; 6] = [
    "spec/containers[]/image",
    "spec/initContainers[]/image",
    "spec/volumes[]/image/reference",
    "spec/template/spec/containers[]/image",
    "spec/template/spec/initContainers[]/image",
    "spec/template/spec/volumes[]/image/reference",
];

const REPLICAS: [&str; 4] = ["Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"];

/// Where in a pod spec a ConfigMap is named.
const CONFIG_MAP_IN_POD: [&str; 6] = [
    "volumes/configMap/name",
    "containers/env/valueFrom/configMapKeyRef/name",
    "initContainers/env/valueFrom/configMapKeyRef/name",
    "containers/envFrom/configMapRef/name",
    "initContainers/envFrom/configMapRef/name",
    "volumes/projected/sources/configMap/name",
];

const CONFIG_MAP_ELSEWHERE: [Row; 4] = [
    (kind("Node"), "spec/configSource/configMap"),
    (kind("Role"), "rules/resourceNames"),
    (kind("ClusterRole"), "rules/resourceNames"),
    (
        kind("Ingress"),
        "metadata/annotations/nginx.ingress.kubernetes.io\\/fastcgi-params-configmap",
    ),
];

/// Where in a pod spec a Secret is named.
const SECRET_IN_POD: [&str; 7] = [
    "volumes/secret/secretName",
    "containers/env/valueFrom/secretKeyRef/name",
    "initContainers/env/valueFrom/secretKeyRef/name",
    "containers/envFrom/secretRef/name",
    "initContainers/envFrom/secretRef/name",
    "imagePullSecrets/name",
    "volumes/projected/sources/secret/name",
];

const SECRET_ELSEWHERE: [Row; 13] = [
    (kind("Ingress"), "spec/tls/secretName"),
    (
        kind("Ingress"),
        "metadata/annotations/ingress.kubernetes.io\\/auth-secret",
    ),
    (
        kind("Ingress"),
        "metadata/annotations/nginx.ingress.kubernetes.io\\/auth-secret",
    ),
    (
        kind("Ingress"),
        "metadata/annotations/nginx.ingress.kubernetes.io\\/auth-tls-secret",
    ),
    (kind("ServiceAccount"), "imagePullSecrets/name"),
    (kind("StorageClass"), "parameters/secretName"),
    (kind("StorageClass"), "parameters/adminSecretName"),
    (kind("StorageClass"), "parameters/userSecretName"),
    (kind("StorageClass"), "parameters/secretRef"),
    (kind("Role"), "rules/resourceNames"),
    (kind("ClusterRole"), "rules/resourceNames"),
    (
        ("serving.knative.dev", "v1", "Service"),
        "spec/template/spec/containers/env/valueFrom/secretKeyRef/name",
    ),
    (kind("PersistentVolume"), "spec/azureFile/secretName"),
];

const SERVICE: [Row; 8] = [
    (APPS_STATEFUL_SET, "spec/serviceName"),
    (kind("Ingress"), "spec/rules/http/paths/backend/serviceName"),
    (kind("Ingress"), "spec/backend/serviceName"),
    (kind("Ingress"), "spec/rules/http/paths/backend/service/name"),
    (kind("Ingress"), "spec/defaultBackend/service/name"),
    (("apiregistration.k8s.io", "", "APIService"), "spec/service/name"),
    (
        (
            "admissionregistration.k8s.io",
            "",
            "ValidatingWebhookConfiguration",
        ),
        "webhooks/clientConfig/service",
    ),
    (
        ("admissionregistration.k8s.io", "", "MutatingWebhookConfiguration"),
        "webhooks/clientConfig/service",
    ),
];

/// Name references that no pod spec is part of.
const PLAIN_REFERENCES: [(Kind, &[Row]); 12] = [
    (DEPLOYMENT, &SCALED),
    (kind("ReplicationController"), &SCALED),
    (REPLICA_SET, &SCALED),
    (STATEFUL_SET, &SCALED),
    (("", "v1", "Service"), &SERVICE),
    ((RBAC, "", "Role"), &[(ROLE_BINDING, "roleRef/name")]),
    (
        (RBAC, "", "ClusterRole"),
        &[
            (ROLE_BINDING, "roleRef/name"),
            (CLUSTER_ROLE_BINDING, "roleRef/name"),
        ],
    ),
    (
        ("", "v1", "PersistentVolume"),
        &[
            (kind("PersistentVolumeClaim"), "spec/volumeName"),
            (kind("ClusterRole"), "rules/resourceNames"),
        ],
    ),
    (
        ("storage.k8s.io", "v1", "StorageClass"),
        &[
            (kind("PersistentVolume"), "spec/storageClassName"),
            (kind("PersistentVolumeClaim"), "spec/storageClassName"),
            (STATEFUL_SET, "spec/volumeClaimTemplates/spec/storageClassName"),
        ],
    ),
    // The group is kustomize's own slip; nothing has it, and so no IngressClass is ever renamed in an Ingress.
    (
        ("networking.k8s.io/v1", "v1", "IngressClass"),
        &[(kind("Ingress"), "spec/ingressClassName")],
    ),
    (
        ("admissionregistration.k8s.io", "", "ValidatingAdmissionPolicy"),
        &[(
            (
                "admissionregistration.k8s.io",
                "",
                "ValidatingAdmissionPolicyBinding",
            ),
            "spec/policyName",
        )],
    ),
    (
        ("", "v1", "ServiceAccount"),
        &[(ROLE_BINDING, "subjects"), (CLUSTER_ROLE_BINDING, "subjects")],
    ),
];

const SCALED: [Row; 1] = [(kind("HorizontalPodAutoscaler"), "spec/scaleTargetRef/name")];

/// The kinds in whose containers vars are replaced, and where their containers are.
const VAR_HOLDERS: [(&str, &str); 7] = [
    ("CronJob", "spec/jobTemplate/spec/template/spec"),
    ("DaemonSet", "spec/template/spec"),
    ("Deployment", "spec/template/spec"),
    ("Job", "spec/template/spec"),
    ("Pod", "spec"),
    ("ReplicaSet", "spec/template/spec"),
    ("StatefulSet", "spec/template/spec"),
];

const VARS_IN_CONTAINERS: [&str; 4] = ["args", "command", "env/value", "volumeMounts/mountPath"];

const VARS_ELSEWHERE: [Row; 16] = [
    (CRON_JOB, "spec/jobTemplate/spec/template/volumes/nfs/server"),
    (DAEMON_SET, "spec/template/spec/volumes/nfs/server"),
    (DEPLOYMENT, "spec/template/spec/volumes/nfs/server"),
    (DEPLOYMENT, "spec/template/metadata/annotations"),
    (kind("Ingress"), "spec/rules/host"),
    (kind("Ingress"), "spec/tls/hosts"),
    (kind("Ingress"), "spec/tls/secretName"),
    (JOB, "spec/template/spec/volumes/nfs/server"),
    (kind("Pod"), "spec/volumes/nfs/server"),
    (REPLICA_SET, "spec/template/spec/volumes/nfs/server"),
    (kind("Service"), "spec/ports/port"),
    (kind("Service"), "spec/ports/targetPort"),
    (STATEFUL_SET, "spec/volumeClaimTemplates/spec/nfs/server"),
    (kind("PersistentVolume"), "spec/nfs/server"),
    (ANY, "metadata/labels"),
    (ANY, "metadata/annotations"),
];

static DEFAULTS: LazyLock<TransformerConfig> = LazyLock::new(make);

/// The defaults, sorted as kustomize sorts them.
pub(crate) fn defaults() -> &'static TransformerConfig {
    &DEFAULTS
}

fn make() -> TransformerConfig {
    let metadata_labels = || METADATA_LABELS.iter().map(|row| spec(row, true));
    let mut config = TransformerConfig {
        name_prefix: specs(&[(ANY, "metadata/name")], false),
        name_suffix: specs(&[(ANY, "metadata/name")], false),
        namespace: FieldSpecs(
            NAMESPACES
                .iter()
                .map(|(row, create)| spec(row, *create))
                .collect(),
        ),
        common_labels: FieldSpecs(selectors().chain(metadata_labels()).collect()),
        labels: FieldSpecs::default(),
        template_labels: FieldSpecs(metadata_labels().collect()),
        common_annotations: specs(&ANNOTATIONS, true),
        name_reference: references(),
        var_reference: var_references(),
        images: FieldSpecs(IMAGES.iter().map(|path| spec(&(ANY, *path), true)).collect()),
        replicas: FieldSpecs(
            REPLICAS
                .iter()
                .map(|name| spec(&(kind(name), "spec/replicas"), true))
                .collect(),
        ),
    };
    config.sort();
    config
}

fn selectors() -> impl Iterator<Item = FieldSpec> {
    let made = SELECTORS_MADE.iter().map(|row| spec(row, true));
    let in_pods = [APPS_DEPLOYMENT, APPS_STATEFUL_SET]
        .into_iter()
        .flat_map(|kind| below(kind, "spec/template/spec", &POD_SELECTORS));
    made.chain(in_pods)
        .chain(SELECTORS_FOUND.iter().map(|row| spec(row, false)))
}

fn references() -> Vec<NameReference> {
    let plain = PLAIN_REFERENCES
        .iter()
        .map(|(referral, rows)| reference(*referral, specs(rows, false).0));
    let in_pods = |paths: &'static [&'static str], elsewhere: &[Row]| {
        let mut found: Vec<FieldSpec> = POD_SPECS
            .iter()
            .flat_map(|(kind, at)| below(*kind, at, paths))
            .collect();
        found.extend(elsewhere.iter().map(|row| spec(row, false)));
        found
    };
    let in_other_pods = |path: &'static str| {
        OTHER_POD_SPECS
            .iter()
            .map(move |(kind, at)| joined(*kind, at, path))
            .collect::<Vec<_>>()
    };
    let mut references: Vec<NameReference> = plain.collect();
    references.extend([
        reference(
            ("", "v1", "ConfigMap"),
            in_pods(&CONFIG_MAP_IN_POD, &CONFIG_MAP_ELSEWHERE),
        ),
        reference(("", "v1", "Secret"), in_pods(&SECRET_IN_POD, &SECRET_ELSEWHERE)),
        reference(
            ("", "v1", "PersistentVolumeClaim"),
            in_other_pods("volumes/persistentVolumeClaim/claimName"),
        ),
        reference(
            ("scheduling.k8s.io", "v1", "PriorityClass"),
            in_other_pods("priorityClassName"),
        ),
    ]);
    for reference in references
        .iter_mut()
        .filter(|reference| reference.referral.kind == "ServiceAccount")
    {
        reference.referrers.0.extend(in_other_pods("serviceAccountName"));
    }
    references
}

fn var_references() -> FieldSpecs {
    let in_containers = VAR_HOLDERS.iter().flat_map(|(name, at)| {
        ["containers", "initContainers"]
            .into_iter()
            .flat_map(move |list| {
                VARS_IN_CONTAINERS
                    .iter()
                    .map(move |path| joined(kind(name), at, &format!("{list}/{path}")))
            })
    });
    let elsewhere = VARS_ELSEWHERE.iter().map(|row| spec(row, false));
    FieldSpecs(in_containers.chain(elsewhere).collect())
}

fn reference((group, version, kind): Kind, referrers: Vec<FieldSpec>) -> NameReference {
    NameReference {
        referral: gvk((group, version, kind)),
        referrers: FieldSpecs(referrers),
    }
}

fn below(kind: Kind, at: &'static str, paths: &'static [&'static str]) -> impl Iterator<Item = FieldSpec> {
    paths.iter().map(move |path| joined(kind, at, path))
}

fn joined(kind: Kind, at: &str, path: &str) -> FieldSpec {
    FieldSpec {
        gvk: gvk(kind),
        path: format!("{at}/{path}"),
        create: false,
    }
}

fn specs(rows: &[Row], create: bool) -> FieldSpecs {
    FieldSpecs(rows.iter().map(|row| spec(row, create)).collect())
}

fn spec((kind, path): &Row, create: bool) -> FieldSpec {
    FieldSpec {
        gvk: gvk(*kind),
        path: (*path).to_owned(),
        create,
    }
}

fn gvk((group, version, kind): Kind) -> Gvk {
    Gvk {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
    }
}
