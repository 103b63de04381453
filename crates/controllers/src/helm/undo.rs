//! Rollbacks, uninstalls and corrections of drift (F-1006, F-1009, F-1014).

use std::collections::BTreeSet;
use std::sync::Arc;

use firstpass_apiserver::{Apply, Duration, Request, Target, Time};
use firstpass_flux::names::{self, condition, reason};
use firstpass_object::{ObjectExt, ObjectId};
use serde_json::Value;

use super::attempt::{Action, Attempt, Phase, Trouble};
use super::manifest::refused;
use super::storage::{Revision, RevisionState};
use super::{ACTOR, HelmController};
use crate::context::Context;
use crate::flux_api;
use crate::kustomization::{Obstacle, Retry};
use crate::made;
use crate::time::of_flux;

/// Time between two looks at objects that are to go.
const GONE_POLL: Duration = Duration::from_secs(2);

impl HelmController {
    /// Puts back the objects of an earlier revision, as a new revision.
    pub(super) fn roll_back(&mut self, attempt: Attempt, version: u32, context: &mut Context<'_>) {
        let Some(target) = self.storage.get(&attempt.key, version).cloned() else {
            self.advance(attempt, context);
            return;
        };
        let next = self.storage.next_version(&attempt.key);
        let revision = Revision {
            version: next,
            state: RevisionState::Failed,
            ..target.clone()
        };
        self.storage.put(&attempt.key, revision);
        let name = attempt.release.name.clone();
        let mut trouble = None;
        for object in &target.objects {
            let apply = Apply::forced(Arc::clone(object), names::HELM_MANAGER);
            if let Err(error) = context.apply(apply) {
                trouble = Some(refused(object, &error, context));
                break;
            }
        }
        let kept: BTreeSet<ObjectId> = target.objects.iter().map(|object| object.id()).collect();
        if trouble.is_none() {
            let made = std::mem::replace(&mut self.record(&name).made, kept.clone());
            for id in made.difference(&kept) {
                if let Some(object) = context.server.object(id).cloned() {
                    delete(id, object.api_version(), context);
                }
            }
        }
        let action = Action::RollBack(version);
        match trouble {
            Some(trouble) => self.end_action(attempt, action, Err(trouble), context),
            None => self.wait_for(attempt, action, kept.into_iter().collect(), context),
        }
    }

    pub(super) fn end_roll_back(
        &mut self,
        mut attempt: Attempt,
        version: u32,
        result: Result<(), Trouble>,
        context: &mut Context<'_>,
    ) {
        let name = attempt.release.name.clone();
        let target = self.record(&name).history.iter();
        let target = target.clone().find(|snapshot| snapshot.version == version);
        let shown = target.map_or_else(String::new, |target| {
            format!("{} with chart {}", target.release_text(), target.chart.text())
        });
        let made = self
            .storage
            .last(&attempt.key)
            .map_or(version, |last| last.version);
        attempt.conditions.at(context.now);
        let (status, reason, message) = match result {
            Ok(()) => {
                self.storage.deploy(&attempt.key, made);
                let message = format!("Helm rollback to previous release {shown} succeeded");
                ("True", reason::ROLLBACK_SUCCEEDED, message)
            }
            Err(trouble) => {
                let message = format!(
                    "Helm rollback to previous release {shown} failed: release {} failed: {}",
                    attempt.key.1, trouble.message
                );
                ("False", reason::ROLLBACK_FAILED, message)
            }
        };
        self.note_revision(&mut attempt, made);
        attempt
            .conditions
            .set(condition::REMEDIATED, status, reason, &message);
        attempt.conditions.summarize();
        context.note(ACTOR, flux_api::helm_release_id(&name), reason);
        self.advance_after(attempt, &Action::RollBack(version), context);
    }

    /// Deletes the objects of a release, newest kinds first; CRDs stay (F-1006).
    pub(super) fn take_away(&mut self, mut attempt: Attempt, action: Action, context: &mut Context<'_>) {
        let name = attempt.release.name.clone();
        let made = std::mem::take(&mut self.record(&name).made);
        let last = self.storage.last(&attempt.key);
        let order: Vec<ObjectId> = last.map_or_else(Vec::new, |last| {
            last.objects.iter().rev().map(|object| object.id()).collect()
        });
        let rest = made
            .iter()
            .filter(|id| !order.contains(id))
            .cloned()
            .collect::<Vec<_>>();
        let mut objects: Vec<ObjectId> = order.into_iter().filter(|id| made.contains(id)).collect();
        objects.extend(rest);
        for id in &objects {
            let Some(object) = context.server.object(id).map(Arc::clone) else {
                continue;
            };
            if made::is_made(&object) || id.kind != "Namespace" {
                delete(id, object.api_version(), context);
            }
        }
        objects.retain(|id| id.kind != "Namespace");
        let deadline = context.now + of_flux(action.timeout(&attempt.release));
        if action.is_without_wait(&attempt.release) {
            self.end_action(attempt, action, Ok(()), context);
            return;
        }
        attempt.next_at = context.now;
        self.poll_gone(attempt, action, objects, deadline, context);
    }

