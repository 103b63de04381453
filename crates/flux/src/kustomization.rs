//! The Flux Kustomization (F-001 to F-010).

pub(crate) mod read;

use std::collections::BTreeMap;

use firstpass_object::{ObjectExt, TierName};
use serde_json::Value;

use crate::fields::read_object;
use crate::{Duration, Read, SourceKind, SourceName};

/// Waiting is never cut shorter than this (F-002).
const TIMEOUT_LEAST: Duration = Duration::from_secs(30);
/// What the default timeout leaves of the interval (F-002).
const TIMEOUT_BEFORE_INTERVAL: Duration = Duration::from_secs(30);

/// A Flux Kustomization: its identity and its spec.
#[derive(Clone, Debug, PartialEq)]
pub struct Kustomization {
    /// Namespace and name. The namespace is empty if the object states none.
    pub name: TierName,
    /// The `apiVersion` that it is written in.
    pub api_version: String,
    /// What it asks for.
    pub spec: KustomizationSpec,
}

/// `spec` of a Flux Kustomization, fields of all versions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KustomizationSpec {
    /// Time between reconciles after a success.
    pub interval: Option<Duration>,
    /// Time until the next attempt after a failure; see [`KustomizationSpec::retry_interval`].
    pub retry_interval: Option<Duration>,
    /// Limit of the health wait; see [`KustomizationSpec::timeout`].
    pub timeout: Option<Duration>,
    /// Left alone entirely.
    pub suspend: bool,
    /// Where the files come from. A reference that lacks its name or has an unknown kind is none.
    pub source_ref: Option<SourceRef>,
    /// Directory inside the artifact; empty for its root.
    pub path: String,
    /// Deletes what is no longer built. Required.
    pub prune: bool,
    /// What happens to the objects when the Kustomization is deleted.
    pub deletion_policy: DeletionPolicy,
    /// Kustomizations that must be ready first.
    pub depends_on: Vec<DependencyReference>,
    /// Waits for everything applied.
    pub wait: bool,
    /// Waits for these objects; ignored with [`KustomizationSpec::wait`].
    pub health_checks: Vec<HealthCheck>,
    /// How the health of custom kinds is read.
    pub health_check_exprs: Vec<HealthCheckExpr>,
    /// Deletes and re-creates what cannot be changed (F-240).
    pub force: bool,
    /// Overrides kustomize's `namespace` (F-305, F-806).
    pub target_namespace: Option<String>,
    /// Overrides kustomize's `namePrefix`.
    pub name_prefix: Option<String>,
    /// Overrides kustomize's `nameSuffix`.
    pub name_suffix: Option<String>,
    /// Patches after those of the file.
    pub patches: Vec<Patch>,
    /// Images, merged by name.
    pub images: Vec<Image>,
    /// Components after those of the file.
    pub components: Vec<String>,
    /// Skips components that are not there (F-807).
    pub ignore_missing_components: bool,
    /// Replaces the file's value if it is set.
    pub build_metadata: Vec<String>,
    /// Labels and annotations for every object (F-116).
    pub common_metadata: Option<CommonMetadata>,
    /// Drift that is left alone (F-251).
    pub ignore: Vec<Ignore>,
    /// Variable substitution (F-600).
    pub post_build: Option<PostBuild>,
    /// SOPS decryption (F-700).
    pub decryption: Option<Decryption>,
    /// The account that applies (F-166).
    pub service_account_name: Option<String>,
    /// The remote cluster that is applied to.
    pub kube_config: Option<KubeConfig>,
}

/// `sourceRef`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceRef {
    /// Kind of the source.
    pub kind: SourceKind,
    /// Its name.
    pub name: String,
    /// Its namespace; the Kustomization's own if unset.
    pub namespace: Option<String>,
}

/// When a deleted Kustomization takes its objects along (F-430).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeletionPolicy {
    /// As `prune` says.
    #[default]
    MirrorPrune,
    /// Always.
    Delete,
    /// Always, and the finalizer waits until they are gone (F-432).
    WaitForTermination,
    /// Never.
    Orphan,
}

/// One entry of `dependsOn`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependencyReference {
    /// Name of the dependency.
    pub name: String,
    /// Its namespace; the own one if unset.
    pub namespace: Option<String>,
    /// CEL expression that replaces the built-in check (F-124).
    pub ready_expr: Option<String>,
}

