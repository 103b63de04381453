//! How installs and upgrades end: success, and what a failure leads to (F-1008 to F-1012).

use std::sync::Arc;

use firstpass_apiserver::Apply;
use firstpass_flux::{HelmGate, InstallStrategy, ReleaseAction, Remediation, names};
use firstpass_object::{ObjectExt, TierName};
use serde_json::{Value, json};

use super::begin::delete;
use super::{ACTOR, Action, Attempt, HelmController, Stored, write};
use crate::context::Context;
use crate::flux_api;
use crate::kustomization::{Failure, Obstacle, Retry};
use crate::made;
use crate::time::of_flux;

impl Attempt {
    /// The settings of the action that runs.
    pub(super) fn action_spec(&self) -> &ReleaseAction {
        match self.action {
            Action::Install => &self.release.spec.install,
            Action::Upgrade => &self.release.spec.upgrade,
        }
    }
}

impl Action {
    pub(super) fn verb(self) -> &'static str {
        match self {
            Action::Install => "install",
            Action::Upgrade => "upgrade",
        }
    }

    fn succeeded(self) -> &'static str {
        match self {
            Action::Install => names::reason::INSTALL_SUCCEEDED,
            Action::Upgrade => names::reason::UPGRADE_SUCCEEDED,
        }
    }

    pub(super) fn failed(self) -> &'static str {
        match self {
            Action::Install => names::reason::INSTALL_FAILED,
            Action::Upgrade => names::reason::UPGRADE_FAILED,
        }
    }
}

