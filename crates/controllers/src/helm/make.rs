//! Installs and upgrades: CRDs first, then the rest of the chart, then the wait (F-1005 to F-1010).

use std::sync::Arc;

use firstpass_apiserver::{Apply, Duration, Reason};
use firstpass_flux::names::{self, condition, reason};
use firstpass_flux::{CrdPolicy, HelmGate};
use firstpass_object::{ObjectExt, ObjectId};
use serde_json::{Value, json};

use super::attempt::{Action, Attempt, Phase, Trouble};
use super::bring::{Brought, ids, is_own_kind};
use super::hooks::HookRun;
use super::manifest::{missing_kinds, refused, with_namespace};
use super::record::ReleaseActionKind::{self, Install, Upgrade};
use super::storage::{Revision, RevisionState, Snapshot};
use super::wait::is_known_to_helm_3;
use super::{ACTOR, HelmController};
use crate::context::Context;
use crate::flux_api;
use crate::kustomization::Retry;
use crate::made;
use crate::operator::ensure_namespace;

/// F-1006: how long CRDs are waited for.
const KINDS_WAIT: Duration = Duration::from_secs(60);

impl HelmController {
    /// Begins an install or upgrade: `crds/` comes first.
    pub(super) fn make(
        &mut self,
        mut attempt: Attempt,
        action: ReleaseActionKind,
        context: &mut Context<'_>,
    ) {
        let name = attempt.release.name.clone();
        let Some(object) = context.server.object(&flux_api::helm_release_id(&name)).cloned() else {
            self.workers.queue.done(&name);
            return;
        };
        let record = self.record(&name);
        record.last_action = Some(action);
        record.obstacles.clear();
        if action == Install {
            record.history.clear();
        }
        attempt.conditions.at(context.now);
        attempt.conditions.remove(condition::REMEDIATED);
        attempt.conditions.remove(condition::TEST_SUCCESS);
        let brought = Brought::of(&object, &attempt.release, &attempt.chart.version, action, context);
        if let Some(chart) = &brought.unknown {
            self.unknown_charts
                .entry(chart.clone())
                .or_insert_with(|| object.id());
            self.record(&name).chart_unknown = true;
        }
        // Since Helm 4 creating is applying, which takes over what exists.
        let applies =
            context.settings.flux.at_least(8) && !context.settings.helm_gate(HelmGate::UseHelm3Defaults);
        let replaces = applies || action.spec(&attempt.release).crd_policy() == CrdPolicy::CreateReplace;
        let is_new = |crd: &&Value| replaces || context.server.object(&crd.id()).is_none();
        let kinds: Vec<Value> = brought.kinds.iter().filter(is_new).cloned().collect();
        let kinds_ids = ids(&kinds);
        for kind in kinds {
            made::bring(kind, ACTOR, context);
        }
        // F-1781: up to 2.7 they are waited for even if nothing else is.
        let waits = !action.spec(&attempt.release).disable_wait || !context.settings.flux.at_least(8);
        if kinds_ids.is_empty() || !waits {
            self.apply(attempt, action, Box::new(brought), context);
            return;
        }
        attempt.next_at = context.now;
        attempt.phase = Phase::Kinds {
            action,
            brought: Box::new(brought),
            kinds: kinds_ids,
            deadline: context.now + KINDS_WAIT,
        };
        self.workers.attempts.insert(name, attempt);
    }

    /// Stores the release, and lets the hooks run that come before the rest.
    pub(super) fn apply(
        &mut self,
        mut attempt: Attempt,
        action: ReleaseActionKind,
        brought: Box<Brought>,
        context: &mut Context<'_>,
    ) {
        if let Some(trouble) = missing_kinds(&brought, action, context) {
            self.fail_unstored(attempt, action, trouble, context);
            return;
        }
        let release = Arc::clone(&attempt.release);
        let namespace = release.release_namespace();
        let makes_namespace = action == Install
            && release.spec.install.create_namespace
            && release.spec.target_namespace.is_some();
        if makes_namespace {
            let id = ObjectId::new("", "Namespace", None, namespace);
            if context.server.object(&id).is_none() {
                let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": {"name": namespace}}});
                made::bring(object, ACTOR, context);
            }
        }
        // Stored before anything is applied, and failed until it is done.
        let version = self.storage.next_version(&attempt.key);
        let objects: Vec<Arc<Value>> = brought
            .objects
            .iter()
            .map(|object| Arc::new(with_namespace(object, namespace, context)))
            .collect();
        self.store(
            &mut attempt,
            version,
            RevisionState::Failed,
            objects,
            brought.hooks.clone(),
        );
        attempt.hooks_after.clone_from(&brought.hooks);
        self.run_hooks(attempt, HookRun::before(action, brought), context);
    }

