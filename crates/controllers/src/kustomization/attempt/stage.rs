//! Stage after stage: dry-run, apply, and where a stage asks for it a wait (F-202).

use std::sync::Arc;

use firstpass_apiserver::Duration;
use firstpass_flux::{Kustomization, names};

use super::{Attempt, Phase, Step};
use crate::context::Context;
use crate::kustomization::health::{HealthWait, Verdict};
use crate::kustomization::mapper::PollerMapper;
use crate::kustomization::submit::Submission;
use crate::kustomization::{KustomizationController, impersonate};

/// Time between two polls of a stage wait (F-202).
const POLL: Duration = Duration::from_secs(2);
/// Limit of a stage wait since Flux 2.7 (F-202, F-1731).
const LIMIT: Duration = Duration::from_secs(60);

impl KustomizationController {
    pub(super) fn apply_stage(
        &mut self,
        attempt: &mut Attempt,
        stage: usize,
        context: &mut Context<'_>,
    ) -> Step {
        let stages = Arc::clone(&attempt.stages);
        let (kind, objects) = &stages[stage];
        let outcome = self.submit(&attempt.kustomization, objects, &attempt.unknown_tokens, context);
        match outcome {
            Submission::Applied(changes) => {
                let first = attempt.changes.len();
                attempt.changes.extend(changes);
                if kind.is_waited_for() {
                    let ids = attempt.changes[first..]
                        .iter()
                        .map(|change| change.entry.id.clone())
                        .collect();
                    // F-1731: up to 2.6 the Kustomization's own timeout limits the wait.
                    let limit = if context.settings.flux.at_least(7) {
                        LIMIT
                    } else {
                        attempt.timeout()
                    };
                    let wait = HealthWait::of_stage(ids, context.now, limit);
                    return Step::Continue(Phase::StageWait(stage, wait), context.now);
                }
                self.after_stage(attempt, stage, context)
            }
            Submission::Deleting => Step::Continue(Phase::Stage(stage), context.now + POLL),
            Submission::Failed { message, obstacles } => {
                let message = attempt.apply_error(stage, &message, context);
                attempt.failure(names::reason::RECONCILIATION_FAILED, message, obstacles)
            }
        }
    }

    pub(super) fn poll_stage(
        &mut self,
        attempt: &mut Attempt,
        stage: usize,
        mut wait: HealthWait,
        context: &mut Context<'_>,
    ) -> Step {
        let verdict = wait.poll(
            &[],
            true,
            self.mapper_for(&attempt.kustomization, context),
            context,
        );
        attempt.obstacles_seen = wait.obstacles();
        match verdict {
            Verdict::Healthy => {
                attempt.obstacles_seen.clear();
                self.after_stage(attempt, stage, context)
            }
            Verdict::Pending => Step::Continue(Phase::StageWait(stage, wait), context.now + POLL),
            Verdict::TimedOut(message) | Verdict::FailedEarly(message) => {
                let message = attempt.apply_error(stage, &message, context);
                attempt.failure(names::reason::RECONCILIATION_FAILED, message, wait.obstacles())
            }
        }
    }

    pub(super) fn after_stage(
        &mut self,
        attempt: &mut Attempt,
        stage: usize,
        context: &mut Context<'_>,
    ) -> Step {
        let next = stage + 1;
        if next < attempt.stages.len() {
            let at = context.now + attempt.stage_time(next, context);
            return Step::Continue(Phase::Stage(next), at);
        }
        self.applied(attempt, context)
    }

    /// The table of kinds that the waits of a Kustomization use. Clients of their own have a new one every time (F-227),
    /// which knows what there is; so had all clients of Flux 2.5, and 2.4 shared the table with the applies (F-1720).
    pub(super) fn mapper_for(
        &mut self,
        kustomization: &Kustomization,
        context: &Context<'_>,
    ) -> Option<&mut PollerMapper> {
        let is_shared =
            context.settings.flux.at_least(6) && !impersonate::has_own_client(kustomization, context);
        is_shared.then_some(&mut self.poller)
    }
}

impl Attempt {
    /// How long a stage's requests take: dry-runs four at a time, applies one by one (F-164).
    pub(super) fn stage_time(&self, stage: usize, context: &Context<'_>) -> Duration {
        let objects = self.stages[stage].1.len() as u64;
        let subject = self.name().to_string();
        let dry_run = context.delays.delay("flux-dry-run", &subject, self.nth);
        let apply = context.delays.delay("flux-apply", &subject, self.nth);
        dry_run * objects.div_ceil(4) + apply * objects
    }

    /// F-156: the error, a newline and the changes so far; up to 2.6 the bare error for all but the last stage (F-1735).
    pub(super) fn apply_error(&self, stage: usize, message: &str, context: &Context<'_>) -> String {
        let last = stage + 1 == self.stages.len();
        if !last && !context.settings.flux.at_least(7) {
            return message.to_owned();
        }
        let changed = self.changes.iter().filter(|change| change.action.is_change());
        let log: Vec<String> = changed
            .map(|change| format!("{} {}", change.entry.id, change.action))
            .collect();
        format!("{message}\n{}", log.join("\n"))
    }
}
