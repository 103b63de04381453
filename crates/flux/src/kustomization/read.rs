//! Reading the spec of a Flux Kustomization, and the parts of it that HelmReleases share.

use super::{
    CommonMetadata, Decryption, DeletionPolicy, DependencyReference, HealthCheck, HealthCheckExpr, Ignore,
    Image, KubeConfig, KustomizationSpec, Patch, PatchTarget, PostBuild, SourceRef, SubstituteReference,
    SubstituteStrategy,
};
use crate::SourceKind;
use crate::fields::Fields;

impl KustomizationSpec {
    pub(super) fn from_fields(spec: &Fields<'_>) -> KustomizationSpec {
        if spec.value("interval").is_none() {
            spec.problem("interval", "is required");
        }
        if spec.value("prune").is_none() {
            spec.problem("prune", "is required");
        }
        KustomizationSpec {
            interval: spec.duration("interval"),
            retry_interval: spec.duration("retryInterval"),
            timeout: spec.duration("timeout"),
            suspend: spec.flag("suspend").unwrap_or_default(),
            source_ref: source_ref(spec),
            path: spec.text("path").unwrap_or_default(),
            prune: spec.flag("prune").unwrap_or_default(),
            deletion_policy: deletion_policy(spec),
            depends_on: spec.list("dependsOn").iter().map(dependency).collect(),
            wait: spec.flag("wait").unwrap_or_default(),
            health_checks: spec.list("healthChecks").iter().map(health_check).collect(),
            health_check_exprs: spec
                .list("healthCheckExprs")
                .iter()
                .map(health_check_expr)
                .collect(),
            force: spec.flag("force").unwrap_or_default(),
            target_namespace: spec.text("targetNamespace"),
            name_prefix: spec.text("namePrefix"),
            name_suffix: spec.text("nameSuffix"),
            patches: spec.list("patches").iter().map(patch).collect(),
            images: spec.list("images").iter().map(image).collect(),
            components: spec.texts("components"),
            ignore_missing_components: spec.flag("ignoreMissingComponents").unwrap_or_default(),
            build_metadata: spec.texts("buildMetadata"),
            common_metadata: common_metadata(spec),
            ignore: spec.list("ignore").iter().map(ignore).collect(),
            post_build: post_build(spec),
            decryption: decryption(spec),
            service_account_name: spec.text("serviceAccountName"),
            kube_config: kube_config(spec),
        }
    }
}

fn source_ref(spec: &Fields<'_>) -> Option<SourceRef> {
    let fields = spec.map("sourceRef");
    if !fields.exists() {
        spec.problem("sourceRef", "is required");
        return None;
    }
    let kind = fields.word("kind", SourceKind::FOR_KUSTOMIZATIONS);
    let name = fields.required_text("name");
    if kind.is_none() && fields.value("kind").is_none() {
        fields.problem("kind", "is required");
    }
    Some(SourceRef {
        kind: kind?,
        name: Some(name).filter(|name| !name.is_empty())?,
        namespace: fields.text("namespace").filter(|namespace| !namespace.is_empty()),
    })
}

fn deletion_policy(spec: &Fields<'_>) -> DeletionPolicy {
    let words = [
        ("MirrorPrune", DeletionPolicy::MirrorPrune),
        ("Delete", DeletionPolicy::Delete),
        ("WaitForTermination", DeletionPolicy::WaitForTermination),
        ("Orphan", DeletionPolicy::Orphan),
    ];
    spec.word("deletionPolicy", &words).unwrap_or_default()
}

pub(crate) fn dependency(fields: &Fields<'_>) -> DependencyReference {
    DependencyReference {
        name: fields.required_text("name"),
        namespace: fields.text("namespace").filter(|namespace| !namespace.is_empty()),
        ready_expr: fields
            .text("readyExpr")
            .filter(|expression| !expression.is_empty()),
    }
}

