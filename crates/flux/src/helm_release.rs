//! The HelmRelease (F-1000 to F-1044), in all its versions.

use firstpass_object::{ObjectExt, TierName, group_of};
use serde_json::Value;

use crate::fields::{Fields, read_object};
use crate::kustomization::read::{common_metadata, dependency, health_check_expr, kube_config};
use crate::{
    CommonMetadata, DependencyReference, Duration, HealthCheckExpr, KubeConfig, Read, SourceKind, SourceName,
    names,
};

/// Limit of one Helm action if nothing else is said (F-1115).
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(5 * 60);
/// Retry interval of the strategy `RetryOnFailure` (F-1011).
const RETRY_DEFAULT: Duration = Duration::from_secs(5 * 60);

/// A HelmRelease: its identity and its spec.
#[derive(Clone, Debug, PartialEq)]
pub struct HelmRelease {
    /// Namespace and name. The namespace is empty if the object states none.
    pub name: TierName,
    /// The `apiVersion` that it is written in.
    pub api_version: String,
    /// What it asks for.
    pub spec: HelmReleaseSpec,
}

/// `spec` of a HelmRelease.
#[derive(Clone, Debug, PartialEq)]
pub struct HelmReleaseSpec {
    /// `chart`: a chart in a repository.
    pub chart: Option<ChartTemplate>,
    /// `chartRef`: a source that is a chart.
    pub chart_ref: Option<ChartReference>,
    /// Time between reconciles.
    pub interval: Option<Duration>,
    /// Limit of one Helm action.
    pub timeout: Option<Duration>,
    /// Left alone entirely.
    pub suspend: bool,
    /// Name of the release; see [`HelmRelease::release_name`].
    pub release_name: Option<String>,
    /// Namespace that the chart is installed in; the own one if unset.
    pub target_namespace: Option<String>,
    /// Namespace of Helm's records.
    pub storage_namespace: Option<String>,
    /// HelmReleases that must be ready first (F-1002).
    pub depends_on: Vec<DependencyReference>,
    /// The account that installs.
    pub service_account_name: Option<String>,
    /// The remote cluster that is installed into.
    pub kube_config: Option<KubeConfig>,
    /// How the first install goes.
    pub install: ReleaseAction,
    /// How an upgrade goes.
    pub upgrade: ReleaseAction,
    /// How a failed upgrade goes back.
    pub rollback: UndoAction,
    /// How a release is taken away.
    pub uninstall: UndoAction,
    /// Values from objects, in order.
    pub values_from: Vec<ValuesFrom>,
    /// Values in place; they win.
    pub values: Option<Value>,
    /// Whether rendered manifests are changed before they are applied.
    pub post_renderers: Vec<Value>,
    /// Whether the chart's tests run after it.
    pub test: TestSpec,
    /// `driftDetection.mode`.
    pub drift_detection: Option<String>,
    /// How the health of custom kinds is read, since 2.8.
    pub health_check_exprs: Vec<HealthCheckExpr>,
    /// Labels and annotations for every object, since 2.7.
    pub common_metadata: Option<CommonMetadata>,
}

/// `chart.spec`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartTemplate {
    /// Name of the chart, or a path in a git repository or bucket.
    pub chart: String,
    /// Version or range; the latest if unset.
    pub version: Option<String>,
    /// Where the chart is; the namespace is filled in.
    pub source: Option<SourceName>,
    /// Values files inside the source.
    pub values_files: Vec<String>,
}

/// `chartRef`; the namespace is filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartReference {
    /// OCIRepository, HelmChart or ExternalArtifact.
    pub source: SourceName,
}

