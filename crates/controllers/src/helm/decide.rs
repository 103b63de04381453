//! What is to be done with a release: its state as Helm's records and the HelmRelease have it, and the action that follows
//! (F-1009 to F-1014).

use std::sync::Arc;

use firstpass_apiserver::{Apply, Outcome};
use firstpass_flux::names::{condition, reason};
use firstpass_flux::{HelmGate, InstallStrategy, ReleaseAction, Remediation, names};
use serde_json::Value;

use super::HelmController;
use super::attempt::{Action, Attempt};
use super::record::ReleaseActionKind::{self, Install, Upgrade};
use super::storage::{Revision, RevisionState, Snapshot};
use crate::context::Context;
use crate::time::of_flux;

/// How a release stands.
enum State {
    /// Helm has no record of it.
    Absent,
    /// Helm has a record that the HelmRelease did not make.
    Unmanaged,
    /// It was made of another chart or other values.
    OutOfSync,
    /// Its last revision failed.
    Failed,
    /// Its tests have not run.
    Untested,
    /// Objects are not as the chart made them.
    Drifted(Vec<Arc<Value>>),
    /// It is as it should be.
    InSync,
}

/// What follows.
pub(super) enum Decision {
    /// Nothing is to be done.
    Nothing,
    /// An action runs.
    Run(Action),
    /// No retry is left.
    RetriesExceeded,
    /// There is no good revision to go back to.
    NothingToGoBackTo,
}

impl HelmController {
    /// Decides what is done next.
    pub(super) fn decide(&mut self, attempt: &mut Attempt, context: &mut Context<'_>) -> Decision {
        let state = self.state(attempt, context);
        let is_forced = std::mem::take(&mut attempt.is_forced);
        let name = attempt.release.name.clone();
        let release = Arc::clone(&attempt.release);
        let record = self.record(&name);
        let make = |action| Decision::Run(Action::Make(action));
        let unless_exhausted = |action| {
            if record.is_exhausted(action, &release) && !is_forced {
                Decision::RetriesExceeded
            } else {
                make(action)
            }
        };
        match state {
            State::Absent => unless_exhausted(Install),
            State::OutOfSync => unless_exhausted(Upgrade),
            State::Unmanaged => {
                record.history.clear();
                make(Upgrade)
            }
            State::InSync if is_forced => make(Upgrade),
            State::InSync => {
                settle_conditions(
                    attempt,
                    record.latest().map(|latest| {
                        format!("{} with chart {}", latest.release_text(), latest.chart.text())
                    }),
                );
                Decision::Nothing
            }
            State::Untested => {
                let latest = record.latest();
                settle_remediated(attempt, latest.map(shown));
                Decision::Run(Action::Test)
            }
            State::Drifted(objects) if release.spec.drift_detection.as_deref() == Some("enabled") => {
                Decision::Run(Action::CorrectDrift(objects))
            }
            State::Drifted(_) => Decision::Nothing,
            State::Failed => self.decide_on_failure(attempt, is_forced, context),
        }
    }

    fn decide_on_failure(&mut self, attempt: &Attempt, is_forced: bool, context: &Context<'_>) -> Decision {
        let release = &attempt.release;
        let record = self.record(&release.name);
        let upgrade = Decision::Run(Action::Make(Upgrade));
        let Some(last) = record.last_action else {
            return upgrade;
        };
        let is_retried = retry_interval(last.spec(release), context).is_some();
        if is_retried || record.failures_of(last) == 0 || is_forced {
            return upgrade;
        }
        let spec = last.spec(release);
        if record.is_exhausted(last, release) && !spec.remediates_last_failure(last == Upgrade) {
            return Decision::RetriesExceeded;
        }
        if last == Install || spec.remediation == Remediation::Uninstall {
            return Decision::Run(Action::UninstallFailed);
        }
        let Some(previous) = record
            .previous(last.ignores_tests(release))
            .map(|snapshot| snapshot.version)
        else {
            return Decision::NothingToGoBackTo;
        };
        if self.storage.get(&attempt.key, previous).is_none() {
            return upgrade;
        }
        Decision::Run(Action::RollBack(previous))
    }

