//! One release of a chart: where the chart comes from, with which values, and what knowledge says it brings.

use std::sync::Arc;

use firstpass_flux::{CrdPolicy, HelmRelease, Source, SourceKind, SourceName};
use firstpass_knowledge::{
    BroughtKind, Chart, ChartRef, CrdsPolicy, FailurePolicy, Knowledge, Operator, PlacedWorkload,
    TemplateScope, VersionPoint, Webhook, chart_name,
};
use firstpass_object::{ObjectExt, ObjectId};
use serde_json::Value;

/// Looks up an object of the cluster: a source, a ConfigMap with values.
pub type Found<'a> = &'a dyn Fn(&ObjectId) -> Option<Arc<Value>>;

/// A release of a chart, by a HelmRelease or by a helmfile.
#[derive(Clone, Debug, PartialEq)]
pub struct Release {
    /// The HelmRelease; `None` for a release that a helmfile installs.
    pub id: Option<ObjectId>,
    /// The name of the Helm release, which charts build names from.
    pub name: String,
    /// The namespace that it installs into.
    pub namespace: String,
    /// Its chart, as far as the files tell.
    pub chart: ChartName,
    /// Its values, as far as the files tell.
    pub values: Value,
    /// Whether `values` is all there is: no Secret, no templated file takes part.
    pub values_complete: bool,
    /// Whether the chart's `crds/` folder is applied.
    pub crds: CrdsPolicy,
    /// Whether being Ready means that its workloads are up.
    pub waits: bool,
    /// Whether it makes its own namespace.
    pub creates_namespace: bool,
}

/// A chart as a release refers to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChartName {
    /// The name, a path in a git repository, or empty if nothing says it.
    pub name: String,
    /// Version, range or tag.
    pub version: Option<String>,
    /// URL of the repository.
    pub repository: Option<String>,
    /// The git repository or bucket that holds the chart's files, if it comes from one.
    pub files_in: Option<SourceName>,
}

/// What knowledge says of a release.
#[derive(Clone, Debug)]
pub struct ReleaseFacts<'k> {
    /// The chart's entry.
    pub chart: &'k Chart,
    /// The kinds whose CRDs it brings.
    pub kinds: Vec<BroughtKind<'k>>,
    /// The workloads that it starts.
    pub workloads: Vec<PlacedWorkload<'k>>,
    /// The operators that run in these, each with the workload's place in `workloads`.
    pub operators: Vec<(&'k Operator, usize)>,
    /// The webhooks that it registers.
    pub webhooks: Vec<PlacedWebhook<'k>>,
    /// Other objects that things depend on.
    pub objects: Vec<Value>,
    /// The release of the product, for facts that differ between them.
    pub version: VersionPoint,
}

/// A webhook of a release, its names filled in.
#[derive(Clone, Debug)]
pub struct PlacedWebhook<'k> {
    /// What is known of it.
    pub webhook: &'k Webhook,
    /// The name of the webhook configuration.
    pub name: String,
    /// The workload that answers.
    pub served_by: String,
    /// The namespace of that workload.
    pub namespace: String,
}

impl Release {
    /// Reads a HelmRelease; `found` gives the objects that it refers to.
    pub fn of_object(object: &Value, found: Found<'_>) -> Release {
        let release = HelmRelease::read(object).value;
        let (values, values_complete) = crate::values::merged(&release, found);
        let crds = match release.spec.install.crd_policy() {
            CrdPolicy::Skip => CrdsPolicy::Skip,
            CrdPolicy::Create | CrdPolicy::CreateReplace => CrdsPolicy::Install,
        };
        Release {
            id: Some(object.id()),
            name: release.release_name(),
            namespace: release.release_namespace().to_owned(),
            chart: chart_of(&release, found),
            values,
            values_complete,
            crds,
            waits: !release.spec.install.disable_wait,
            creates_namespace: release.spec.install.create_namespace,
        }
    }

    /// What knowledge says of it; `None` if the chart is unknown, and then nothing can be said.
    pub fn facts<'k>(&self, knowledge: &'k Knowledge) -> Option<ReleaseFacts<'k>> {
        let version = self.chart.version.as_deref();
        let chart = knowledge.find_chart(ChartRef {
            name: &self.chart.name,
            version,
            repository: self.chart.repository.as_deref(),
        })?;
        let scope = TemplateScope {
            values: Some(&self.values),
            release: &self.name,
            namespace: &self.namespace,
            chart: &chart.name,
            ..TemplateScope::default()
        };
        let point = chart.app_point(version);
        let workloads = knowledge.chart_workloads(chart, &self.name, &self.namespace, &self.values);
        let operators = workloads
            .iter()
            .enumerate()
            .filter_map(|(index, placed)| {
                Some((knowledge.operator(placed.workload.operator.as_deref()?)?, index))
            })
            .collect();
        let webhooks = chart
            .webhooks
            .iter()
            .filter_map(|webhook| self.place(webhook, &scope, point))
            .collect();
        Some(ReleaseFacts {
            kinds: knowledge.chart_kinds(chart, version, &self.values, self.crds),
            objects: chart
                .objects
                .iter()
                .flat_map(|object| object.render_all(&scope))
                .collect(),
            chart,
            workloads,
            operators,
            webhooks,
            version: point,
        })
    }

    /// The chart for people: its name, or what stands in for it.
    pub fn chart_text(&self) -> String {
        let name = chart_name(&self.chart.name);
        match (&self.chart.version, name) {
            (_, "") => "a chart that the files do not name".to_owned(),
            (Some(version), name) => format!("{name} {version}"),
            (None, name) => name.to_owned(),
        }
    }

    fn place<'k>(
        &self,
        webhook: &'k Webhook,
        scope: &TemplateScope<'_>,
        point: VersionPoint,
    ) -> Option<PlacedWebhook<'k>> {
        let wanted = webhook
            .when
            .as_ref()
            .is_none_or(|condition| condition.holds(&self.values));
        if !wanted || !webhook.range().contains(point) || webhook.failure_policy == FailurePolicy::Ignore {
            return None;
        }
        Some(PlacedWebhook {
            webhook,
            name: scope.text(&webhook.name)?,
            served_by: scope.text(&webhook.served_by)?,
            namespace: self.namespace.clone(),
        })
    }
}