/// `install` or `upgrade`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReleaseAction {
    /// What happens to the chart's `crds/`; see [`ReleaseAction::crd_policy`].
    pub crds: Option<CrdPolicy>,
    /// Creates the target namespace.
    pub create_namespace: bool,
    /// Ready as soon as Helm returns, before pods are up (F-1008).
    pub disable_wait: bool,
    /// The chart's hooks do not run.
    pub disable_hooks: bool,
    /// Retries after a failure; −1 for no end.
    pub retries: i64,
    /// What undoes a failed upgrade; a failed install is always uninstalled.
    pub remediation: Remediation,
    /// Whether failures of tests count; as `test` says if unset.
    pub ignore_test_failures: Option<bool>,
    /// Whether the last failure is undone as well; see [`ReleaseAction::remediates_last_failure`].
    pub remediate_last_failure: Option<bool>,
    /// `strategy`, since 2.7.
    pub strategy: Option<InstallStrategy>,
    /// Limit of this action.
    pub timeout: Option<Duration>,
    /// Skips the chart's `crds/` (not consulted, F-1005).
    pub skip_crds: bool,
}

/// `rollback` or `uninstall`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UndoAction {
    /// Limit of this action.
    pub timeout: Option<Duration>,
    /// Does not wait for pods to come up, or for objects to go.
    pub disable_wait: bool,
}

/// `test`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestSpec {
    /// They run.
    pub enable: bool,
    /// A failure does not keep the release from being Ready.
    pub ignore_failures: bool,
    /// Limit of this action.
    pub timeout: Option<Duration>,
}

/// `remediation.strategy` of an upgrade.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Remediation {
    /// Back to the release before.
    #[default]
    Rollback,
    /// Taken away.
    Uninstall,
}

/// `crds` of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrdPolicy {
    /// Leaves them.
    Skip,
    /// Creates new ones.
    Create,
    /// Creates new ones and replaces old ones.
    CreateReplace,
}

/// `strategy` of an action (F-1009, F-1011).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstallStrategy {
    /// A failure is rolled back or uninstalled.
    RemediateOnFailure,
    /// A failure is retried as an upgrade.
    RetryOnFailure {
        /// Time between retries.
        retry_interval: Duration,
    },
}

/// One entry of `valuesFrom`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValuesFrom {
    /// `ConfigMap` or `Secret`.
    pub kind: String,
    /// Name, in the HelmRelease's namespace.
    pub name: String,
    /// Key; `values.yaml` if unset.
    pub values_key: String,
    /// Where a single value goes.
    pub target_path: Option<String>,
    /// Whether the value that goes to the path is taken as it stands, without Helm's `--set` syntax.
    pub literal: bool,
    /// Tolerates that it does not exist.
    pub optional: bool,
}

impl HelmRelease {
    /// Reads the object.
    pub fn read(object: &Value) -> Read<HelmRelease> {
        let namespace = object.namespace().unwrap_or_default();
        read_object(object, |fields| HelmRelease {
            name: TierName::new(namespace, object.name()),
            api_version: object.api_version().to_owned(),
            spec: HelmReleaseSpec::from_fields(&fields.map("spec"), namespace),
        })
    }

    /// Whether an object is a HelmRelease, in any version.
    pub fn is(object: &Value) -> bool {
        object.kind() == names::HELM_RELEASE && group_of(object.api_version()) == names::HELM_GROUP
    }

    /// Name of the Helm release: the field, else the target namespace and the name, else the name.
    pub fn release_name(&self) -> String {
        match (&self.spec.release_name, &self.spec.target_namespace) {
            (Some(name), _) => name.clone(),
            (None, Some(namespace)) => format!("{namespace}-{}", self.name.name),
            (None, None) => self.name.name.to_string(),
        }
    }

    /// Namespace of Helm's records: the field, else the own one.
    pub fn storage_namespace(&self) -> &str {
        self.spec
            .storage_namespace
            .as_deref()
            .unwrap_or(&self.name.namespace)
    }

    /// Namespace that the chart's objects go to by default.
    pub fn release_namespace(&self) -> &str {
        self.spec
            .target_namespace
            .as_deref()
            .unwrap_or(&self.name.namespace)
    }