    /// Applies the templates, and what the release before had alone goes.
    pub(super) fn apply_templates(
        &mut self,
        attempt: Attempt,
        action: ReleaseActionKind,
        brought: &Brought,
        context: &mut Context<'_>,
    ) {
        let name = attempt.release.name.clone();
        let stored = self.storage.last(&attempt.key);
        let objects = stored.map_or_else(Vec::new, |revision| revision.objects.clone());
        let mut waited_for = Vec::new();
        for kind in brought.template_kinds.iter().chain(&brought.hook_kinds) {
            made::bring(kind.clone(), ACTOR, context);
        }
        waited_for.extend(ids(&brought.template_kinds));
        for namespace in &brought.namespaces {
            ensure_namespace(namespace, ACTOR, context);
        }
        let before = std::mem::take(&mut self.record(&name).made);
        let mut trouble = None;
        for object in &objects {
            let id = object.id();
            // A workload of the repository with the same name is the real thing.
            let is_foreign = made::is_made(object)
                && context
                    .server
                    .object(&id)
                    .is_some_and(|live| !made::is_made(live));
            let result = if is_foreign {
                Ok(())
            } else {
                context
                    .apply(Apply::forced(Arc::clone(object), names::HELM_MANAGER))
                    .map(|_| ())
            };
            match result {
                Ok(()) => {
                    self.record(&name).made.insert(id.clone());
                    waited_for.push(id);
                }
                // Its kind came a moment ago and is not served yet; or a model's idea of the object is no good.
                Err(error)
                    if error.is_no_kind_match()
                        || is_own_kind(object, brought)
                        || made::is_made(object) && error.reason == Reason::Invalid => {}
                Err(error) => {
                    trouble = Some(refused(object, &error, context));
                    break;
                }
            }
        }
        if let Some(trouble) = trouble {
            self.record(&name).made.extend(before);
            self.end_make(attempt, action, Err(trouble), context);
            return;
        }
        for id in before {
            let is_stale = !self.record(&name).made.contains(&id);
            if is_stale && let Some(object) = context.server.object(&id).cloned() {
                super::undo::delete(&id, object.api_version(), context);
            }
        }
        for webhook in &brought.webhooks {
            context.server.register_webhook(webhook.clone());
        }
        if !context.settings.flux.at_least(8) {
            waited_for.retain(is_known_to_helm_3);
        }
        self.wait_for(attempt, Action::Make(action), waited_for, context);
    }

    /// Keeps a revision in Helm's records and in the history of the HelmRelease.
    pub(super) fn store(
        &mut self,
        attempt: &mut Attempt,
        version: u32,
        state: RevisionState,
        objects: Vec<Arc<Value>>,
        hooks: Vec<Value>,
    ) {
        let revision = Revision {
            version,
            state,
            chart: attempt.chart.clone(),
            values: attempt.values.clone(),
            objects,
            hooks,
        };
        self.storage.put(&attempt.key, revision);
    }

    /// How a revision ended, in the history of the HelmRelease.
    pub(super) fn note_revision(&mut self, attempt: &mut Attempt, version: u32) {
        attempt.has_stored = true;
        let Some(revision) = self.storage.get(&attempt.key, version) else {
            return;
        };
        let snapshot = Snapshot {
            namespace: attempt.release.release_namespace().to_owned(),
            name: attempt.key.1.clone(),
            version,
            state: revision.state,
            chart: revision.chart.clone(),
            tested: None,
        };
        let record = self.record(&attempt.release.name);
        if snapshot.state == RevisionState::Deployed {
            record.supersede(version);
        }
        record.note(snapshot);
    }

    /// F-1010: before a release is stored nothing is counted.
    pub(super) fn fail_unstored(
        &mut self,
        mut attempt: Attempt,
        action: ReleaseActionKind,
        trouble: Trouble,
        context: &mut Context<'_>,
    ) {
        self.tell_failure(&mut attempt, action, &trouble, context);
        self.record(&attempt.release.name).obstacles = trouble.obstacles;
        self.fail(attempt, Retry::Backoff, context);
    }

    /// F-1009: a failure counts once a release is stored.
    pub(super) fn end_make(
        &mut self,
        mut attempt: Attempt,
        action: ReleaseActionKind,
        result: Result<(), Trouble>,
        context: &mut Context<'_>,
    ) {
        let name = attempt.release.name.clone();
        let version = self.storage.last(&attempt.key).map_or(1, |last| last.version);
        let is_retried = super::decide::retry_interval(action.spec(&attempt.release), context).is_some();
        match result {
            Ok(()) => {
                self.storage.deploy(&attempt.key, version);
                self.note_revision(&mut attempt, version);
                let record = self.record(&name);
                record.obstacles.clear();
                if is_retried {
                    record.failures = super::record::Failures::default();
                }
                let Some(latest) = record.latest() else { return };
                let message = format!(
                    "Helm {} succeeded for release {} with chart {}",
                    action.verb(),
                    latest.release_text(),
                    latest.chart.text()
                );
                let reason = match action {
                    Install => reason::INSTALL_SUCCEEDED,
                    Upgrade => reason::UPGRADE_SUCCEEDED,
                };
                attempt.conditions.at(context.now);
                attempt
                    .conditions
                    .set(condition::RELEASED, "True", reason, &message);
                if attempt.release.spec.test.enable {
                    let message = format!(
                        "Helm release {} with chart {} is awaiting tests",
                        latest.release_text(),
                        latest.chart.text()
                    );
                    attempt
                        .conditions
                        .set(condition::TEST_SUCCESS, "Unknown", "AwaitingTests", &message);
                }
                attempt.conditions.summarize();
            }
            Err(trouble) => {
                self.note_revision(&mut attempt, version);
                self.tell_failure(&mut attempt, action, &trouble, context);
                let record = self.record(&name);
                record.obstacles = trouble.obstacles;
                match action {
                    Install => record.failures.install += 1,
                    Upgrade => record.failures.upgrade += 1,
                }
            }
        }
        self.advance_after(attempt, &Action::Make(action), context);
    }

    fn tell_failure(
        &mut self,
        attempt: &mut Attempt,
        action: ReleaseActionKind,
        trouble: &Trouble,
        context: &Context<'_>,
    ) {
        let message = format!(
            "Helm {} failed for release {}/{} with chart {}: {}",
            action.verb(),
            attempt.release.release_namespace(),
            attempt.release.release_name(),
            attempt.chart.text(),
            trouble.message.trim()
        );
        let reason = match action {
            Install => reason::INSTALL_FAILED,
            Upgrade => reason::UPGRADE_FAILED,
        };
        attempt.conditions.at(context.now);
        attempt
            .conditions
            .set(condition::RELEASED, "False", reason, &message);
        attempt.conditions.summarize();
    }
}