/// Where the chart comes from: through `chartRef`, or `chart.spec` and its repository.
fn chart_of(release: &HelmRelease, found: Found<'_>) -> ChartName {
    if let Some(reference) = &release.spec.chart_ref {
        let Some(source) = read_source(&reference.source, found) else {
            return ChartName::default();
        };
        if let Some((name, version)) = source.chart {
            let repository = source
                .chart_source
                .as_ref()
                .and_then(|source| read_source(source, found)?.url);
            return ChartName {
                name,
                version,
                repository,
                files_in: None,
            };
        }
        let tag = |(key, value): &(String, String)| (key == "tag" || key == "semver").then(|| value.clone());
        let version = source.reference.iter().find_map(tag);
        return ChartName {
            name: source.url.clone().unwrap_or_default(),
            version,
            repository: source.url,
            files_in: None,
        };
    }
    let Some(chart) = &release.spec.chart else {
        return ChartName::default();
    };
    let source = chart.source.as_ref();
    let in_files = source
        .filter(|source| source.kind != SourceKind::HelmRepository)
        .cloned();
    ChartName {
        name: chart.chart.clone(),
        version: chart.version.clone(),
        repository: source.and_then(|source| read_source(source, found)?.url),
        files_in: in_files,
    }
}

fn read_source(name: &SourceName, found: Found<'_>) -> Option<Source> {
    let id = ObjectId::new(
        "source.toolkit.fluxcd.io",
        name.kind.as_str(),
        Some(&name.namespace),
        &name.name,
    );
    found(&id)
        .and_then(|object| Source::read(&object))
        .map(|read| read.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn world(objects: Vec<Value>) -> impl Fn(&ObjectId) -> Option<Arc<Value>> {
        move |id| {
            objects
                .iter()
                .find(|object| object.id() == *id)
                .cloned()
                .map(Arc::new)
        }
    }

    #[test]
    fn a_chart_is_found_through_its_repository() {
        let found = world(vec![json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "HelmRepository",
            "metadata": {"name": "jetstack", "namespace": "flux-system"},
            "spec": {"interval": "1h", "url": "https://charts.jetstack.io"},
        })]);
        let object = json!({
            "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
            "metadata": {"name": "cert-manager", "namespace": "cert-manager"},
            "spec": {
                "interval": "1h",
                "chart": {"spec": {"chart": "cert-manager", "version": "v1.19.x",
                    "sourceRef": {"kind": "HelmRepository", "name": "jetstack", "namespace": "flux-system"}}},
                "values": {"crds": {"enabled": true}},
            },
        });
        let release = Release::of_object(&object, &found);
        assert_eq!(
            release.chart.repository.as_deref(),
            Some("https://charts.jetstack.io")
        );
        assert_eq!(release.chart_text(), "cert-manager v1.19.x");
        let knowledge = Knowledge::builtin();
        let facts = release.facts(&knowledge).unwrap();
        assert!(facts.kinds.iter().any(|kind| kind.def.kind == "ClusterIssuer"));
        assert!(!facts.webhooks.is_empty());
    }

    #[test]
    fn values_merge_in_flux_order_and_say_when_some_are_missing() {
        let found = world(vec![json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "base", "namespace": "apps"},
            "data": {"values.yaml": "a: {x: 1, y: 1}\n"},
        })]);
        let mut object = json!({
            "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
            "metadata": {"name": "web", "namespace": "apps"},
            "spec": {
                "interval": "1h", "chartRef": {"kind": "OCIRepository", "name": "web"},
                "valuesFrom": [{"kind": "ConfigMap", "name": "base"}],
                "values": {"a": {"y": 2}},
            },
        });
        let release = Release::of_object(&object, &found);
        assert_eq!(release.values, json!({"a": {"x": 1, "y": 2}}));
        assert!(release.values_complete);
        assert_eq!(release.chart.name, "");
        object["spec"]["valuesFrom"][0]["name"] = json!("none");
        assert!(!Release::of_object(&object, &found).values_complete);
    }
}
