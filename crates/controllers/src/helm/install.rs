//! Installing a chart: its kinds, workloads, webhooks and objects; waiting; and what a failure leads to (F-1005 to F-1011).

use firstpass_apiserver::Time;
use firstpass_baseline::{Release, ReleaseFacts};
use firstpass_flux::{CrdPolicy, HelmGate};
use firstpass_knowledge::{CrdMode, WorkloadKind};
use firstpass_object::kstatus::StatusKind;
use firstpass_object::{ObjectExt, ObjectId, TierName};
use serde_json::Value;

use super::{ACTOR, Action, Attempt, HelmController, Phase, poll_interval};
use crate::context::Context;
use crate::flux_api;
use crate::kustomization::{Failure, Obstacle, Retry};
use crate::made;
use crate::operator::ensure_namespace;
use crate::readiness;
use crate::time::of_flux;

impl HelmController {
    /// Carries out the due step of an install or upgrade.
    pub(super) fn step(&mut self, name: &TierName, context: &mut Context<'_>) {
        let Some(mut attempt) = self.workers.attempts.remove(name) else {
            return;
        };
        match attempt.phase.clone() {
            Phase::Install => match self.install(&attempt, context) {
                Ok(workloads) if attempt.action_spec().disable_wait || workloads.is_empty() => {
                    self.succeed(attempt, context);
                }
                Ok(workloads) => {
                    let own = attempt.action_spec().timeout;
                    let timeout = of_flux(own.unwrap_or_else(|| attempt.release.spec.timeout()));
                    attempt.next_at = context.now;
                    attempt.phase = Phase::Wait {
                        workloads,
                        deadline: context.now + timeout,
                    };
                    self.workers.attempts.insert(name.clone(), attempt);
                }
                Err(failure) => self.fail_early(attempt, failure, context),
            },
            Phase::Wait { workloads, deadline } => self.poll(attempt, &workloads, deadline, context),
        }
    }

    /// Brings what the chart brings. Gives the workloads to wait for.
    fn install(&mut self, attempt: &Attempt, context: &mut Context<'_>) -> Result<Vec<ObjectId>, Failure> {
        let object_id = flux_api::helm_release_id(&attempt.release.name);
        let Some(object) = context.server.object(&object_id).cloned() else {
            return Ok(Vec::new());
        };
        // Another cluster: nothing of it is seen here.
        if attempt.release.spec.kube_config.is_some() {
            return Ok(Vec::new());
        }
        let server = &*context.server;
        let release = Release::of_object(&object, &|id| server.object(id).cloned());
        let namespace = ObjectId::new("", "Namespace", None, &release.namespace);
        if context.server.object(&namespace).is_none() {
            if !release.creates_namespace {
                return Err(Failure {
                    reason: attempt.action.failed(),
                    message: format!(
                        "Helm {} failed for release {}/{} with chart {}: create: failed to create: namespaces \"{}\" not found",
                        attempt.action.verb(),
                        release.namespace,
                        release.name,
                        release.chart_text(),
                        release.namespace
                    ),
                    obstacles: vec![Obstacle::NamespaceMissing {
                        object: object_id,
                        namespace: release.namespace,
                    }],
                    retry: Retry::Backoff,
                });
            }
            ensure_namespace(&release.namespace, ACTOR, context);
        }
        let knowledge = context.knowledge;
        let before = std::mem::take(&mut self.record(&attempt.release.name).made);
        let workloads = match release.facts(knowledge) {
            Some(facts) => self.bring_facts(attempt, &release, &facts, context),
            None => self.bring_unknown(attempt, &release, &object, context),
        };
        // What the chart no longer has goes.
        for id in before {
            let is_stale = !self.record(&attempt.release.name).made.contains(&id);
            if is_stale && let Some(object) = context.server.object(&id).cloned() {
                super::begin::delete(&id, object.api_version(), context);
            }
        }
        Ok(workloads)
    }

    fn bring_facts(
        &mut self,
        attempt: &Attempt,
        release: &Release,
        facts: &ReleaseFacts<'_>,
        context: &mut Context<'_>,
    ) -> Vec<ObjectId> {
        let name = &attempt.release.name;
        let policy = attempt.action_spec().crd_policy();
        let skips_dir = policy == CrdPolicy::Skip;
        let in_crds_first = [true, false].into_iter().flat_map(|first| {
            facts
                .kinds
                .iter()
                .filter(move |kind| (kind.mode == CrdMode::CrdsDir) == first)
        });
        for kind in in_crds_first {
            let written = context.contents.written_versions(&kind.def.group, &kind.def.kind);
            let crd = made::crd(kind.def, &kind.versions, &written);
            // F-1005, F-1006: what is in `crds/` is replaced only if the policy says so.
            let replaces = kind.mode != CrdMode::CrdsDir
                || (attempt.action == Action::Upgrade && policy == CrdPolicy::CreateReplace);
            if skips_dir && kind.mode == CrdMode::CrdsDir {
                continue;
            }
            if replaces || context.server.object(&crd.id()).is_none() {
                made::bring(crd, ACTOR, context);
            }
        }
        let mut workloads = Vec::new();
        for placed in &facts.workloads {
            let version = release
                .chart
                .version
                .as_deref()
                .filter(|_| facts.chart.version_is_app);
            let object = made::workload(placed, version, &release.values);
            ensure_namespace(&placed.namespace, ACTOR, context);
            self.bring_workload(name, object, &mut workloads, context);
        }
        for placed in &facts.webhooks {
            let server = (placed.namespace.as_str(), placed.served_by.as_str());
            let webhook = made::webhook(placed.webhook, &placed.name, server, context.knowledge);
            if let Some(webhook) = webhook {
                context.server.register_webhook(webhook);
            }
        }
        for object in &facts.objects {
            let object = with_namespace(object.clone(), &release.namespace, context);
            self.record(name).made.insert(object.id());
            made::bring(object, ACTOR, context);
        }
        let claims = mentioned_claims(&release.namespace, &release.values, context);
        if !claims.is_empty() && workloads.is_empty() {
            let object = made::plain_workload(
                WorkloadKind::Deployment,
                &release.namespace,
                &release.name,
                &seen_mark(),
                &claims,
            );
            self.bring_workload(name, object, &mut workloads, context);
        }
        self.bring_named(name, &release.namespace, &mut workloads, context);
        workloads
    }