/// One entry of `healthChecks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// `apiVersion`; `apps/v1` if unset (F-501).
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
    /// Namespace; does not default (F-501).
    pub namespace: Option<String>,
}

/// One entry of `healthCheckExprs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheckExpr {
    /// `apiVersion` of the kind.
    pub api_version: String,
    /// The kind; unset for a whole group (since 2.9, F-1752).
    pub kind: Option<String>,
    /// CEL expression that is true when the object is current.
    pub current: String,
    /// CEL expression that is true while the object is not done.
    pub in_progress: Option<String>,
    /// CEL expression that is true when the object has failed.
    pub failed: Option<String>,
}

/// One entry of `patches`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Strategic merge patch or JSON 6902 patch, as text.
    pub patch: String,
    /// What it applies to; a strategic merge patch may name its object itself.
    pub target: Option<PatchTarget>,
}

/// `target` of a patch: unset parts match everything, names are anchored regular expressions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchTarget {
    /// API group.
    pub group: Option<String>,
    /// Version.
    pub version: Option<String>,
    /// Kind.
    pub kind: Option<String>,
    /// Name.
    pub name: Option<String>,
    /// Namespace.
    pub namespace: Option<String>,
    /// Label selector.
    pub label_selector: Option<String>,
    /// Annotation selector.
    pub annotation_selector: Option<String>,
}

/// One entry of `images` (F-806).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The image as manifests name it.
    pub name: String,
    /// What replaces its name.
    pub new_name: Option<String>,
    /// What replaces its tag.
    pub new_tag: Option<String>,
    /// What replaces its tag by a digest.
    pub digest: Option<String>,
}

/// `commonMetadata`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommonMetadata {
    /// Labels for every object.
    pub labels: BTreeMap<String, String>,
    /// Annotations for every object.
    pub annotations: BTreeMap<String, String>,
}

/// One entry of `ignore` (F-251).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignore {
    /// JSON pointers.
    pub paths: Vec<String>,
    /// What they apply to.
    pub target: Option<PatchTarget>,
}

/// `postBuild` (F-600).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostBuild {
    /// Whether substitution runs without any variable (F-601).
    pub strategy: SubstituteStrategy,
    /// Variables with their values; they win over `substituteFrom`.
    pub substitute: BTreeMap<String, String>,
    /// ConfigMaps and Secrets with variables; later ones win.
    pub substitute_from: Vec<SubstituteReference>,
}

/// `postBuild.substituteStrategy`, since Flux 2.9.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SubstituteStrategy {
    /// Only if there is a variable.
    #[default]
    WithVariables,
    /// Always.
    Always,
}

/// One entry of `postBuild.substituteFrom`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubstituteReference {
    /// `ConfigMap` or `Secret`.
    pub kind: String,
    /// Name, in the Kustomization's namespace.
    pub name: String,
    /// Tolerates that it does not exist.
    pub optional: bool,
}

/// `decryption`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decryption {
    /// Always `sops`.
    pub provider: String,
    /// Secret with the keys, in the Kustomization's namespace.
    pub secret_ref: Option<String>,
    /// Account for a key service, needs a gate (F-110).
    pub service_account_name: Option<String>,
}

/// `kubeConfig`: another cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KubeConfig {
    /// A Secret with a kubeconfig.
    Secret {
        /// Name of the Secret.
        name: String,
        /// Key in it, `value` or `value.yaml` if unset.
        key: Option<String>,
    },
    /// A ConfigMap that describes access by workload identity.
    ConfigMap {
        /// Name of the ConfigMap.
        name: String,
    },
}

impl Kustomization {
    /// Reads the object.
    pub fn read(object: &Value) -> Read<Kustomization> {
        read_object(object, |fields| Kustomization {
            name: TierName::new(object.namespace().unwrap_or_default(), object.name()),
            api_version: object.api_version().to_owned(),
            spec: KustomizationSpec::from_fields(&fields.map("spec")),
        })
    }

    /// Whether an object is a Flux Kustomization, in any version.
    pub fn is(object: &Value) -> bool {
        object.kind() == crate::names::KUSTOMIZATION
            && firstpass_object::group_of(object.api_version()) == crate::names::KUSTOMIZE_GROUP
    }

