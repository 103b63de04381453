//! One reconciliation of a release that has what it needs: actions one after the other, until nothing is to be done or it
//! has to be left for later. This is helm-controller's `AtomicRelease`.

use std::sync::Arc;

use firstpass_apiserver::Time;
use firstpass_flux::{HelmRelease, names};
use firstpass_object::{ObjectId, TierName};
use serde_json::Value;

use super::HelmController;
use super::bring::Brought;
use super::conditions::Conditions;
use super::hooks::HookRun;
use super::record::ReleaseActionKind;
use super::storage::{ChartVersion, ReleaseKey};
use crate::context::Context;
use crate::flux_api;
use crate::kustomization::Obstacle;
use crate::workers;

/// A reconciliation that is running.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(super) release: Arc<HelmRelease>,
    pub(super) key: ReleaseKey,
    pub(super) chart: ChartVersion,
    /// What tells two sets of values apart.
    pub(super) values: String,
    pub(super) conditions: Conditions,
    /// Whether an upgrade was asked for, whatever the state (F-100).
    pub(super) is_forced: bool,
    /// Kinds of actions that have run.
    pub(super) done: Vec<ActionKind>,
    /// Hooks of the chart, those that run after the rest among them.
    pub(super) hooks_after: Vec<Value>,
    /// Whether a revision was stored: its times are finer in memory than in the cluster (F-1044).
    pub(super) has_stored: bool,
    pub(super) next_at: Time,
    pub(super) phase: Phase,
}

/// What is done to a release.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// Install or upgrade.
    Make(ReleaseActionKind),
    /// A failed upgrade goes back to this revision.
    RollBack(u32),
    /// A failed install or upgrade is taken away.
    UninstallFailed,
    /// The chart's tests run.
    Test,
    /// What others changed is put right.
    CorrectDrift(Vec<Arc<Value>>),
    /// The HelmRelease is being deleted.
    Uninstall,
    /// The HelmRelease asks for another release now.
    UninstallFormer,
}

/// Of each kind of action, one runs in a reconciliation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ActionKind {
    Release,
    Remediate,
    Test,
    CorrectDrift,
}

#[derive(Clone, Debug)]
pub(super) enum Phase {
    /// Helm renders and talks to the server.
    Act(Action),
    /// The CRDs of `crds/` are waited for (F-1006).
    Kinds {
        action: ReleaseActionKind,
        brought: Box<Brought>,
        kinds: Vec<ObjectId>,
        deadline: Time,
    },
    /// Hooks run.
    Hooks(Box<HookRun>),
    /// The objects are looked at until they are as they should be.
    Wait {
        action: Action,
        objects: Vec<ObjectId>,
        deadline: Time,
    },
    /// The objects are looked at until they are gone.
    Gone {
        action: Action,
        objects: Vec<ObjectId>,
        deadline: Time,
    },
    /// It is over, and the worker waits for its cache in vain (F-1044).
    Over,
}

impl Action {
    /// Its name in messages.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Action::Make(action) => action.verb(),
            Action::RollBack(_) => "rollback",
            Action::UninstallFailed | Action::Uninstall | Action::UninstallFormer => "uninstall",
            Action::Test => "test",
            Action::CorrectDrift(_) => "correct cluster drift",
        }
    }

    pub(super) fn kind(&self) -> ActionKind {
        match self {
            Action::Make(_) | Action::Uninstall | Action::UninstallFormer => ActionKind::Release,
            Action::RollBack(_) | Action::UninstallFailed => ActionKind::Remediate,
            Action::Test => ActionKind::Test,
            Action::CorrectDrift(_) => ActionKind::CorrectDrift,
        }
    }

    /// The delay of what Helm does before it waits.
    fn delay(&self) -> Option<&'static str> {
        match self {
            Action::Make(ReleaseActionKind::Install) => Some("chart-install"),
            Action::Make(ReleaseActionKind::Upgrade) | Action::RollBack(_) => Some("chart-upgrade"),
            Action::UninstallFailed | Action::Uninstall | Action::UninstallFormer => Some("chart-uninstall"),
            Action::Test | Action::CorrectDrift(_) => None,
        }
    }

    /// How long it may wait (F-1007).
    pub(super) fn timeout(&self, release: &HelmRelease) -> firstpass_flux::Duration {
        let own = match self {
            Action::Make(action) => action.spec(release).timeout,
            Action::RollBack(_) => release.spec.rollback.timeout,
            Action::UninstallFailed | Action::Uninstall | Action::UninstallFormer => {
                release.spec.uninstall.timeout
            }
            Action::Test => release.spec.test.timeout,
            Action::CorrectDrift(_) => None,
        };
        own.unwrap_or_else(|| release.spec.timeout())
    }

    /// Whether it does not wait at all.
    pub(super) fn is_without_wait(&self, release: &HelmRelease) -> bool {
        match self {
            Action::Make(action) => action.spec(release).disable_wait,
            Action::RollBack(_) => release.spec.rollback.disable_wait,
            Action::UninstallFailed | Action::Uninstall | Action::UninstallFormer => {
                release.spec.uninstall.disable_wait
            }
            Action::Test | Action::CorrectDrift(_) => true,
        }
    }
}

