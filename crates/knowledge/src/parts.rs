//! What charts, operators and manifests have in common: the workloads, objects and webhooks that they bring.

use serde::Deserialize;
use serde_json::Value;

use crate::condition::{Condition, lookup};
use crate::selector::KindSelector;
use crate::template::Scope;
use crate::version::VersionRange;

/// A Deployment or the like that something starts.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Deployment, DaemonSet, StatefulSet or Job.
    pub kind: WorkloadKind,
    /// Its name; may hold placeholders.
    pub name: String,
    /// Its namespace, where that is not the one of the release; may hold placeholders.
    pub namespace: Option<String>,
    /// Whether the values (or the reconciled object) ask for it.
    pub when: Option<Condition>,
    /// The operator that runs in it.
    pub operator: Option<String>,
    /// The delay from being stored to being ready, where the usual start is no good guess: a name of `timing`.
    pub ready_after: Option<String>,
}

/// The kinds of workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum WorkloadKind {
    /// `apps/Deployment`
    Deployment,
    /// `apps/DaemonSet`
    DaemonSet,
    /// `apps/StatefulSet`
    StatefulSet,
    /// `batch/Job`
    Job,
}

impl WorkloadKind {
    /// The kind's name.
    pub fn as_str(self) -> &'static str {
        match self {
            WorkloadKind::Deployment => "Deployment",
            WorkloadKind::DaemonSet => "DaemonSet",
            WorkloadKind::StatefulSet => "StatefulSet",
            WorkloadKind::Job => "Job",
        }
    }

    /// The kind's API group.
    pub fn group(self) -> &'static str {
        match self {
            WorkloadKind::Job => "batch",
            _ => "apps",
        }
    }
}

/// An object that something creates.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectTemplate {
    /// One per object of this kind, which `{each.…}` then refers to.
    pub for_each: Option<KindSelector>,
    /// One per item of the list at this path of the values, which `{each.…}` then refers to.
    pub each_value: Option<String>,
    /// Whether the values (or the reconciled object) ask for it.
    pub when: Option<Condition>,
    /// Whether it comes back when somebody deletes it.
    #[serde(default)]
    pub recreate: bool,
    /// The object; may hold placeholders.
    pub manifest: Value,
}

impl ObjectTemplate {
    /// The object in this scope; None where a placeholder cannot be filled.
    pub fn render(&self, scope: &Scope<'_>) -> Option<Value> {
        scope.value(&self.manifest)
    }

    /// The objects that a release (or a reconciled object) asks for: none, one, or one per item of `each_value`.
    /// What `for_each` ranges over is not known here; the caller sets `scope.each` for it and renders one by one.
    pub fn render_all(&self, scope: &Scope<'_>) -> Vec<Value> {
        let asked = scope.values.or(scope.object).unwrap_or(&Value::Null);
        if self
            .when
            .as_ref()
            .is_some_and(|condition| !condition.holds(asked))
        {
            return Vec::new();
        }
        match &self.each_value {
            None => self.render(scope).into_iter().collect(),
            Some(path) => {
                let items = lookup(asked, path).and_then(Value::as_array);
                let render = |item| {
                    self.render(&Scope {
                        each: Some(item),
                        ..*scope
                    })
                };
                items.into_iter().flatten().filter_map(render).collect()
            }
        }
    }
}

/// What the API server does while nobody answers for a webhook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum FailurePolicy {
    /// The request is refused.
    #[default]
    Fail,
    /// The request passes.
    Ignore,
}

/// Whether a webhook may change objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum WebhookKind {
    /// `ValidatingWebhookConfiguration`
    Validating,
    /// `MutatingWebhookConfiguration`
    Mutating,
}

/// An admission webhook.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Webhook {
    /// Validating or mutating.
    pub kind: WebhookKind,
    /// The name of the webhook configuration; may hold placeholders.
    pub name: String,
    /// The kinds whose objects it is asked about.
    pub covers: Vec<KindSelector>,
    /// What happens while nobody answers.
    #[serde(default)]
    pub failure_policy: FailurePolicy,
    /// The name of the workload that answers; may hold placeholders.
    pub served_by: String,
    /// Namespaces whose objects it is never asked about; may hold placeholders.
    #[serde(default)]
    pub except_namespaces: Vec<String>,
    /// Only objects that match this (such as a label) are asked about.
    pub only: Option<Condition>,
    /// Whether the values ask for it.
    pub when: Option<Condition>,
    /// First release that registers it.
    pub since: Option<crate::version::Version>,
    /// First release that registers it no more.
    pub until: Option<crate::version::Version>,
    /// Where the fact comes from; absent: where the chart's or operator's facts come from.
    pub source: Option<String>,
}

impl Webhook {
    /// The releases that register it.
    pub fn range(&self) -> VersionRange {
        VersionRange {
            since: self.since,
            until: self.until,
        }
    }

    /// Is it asked about objects of this kind?
    pub fn covers(&self, group: &str, kind: &str) -> bool {
        self.covers.iter().any(|selector| selector.matches(group, kind))
    }
}
