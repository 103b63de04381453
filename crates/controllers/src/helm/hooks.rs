//! Hooks of a chart: objects with the annotation `helm.sh/hook`, which run one after the other before or after the rest.

use std::sync::Arc;

use firstpass_apiserver::{Apply, Time};
use firstpass_flux::names;
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
    pub(super) action: ReleaseActionKind,
    /// What comes after those that run before; absent for those that run after.
    before: Option<Box<Brought>>,
    /// The one that runs, and until when it may.
    running: Option<(ObjectId, Time)>,
    /// Those that come after it, last first.
    rest: Vec<Value>,
    /// Those that are done.
    done: Vec<Value>,
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
        HookRun::new(action, rest, Some(brought))
    }

    /// Those that run after it is there.
    pub(super) fn after(action: ReleaseActionKind, hooks: &[Value]) -> HookRun {
        let rest = hooks_of(hooks, &format!("post-{}", action.verb()));
        HookRun::new(action, rest, None)
    }

    fn new(action: ReleaseActionKind, mut rest: Vec<Value>, before: Option<Box<Brought>>) -> HookRun {
        rest.reverse();
        HookRun {
            action,
            before,
            running: None,
            rest,
            done: Vec::new(),
        }
    }

    /// What Helm says before what went wrong.
    fn prefix(&self) -> String {
        let moment = if self.before.is_some() { "pre" } else { "post" };
        match self.action {
            ReleaseActionKind::Install => format!("failed {moment}-install"),
            ReleaseActionKind::Upgrade => format!("{moment}-upgrade hooks failed"),
        }
    }
}

impl HelmController {
    /// Runs the next hook, or goes on with what comes after them.
    pub(super) fn run_hooks(&mut self, mut attempt: Attempt, mut run: HookRun, context: &mut Context<'_>) {
        let action = run.action;
        let next = if action.spec(&attempt.release).disable_hooks {
            None
        } else {
            run.rest.pop()
        };
        let Some(hook) = next else {
            for hook in run.done.iter().filter(|hook| has_policy(hook, "hook-succeeded")) {
                super::undo::delete(&hook.id(), hook.api_version(), context);
            }
            match run.before {
                Some(brought) => self.apply_templates(attempt, action, &brought, context),
                None => self.end_make(attempt, action, Ok(()), context),
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
            let message = format!(
                "{}: warning: Hook {} failed: {}",
                run.prefix(),
                hook.name(),
                trouble.message
            );
            self.end_make(attempt, action, Err(Trouble { message, ..trouble }), context);
            return;
        }
        let deadline = context.now + of_flux(Action::Make(action).timeout(&attempt.release));
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
                let message = format!("{}: {}", run.prefix(), trouble.message);
                self.end_make(attempt, run.action, Err(Trouble { message, ..trouble }), context);
            }
        }
    }
}
