//! From one action to the next, and the ends of a reconciliation: done, out of retries, to be repeated (F-1009, F-1041).

use firstpass_apiserver::Duration;
use firstpass_flux::names::{self, condition, reason};

use super::attempt::{Action, ActionKind, Attempt, Phase};
use super::decide::{Decision, active_retry};
use super::record::ReleaseActionKind::Install;
use super::{ACTOR, HelmController};
use crate::context::Context;
use crate::flux_api;
use crate::kustomization::{Failure, Retry};
use crate::time::{go, of_flux};

/// F-1044: how long a worker waits in vain for its cache to show the history that it has written. The times in it have
/// fractions of a second in memory alone, unless the status was written as observed.
const CACHE_WAIT: Duration = Duration::from_secs(10);

impl HelmController {
    /// Does what is to be done next.
    pub(super) fn advance(&mut self, mut attempt: Attempt, context: &mut Context<'_>) {
        attempt.conditions.at(context.now);
        match self.decide(&mut attempt, context) {
            Decision::Nothing => self.rest(attempt, context),
            Decision::Run(action) if attempt.done.contains(&action.kind()) => {
                self.leave_for_later(attempt, context);
            }
            Decision::Run(action) => self.start(attempt, action, context),
            Decision::RetriesExceeded => self.give_up(attempt, context),
            Decision::NothingToGoBackTo => {
                let message = "Failed to perform remediation: missing target release for rollback: cannot \
                               remediate failed release";
                attempt.conditions.stalled("MissingRollbackTarget", message);
                self.fail(attempt, Retry::Never, context);
            }
        }
    }

    /// Goes on after an action, or stops after one that remediates.
    pub(super) fn advance_after(&mut self, mut attempt: Attempt, action: &Action, context: &mut Context<'_>) {
        let name = attempt.release.name.clone();
        if action.kind() != ActionKind::Remediate {
            attempt.done.push(action.kind());
            attempt.conditions.write(&name, context);
            self.advance(attempt, context);
            return;
        }
        let record = self.record(&name);
        let last = record.last_action;
        let is_exhausted = last.is_some_and(|last| record.is_exhausted(last, &attempt.release));
        // An upgrade that was taken away is installed anew.
        let is_installed_anew = matches!(action, Action::UninstallFailed) && last != Some(Install);
        if let Some(interval) = active_retry(last, &attempt, context) {
            self.retry_after(attempt, interval, context);
        } else if is_exhausted && !is_installed_anew {
            self.give_up(attempt, context);
        } else {
            self.requeue(attempt, context);
        }
    }

    /// An action of a kind that has run already is due: another time.
    fn leave_for_later(&mut self, attempt: Attempt, context: &mut Context<'_>) {
        let record = self.record(&attempt.release.name);
        let last = record.last_action;
        let is_exhausted = last.is_some_and(|last| record.is_exhausted(last, &attempt.release));
        if let Some(interval) = active_retry(last, &attempt, context) {
            self.retry_after(attempt, interval, context);
        } else if is_exhausted {
            let interval = self.interval(&attempt, context);
            let mut attempt = attempt;
            attempt.conditions.remove(condition::RECONCILING);
            self.fail(attempt, Retry::After(interval), context);
        } else {
            self.requeue(attempt, context);
        }
    }

    fn retry_after(&mut self, mut attempt: Attempt, interval: Duration, context: &mut Context<'_>) {
        let message = format!("retrying after {}", go(interval));
        attempt
            .conditions
            .reconciling(reason::PROGRESSING_WITH_RETRY, &message);
        let looks = self.record(&attempt.release.name).looks;
        let subject = attempt.release.name.to_string();
        let interval = context.delays.jittered(interval, &subject, looks);
        self.fail(attempt, Retry::After(interval), context);
    }

    fn requeue(&mut self, mut attempt: Attempt, context: &mut Context<'_>) {
        let message = attempt.conditions.message().to_owned();
        attempt
            .conditions
            .reconciling(reason::PROGRESSING_WITH_RETRY, &message);
        self.fail(attempt, Retry::Backoff, context);
    }

