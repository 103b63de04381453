//! Waiting for what an action has applied (F-1006, F-1007, F-1780).

use firstpass_apiserver::Time;
use firstpass_flux::{HelmGate, HelmRelease};
use firstpass_object::ObjectId;
use firstpass_object::kstatus::StatusKind;

use super::attempt::{Action, Attempt, Phase, Trouble};
use super::bring::Brought;
use super::record::ReleaseActionKind;
use super::{HelmController, poll_interval};
use crate::context::Context;
use crate::kustomization::{Obstacle, health_of};
use crate::readiness;
use crate::time::of_flux;

/// What a poll saw.
pub(super) enum Look {
    Good,
    Bad(Trouble),
    Pending(Time),
}

impl HelmController {
    /// Waits for the objects of an action, unless it does not wait.
    pub(super) fn wait_for(
        &mut self,
        mut attempt: Attempt,
        action: Action,
        objects: Vec<ObjectId>,
        context: &mut Context<'_>,
    ) {
        let deadline = context.now + of_flux(action.timeout(&attempt.release));
        if action.is_without_wait(&attempt.release) || objects.is_empty() {
            self.end_action(attempt, action, Ok(()), context);
            return;
        }
        let name = attempt.release.name.clone();
        attempt.next_at = context.now;
        attempt.phase = Phase::Wait {
            action,
            objects,
            deadline,
        };
        self.workers.attempts.insert(name, attempt);
    }

    /// Looks at the objects that an action waits for.
    pub(super) fn poll(
        &mut self,
        mut attempt: Attempt,
        action: Action,
        objects: Vec<ObjectId>,
        deadline: Time,
        context: &mut Context<'_>,
    ) {
        match look(&attempt.release, &objects, deadline, context) {
            Look::Good => self.end_action(attempt, action, Ok(()), context),
            Look::Bad(trouble) => self.end_action(attempt, action, Err(trouble), context),
            Look::Pending(next_at) => {
                attempt.next_at = next_at;
                attempt.phase = Phase::Wait {
                    action,
                    objects,
                    deadline,
                };
                self.workers
                    .attempts
                    .insert(attempt.release.name.clone(), attempt);
            }
        }
    }

    /// Looks at the CRDs that come before the rest.
    pub(super) fn poll_kinds(
        &mut self,
        mut attempt: Attempt,
        action: ReleaseActionKind,
        brought: Box<Brought>,
        kinds: Vec<ObjectId>,
        deadline: Time,
        context: &mut Context<'_>,
    ) {
        match look(&attempt.release, &kinds, deadline, context) {
            Look::Good => self.apply(attempt, action, brought, context),
            Look::Bad(trouble) => {
                let message = format!(
                    "failed to apply CustomResourceDefinitions: failed to wait for CustomResourceDefinition(s): {}",
                    trouble.message
                );
                self.fail_unstored(attempt, action, Trouble { message, ..trouble }, context);
            }
            Look::Pending(next_at) => {
                attempt.next_at = next_at;
                attempt.phase = Phase::Kinds {
                    action,
                    brought,
                    kinds,
                    deadline,
                };
                self.workers
                    .attempts
                    .insert(attempt.release.name.clone(), attempt);
            }
        }
    }
}

/// One poll of a wait.
pub(super) fn look(
    release: &HelmRelease,
    objects: &[ObjectId],
    deadline: Time,
    context: &Context<'_>,
) -> Look {
    let flux = context.settings.flux;
    let expressions = match flux.at_least(8) {
        true => release.spec.health_check_exprs.as_slice(),
        false => &[],
    };
    let healths: Vec<(&ObjectId, readiness::Health)> = objects
        .iter()
        .map(|id| (id, health_of(id, expressions, true, context)))
        .filter(|(_, health)| health.status != StatusKind::Current)
        .collect();
    if healths.is_empty() {
        return Look::Good;
    }
    // F-1780: up to 2.7 a broken release is found only at the timeout.
    let fails_fast = flux.at_least(8) && !context.settings.helm_gate(HelmGate::UseHelm3Defaults);
    let is_failed = |health: &readiness::Health| health.status == StatusKind::Failed;
    let is_late = context.now >= deadline;
    let has_failed = fails_fast && healths.iter().any(|(_, health)| is_failed(health));
    if !is_late && !has_failed {
        return Look::Pending((context.now + poll_interval(context.settings)).min(deadline));
    }
    let shown: Vec<String> = healths
        .iter()
        .filter(|(_, health)| is_late || is_failed(health))
        .map(|(id, health)| {
            let error = health
                .error
                .as_ref()
                .map_or_else(String::new, |error| format!(": {error}"));
            format!("{id} status: '{}'{error}", health.status)
        })
        .collect();
    let word = if is_late {
        "timeout waiting for"
    } else {
        "failed early due to stalled resources"
    };
    let obstacles = healths
        .into_iter()
        .map(|(id, health)| Obstacle::Unhealthy {
            object: id.clone(),
            status: health.status,
            message: health.message,
            in_stage: false,
        })
        .collect();
    Look::Bad(Trouble {
        message: format!("{word}: [{}]", shown.join(", ")),
        obstacles,
    })
}

/// Helm 3 waits for these kinds alone (F-1780).
pub(super) fn is_known_to_helm_3(id: &ObjectId) -> bool {
    matches!(
        (id.group.as_str(), id.kind.as_str()),
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet")
            | ("batch", "Job")
            | (
                "",
                "Pod" | "Service" | "PersistentVolumeClaim" | "ReplicationController"
            )
            | ("apiextensions.k8s.io", "CustomResourceDefinition")
    )
}