    pub(super) fn poll_gone(
        &mut self,
        mut attempt: Attempt,
        action: Action,
        objects: Vec<ObjectId>,
        deadline: Time,
        context: &mut Context<'_>,
    ) {
        let left = objects
            .iter()
            .find(|id| context.server.object(id).is_some())
            .cloned();
        let Some(left) = left else {
            self.end_action(attempt, action, Ok(()), context);
            return;
        };
        if context.now >= deadline {
            let message = format!(
                "uninstallation completed with 1 error(s): {left} termination timeout: context deadline exceeded"
            );
            let obstacles = vec![Obstacle::Prune {
                object: left,
                message: message.clone(),
            }];
            self.end_action(attempt, action, Err(Trouble { message, obstacles }), context);
            return;
        }
        attempt.next_at = (context.now + GONE_POLL).min(deadline);
        attempt.phase = Phase::Gone {
            action,
            objects,
            deadline,
        };
        self.workers
            .attempts
            .insert(attempt.release.name.clone(), attempt);
    }

    /// A release is gone, for one of three reasons.
    pub(super) fn end_take_away(
        &mut self,
        mut attempt: Attempt,
        action: &Action,
        result: Result<(), Trouble>,
        context: &mut Context<'_>,
    ) {
        let name = attempt.release.name.clone();
        let shown = self.record(&name).latest().map_or_else(String::new, |latest| {
            format!("{} with chart {}", latest.release_text(), latest.chart.text())
        });
        // Without a wait in vain, Helm's records go.
        self.storage.purge(&attempt.key);
        attempt.conditions.at(context.now);
        let is_good = result.is_ok();
        let text = result.err().map_or_else(
            || " succeeded".to_owned(),
            |trouble| format!(" failed: {}", trouble.message),
        );
        let (status, reason) = if is_good {
            ("True", reason::UNINSTALL_SUCCEEDED)
        } else {
            ("False", reason::UNINSTALL_FAILED)
        };
        if matches!(action, Action::UninstallFailed) {
            let message = format!("Helm uninstall remediation for release {shown}{text}");
            attempt
                .conditions
                .set(condition::REMEDIATED, status, reason, &message);
            attempt.has_stored = true;
            context.note(ACTOR, flux_api::helm_release_id(&name), reason);
            self.advance_after(attempt, action, context);
            return;
        }
        let message = if is_good {
            format!("Helm uninstall succeeded for release {shown}")
        } else {
            format!(
                "Helm uninstall failed for release {shown}:{}",
                text.trim_start_matches(" failed:")
            )
        };
        attempt
            .conditions
            .set(condition::RELEASED, "False", reason, &message);
        attempt.conditions.summarize();
        context.note(ACTOR, flux_api::helm_release_id(&name), reason);
        let record = self.record(&name);
        record.history.clear();
        record.stored_at = None;
        if matches!(action, Action::UninstallFormer) {
            record.failures = super::record::Failures::default();
            attempt.has_stored = false;
            self.fail(attempt, Retry::Backoff, context);
            return;
        }
        attempt.conditions.observe();
        attempt.conditions.write(&name, context);
        self.let_go(&name, context);
    }

    /// Puts back what somebody changed (F-1014).
    pub(super) fn correct_drift(
        &mut self,
        mut attempt: Attempt,
        objects: &[Arc<Value>],
        context: &mut Context<'_>,
    ) {
        attempt.conditions.at(context.now);
        attempt
            .conditions
            .ready("Unknown", reason::PROGRESSING, "correcting cluster drift");
        for object in objects {
            let _refused_as_before = context.apply(Apply::forced(Arc::clone(object), names::HELM_MANAGER));
        }
        self.advance_after(attempt, &Action::CorrectDrift(Vec::new()), context);
    }
}

/// Deletes an object that a release made.
pub(super) fn delete(id: &ObjectId, api_version: &str, context: &mut Context<'_>) {
    let target = Target::new(api_version, &id.kind, id.namespace.as_deref(), &id.name);
    let _gone_already = context.server.call(&Request::delete(target));
}
