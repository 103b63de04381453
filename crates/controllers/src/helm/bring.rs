//! What a chart brings, from knowledge: kinds, workloads, webhooks, a few objects. Nothing is done here.

use std::collections::BTreeSet;

use firstpass_apiserver::Webhook;
use firstpass_baseline::{Release, ReleaseFacts};
use firstpass_flux::{CrdPolicy, HelmRelease, names};
use firstpass_knowledge::{CrdMode, CrdsPolicy, WorkloadKind};
use firstpass_object::{GroupKind, ObjectExt, ObjectId};
use serde_json::{Map, Value, json};

use super::hooks::is_hook;
use super::record::ReleaseActionKind;
use crate::context::Context;
use crate::made;

/// What a release of a chart brings.
#[derive(Clone, Debug, Default)]
pub(super) struct Brought {
    /// CRDs of `crds/`, in the order in which they are applied.
    pub(super) kinds: Vec<Value>,
    /// CRDs among the templates.
    pub(super) template_kinds: Vec<Value>,
    /// CRDs that a hook applies.
    pub(super) hook_kinds: Vec<Value>,
    /// Objects of the templates, in the order of Helm.
    pub(super) objects: Vec<Value>,
    /// Objects that run before or after the rest.
    pub(super) hooks: Vec<Value>,
    /// Webhooks, which take effect when the objects are there.
    pub(super) webhooks: Vec<Webhook>,
    /// Namespaces that workloads belong in and that nobody can be seen to make.
    pub(super) namespaces: BTreeSet<String>,
    /// The chart, if nothing is known of it.
    pub(super) unknown: Option<String>,
}

/// The order in which Helm applies kinds; others come after these, webhooks last.
const ORDER: [&str; 22] = [
    "PriorityClass",
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Service",
    "DaemonSet",
    "Pod",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
];

impl Brought {
    /// What a HelmRelease brings with an action. A release of another cluster brings nothing here.
    pub(super) fn of(
        object: &Value,
        spec: &HelmRelease,
        chart_version: &str,
        action: ReleaseActionKind,
        context: &Context<'_>,
    ) -> Brought {
        if spec.spec.kube_config.is_some() {
            return Brought::default();
        }
        let server = &*context.server;
        let mut release = Release::of_object(object, &|id| server.object(id).cloned());
        release.crds = match action.spec(spec).crd_policy() {
            CrdPolicy::Skip => CrdsPolicy::Skip,
            CrdPolicy::Create | CrdPolicy::CreateReplace => CrdsPolicy::Install,
        };
        // A range stands for the version that was found.
        if chart_version.starts_with(|char: char| char.is_ascii_digit())
            && !chart_version.contains(['x', '*'])
        {
            release.chart.version = Some(chart_version.to_owned());
        }
        let mut brought = match release.facts(context.knowledge) {
            Some(facts) => known(&release, &facts, context),
            None => unknown(&release, context),
        };
        brought.add_named(&release.namespace, context);
        for object in &mut brought.objects {
            complete(object, &release, spec);
        }
        for kind in &mut brought.kinds {
            label(kind, spec);
        }
        (brought.hooks, brought.objects) = brought.objects.into_iter().partition(is_hook);
        let rank = |object: &Value| ORDER.iter().position(|kind| *kind == object.kind());
        brought
            .objects
            .sort_by_key(|object| rank(object).unwrap_or(ORDER.len()));
        brought
    }

    /// Workloads that health checks name in the namespace and nothing else brings: the chart is taken to bring them.
    fn add_named(&mut self, namespace: &str, context: &Context<'_>) {
        for id in context.contents.expected_of_charts(namespace) {
            let kind = match id.kind.as_str() {
                "Deployment" => WorkloadKind::Deployment,
                "StatefulSet" => WorkloadKind::StatefulSet,
                "DaemonSet" => WorkloadKind::DaemonSet,
                _ => continue,
            };
            let is_there = |object: &Value| object.id() == id;
            let exists = context
                .server
                .object(&id)
                .is_some_and(|object| !made::is_made(object));
            if id.group == "apps" && !exists && !self.objects.iter().any(is_there) {
                self.objects
                    .push(made::plain_workload(kind, namespace, &id.name, &seen_mark(), &[]));
            }
        }
    }
}

