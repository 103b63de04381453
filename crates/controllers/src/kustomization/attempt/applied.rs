//! After the last stage: the inventory, the pruning, and the health checks (F-113, F-154).

use std::sync::Arc;

use firstpass_apiserver::{Duration, Time};
use firstpass_flux::{FluxVersion, names};

use super::{Attempt, Phase, Step};
use crate::context::Context;
use crate::flux_api;
use crate::kustomization::begin::write;
use crate::kustomization::health::{self, HealthWait, Verdict};
use crate::kustomization::inventory::{self, Entry};
use crate::kustomization::submit::{Action, Change};
use crate::kustomization::{ACTOR, Failure, KustomizationController, Obstacle, Retry, impersonate};
use crate::time::go;

/// Time between two polls of the health wait (F-503).
const POLL: Duration = Duration::from_secs(5);

/// Whether skipped objects leave the inventory and are spared by the pruning, so that they are never pruned (F-1740,
/// F-1741): kustomize-controller 1.7.0 to 1.8.4.
fn drops_skipped_objects(flux: FluxVersion) -> bool {
    let version = flux.kustomize_controller();
    version.minor == 7 || version.minor == 8 && version.patch < 5
}

impl KustomizationController {
    /// Everything is applied: the inventory, the pruning, the health checks.
    pub(super) fn applied(&mut self, attempt: &mut Attempt, context: &mut Context<'_>) -> Step {
        let drops_skipped = drops_skipped_objects(context.settings.flux);
        let is_dropped = |change: &Change| drops_skipped && change.action == Action::Skipped;
        let entries = |dropped: bool| -> Vec<Entry> {
            let changes = attempt.changes.iter();
            let wanted = changes.filter(|change| is_dropped(change) == dropped);
            wanted.map(|change| change.entry.clone()).collect()
        };
        let (inventory, dropped) = (entries(false), entries(true));
        self.note_applied(attempt, &inventory, context);
        let mut stale = inventory::stale(&attempt.old_inventory, &inventory);
        stale.retain(|entry| dropped.iter().all(|dropped| dropped.id != entry.id));
        // Written with the next status, which comes after the pruning.
        attempt.status.set("inventory", inventory::write(&inventory));
        if attempt.kustomization.spec.prune
            && !stale.is_empty()
            && let Err((message, survivors, obstacles)) = self.prune(&attempt.kustomization, stale, context)
        {
            if context.settings.flux.at_least(9) {
                // F-413, F-1745: before 2.9 the survivors were lost.
                let kept: Vec<Entry> = inventory.into_iter().chain(survivors).collect();
                attempt.status.set("inventory", inventory::write(&kept));
            }
            return attempt.failure(names::reason::PRUNE_FAILED, message, obstacles);
        }
        if attempt.kustomization.spec.checks_health() {
            return begin_health_wait(attempt, context);
        }
        attempt.status.remove_condition(names::condition::HEALTHY);
        Step::Succeeded
    }

    fn note_applied(&mut self, attempt: &mut Attempt, inventory: &[Entry], context: &mut Context<'_>) {
        attempt.applied_at = Some(context.now);
        let record = self.record(attempt.name());
        record.applied_at.get_or_insert(context.now);
        record.objects = inventory.iter().map(|entry| entry.id.clone()).collect();
        let changes = attempt.changes.iter();
        let changed = changes.filter(|change| change.action.is_change()).count();
        if changed > 0 {
            let line = format!("applied {} objects, {changed} changed", inventory.len());
            context.note(ACTOR, flux_api::kustomization_id(attempt.name()), line);
        }
    }

    /// Looks at the checked objects.
    pub(super) fn poll_health(
        &mut self,
        attempt: &mut Attempt,
        mut wait: HealthWait,
        context: &mut Context<'_>,
    ) -> Step {
        let began_at = wait.began_at();
        if let Some(trigger) = attempt.canceled_by.take() {
            // F-142: looked at again at once.
            return Step::Failed(Failure {
                reason: names::reason::HEALTH_CHECK_CANCELED,
                message: format!("New reconciliation triggered by {trigger}"),
                obstacles: wait.obstacles(),
                retry: Retry::Backoff,
            });
        }
        let kustomization = Arc::clone(&attempt.kustomization);
        let mapper = self.mapper_for(&kustomization, context);
        let verdict = wait.poll(&kustomization.spec.health_check_exprs, false, mapper, context);
        attempt.obstacles_seen = wait.obstacles();
        match verdict {
            Verdict::Healthy => {
                attempt.set_condition(
                    names::condition::HEALTHY,
                    "True",
                    names::reason::SUCCEEDED,
                    &format!("Health check passed in {}", go(context.now.since(began_at))),
                    context.now,
                );
                Step::Succeeded
            }
            Verdict::Pending => {
                attempt.held_by.clone_from(&attempt.obstacles_seen);
                let at = (context.now + POLL).min(wait.deadline());
                Step::Continue(Phase::Health(wait), at)
            }
            Verdict::TimedOut(message) | Verdict::FailedEarly(message) => {
                health_failure(attempt, began_at, &message, wait.obstacles(), context)
            }
        }
    }
}

fn begin_health_wait(attempt: &mut Attempt, context: &mut Context<'_>) -> Step {
    let ids = match health::checked_objects(attempt, context) {
        Ok(ids) => ids,
        Err(message) => {
            return health_failure(attempt, context.now, &message, Vec::new(), context);
        }
    };
    let message = format!(
        "Running health checks for revision {} with a timeout of {}",
        attempt.revision,
        attempt.kustomization.spec.timeout()
    );
    for (kind, value) in [
        (names::condition::READY, "Unknown"),
        (names::condition::HEALTHY, "Unknown"),
        (names::condition::RECONCILING, "True"),
    ] {
        attempt.set_condition(kind, value, names::reason::PROGRESSING, &message, context.now);
    }
    write(context, attempt.name(), &attempt.status);
    let wait = HealthWait::of_checks(
        ids,
        health::jobs_with_ttl(attempt, context),
        impersonate::has_own_client(&attempt.kustomization, context),
        context.now,
        attempt.timeout(),
    );
    Step::Continue(Phase::Health(wait), context.now)
}

/// F-141, F-505.
fn health_failure(
    attempt: &mut Attempt,
    began_at: Time,
    message: &str,
    obstacles: Vec<Obstacle>,
    context: &Context<'_>,
) -> Step {
    let message = format!(
        "health check failed after {}: {message}",
        go(context.now.since(began_at))
    );
    attempt.set_condition(
        names::condition::HEALTHY,
        "False",
        names::reason::HEALTH_CHECK_FAILED,
        &message,
        context.now,
    );
    attempt.failure(names::reason::HEALTH_CHECK_FAILED, message, obstacles)
}