    /// A chart that nothing is known of is taken to start one workload of the release's name.
    fn bring_unknown(
        &mut self,
        attempt: &Attempt,
        release: &Release,
        object: &Value,
        context: &mut Context<'_>,
    ) -> Vec<ObjectId> {
        let name = &attempt.release.name;
        self.unknown_charts
            .entry(release.chart_text())
            .or_insert_with(|| object.id());
        self.record(name).chart_unknown = true;
        let claims = mentioned_claims(&release.namespace, &release.values, context);
        let mut workloads = Vec::new();
        let workload = made::plain_workload(
            WorkloadKind::Deployment,
            &release.namespace,
            &release.name,
            &seen_mark(),
            &claims,
        );
        self.bring_workload(name, workload, &mut workloads, context);
        self.bring_named(name, &release.namespace, &mut workloads, context);
        workloads
    }

    /// Workloads that health checks name in the namespace and nothing else brings: the chart is taken to bring them.
    fn bring_named(
        &mut self,
        name: &TierName,
        namespace: &str,
        workloads: &mut Vec<ObjectId>,
        context: &mut Context<'_>,
    ) {
        for id in context.contents.expected_of_charts(namespace) {
            let kind = match id.kind.as_str() {
                "Deployment" => WorkloadKind::Deployment,
                "StatefulSet" => WorkloadKind::StatefulSet,
                "DaemonSet" => WorkloadKind::DaemonSet,
                _ => continue,
            };
            if id.group == "apps" && context.server.object(&id).is_none() {
                let object = made::plain_workload(kind, namespace, &id.name, &seen_mark(), &[]);
                self.bring_workload(name, object, workloads, context);
            }
        }
    }

    fn bring_workload(
        &mut self,
        name: &TierName,
        object: Value,
        workloads: &mut Vec<ObjectId>,
        context: &mut Context<'_>,
    ) {
        let id = object.id();
        // A workload of the repository with the same name is the real thing.
        let exists = context
            .server
            .object(&id)
            .is_some_and(|present| !made::is_made(present));
        if exists || made::bring(object, ACTOR, context) {
            self.record(name).made.insert(id.clone());
            workloads.push(id);
        }
    }

    fn poll(
        &mut self,
        mut attempt: Attempt,
        workloads: &[ObjectId],
        deadline: Time,
        context: &mut Context<'_>,
    ) {
        let name = attempt.release.name.clone();
        let flux = context.settings.flux;
        let seen: Vec<(&ObjectId, readiness::Health)> = workloads
            .iter()
            .map(|id| (id, readiness::health(id, context.server, flux)))
            .collect();
        let pending: Vec<Obstacle> = seen
            .iter()
            .filter(|(_, health)| health.status != StatusKind::Current)
            .map(|(id, health)| Obstacle::Unhealthy {
                object: (*id).clone(),
                status: health.status,
                message: health.message.clone(),
                in_stage: false,
            })
            .collect();
        if pending.is_empty() {
            self.succeed(attempt, context);
            return;
        }
        // F-1780: up to 2.7 a broken release is found only at the timeout.
        let fails_fast = flux.at_least(8) && !context.settings.helm_gate(HelmGate::UseHelm3Defaults);
        let failed = fails_fast && seen.iter().any(|(_, health)| health.status == StatusKind::Failed);
        if failed || context.now >= deadline {
            self.fail(attempt, pending, context);
            return;
        }
        attempt.next_at = (context.now + poll_interval(context.settings)).min(deadline);
        self.workers.attempts.insert(name, attempt);
    }
}

/// Marks a workload as made by a model, with nothing else to say about it.
fn seen_mark() -> serde_json::Map<String, Value> {
    serde_json::Map::from_iter([(
        crate::marks::READY_AFTER.to_owned(),
        Value::from("workload-ready"),
    )])
}

fn with_namespace(mut object: Value, namespace: &str, context: &Context<'_>) -> Value {
    let namespaced = context
        .server
        .resolve(&object.gvk())
        .is_ok_and(|resource| resource.is_namespaced());
    if namespaced && object.namespace().is_none() {
        object["metadata"]["namespace"] = namespace.into();
    }
    object
}

/// Claims of the namespace that the values mention by name: the chart's pods mount them.
fn mentioned_claims(namespace: &str, values: &Value, context: &Context<'_>) -> Vec<String> {
    let kind = firstpass_object::GroupKind::new("", "PersistentVolumeClaim");
    let claims = context.server.objects(&kind, Some(namespace));
    claims
        .map(|(id, _)| id.name.clone())
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
