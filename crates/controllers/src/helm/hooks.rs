//! Hooks of a chart: objects with the annotation `helm.sh/hook`, which run one after the other before or after the rest.

use std::sync::Arc;

use firstpass_apiserver::{Apply, Duration, Time};
use firstpass_flux::HelmRelease;
use firstpass_flux::names::{self, condition, reason};
use firstpass_object::{ObjectExt, ObjectId};
use serde_json::Value;

use super::HelmController;
use super::attempt::{Action, Attempt, Phase, Trouble};
use super::bring::Brought;
use super::manifest::{refused, with_namespace};
use super::record::ReleaseActionKind;
use super::wait::{Look, look};
use crate::context::Context;
use crate::time::of_flux;

/// Annotation: the events at which a hook runs.
const HOOK: &str = "helm.sh/hook";
/// Annotation: its place among the hooks of an event.
const WEIGHT: &str = "helm.sh/hook-weight";
/// Annotation: when it is deleted.
const DELETE_POLICY: &str = "helm.sh/hook-delete-policy";

/// Hooks that run.
#[derive(Clone, Debug)]
pub(super) struct HookRun {
    event: Event,
    /// The one that runs, and until when it may.
    running: Option<(ObjectId, Time)>,
    /// Those that come after it, last first.
    rest: Vec<Value>,
    /// Those that are done.
    done: Vec<Value>,
}

/// What hooks run for.
#[derive(Clone, Debug)]
enum Event {
    /// An install or upgrade; what it brings comes after them.
    Before(ReleaseActionKind, Box<Brought>),
    /// An install or upgrade that is done but for them.
    After(ReleaseActionKind),
    /// The tests of a release.
    Test,
}

/// Whether an object of a chart is a hook.
pub(super) fn is_hook(object: &Value) -> bool {
    object.annotation(HOOK).is_some()
}

/// The hooks of an event, in order.
fn hooks_of(hooks: &[Value], event: &str) -> Vec<Value> {
    let is_of = |hook: &&Value| {
        let mut events = hook.annotation(HOOK).unwrap_or_default().split(',');
        events.any(|known| known.trim() == event)
    };
    let mut found: Vec<Value> = hooks.iter().filter(is_of).cloned().collect();
    let weight = |hook: &Value| -> i64 {
        hook.annotation(WEIGHT)
            .and_then(|text| text.parse().ok())
            .unwrap_or(0)
    };
    found.sort_by_key(|hook| (weight(hook), hook.name().to_owned()));
    found
}

fn has_policy(hook: &Value, policy: &str) -> bool {
    let given = hook.annotation(DELETE_POLICY);
    let mut policies = given.unwrap_or("before-hook-creation").split(',');
    policies.any(|known| known.trim() == policy)
}

impl HookRun {
    /// Those that run before the rest of a chart comes.
    pub(super) fn before(action: ReleaseActionKind, brought: Box<Brought>) -> HookRun {
        let rest = hooks_of(&brought.hooks, &format!("pre-{}", action.verb()));
        HookRun::new(Event::Before(action, brought), rest)
    }

    /// Those that run after it is there.
    pub(super) fn after(action: ReleaseActionKind, hooks: &[Value]) -> HookRun {
        let rest = hooks_of(hooks, &format!("post-{}", action.verb()));
        HookRun::new(Event::After(action), rest)
    }

    /// The tests.
    pub(super) fn test(hooks: &[Value]) -> HookRun {
        HookRun::new(Event::Test, hooks_of(hooks, "test"))
    }

    fn new(event: Event, mut rest: Vec<Value>) -> HookRun {
        rest.reverse();
        HookRun {
            event,
            running: None,
            rest,
            done: Vec::new(),
        }
    }

    /// How long one may run.
    fn timeout(&self, release: &HelmRelease) -> Duration {
        let action = match self.event {
            Event::Before(action, _) | Event::After(action) => Action::Make(action),
            Event::Test => Action::Test,
        };
        of_flux(action.timeout(release))
    }

    fn is_disabled(&self, release: &HelmRelease) -> bool {
        match self.event {
            Event::Before(action, _) | Event::After(action) => action.spec(release).disable_hooks,
            Event::Test => false,
        }
    }

    /// What Helm says of something that went wrong.
    fn message(&self, what: &str) -> String {
        let (moment, action) = match self.event {
            Event::Before(action, _) => ("pre", action),
            Event::After(action) => ("post", action),
            Event::Test => return what.to_owned(),
        };
        match action {
            ReleaseActionKind::Install => format!("failed {moment}-install: {what}"),
            ReleaseActionKind::Upgrade => format!("{moment}-upgrade hooks failed: {what}"),
        }
    }
}

