//! Installing a chart: its kinds, workloads, webhooks and objects; waiting; and what a failure leads to (F-1005 to F-1011).

use std::sync::Arc;

use firstpass_apiserver::Time;
use firstpass_baseline::{Release, ReleaseFacts};
use firstpass_flux::{HelmGate, InstallStrategy, names};
use firstpass_knowledge::{CrdMode, WorkloadKind};
use firstpass_object::kstatus::StatusKind;
use firstpass_object::{ObjectExt, ObjectId, TierName};
use serde_json::Value;

use super::begin::delete;
use super::{ACTOR, Attempt, HelmController, Phase, poll_interval, write};
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
                Ok(workloads) if attempt.release.spec.install.disable_wait || workloads.is_empty() => {
                    self.succeed(attempt, context);
                }
                Ok(workloads) => {
                    let timeout = of_flux(
                        attempt
                            .release
                            .spec
                            .install
                            .timeout
                            .unwrap_or_else(|| attempt.release.spec.timeout()),
                    );
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
                    reason: names::reason::INSTALL_FAILED,
                    message: format!(
                        "Helm install failed for release {}/{} with chart {}: create: failed to create: namespaces \"{}\" not found",
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
        match release.facts(knowledge) {
            Some(facts) => Ok(self.bring_facts(attempt, &release, &facts, context)),
            None => Ok(self.bring_unknown(attempt, &release, &object, context)),
        }
    }

    fn bring_facts(
        &mut self,
        attempt: &Attempt,
        release: &Release,
        facts: &ReleaseFacts<'_>,
        context: &mut Context<'_>,
    ) -> Vec<ObjectId> {
        let name = &attempt.release.name;
        let in_crds_first = [true, false].into_iter().flat_map(|first| {
            facts
                .kinds
                .iter()
                .filter(move |kind| (kind.mode == CrdMode::CrdsDir) == first)
        });
        for kind in in_crds_first {
            let written = context.contents.written_versions(&kind.def.group, &kind.def.kind);
            let crd = made::crd(kind.def, &kind.versions, &written);
            if context.server.object(&crd.id()).is_none() {
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

    fn succeed(&mut self, mut attempt: Attempt, context: &mut Context<'_>) {
        let name = attempt.release.name.clone();
        let message = format!(
            "Helm install succeeded for release {}/{}.v{}",
            attempt.release.release_namespace(),
            attempt.release.release_name(),
            attempt.generation
        );
        let now = context.now;
        let generation = attempt.generation;
        attempt.status.remove_condition(names::condition::RECONCILING);
        for condition in [names::condition::READY, names::condition::RELEASED] {
            attempt.status.set_condition(
                condition,
                "True",
                names::reason::INSTALL_SUCCEEDED,
                &message,
                generation,
                now,
            );
        }
        attempt.status.set("observedGeneration", generation.into());
        write(context, &name, &attempt.status);
        context.note(
            ACTOR,
            flux_api::helm_release_id(&name),
            format!("Ready=True {}: {message}", names::reason::INSTALL_SUCCEEDED),
        );
        let record = self.record(&name);
        record.ready_at.get_or_insert(now);
        record.last_failure = None;
        record.failures = 0;
        record.settled = true;
        record.installed = Some((generation, attempt.fingerprint));
        let looks = record.looks;
        self.workers.queue.done(&name);
        let interval = of_flux(attempt.release.spec.interval.unwrap_or_default());
        let interval = context.delays.jittered(interval, &name.to_string(), looks);
        self.plan(&name, Retry::After(interval), context);
    }

    /// F-1010: before a release is stored nothing is counted.
    fn fail_early(&mut self, mut attempt: Attempt, failure: Failure, context: &mut Context<'_>) {
        let name = attempt.release.name.clone();
        attempt.status.set_condition(
            names::condition::RELEASED,
            "False",
            failure.reason,
            &failure.message,
            attempt.generation,
            context.now,
        );
        self.workers.queue.done(&name);
        self.refuse(&name, attempt.status, attempt.generation, failure, context);
    }

    /// F-1009, F-1011: counted, undone, tried again while retries are left.
    fn fail(&mut self, mut attempt: Attempt, pending: Vec<Obstacle>, context: &mut Context<'_>) {
        let name = attempt.release.name.clone();
        let spec = &attempt.release.spec;
        let objects: Vec<String> = pending
            .iter()
            .filter_map(|obstacle| obstacle.object().map(ToString::to_string))
            .collect();
        let message = format!(
            "Helm install failed for release {}/{}: timeout waiting for: [{}]",
            attempt.release.release_namespace(),
            attempt.release.release_name(),
            objects.join(", ")
        );
        attempt.status.set_condition(
            names::condition::RELEASED,
            "False",
            names::reason::INSTALL_FAILED,
            &message,
            attempt.generation,
            context.now,
        );
        let default_retries = context.settings.helm_gate(HelmGate::DefaultToRetryOnFailure)
            && context.settings.flux.at_least(8);
        let retry_interval = match &spec.install.strategy {
            Some(InstallStrategy::RetryOnFailure { retry_interval }) => Some(*retry_interval),
            None if default_retries => Some(firstpass_flux::Duration::from_secs(300)),
            _ => None,
        };
        let (retries, generation) = (spec.install.retries, attempt.generation);
        let record = self.record(&name);
        record.failures += 1;
        let left = retries < 0 || i64::from(record.failures) <= retries;
        let (reason, retry) = match retry_interval {
            Some(interval) => (names::reason::INSTALL_FAILED, Retry::After(of_flux(interval))),
            None if left => (names::reason::INSTALL_FAILED, Retry::Backoff),
            None => (names::reason::RETRIES_EXCEEDED, Retry::Never),
        };
        if left && retry_interval.is_none() {
            self.uninstall(&name, context);
        }
        self.workers.queue.done(&name);
        let failure = Failure {
            reason,
            message,
            obstacles: pending,
            retry,
        };
        self.refuse(&name, attempt.status, generation, failure, context);
    }

    /// Takes away what a release made; CRDs stay (F-1006).
    pub(super) fn uninstall(&mut self, name: &TierName, context: &mut Context<'_>) {
        let made = std::mem::take(&mut self.record(name).made);
        self.record(name).installed = None;
        for id in made {
            let Some(object) = context.server.object(&id).map(Arc::clone) else {
                continue;
            };
            if made::is_made(&object) || id.kind != "Namespace" {
                delete(&id, object.api_version(), context);
            }
        }
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