fn known(release: &Release, facts: &ReleaseFacts<'_>, context: &Context<'_>) -> Brought {
    let mut brought = Brought::default();
    for kind in &facts.kinds {
        let written = context.contents.written_versions(&kind.def.group, &kind.def.kind);
        let crd = made::crd(kind.def, &kind.versions, &written);
        match kind.mode {
            CrdMode::CrdsDir => brought.kinds.push(crd),
            CrdMode::Templates => brought.template_kinds.push(crd),
            CrdMode::Hook => brought.hook_kinds.push(crd),
        }
    }
    for placed in &facts.workloads {
        let version = release
            .chart
            .version
            .as_deref()
            .filter(|_| facts.chart.version_is_app);
        brought
            .objects
            .push(made::workload(placed, version, &release.values));
        brought.namespaces.insert(placed.namespace.clone());
    }
    for placed in &facts.webhooks {
        let server = (placed.namespace.as_str(), placed.served_by.as_str());
        let webhook = made::webhook(placed.webhook, &placed.name, server, context.knowledge);
        brought.webhooks.extend(webhook);
    }
    let claims = mentioned_claims(&release.namespace, &release.values, context);
    if !claims.is_empty() && facts.workloads.is_empty() {
        brought.objects.push(own_workload(release, &claims));
    }
    brought.objects.extend(facts.objects.iter().cloned());
    brought.namespaces.remove(&release.namespace);
    brought
}

/// A chart that nothing is known of is taken to start one workload of the release's name.
fn unknown(release: &Release, context: &Context<'_>) -> Brought {
    let claims = mentioned_claims(&release.namespace, &release.values, context);
    Brought {
        objects: vec![own_workload(release, &claims)],
        unknown: Some(release.chart_text()),
        ..Brought::default()
    }
}

fn own_workload(release: &Release, claims: &[String]) -> Value {
    made::plain_workload(
        WorkloadKind::Deployment,
        &release.namespace,
        &release.name,
        &seen_mark(),
        claims,
    )
}

/// Marks a workload as made by a model, with nothing else to say about it.
fn seen_mark() -> Map<String, Value> {
    Map::from_iter([(
        crate::marks::READY_AFTER.to_owned(),
        Value::from("workload-ready"),
    )])
}

/// What Helm and helm-controller add to every object of a chart: whose it is.
fn complete(object: &mut Value, release: &Release, spec: &HelmRelease) {
    label(object, spec);
    let metadata = &mut object["metadata"];
    metadata["labels"]["app.kubernetes.io/managed-by"] = "Helm".into();
    if !metadata["annotations"].is_object() {
        metadata["annotations"] = json!({});
    }
    metadata["annotations"]["meta.helm.sh/release-name"] = release.name.as_str().into();
    metadata["annotations"]["meta.helm.sh/release-namespace"] = release.namespace.as_str().into();
}

fn label(object: &mut Value, spec: &HelmRelease) {
    let metadata = &mut object["metadata"];
    if !metadata["labels"].is_object() {
        metadata["labels"] = json!({});
    }
    metadata["labels"][names::HELM_NAME_LABEL] = spec.name.name.as_str().into();
    metadata["labels"][names::HELM_NAMESPACE_LABEL] = spec.name.namespace.as_str().into();
}

/// Claims of the namespace that the values mention by name: the chart's pods mount them.
fn mentioned_claims(namespace: &str, values: &Value, context: &Context<'_>) -> Vec<String> {
    let kind = GroupKind::new("", "PersistentVolumeClaim");
    let claims = context.server.objects(&kind, Some(namespace));
    claims
        .map(|(id, _)| id.name.to_string())
        .filter(|name| mentions(values, name))
        .collect()
}

/// Whether some text in the values is this one. The values were parsed, so their depth is bounded.
fn mentions(values: &Value, text: &str) -> bool {
    match values {
        Value::String(value) => value == text,
        Value::Array(list) => list.iter().any(|value| mentions(value, text)),
        Value::Object(map) => map.values().any(|value| mentions(value, text)),
        _ => false,
    }
}

/// Whether an object's kind is one that the chart itself brings among its templates or by a hook.
pub(super) fn is_own_kind(object: &Value, brought: &Brought) -> bool {
    let is_of = |crd: &Value| {
        crd.text_at(&["spec", "group"]) == Some(firstpass_object::group_of(object.api_version()))
            && crd.text_at(&["spec", "names", "kind"]) == Some(object.kind())
    };
    brought
        .template_kinds
        .iter()
        .chain(&brought.hook_kinds)
        .any(is_of)
}

/// The objects' identities.
pub(super) fn ids<'v>(objects: impl IntoIterator<Item = &'v Value>) -> Vec<ObjectId> {
    objects.into_iter().map(ObjectExt::id).collect()
}