    /// The source with its namespace filled in.
    pub fn source(&self) -> Option<SourceName> {
        self.spec.source_ref.as_ref().map(|source| SourceName {
            kind: source.kind,
            namespace: source
                .namespace
                .clone()
                .unwrap_or_else(|| self.name.namespace.to_string()),
            name: source.name.clone(),
        })
    }

    /// The dependencies with their namespaces filled in, in order.
    pub fn dependencies(&self) -> impl Iterator<Item = TierName> + '_ {
        self.spec.depends_on.iter().map(|dependency| {
            let namespace = dependency.namespace.as_deref().unwrap_or(&self.name.namespace);
            TierName::new(namespace, &dependency.name)
        })
    }
}

impl KustomizationSpec {
    /// The limit of the health wait: the field, else the interval less 30 s, and never less than 30 s (F-002).
    pub fn timeout(&self) -> Duration {
        let interval = self.interval.unwrap_or_default();
        let timeout = self
            .timeout
            .unwrap_or_else(|| interval.minus(TIMEOUT_BEFORE_INTERVAL));
        timeout.max(TIMEOUT_LEAST)
    }

    /// Time until the next attempt after a failure: the field, else the interval (F-004).
    pub fn retry_interval(&self) -> Duration {
        self.retry_interval.or(self.interval).unwrap_or_default()
    }

    /// Whether anything is health-checked after an apply (F-500).
    pub fn checks_health(&self) -> bool {
        self.wait || !self.health_checks.is_empty()
    }
}

impl SubstituteReference {
    /// How Flux writes it in messages: `ConfigMap/cluster-vars`.
    pub fn display(&self) -> String {
        format!("{}/{}", self.kind, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spec(value: &Value) -> KustomizationSpec {
        Kustomization::read(&json!({"spec": value})).value.spec
    }

    /// F-002, F-004, F-1104, F-1108.
    #[test]
    fn timeouts_and_retries_follow_from_the_interval() {
        let table = [
            (json!({"interval": "10m"}), "9m30s", "10m0s"),
            (json!({"interval": "10m", "timeout": "10s"}), "30s", "10m0s"),
            (json!({"interval": "20s", "retryInterval": "2m"}), "30s", "2m0s"),
            (json!({"interval": "1h", "timeout": "5m"}), "5m0s", "1h0m0s"),
            (json!({}), "30s", "0s"),
        ];
        for (value, timeout, retry) in table {
            let spec = spec(&value);
            assert_eq!(spec.timeout().to_string(), timeout, "{value}");
            assert_eq!(spec.retry_interval().to_string(), retry, "{value}");
        }
    }

    #[test]
    fn what_is_well_formed_is_read_and_the_rest_is_named() {
        let read = Kustomization::read(&json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": "apps", "namespace": "flux-system"},
            "spec": {
                "interval": "5 minutes", "prune": "yes", "wait": true, "path": "./apps",
                "sourceRef": {"kind": "GitRepo", "name": "flux-system"},
                "dependsOn": [{"name": "infra"}, {"namespace": "x"}, "infra"],
                "postBuild": {"substitute": {"A": "1", "B": 2}, "substituteFrom": [{"kind": "ConfigMap", "name": "vars"}]},
            },
        }));
        assert!(read.value.spec.wait);
        assert_eq!(read.value.spec.post_build.unwrap().substitute.len(), 1);
        let paths: Vec<_> = read
            .problems
            .iter()
            .map(|problem| problem.path.as_str())
            .collect();
        assert_eq!(
            paths,
            [
                "spec.interval",
                "spec.sourceRef.kind",
                "spec.prune",
                "spec.dependsOn[2]",
                "spec.dependsOn[1].name",
                "spec.dependsOn[2].name",
                "spec.postBuild.substitute.B",
            ]
        );
    }

    #[test]
    fn namespaces_default_to_the_own_one() {
        let object = json!({
            "metadata": {"name": "apps", "namespace": "team"},
            "spec": {
                "sourceRef": {"kind": "GitRepository", "name": "repo"},
                "dependsOn": [{"name": "a"}, {"name": "b", "namespace": "other"}],
            },
        });
        let kustomization = Kustomization::read(&object).value;
        assert_eq!(
            kustomization.source().unwrap().to_string(),
            "GitRepository/team/repo"
        );
        let names: Vec<_> = kustomization
            .dependencies()
            .map(|name| name.to_string())
            .collect();
        assert_eq!(names, ["team/a", "other/b"]);
    }
}