    /// Whether the tests of the release have failed, and that counts.
    fn has_failed_test(&self, attempt: &Attempt) -> bool {
        let Some(record) = self.releases.get(&attempt.release.name) else {
            return false;
        };
        let counts = |last: ReleaseActionKind| !last.ignores_tests(&attempt.release);
        attempt.release.spec.test.enable
            && record.last_action.is_some_and(counts)
            && record.latest().is_some_and(|latest| latest.tested == Some(false))
    }

    fn state(&mut self, attempt: &Attempt, context: &mut Context<'_>) -> State {
        let Some(last) = self.storage.last(&attempt.key) else {
            return State::Absent;
        };
        let record = self.releases.get(&attempt.release.name);
        let latest = record.and_then(|record| record.latest());
        let is_known =
            latest.is_some_and(|latest| latest.version == last.version && latest.state == last.state);
        match last.state {
            _ if !is_known => State::Unmanaged,
            RevisionState::Failed => State::Failed,
            _ if last.chart != attempt.chart || last.values != attempt.values => State::OutOfSync,
            _ if attempt.release.spec.test.enable && latest.is_some_and(|latest| latest.tested.is_none()) => {
                State::Untested
            }
            _ if self.has_failed_test(attempt) => State::Failed,
            _ => {
                let mode = attempt.release.spec.drift_detection.as_deref();
                let drifted = match mode {
                    Some("enabled" | "warn") => drift(last, context),
                    _ => Vec::new(),
                };
                if drifted.is_empty() {
                    State::InSync
                } else {
                    State::Drifted(drifted)
                }
            }
        }
    }
}

/// Objects of a revision that are not as it made them.
fn drift(revision: &Revision, context: &mut Context<'_>) -> Vec<Arc<Value>> {
    let mut drifted = Vec::new();
    for object in &revision.objects {
        let apply = Apply::forced(Arc::clone(object), names::HELM_MANAGER).as_dry_run();
        let outcome = context.apply(apply).ok().and_then(|response| response.outcome());
        if matches!(outcome, Some(Outcome::Created | Outcome::Configured)) {
            drifted.push(Arc::clone(object));
        }
    }
    drifted
}

/// A revision in messages.
fn shown(snapshot: &Snapshot) -> String {
    format!("{} with chart {}", snapshot.release_text(), snapshot.chart.text())
}

/// What a rollback has put in place, and is what is wanted now, counts as an upgrade.
fn settle_remediated(attempt: &mut Attempt, release: Option<String>) {
    let Some(release) = release else { return };
    let conditions = &mut attempt.conditions;
    if conditions.is_true(condition::REMEDIATED) {
        conditions.remove(condition::REMEDIATED);
        let message = format!("Helm upgrade succeeded for release {release}");
        conditions.set(condition::RELEASED, "True", reason::UPGRADE_SUCCEEDED, &message);
    }
}

/// A release that is in sync says so, whatever went wrong on the way there.
fn settle_conditions(attempt: &mut Attempt, release: Option<String>) {
    settle_remediated(attempt, release.clone());
    let Some(release) = release else { return };
    let conditions = &mut attempt.conditions;
    if conditions.is_true(condition::READY) && conditions.is_true(condition::RELEASED) {
        return;
    }
    let (verb, reason) = match conditions.field(condition::RELEASED, "reason") {
        reason::INSTALL_FAILED => ("install", reason::INSTALL_SUCCEEDED),
        reason::UPGRADE_FAILED => ("upgrade", reason::UPGRADE_SUCCEEDED),
        _ => return,
    };
    let message = format!("Helm {verb} succeeded for release {release}");
    conditions.set(condition::RELEASED, "True", reason, &message);
    conditions.summarize();
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

/// The retry interval of the action that ran last.
pub(super) fn active_retry(
    last: Option<ReleaseActionKind>,
    attempt: &Attempt,
    context: &Context<'_>,
) -> Option<firstpass_apiserver::Duration> {
    retry_interval(last?.spec(&attempt.release), context)
}