impl workers::Attempt for Attempt {
    fn next_at(&self) -> Time {
        self.next_at
    }
}

impl HelmController {
    /// Begins an action: the status says so, and Helm takes a while.
    pub(super) fn start(&mut self, mut attempt: Attempt, action: Action, context: &mut Context<'_>) {
        let name = attempt.release.name.clone();
        let record = self.record(&name);
        record.settled = false;
        if let Action::Make(_) = action {
            record.attempts += 1;
        }
        let nth = record.looks;
        if !matches!(action, Action::Uninstall | Action::UninstallFormer) {
            let message = format!(
                "Running '{}' action with timeout of {}",
                action.name(),
                action.timeout(&attempt.release)
            );
            attempt
                .conditions
                .reconciling(names::reason::PROGRESSING, &message);
            if action.kind() == ActionKind::Release {
                attempt
                    .conditions
                    .ready("Unknown", names::reason::PROGRESSING, &message);
            }
            attempt.conditions.write(&name, context);
        }
        if let Action::Make(action) = action {
            let line = format!("{} begins", action.verb());
            context.note(super::ACTOR, flux_api::helm_release_id(&name), line);
        }
        attempt.next_at = context.now;
        if let Some(delay) = action.delay() {
            attempt.next_at += context.delays.delay(delay, &name.to_string(), nth);
        }
        attempt.phase = Phase::Act(action);
        self.workers.attempts.insert(name, attempt);
    }

    /// Carries out the step of an attempt that is due.
    pub(super) fn step(&mut self, name: &TierName, context: &mut Context<'_>) {
        let Some(mut attempt) = self.workers.attempts.remove(name) else {
            return;
        };
        let phase = std::mem::replace(&mut attempt.phase, Phase::Over);
        if context.server.object(&flux_api::helm_release_id(name)).is_none() {
            // It went without its finalizer.
            self.workers.queue.done(name);
            return;
        }
        match phase {
            Phase::Over => self.workers.queue.done(name),
            Phase::Act(Action::Make(action)) => self.make(attempt, action, context),
            Phase::Act(Action::RollBack(version)) => self.roll_back(attempt, version, context),
            Phase::Act(Action::CorrectDrift(objects)) => self.correct_drift(attempt, &objects, context),
            Phase::Act(Action::Test) => self.test(attempt, context),
            Phase::Act(action) => self.take_away(attempt, action, context),
            Phase::Kinds {
                action,
                brought,
                kinds,
                deadline,
            } => self.poll_kinds(attempt, action, brought, kinds, deadline, context),
            Phase::Hooks(run) => self.poll_hook(attempt, run, context),
            Phase::Wait {
                action,
                objects,
                deadline,
            } => self.poll(attempt, action, objects, deadline, context),
            Phase::Gone {
                action,
                objects,
                deadline,
            } => self.poll_gone(attempt, action, objects, deadline, context),
        }
    }

    /// An action has ended; goes on with whatever is due then.
    pub(super) fn end_action(
        &mut self,
        mut attempt: Attempt,
        action: Action,
        result: Result<(), Trouble>,
        context: &mut Context<'_>,
    ) {
        match action {
            Action::Make(action) if result.is_ok() => {
                let hooks = std::mem::take(&mut attempt.hooks_after);
                self.run_hooks(attempt, HookRun::after(action, &hooks), context);
            }
            Action::Make(action) => self.end_make(attempt, action, result, context),
            Action::RollBack(version) => self.end_roll_back(attempt, version, result, context),
            action => self.end_take_away(attempt, &action, result, context),
        }
    }
}

/// Why an action failed.
#[derive(Clone, Debug)]
pub(super) struct Trouble {
    /// What Helm says.
    pub(super) message: String,
    pub(super) obstacles: Vec<Obstacle>,
}