    /// The dependencies with their namespaces filled in, in order. They are HelmReleases (F-1002).
    pub fn dependencies(&self) -> impl Iterator<Item = TierName> + '_ {
        self.spec.depends_on.iter().map(|dependency| {
            let namespace = dependency.namespace.as_deref().unwrap_or(&self.name.namespace);
            TierName::new(namespace, &dependency.name)
        })
    }

    /// The source that the chart comes from.
    pub fn source(&self) -> Option<&SourceName> {
        match (&self.spec.chart_ref, &self.spec.chart) {
            (Some(reference), _) => Some(&reference.source),
            (None, Some(chart)) => chart.source.as_ref(),
            (None, None) => None,
        }
    }

    /// Namespace and name of the HelmChart that helm-controller makes for `chart` (F-1000).
    pub fn helm_chart(&self) -> Option<SourceName> {
        let source = self.spec.chart.as_ref()?.source.as_ref()?;
        Some(SourceName {
            kind: SourceKind::HelmChart,
            namespace: source.namespace.clone(),
            name: format!("{}-{}", self.name.namespace, self.name.name),
        })
    }
}

impl HelmReleaseSpec {
    /// The limit of one Helm action (F-1007).
    pub fn timeout(&self) -> Duration {
        self.timeout.unwrap_or(TIMEOUT_DEFAULT)
    }

    fn from_fields(spec: &Fields<'_>, namespace: &str) -> HelmReleaseSpec {
        if spec.value("interval").is_none() {
            spec.problem("interval", "is required");
        }
        let (chart, reference) = (spec.map("chart"), spec.map("chartRef"));
        if chart.exists() == reference.exists() {
            spec.problem("chart", "exactly one of `chart` and `chartRef` is required");
        }
        HelmReleaseSpec {
            chart: chart
                .exists()
                .then(|| chart_template(&chart.map("spec"), namespace)),
            chart_ref: source_name(&reference, namespace).map(|source| ChartReference { source }),
            interval: spec.duration("interval"),
            timeout: spec.duration("timeout"),
            suspend: spec.flag("suspend").unwrap_or_default(),
            release_name: spec.text("releaseName"),
            target_namespace: spec.text("targetNamespace"),
            storage_namespace: spec.text("storageNamespace"),
            depends_on: spec.list("dependsOn").iter().map(dependency).collect(),
            service_account_name: spec.text("serviceAccountName"),
            kube_config: kube_config(spec),
            install: release_action(&spec.map("install")),
            upgrade: release_action(&spec.map("upgrade")),
            rollback: undo_action(&spec.map("rollback")),
            uninstall: undo_action(&spec.map("uninstall")),
            values_from: spec.list("valuesFrom").iter().map(values_from).collect(),
            values: spec.value("values").cloned(),
            post_renderers: spec
                .value("postRenderers")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default(),
            test: test_spec(&spec.map("test")),
            drift_detection: spec.map("driftDetection").text("mode"),
            health_check_exprs: spec
                .list("healthCheckExprs")
                .iter()
                .map(health_check_expr)
                .collect(),
            common_metadata: common_metadata(spec),
        }
    }
}

impl ReleaseAction {
    /// What happens to the chart's `crds/`: `Create` unless said otherwise, for install and upgrade alike (F-1005).
    pub fn crd_policy(&self) -> CrdPolicy {
        self.crds.unwrap_or(CrdPolicy::Create)
    }

    /// Whether the failure after which no retries are left is undone: the field, else never for installs, and for
    /// upgrades if there are retries at all (F-1009).
    pub fn remediates_last_failure(&self, is_upgrade: bool) -> bool {
        self.remediate_last_failure
            .unwrap_or(is_upgrade && self.retries > 0)
    }
}

fn chart_template(spec: &Fields<'_>, namespace: &str) -> ChartTemplate {
    ChartTemplate {
        chart: spec.required_text("chart"),
        version: spec.text("version").filter(|version| !version.is_empty()),
        source: source_name(&spec.map("sourceRef"), namespace),
        values_files: spec.texts("valuesFiles"),
    }
}

fn source_name(fields: &Fields<'_>, namespace: &str) -> Option<SourceName> {
    if !fields.exists() {
        return None;
    }
    let words = SourceKind::ALL.map(|kind| (kind.as_str(), kind));
    let kind = fields.word("kind", &words);
    let name = fields.required_text("name");
    Some(SourceName {
        kind: kind?,
        namespace: fields
            .text("namespace")
            .filter(|namespace| !namespace.is_empty())
            .unwrap_or_else(|| namespace.to_owned()),
        name,
    })
}

