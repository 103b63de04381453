//! How an attempt ends.

use firstpass_flux::names;
use serde_json::Value;

use super::Attempt;
use crate::context::Context;
use crate::kustomization::begin::{note_ready, write};
use crate::kustomization::history::{self, Snapshot};
use crate::kustomization::{CameUp, FailedAttempt, Failure, KustomizationController, Next, OutcomeResult};
use crate::time::of_flux;

impl KustomizationController {
    pub(super) fn succeed(&mut self, mut attempt: Attempt, context: &mut Context<'_>) {
        let tier = attempt.name().clone();
        let now = context.now;
        let revision = attempt.revision.clone();
        let message = format!("Applied revision: {revision}");
        let was_ready = attempt.status.get("lastAppliedRevision") == Some(&Value::String(revision.clone()));
        attempt.status.set("lastAppliedRevision", revision.clone().into());
        attempt
            .status
            .set("observedGeneration", attempt.generation.into());
        attempt.remember(names::reason::RECONCILIATION_SUCCEEDED, context);
        attempt.status.remove_condition(names::condition::RECONCILING);
        attempt.set_condition(
            names::condition::READY,
            "True",
            names::reason::RECONCILIATION_SUCCEEDED,
            &message,
            now,
        );
        write(context, &tier, &attempt.status);
        if !was_ready || self.record(&tier).ready_at.is_none() {
            note_ready(
                context,
                &tier,
                "True",
                names::reason::RECONCILIATION_SUCCEEDED,
                &message,
            );
        }
        let came_up = CameUp {
            began_at: attempt.began_at,
            applied_at: attempt.applied_at.unwrap_or(now),
            held_by: std::mem::take(&mut attempt.held_by),
        };
        let record = self.record(&tier);
        if record.ready_at.is_none() {
            record.came_up = Some(came_up);
        }
        record.ready_at.get_or_insert(now);
        record.revision = Some(revision);
        self.workers.queue.done(&tier);
        let interval = of_flux(attempt.kustomization.spec.interval.unwrap_or_default());
        self.conclude(
            &tier,
            attempt.began_at,
            OutcomeResult::Succeeded,
            Next::Interval(interval),
            context,
        );
    }

    pub(super) fn fail(&mut self, mut attempt: Attempt, failure: Failure, context: &mut Context<'_>) {
        let tier = attempt.name().clone();
        let now = context.now;
        attempt.remember(failure.reason, context);
        let progress = attempt
            .status
            .condition_field(names::condition::RECONCILING, "message")
            .to_owned();
        attempt.set_condition(
            names::condition::READY,
            "False",
            failure.reason,
            &failure.message,
            now,
        );
        attempt.set_condition(
            names::condition::RECONCILING,
            "True",
            names::reason::PROGRESSING_WITH_RETRY,
            &progress,
            now,
        );
        write(context, &tier, &attempt.status);
        note_ready(context, &tier, "False", failure.reason, &failure.message);
        let failed = FailedAttempt {
            began_at: attempt.began_at,
            ended_at: now,
            failure: failure.clone(),
        };
        self.record(&tier).failures.push(failed);
        self.workers.queue.done(&tier);
        let next = Next::from(failure.retry);
        self.conclude(
            &tier,
            attempt.began_at,
            OutcomeResult::Failed(failure),
            next,
            context,
        );
    }
}

impl Attempt {
    /// Adds the outcome to the history (F-007), which there is since Flux 2.7 (F-1719).
    pub(super) fn remember(&mut self, reason: &str, context: &Context<'_>) {
        let Some(digest) = self
            .digest
            .as_deref()
            .filter(|_| context.settings.flux.at_least(7))
        else {
            return;
        };
        let snapshot = Snapshot {
            digest,
            status: reason,
            revision: &self.revision,
            at: context.now,
            duration: context.now.since(self.began_at),
        };
        let history = history::upsert(self.status.get("history"), &snapshot);
        self.status.set("history", history);
    }
}
