//! The words of Flux's API: groups, kinds, condition types, reasons, keys of labels and annotations.

/// Group of Flux Kustomizations.
pub const KUSTOMIZE_GROUP: &str = "kustomize.toolkit.fluxcd.io";
/// Group of HelmReleases.
pub const HELM_GROUP: &str = "helm.toolkit.fluxcd.io";
/// Group of GitRepository, OCIRepository, Bucket, HelmRepository, HelmChart and ExternalArtifact.
pub const SOURCE_GROUP: &str = "source.toolkit.fluxcd.io";
/// Group of ArtifactGenerator.
pub const SOURCE_EXTENSIONS_GROUP: &str = "source.extensions.fluxcd.io";
/// Group of alerts, providers and receivers.
pub const NOTIFICATION_GROUP: &str = "notification.toolkit.fluxcd.io";
/// Group of image policies, repositories and automations.
pub const IMAGE_GROUP: &str = "image.toolkit.fluxcd.io";
/// Group of FluxInstance and ResourceSet, which flux-operator serves.
pub const OPERATOR_GROUP: &str = "fluxcd.controlplane.io";

/// Kind of a Flux Kustomization.
pub const KUSTOMIZATION: &str = "Kustomization";
/// Kind of a HelmRelease.
pub const HELM_RELEASE: &str = "HelmRelease";
/// Kind of a FluxInstance.
pub const FLUX_INSTANCE: &str = "FluxInstance";
/// Kind of a ResourceSet.
pub const RESOURCE_SET: &str = "ResourceSet";
/// Kind of an ArtifactGenerator.
pub const ARTIFACT_GENERATOR: &str = "ArtifactGenerator";

/// Namespace and name that a bootstrap gives to the root Kustomization and its source.
pub const FLUX_SYSTEM: &str = "flux-system";

/// The finalizer of all Flux objects.
pub const FINALIZER: &str = "finalizers.fluxcd.io";
/// Label: the Kustomization that owns an object (F-117).
pub const OWNER_NAME_LABEL: &str = "kustomize.toolkit.fluxcd.io/name";
/// Label: the namespace of the Kustomization that owns an object (F-117).
pub const OWNER_NAMESPACE_LABEL: &str = "kustomize.toolkit.fluxcd.io/namespace";
/// Label: the HelmRelease that owns an object.
pub const HELM_NAME_LABEL: &str = "helm.toolkit.fluxcd.io/name";
/// Label: the namespace of the HelmRelease that owns an object.
pub const HELM_NAMESPACE_LABEL: &str = "helm.toolkit.fluxcd.io/namespace";
/// Annotation that asks for a reconcile now (F-100).
pub const REQUESTED_AT: &str = "reconcile.fluxcd.io/requestedAt";
/// Annotation that asks for an upgrade of a HelmRelease now, beside [`REQUESTED_AT`] with the same value.
pub const FORCE_AT: &str = "reconcile.fluxcd.io/forceAt";
/// Annotation that asks for new counters of a HelmRelease's failures, beside [`REQUESTED_AT`] with the same value.
pub const RESET_AT: &str = "reconcile.fluxcd.io/resetAt";
/// Label of ConfigMaps and Secrets whose change wakes their users (F-107).
pub const WATCH_LABEL: &str = "reconcile.fluxcd.io/watch";

/// Switch `reconcile: disabled` (F-260).
pub const RECONCILE: &str = "kustomize.toolkit.fluxcd.io/reconcile";
/// Switch `ssa: Ignore | IfNotPresent | Merge` (F-261 to F-264).
pub const SSA: &str = "kustomize.toolkit.fluxcd.io/ssa";
/// Switch `force: enabled` (F-265).
pub const FORCE: &str = "kustomize.toolkit.fluxcd.io/force";
/// Switch `prune: disabled` (F-266).
pub const PRUNE: &str = "kustomize.toolkit.fluxcd.io/prune";
/// Switch `substitute: disabled`, compared exactly (F-267).
pub const SUBSTITUTE: &str = "kustomize.toolkit.fluxcd.io/substitute";
/// Annotation `decrypt: disabled` (F-268).
pub const DECRYPT: &str = "kustomize.toolkit.fluxcd.io/decrypt";
/// Value of most switches.
pub const DISABLED: &str = "disabled";