fn release_action(fields: &Fields<'_>) -> ReleaseAction {
    let policies = [
        ("Skip", CrdPolicy::Skip),
        ("Create", CrdPolicy::Create),
        ("CreateReplace", CrdPolicy::CreateReplace),
    ];
    let strategy = fields.map("strategy");
    let remediations = [
        ("rollback", Remediation::Rollback),
        ("uninstall", Remediation::Uninstall),
    ];
    ReleaseAction {
        remediation: fields
            .map("remediation")
            .word("strategy", &remediations)
            .unwrap_or_default(),
        ignore_test_failures: fields.map("remediation").flag("ignoreTestFailures"),
        remediate_last_failure: fields.map("remediation").flag("remediateLastFailure"),
        crds: fields.word("crds", &policies),
        create_namespace: fields.flag("createNamespace").unwrap_or_default(),
        disable_wait: fields.flag("disableWait").unwrap_or_default(),
        disable_hooks: fields.flag("disableHooks").unwrap_or_default(),
        retries: fields.map("remediation").integer("retries").unwrap_or_default(),
        strategy: strategy.text("name").and_then(|name| match name.as_str() {
            "RemediateOnFailure" => Some(InstallStrategy::RemediateOnFailure),
            "RetryOnFailure" => Some(InstallStrategy::RetryOnFailure {
                retry_interval: strategy.duration("retryInterval").unwrap_or(RETRY_DEFAULT),
            }),
            _ => {
                strategy.problem(
                    "name",
                    format!("`{name}` is none of `RemediateOnFailure`, `RetryOnFailure`"),
                );
                None
            }
        }),
        timeout: fields.duration("timeout"),
        skip_crds: fields.flag("skipCRDs").unwrap_or_default(),
    }
}

fn test_spec(fields: &Fields<'_>) -> TestSpec {
    TestSpec {
        enable: fields.flag("enable").unwrap_or_default(),
        ignore_failures: fields.flag("ignoreFailures").unwrap_or_default(),
        timeout: fields.duration("timeout"),
    }
}

fn undo_action(fields: &Fields<'_>) -> UndoAction {
    UndoAction {
        timeout: fields.duration("timeout"),
        disable_wait: fields.flag("disableWait").unwrap_or_default(),
    }
}

fn values_from(fields: &Fields<'_>) -> ValuesFrom {
    ValuesFrom {
        kind: fields.required_text("kind"),
        name: fields.text("name").unwrap_or_default(),
        values_key: fields
            .text("valuesKey")
            .filter(|key| !key.is_empty())
            .unwrap_or_else(|| "values.yaml".to_owned()),
        target_path: fields.text("targetPath").filter(|path| !path.is_empty()),
        literal: fields.flag("literal").unwrap_or_default(),
        optional: fields.flag("optional").unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn charts_and_their_sources_are_read() {
        let release = HelmRelease::read(&json!({
            "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
            "metadata": {"name": "web", "namespace": "apps"},
            "spec": {
                "interval": "1h", "targetNamespace": "web",
                "chart": {"spec": {"chart": "web", "version": "1.x", "sourceRef": {"kind": "HelmRepository", "name": "repo", "namespace": "flux-system"}}},
                "install": {"crds": "CreateReplace", "remediation": {"retries": 3}, "strategy": {"name": "RetryOnFailure"}},
                "valuesFrom": [{"kind": "ConfigMap", "name": "values"}],
            },
        }));
        assert_eq!(release.problems, []);
        let release = release.value;
        assert_eq!(release.release_name(), "web-web");
        assert_eq!(
            release.helm_chart().unwrap().to_string(),
            "HelmChart/flux-system/apps-web"
        );
        assert_eq!(release.spec.install.crd_policy(), CrdPolicy::CreateReplace);
        assert_eq!(release.spec.upgrade.crd_policy(), CrdPolicy::Create);
        assert_eq!(release.spec.values_from[0].values_key, "values.yaml");
        assert_eq!(release.spec.timeout().to_string(), "5m0s");
    }

    #[test]
    fn a_release_without_a_chart_is_named() {
        let read = HelmRelease::read(&json!({"spec": {"interval": "1h"}}));
        assert_eq!(read.problems[0].path, "spec.chart");
    }
}