impl HelmController {
    /// Runs the next hook, or goes on with what comes after them.
    pub(super) fn run_hooks(&mut self, mut attempt: Attempt, mut run: HookRun, context: &mut Context<'_>) {
        let is_disabled = run.is_disabled(&attempt.release);
        let next = if is_disabled { None } else { run.rest.pop() };
        let Some(hook) = next else {
            for hook in run.done.iter().filter(|hook| has_policy(hook, "hook-succeeded")) {
                super::undo::delete(&hook.id(), hook.api_version(), context);
            }
            let count = run.done.len();
            match run.event {
                Event::Before(action, brought) => self.apply_templates(attempt, action, &brought, context),
                Event::After(action) => self.end_make(attempt, action, Ok(()), context),
                Event::Test => self.end_test(attempt, Ok(count), context),
            }
            return;
        };
        let hook = with_namespace(&hook, attempt.release.release_namespace(), context);
        let id = hook.id();
        if has_policy(&hook, "before-hook-creation") && context.server.object(&id).is_some() {
            super::undo::delete(&id, hook.api_version(), context);
        }
        if let Err(error) = context.apply(Apply::forced(Arc::new(hook.clone()), names::HELM_MANAGER)) {
            let trouble = refused(&hook, &error, context);
            let message = format!("warning: Hook {} failed: {}", hook.name(), trouble.message);
            self.fail_hooks(attempt, &run, Trouble { message, ..trouble }, context);
            return;
        }
        let deadline = context.now + run.timeout(&attempt.release);
        run.running = Some((id, deadline));
        run.done.push(hook);
        attempt.next_at = context.now;
        let name = attempt.release.name.clone();
        attempt.phase = Phase::Hooks(Box::new(run));
        self.workers.attempts.insert(name, attempt);
    }

    /// Looks at the hook that runs. Jobs and pods are waited for, all else counts as done.
    pub(super) fn poll_hook(&mut self, mut attempt: Attempt, run: Box<HookRun>, context: &mut Context<'_>) {
        let Some((id, deadline)) = run.running.clone() else {
            self.run_hooks(attempt, *run, context);
            return;
        };
        let runs = id.is("batch", "Job") || id.is("", "Pod");
        let seen = if runs {
            look(&attempt.release, std::slice::from_ref(&id), deadline, context)
        } else {
            Look::Good
        };
        match seen {
            Look::Good => self.run_hooks(attempt, *run, context),
            Look::Pending(next_at) => {
                attempt.next_at = next_at;
                attempt.phase = Phase::Hooks(run);
                self.workers
                    .attempts
                    .insert(attempt.release.name.clone(), attempt);
            }
            Look::Bad(trouble) => {
                let failed = run.done.iter().filter(|hook| hook.id() == id);
                for hook in failed.filter(|hook| has_policy(hook, "hook-failed")) {
                    super::undo::delete(&id, hook.api_version(), context);
                }
                self.fail_hooks(attempt, &run, trouble, context);
            }
        }
    }

    fn fail_hooks(&mut self, attempt: Attempt, run: &HookRun, trouble: Trouble, context: &mut Context<'_>) {
        let message = run.message(&trouble.message);
        let trouble = Trouble { message, ..trouble };
        match run.event {
            Event::Before(action, _) | Event::After(action) => {
                self.end_make(attempt, action, Err(trouble), context);
            }
            Event::Test => self.end_test(attempt, Err(trouble), context),
        }
    }

    /// Runs the tests of the release that is in place.
    pub(super) fn test(&mut self, attempt: Attempt, context: &mut Context<'_>) {
        let hooks = self.storage.last(&attempt.key).map(|last| last.hooks.clone());
        self.run_hooks(attempt, HookRun::test(&hooks.unwrap_or_default()), context);
    }

    /// So many tests have succeeded, or one has failed, which counts unless it is ignored.
    fn end_test(&mut self, mut attempt: Attempt, result: Result<usize, Trouble>, context: &mut Context<'_>) {
        let release = Arc::clone(&attempt.release);
        let record = self.record(&release.name);
        let Some(latest) = record.latest_mut() else { return };
        latest.tested = Some(result.is_ok());
        let shown = format!("{} with chart {}", latest.release_text(), latest.chart.text());
        attempt.has_stored = true;
        attempt.conditions.at(context.now);
        match result {
            Ok(count) => {
                let what = match count {
                    0 => "no test hooks".to_owned(),
                    1 => "1 test hook completed successfully".to_owned(),
                    count => format!("{count} test hooks completed successfully"),
                };
                let message = format!("Helm test succeeded for release {shown}: {what}");
                let (kind, reason) = (condition::TEST_SUCCESS, reason::TEST_SUCCEEDED);
                attempt.conditions.set(kind, "True", reason, &message);
            }
            Err(trouble) => {
                let message = format!("Helm test failed for release {shown}: {}", trouble.message);
                let (kind, reason) = (condition::TEST_SUCCESS, reason::TEST_FAILED);
                attempt.conditions.set(kind, "False", reason, &message);
                record.obstacles = trouble.obstacles;
                let counted = record.last_action.filter(|last| !last.ignores_tests(&release));
                match counted {
                    Some(ReleaseActionKind::Install) => record.failures.install += 1,
                    Some(ReleaseActionKind::Upgrade) => record.failures.upgrade += 1,
                    None => {}
                }
            }
        }
        attempt.conditions.summarize();
        self.advance_after(attempt, &Action::Test, context);
    }
}