fn health_check(fields: &Fields<'_>) -> HealthCheck {
    HealthCheck {
        api_version: fields
            .text("apiVersion")
            .filter(|version| !version.is_empty())
            .unwrap_or_else(|| "apps/v1".to_owned()),
        kind: fields.required_text("kind"),
        name: fields.required_text("name"),
        namespace: fields.text("namespace").filter(|namespace| !namespace.is_empty()),
    }
}

pub(crate) fn health_check_expr(fields: &Fields<'_>) -> HealthCheckExpr {
    HealthCheckExpr {
        api_version: fields.required_text("apiVersion"),
        kind: fields.text("kind").filter(|kind| !kind.is_empty()),
        current: fields.required_text("current"),
        in_progress: fields.text("inProgress").filter(|text| !text.is_empty()),
        failed: fields.text("failed").filter(|text| !text.is_empty()),
    }
}

pub(crate) fn patch(fields: &Fields<'_>) -> Patch {
    Patch {
        patch: fields.required_text("patch"),
        target: patch_target(fields),
    }
}

fn patch_target(fields: &Fields<'_>) -> Option<PatchTarget> {
    let target = fields.map("target");
    target.exists().then(|| PatchTarget {
        group: target.text("group"),
        version: target.text("version"),
        kind: target.text("kind"),
        name: target.text("name"),
        namespace: target.text("namespace"),
        label_selector: target.text("labelSelector"),
        annotation_selector: target.text("annotationSelector"),
    })
}

fn image(fields: &Fields<'_>) -> Image {
    Image {
        name: fields.required_text("name"),
        new_name: fields.text("newName"),
        new_tag: fields.text("newTag"),
        digest: fields.text("digest"),
    }
}

pub(crate) fn common_metadata(spec: &Fields<'_>) -> Option<CommonMetadata> {
    let fields = spec.map("commonMetadata");
    fields.exists().then(|| CommonMetadata {
        labels: fields.text_map("labels"),
        annotations: fields.text_map("annotations"),
    })
}

fn ignore(fields: &Fields<'_>) -> Ignore {
    Ignore {
        paths: fields.texts("paths"),
        target: patch_target(fields),
    }
}

fn post_build(spec: &Fields<'_>) -> Option<PostBuild> {
    let fields = spec.map("postBuild");
    let strategies = [
        ("WithVariables", SubstituteStrategy::WithVariables),
        ("Always", SubstituteStrategy::Always),
    ];
    fields.exists().then(|| PostBuild {
        strategy: fields.word("substituteStrategy", &strategies).unwrap_or_default(),
        substitute: fields.text_map("substitute"),
        substitute_from: fields
            .list("substituteFrom")
            .iter()
            .map(substitute_reference)
            .collect(),
    })
}

fn substitute_reference(fields: &Fields<'_>) -> SubstituteReference {
    let kinds = [("ConfigMap", "ConfigMap"), ("Secret", "Secret")];
    SubstituteReference {
        kind: fields.word("kind", &kinds).unwrap_or_default().to_owned(),
        name: fields.required_text("name"),
        optional: fields.flag("optional").unwrap_or_default(),
    }
}

fn decryption(spec: &Fields<'_>) -> Option<Decryption> {
    let fields = spec.map("decryption");
    fields.exists().then(|| Decryption {
        provider: fields.required_text("provider"),
        secret_ref: fields.map("secretRef").text("name"),
        service_account_name: fields.text("serviceAccountName"),
    })
}

pub(crate) fn kube_config(spec: &Fields<'_>) -> Option<KubeConfig> {
    let fields = spec.map("kubeConfig");
    let secret = fields.map("secretRef");
    if secret.exists() {
        return Some(KubeConfig::Secret {
            name: secret.required_text("name"),
            key: secret.text("key"),
        });
    }
    let config_map = fields.map("configMapRef");
    config_map.exists().then(|| KubeConfig::ConfigMap {
        name: config_map.required_text("name"),
    })
}