/// Field manager of kustomize-controller.
pub const KUSTOMIZE_MANAGER: &str = "kustomize-controller";
/// Field manager of kustomize-controller's status writes.
pub const KUSTOMIZE_STATUS_MANAGER: &str = "gotk-kustomize-controller";
/// Field manager of helm-controller.
pub const HELM_MANAGER: &str = "helm-controller";

/// Types of conditions (F-009).
pub mod condition {
    /// The object is reconciled.
    pub const READY: &str = "Ready";
    /// An attempt is running or will be repeated.
    pub const RECONCILING: &str = "Reconciling";
    /// No attempt will be made until something changes.
    pub const STALLED: &str = "Stalled";
    /// The health checks passed.
    pub const HEALTHY: &str = "Healthy";
    /// A HelmRelease's newest release succeeded.
    pub const RELEASED: &str = "Released";
    /// A HelmRelease's failure was rolled back or uninstalled.
    pub const REMEDIATED: &str = "Remediated";
    /// The tests of a HelmRelease's newest release succeeded.
    pub const TEST_SUCCESS: &str = "TestSuccess";
    /// A source has an artifact in storage.
    pub const ARTIFACT_IN_STORAGE: &str = "ArtifactInStorage";
}

/// Reasons of conditions (F-130 to F-144).
pub mod reason {
    /// An attempt runs.
    pub const PROGRESSING: &str = "Progressing";
    /// An attempt failed and will be repeated.
    pub const PROGRESSING_WITH_RETRY: &str = "ProgressingWithRetry";
    /// The source or its artifact cannot be had.
    pub const ARTIFACT_FAILED: &str = "ArtifactFailed";
    /// A source in another namespace, or of a kind whose gate is off.
    pub const ACCESS_DENIED: &str = "AccessDenied";
    /// A dependency is not ready.
    pub const DEPENDENCY_NOT_READY: &str = "DependencyNotReady";
    /// Generating, building, decrypting or substituting failed.
    pub const BUILD_FAILED: &str = "BuildFailed";
    /// The API server refused something.
    pub const RECONCILIATION_FAILED: &str = "ReconciliationFailed";
    /// Deleting stale objects failed.
    pub const PRUNE_FAILED: &str = "PruneFailed";
    /// A checked object failed or did not become healthy in time.
    pub const HEALTH_CHECK_FAILED: &str = "HealthCheckFailed";
    /// The health wait was given up for a newer attempt.
    pub const HEALTH_CHECK_CANCELED: &str = "HealthCheckCanceled";
    /// A CEL expression cannot be compiled.
    pub const INVALID_CEL_EXPRESSION: &str = "InvalidCELExpression";
    /// Everything applied.
    pub const RECONCILIATION_SUCCEEDED: &str = "ReconciliationSucceeded";
    /// An object was suspended.
    pub const SUSPENDED: &str = "Suspended";
    /// A source fetched what it names.
    pub const SUCCEEDED: &str = "Succeeded";
    /// A chart source is not ready (F-1003).
    pub const SOURCE_NOT_READY: &str = "SourceNotReady";
    /// Values cannot be composed (F-1004).
    pub const VALUES_ERROR: &str = "ValuesError";
    /// A release was installed.
    pub const INSTALL_SUCCEEDED: &str = "InstallSucceeded";
    /// A release could not be installed.
    pub const INSTALL_FAILED: &str = "InstallFailed";
    /// A release was upgraded.
    pub const UPGRADE_SUCCEEDED: &str = "UpgradeSucceeded";
    /// A release could not be upgraded.
    pub const UPGRADE_FAILED: &str = "UpgradeFailed";
    /// A failed upgrade went back to the release before.
    pub const ROLLBACK_SUCCEEDED: &str = "RollbackSucceeded";
    /// The tests of a release succeeded.
    pub const TEST_SUCCEEDED: &str = "TestSucceeded";
    /// A test of a release failed.
    pub const TEST_FAILED: &str = "TestFailed";
    /// A failed upgrade could not go back.
    pub const ROLLBACK_FAILED: &str = "RollbackFailed";
    /// A release was taken away.
    pub const UNINSTALL_SUCCEEDED: &str = "UninstallSucceeded";
    /// A release could not be taken away.
    pub const UNINSTALL_FAILED: &str = "UninstallFailed";
    /// No retry is left (F-1009).
    pub const RETRIES_EXCEEDED: &str = "RetriesExceeded";
}