impl HelmController {
    pub(super) fn succeed(&mut self, mut attempt: Attempt, context: &mut Context<'_>) {
        let name = attempt.release.name.clone();
        let now = context.now;
        let generation = attempt.generation;
        let record = self.record(&name);
        record.version += 1;
        let message = format!(
            "Helm {} succeeded for release {}/{}.v{}",
            attempt.action.verb(),
            attempt.release.release_namespace(),
            attempt.release.release_name(),
            record.version
        );
        record.ready_at.get_or_insert(now);
        record.last_failure = None;
        record.failures = 0;
        record.settled = true;
        let objects = record
            .made
            .iter()
            .filter_map(|id| context.server.object(id).map(|object| wanted(object)))
            .collect();
        record.stored = Some(Stored {
            fingerprint: attempt.fingerprint.clone(),
            failed: false,
            objects,
        });
        record.previous = None;
        let looks = record.looks;
        attempt.status.remove_condition(names::condition::RECONCILING);
        attempt.status.remove_condition(names::condition::REMEDIATED);
        for condition in [names::condition::READY, names::condition::RELEASED] {
            attempt.status.set_condition(
                condition,
                "True",
                attempt.action.succeeded(),
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
            format!("Ready=True {}: {message}", attempt.action.succeeded()),
        );
        self.workers.queue.done(&name);
        let interval = of_flux(attempt.release.spec.interval.unwrap_or_default());
        let interval = context.delays.jittered(interval, &name.to_string(), looks);
        self.plan(&name, Retry::After(interval), context);
    }

    /// F-1010: before a release is stored nothing is counted.
    pub(super) fn fail_early(&mut self, mut attempt: Attempt, failure: Failure, context: &mut Context<'_>) {
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

    /// F-1009, F-1011: counted; undone and tried again while retries are left; or tried again as an upgrade.
    pub(super) fn fail(&mut self, mut attempt: Attempt, pending: Vec<Obstacle>, context: &mut Context<'_>) {
        let name = attempt.release.name.clone();
        let action = attempt.action;
        let objects: Vec<String> = pending
            .iter()
            .filter_map(|obstacle| obstacle.object().map(ToString::to_string))
            .collect();
        let mut message = format!(
            "Helm {} failed for release {}/{}: timeout waiting for: [{}]",
            action.verb(),
            attempt.release.release_namespace(),
            attempt.release.release_name(),
            objects.join(", ")
        );
        attempt.status.set_condition(
            names::condition::RELEASED,
            "False",
            action.failed(),
            &message,
            attempt.generation,
            context.now,
        );
        let spec = attempt.action_spec().clone();
        let retry_interval = retry_interval(&spec, context);
        let record = self.record(&name);
        record.failures += 1;
        record.version += 1;
        let failures = record.failures;
        if let Some(stored) = record.stored.take().filter(|stored| !stored.failed) {
            record.previous = Some(stored);
        }
        record.stored = Some(Stored {
            fingerprint: attempt.fingerprint.clone(),
            failed: true,
            objects: Vec::new(),
        });
        record.last_action = Some(action);
        let left = spec.retries < 0 || i64::from(failures) <= spec.retries;
        let mut reason = action.failed();
        let remediates = left || spec.remediates_last_failure(action == Action::Upgrade);
        if retry_interval.is_none() && remediates {
            (reason, message) = self.remediate(&mut attempt, &spec, context);
        }
        let retry = match retry_interval {
            Some(interval) => Retry::After(interval),
            None if left => Retry::Backoff,
            None => Retry::Never,
        };
        self.workers.queue.done(&name);
        let failure = Failure {
            reason,
            message,
            obstacles: pending,
            retry,
        };
        if retry == Retry::Never {
            self.record(&name).stalled_by = Some(failure.clone());
        }
        self.refuse(&name, attempt.status, attempt.generation, failure, context);
    }

    /// Undoes a failure: an install is taken away, an upgrade goes back. Gives reason and message of the condition.
    fn remediate(
        &mut self,
        attempt: &mut Attempt,
        spec: &ReleaseAction,
        context: &mut Context<'_>,
    ) -> (&'static str, String) {
        let name = attempt.release.name.clone();
        let release = format!(
            "{}/{}",
            attempt.release.release_namespace(),
            attempt.release.release_name()
        );
        let previous = self.record(&name).previous.take();
        let goes_back = attempt.action == Action::Upgrade && spec.remediation == Remediation::Rollback;
        let (reason, message) = match previous.filter(|_| goes_back) {
            Some(previous) => {
                for object in &previous.objects {
                    let _refused_as_before =
                        context.apply(Apply::forced(Arc::clone(object), names::HELM_MANAGER));
                }
                self.delete_stale(&name, &previous, context);
                self.record(&name).stored = Some(previous);
                let message = format!("Helm rollback to previous release succeeded for release {release}");
                (names::reason::ROLLBACK_SUCCEEDED, message)
            }
            None => {
                self.uninstall(&name, context);
                let message = format!("Helm uninstall remediation succeeded for release {release}");
                (names::reason::UNINSTALL_SUCCEEDED, message)
            }
        };
        context.note(ACTOR, flux_api::helm_release_id(&name), reason);
        attempt.status.set_condition(
            names::condition::REMEDIATED,
            "True",
            reason,
            &message,
            attempt.generation,
            context.now,
        );
        (reason, message)
    }

    /// Deletes what a failed upgrade brought and the release before did not have.
    fn delete_stale(&mut self, name: &TierName, previous: &Stored, context: &mut Context<'_>) {
        let kept: std::collections::BTreeSet<_> = previous.objects.iter().map(|object| object.id()).collect();
        let made = std::mem::replace(&mut self.record(name).made, kept.clone());
        for id in made.difference(&kept) {
            if let Some(object) = context.server.object(id).cloned() {
                delete(id, object.api_version(), context);
            }
        }
    }

    /// Puts back what somebody changed, if the release asks for it (F-1014).
    pub(super) fn correct_drift(&mut self, name: &TierName, context: &mut Context<'_>) {
        let Some(stored) = self.record(name).stored.clone() else {
            return;
        };
        for object in &stored.objects {
            let _refused_as_before = context.apply(Apply::forced(Arc::clone(object), names::HELM_MANAGER));
        }
    }

    /// Takes away what a release made; CRDs stay (F-1006).
    pub(super) fn uninstall(&mut self, name: &TierName, context: &mut Context<'_>) {
        let made = std::mem::take(&mut self.record(name).made);
        self.record(name).stored = None;
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

/// Whether failures are retried as upgrades, and how soon (F-1011).
pub(super) fn retry_interval(
    spec: &ReleaseAction,
    context: &Context<'_>,
) -> Option<firstpass_apiserver::Duration> {
    if !context.settings.flux.at_least(7) {
        return None;
    }
    let by_default =
        context.settings.helm_gate(HelmGate::DefaultToRetryOnFailure) && context.settings.flux.at_least(8);
    match &spec.strategy {
        Some(InstallStrategy::RetryOnFailure { retry_interval }) => Some(of_flux(*retry_interval)),
        None if by_default => Some(firstpass_apiserver::Duration::from_secs(300)),
        _ => None,
    }
}

/// What a release asks for of an object: no status, no metadata of the server.
fn wanted(object: &Value) -> Arc<Value> {
    let mut wanted = object.clone();
    let metadata = &object["metadata"];
    let mut kept = json!({});
    for field in ["name", "namespace", "labels", "annotations"] {
        if let Some(value) = metadata.get(field) {
            kept[field] = value.clone();
        }
    }
    wanted["metadata"] = kept;
    if let Value::Object(fields) = &mut wanted {
        fields.remove("status");
    }
    Arc::new(wanted)
}