    /// No retry is left: nothing brings it back but a change.
    fn give_up(&mut self, mut attempt: Attempt, context: &mut Context<'_>) {
        let record = self.record(&attempt.release.name);
        if let Some(last) = record.last_action {
            let message = format!(
                "Failed to {} after {} attempt(s)",
                last.verb(),
                record.failures_of(last)
            );
            attempt.conditions.stalled(reason::RETRIES_EXCEEDED, &message);
        }
        self.fail(attempt, Retry::Never, context);
    }

    /// Everything is as it should be, or is left as it is.
    fn rest(&mut self, mut attempt: Attempt, context: &mut Context<'_>) {
        let name = attempt.release.name.clone();
        attempt.conditions.remove(condition::RECONCILING);
        attempt.conditions.summarize();
        if !attempt.conditions.is_true(condition::READY) {
            let interval = self.interval(&attempt, context);
            self.fail(attempt, Retry::After(interval), context);
            return;
        }
        let interval = self.interval(&attempt, context);
        attempt.conditions.observe();
        attempt.conditions.write(&name, context);
        let record = self.record(&name);
        record.settled = true;
        let was_ready = record.last_failure.take().is_none() && record.ready_at.is_some();
        record.ready_at.get_or_insert(context.now);
        if !was_ready || !attempt.done.is_empty() {
            let line = format!(
                "Ready=True {}: {}",
                attempt.conditions.reason(),
                attempt.conditions.message()
            );
            context.note(ACTOR, flux_api::helm_release_id(&name), line);
        }
        self.workers.queue.done(&name);
        self.plan(&name, Retry::After(interval), context.now);
    }

    /// It is not Ready, and the conditions say so.
    pub(super) fn fail(&mut self, mut attempt: Attempt, retry: Retry, context: &mut Context<'_>) {
        let name = attempt.release.name.clone();
        // F-1041
        let is_observed = retry != Retry::Backoff;
        if is_observed {
            attempt.conditions.observe();
        }
        attempt.conditions.write(&name, context);
        let message = attempt.conditions.message().to_owned();
        let shown = failure_reason(attempt.conditions.reason());
        let record = self.record(&name);
        let failure = Failure {
            reason: shown,
            message: message.clone(),
            obstacles: record.obstacles.clone(),
            retry,
        };
        let before = record.last_failure.replace(failure);
        if before.is_none_or(|before| before.message != message) {
            let line = format!("Ready=False {shown}: {message}");
            context.note(ACTOR, flux_api::helm_release_id(&name), line);
        }
        if is_observed || !attempt.has_stored {
            self.workers.queue.done(&name);
            self.plan(&name, retry, context.now);
            return;
        }
        attempt.next_at = context.now + CACHE_WAIT;
        self.plan(&name, retry, attempt.next_at);
        attempt.phase = Phase::Over;
        self.workers.attempts.insert(name, attempt);
    }

    /// The time between two looks at a release that is as it should be.
    fn interval(&mut self, attempt: &Attempt, context: &Context<'_>) -> Duration {
        let looks = self.record(&attempt.release.name).looks;
        let interval = of_flux(attempt.release.spec.interval.unwrap_or_default());
        context
            .delays
            .jittered(interval, &attempt.release.name.to_string(), looks)
    }
}

/// The reason of a Ready condition, as one of the words that are known here.
fn failure_reason(shown: &str) -> &'static str {
    let known = [
        reason::INSTALL_FAILED,
        reason::UPGRADE_FAILED,
        reason::TEST_FAILED,
        reason::ROLLBACK_SUCCEEDED,
        reason::ROLLBACK_FAILED,
        reason::UNINSTALL_SUCCEEDED,
        reason::UNINSTALL_FAILED,
    ];
    let found = known.into_iter().find(|known| *known == shown);
    found.unwrap_or(names::reason::RECONCILIATION_FAILED)
}
