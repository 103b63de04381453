//! Flux's own kinds as requests name them, and writing their status.

use firstpass_apiserver::{Request, Target};
use firstpass_flux::{FluxVersion, SourceKind, SourceName, names};
use firstpass_object::{ObjectExt, ObjectId, TierName};
use serde_json::{Value, json};

use crate::context::Context;
use crate::status::Status;

/// A Flux Kustomization.
pub(crate) fn kustomization(tier: &TierName) -> Target {
    Target::new(
        "kustomize.toolkit.fluxcd.io/v1",
        names::KUSTOMIZATION,
        Some(&tier.namespace),
        &tier.name,
    )
}

/// A HelmRelease.
pub(crate) fn helm_release(release: &TierName) -> Target {
    Target::new(
        "helm.toolkit.fluxcd.io/v2",
        names::HELM_RELEASE,
        Some(&release.namespace),
        &release.name,
    )
}

/// A source, in a version that this Flux serves.
pub(crate) fn source(name: &SourceName, flux: FluxVersion) -> Target {
    let old_oci = name.kind == SourceKind::OciRepository && !flux.at_least(6);
    let version = if old_oci { "v1beta2" } else { "v1" };
    let api_version = format!("{}/{version}", names::SOURCE_GROUP);
    Target::new(
        &api_version,
        name.kind.as_str(),
        Some(&name.namespace),
        &name.name,
    )
}

/// A source kind as the API server names it in errors.
pub(crate) fn source_resource(kind: SourceKind) -> &'static str {
    match kind {
        SourceKind::GitRepository => "gitrepositories.source.toolkit.fluxcd.io",
        SourceKind::OciRepository => "ocirepositories.source.toolkit.fluxcd.io",
        SourceKind::Bucket => "buckets.source.toolkit.fluxcd.io",
        SourceKind::ExternalArtifact => "externalartifacts.source.toolkit.fluxcd.io",
        SourceKind::HelmRepository => "helmrepositories.source.toolkit.fluxcd.io",
        SourceKind::HelmChart => "helmcharts.source.toolkit.fluxcd.io",
    }
}

/// The identity of a Flux Kustomization.
pub(crate) fn kustomization_id(tier: &TierName) -> ObjectId {
    ObjectId::new(
        names::KUSTOMIZE_GROUP,
        names::KUSTOMIZATION,
        Some(&tier.namespace),
        &tier.name,
    )
}

/// The identity of a HelmRelease.
pub(crate) fn helm_release_id(release: &TierName) -> ObjectId {
    ObjectId::new(
        names::HELM_GROUP,
        names::HELM_RELEASE,
        Some(&release.namespace),
        &release.name,
    )
}

/// Writes the status of a Flux object. The object may be gone by now, which is fine.
pub(crate) fn write_status(context: &mut Context<'_>, target: &Target, status: &Status, manager: &str) {
    let mut object = json!({
        "apiVersion": target.gvk.api_version(),
        "kind": target.gvk.kind,
        "metadata": {"name": target.name},
    });
    object["status"] = status.to_value();
    if let Some(namespace) = &target.namespace {
        object["metadata"]["namespace"] = Value::from(namespace.as_str());
    }
    let request = Request::UpdateStatus {
        object: object.into(),
        manager: manager.into(),
    };
    let _gone_meanwhile = context.server.call(&request);
}

/// Puts Flux's finalizer on an object that has none of it yet. Says whether it had to.
pub(crate) fn add_finalizer(
    context: &mut Context<'_>,
    target: &Target,
    object: &Value,
    manager: &str,
) -> bool {
    let finalizers = object.items_at(&["metadata", "finalizers"]);
    let is_missing = finalizers.iter().all(|finalizer| finalizer != names::FINALIZER);
    if is_missing {
        write_finalizers(context, target, &[names::FINALIZER], manager);
    }
    is_missing
}

/// Sets the finalizers of an object.
pub(crate) fn write_finalizers(
    context: &mut Context<'_>,
    target: &Target,
    finalizers: &[&str],
    manager: &str,
) {
    let request = Request::Patch {
        target: target.clone(),
        patch: json!({"metadata": {"finalizers": finalizers}}),
        manager: manager.into(),
    };
    let _gone_meanwhile = context.server.call(&request);
}

/// `metadata.generation`, or 0.
pub(crate) fn generation(object: &Value) -> i64 {
    object["metadata"]["generation"].as_i64().unwrap_or_default()
}

/// `status.observedGeneration`, if it is there.
pub(crate) fn observed_generation(object: &Value) -> Option<i64> {
    object["status"]["observedGeneration"].as_i64()
}
