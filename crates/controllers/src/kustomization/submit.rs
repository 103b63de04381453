//! Sending one stage to the API server: everything as a dry-run, and only then for real (F-211 to F-219, F-240 to F-245).

use std::fmt;
use std::sync::Arc;

use firstpass_apiserver::{ApiError, Apply, Cause, Outcome, Reason, Request, Target};
use firstpass_flux::{Ignore, Kustomization, names};
use firstpass_object::{GroupKind, ObjectExt, ObjectId, TierName, label_or_annotation};
use serde_json::Value;

use super::inventory::Entry;
use super::{KustomizationController, Obstacle, clean, ignore, impersonate};
use crate::context::Context;

/// What an apply did to one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) entry: Entry,
    pub(super) action: Action,
}

/// What an apply did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Created,
    Configured,
    Unchanged,
    Skipped,
}

/// What sending a stage came to.
pub(super) enum Submission {
    /// Everything is stored.
    Applied(Vec<Change>),
    /// A live object has to go before its successor can be applied, and it is not gone yet (F-242).
    Deleting,
    /// At least one object was refused.
    Failed {
        message: String,
        obstacles: Vec<Obstacle>,
    },
}

/// An object that passed its dry-run.
struct Checked {
    /// What is applied.
    object: Arc<Value>,
    change: Change,
}

impl Action {
    pub(super) fn is_change(self) -> bool {
        matches!(self, Action::Created | Action::Configured)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Action::Created => "created",
            Action::Configured => "configured",
            Action::Unchanged => "unchanged",
            Action::Skipped => "skipped",
        })
    }
}

impl KustomizationController {
    /// The client keeps where it found a kind (F-226).
    fn remember_kind(&mut self, object: &Value, context: &Context<'_>) {
        let gvk = object.gvk();
        if self.known_kinds.contains_key(&gvk) {
            return;
        }
        let kind = GroupKind::new(&gvk.group, &gvk.kind);
        if let Some(resource) = context.server.resource(&kind) {
            let name = if gvk.group.is_empty() {
                resource.plural.clone()
            } else {
                format!("{}.{}", resource.plural, gvk.group)
            };
            self.known_kinds.insert(gvk, name);
        }
    }

    /// Sends the objects of a stage, which are sorted.
    pub(super) fn submit(
        &mut self,
        kustomization: &Kustomization,
        objects: &[Arc<Value>],
        unknown_tokens: &Arc<[String]>,
        context: &mut Context<'_>,
    ) -> Submission {
        let account = impersonate::restricted_account(kustomization, context);
        let mut checked = Vec::with_capacity(objects.len());
        let mut refusals = Vec::new();
        for object in objects {
            match check(kustomization, account.as_ref(), object, unknown_tokens, context) {
                Ok(Some(found)) => checked.push(found),
                Ok(None) => return Submission::Deleting,
                Err(error) => refusals.push((object, error)),
            }
        }
        if let Some((first, error)) = refusals.first() {
            // F-212, F-214: one refusal and nothing of the stage is applied; Flux reports one, we know all.
            let message = self.dry_run_error(kustomization, first, error, context);
            let obstacles = refusals
                .iter()
                .map(|(object, error)| obstacle_of(object, error))
                .collect();
            return Submission::Failed { message, obstacles };
        }
        for Checked { object, change } in &checked {
            self.remember_kind(object, context);
            if !change.action.is_change() {
                continue;
            }
            let apply = Apply::forced(Arc::clone(object), names::KUSTOMIZE_MANAGER)
                .with_unknown(Arc::clone(unknown_tokens));
            if let Err(error) = context.apply(apply) {
                // F-215: what comes before in the stage is stored.
                let message = format!("{} apply failed{}: {error}", object.id(), bracket(&error));
                return Submission::Failed {
                    message,
                    obstacles: vec![obstacle_of(object, &error)],
                };
            }
        }
        Submission::Applied(checked.into_iter().map(|found| found.change).collect())
    }

    /// F-222, F-226.
    fn dry_run_error(
        &self,
        kustomization: &Kustomization,
        object: &Value,
        error: &ApiError,
        context: &Context<'_>,
    ) -> String {
        let id = object.id();
        // On the default client a kind that was known once is asked for at its old URL for good. 2.5 makes a client per
        // attempt, and so does every Kustomization that impersonates (F-227, F-1720).
        let known = self
            .known_kinds
            .get(&object.gvk())
            .filter(|_| error.is_no_kind_match() && impersonate::keeps_client(kustomization, context));
        let (not_found, text) = match known {
            Some(resource) => (
                true,
                format!(
                    "the server could not find the requested resource (patch {resource} {})",
                    object.name()
                ),
            ),
            None => (error.is_not_found(), error.to_string()),
        };
        match (not_found, &id.namespace) {
            (true, None) => format!("{id} namespace not specified: {text}"),
            (true, Some(_)) => format!("{id} not found: {text}"),
            (false, _) => format!("{id} dry-run failed{}: {text}", bracket(error)),
        }
    }
}

/// The dry-run of one object; `None` if its predecessor is still being deleted.
fn check(
    kustomization: &Kustomization,
    account: Option<&TierName>,
    object: &Arc<Value>,
    unknown_tokens: &Arc<[String]>,
    context: &mut Context<'_>,
) -> Result<Option<Checked>, ApiError> {
    // F-216: errors of the first read do not matter.
    let live = context.get(Target::of(object)).ok().flatten();
    let gvk = object.gvk();
    if is_skipped(object, live.as_deref()) {
        let id = live.as_deref().map_or_else(|| object.id(), ObjectExt::id);
        let change = Change {
            entry: Entry::new(id, &gvk.version),
            action: Action::Skipped,
        };
        return Ok(Some(Checked {
            object: Arc::clone(object),
            change,
        }));
    }
    if live.is_none() {
        crate::workload::admit_pod(object, context)?;
    }
    // Nobody but the administrator sees what is wrong with an object that they may not touch.
    impersonate::authorize_apply(account, object, live.is_none(), context)?;
    let dry_run = || {
        Apply::forced(Arc::clone(object), names::KUSTOMIZE_MANAGER)
            .as_dry_run()
            .with_unknown(Arc::clone(unknown_tokens))
    };
    let answer = match context.apply(dry_run()) {
        Ok(answer) => answer,
        Err(error) => {
            let Some(live) = live
                .as_ref()
                .filter(|live| is_forced(kustomization, object, live) && is_immutable(&error))
            else {
                return Err(error);
            };
            // F-242: delete, wait until it is gone, try again.
            let request = Request::delete_by(Target::of(live), names::KUSTOMIZE_MANAGER);
            let deleted = context.server.call(&request)?;
            context.note(super::ACTOR, live.id(), "deleted, to be created again (force)");
            if context.get(Target::of(object))?.is_some() {
                drop(deleted);
                return Ok(None);
            }
            context.apply(dry_run())?
        }
    };
    let Some(applied) = answer.object() else {
        return Ok(None);
    };
    let cleaned = live
        .as_deref()
        .is_some_and(|live| clean::clean(object, live, context));
    let ignored = ignore::pointers(ignore_rules(kustomization, context), applied);
    let action = match (answer.outcome(), live.as_deref()) {
        (Some(Outcome::Created), _) => Action::Created,
        // F-247: whatever was cleaned is applied.
        (_, Some(_)) if cleaned => Action::Configured,
        (Some(Outcome::Configured), Some(live)) if has_drifted(live, applied, &ignored) => Action::Configured,
        (Some(Outcome::Configured), None) => Action::Configured,
        _ => Action::Unchanged,
    };
    let sent = match (live.as_deref(), action) {
        (Some(live), Action::Configured) if !ignored.is_empty() => {
            let managers = context.server.managers(&live.id());
            ignore::adopt(object, live, applied, managers, &ignored)
        }
        _ => Arc::clone(object),
    };
    // F-217: the identity is the one in the server's answer.
    let change = Change {
        entry: Entry::new(applied.id(), &gvk.version),
        action,
    };
    Ok(Some(Checked { object: sent, change }))
}

/// The reason in brackets; nothing where the API gives none (F-222).
fn bracket(error: &ApiError) -> String {
    let reason = match error.cause {
        Some(Cause::FieldManagerConflict) => Some("FieldManagerConflict"),
        _ => error.reason.text(),
    };
    reason.map_or_else(String::new, |reason| format!(" ({reason})"))
}

/// F-260 to F-262.
fn is_skipped(desired: &Value, live: Option<&Value>) -> bool {
    let either = |key: &str, value: &str| {
        label_or_annotation(desired, key, value)
            || live.is_some_and(|live| label_or_annotation(live, key, value))
    };
    either(names::RECONCILE, names::DISABLED)
        || either(names::SSA, "Ignore")
        || (live.is_some() && label_or_annotation(desired, names::SSA, "IfNotPresent"))
}

/// F-240
fn is_forced(kustomization: &Kustomization, desired: &Value, live: &Value) -> bool {
    let switch = |object: &Value| label_or_annotation(object, names::FORCE, "enabled");
    kustomization.spec.force || switch(desired) || switch(live)
}

/// F-241: any conflict, any invalid object, and a few texts.
fn is_immutable(error: &ApiError) -> bool {
    error.code == 409
        || error.code == 422
        || error.message.contains("is immutable")
        || error.message.contains("immutable field")
}

/// F-218: labels, annotations, and whatever is neither metadata nor status.
fn has_drifted(live: &Value, applied: &Value, ignored: &[&str]) -> bool {
    if !ignored.is_empty() {
        return has_drifted(
            &ignore::without(live, ignored),
            &ignore::without(applied, ignored),
            &[],
        );
    }
    let metadata = |object: &Value, field: &str| object.at(&["metadata", field]).cloned().unwrap_or_default();
    let differs = |field: &str| metadata(live, field) != metadata(applied, field);
    let rest = |object: &Value| {
        let mut fields = object.as_object().cloned().unwrap_or_default();
        fields.remove("metadata");
        fields.remove("status");
        fields
    };
    differs("labels") || differs("annotations") || rest(live) != rest(applied)
}

/// `spec.ignore`, which there is since Flux 2.9 (F-1702).
fn ignore_rules<'a>(kustomization: &'a Kustomization, context: &Context<'_>) -> &'a [Ignore] {
    if context.settings.flux.at_least(9) {
        &kustomization.spec.ignore
    } else {
        &[]
    }
}

/// What stands in the way of an object that the server refuses.
pub(crate) fn obstacle_of(object: &Value, error: &ApiError) -> Obstacle {
    let id = object.id();
    let namespace = id.namespace.as_ref().map(ToString::to_string);
    match (error.cause, error.reason, namespace) {
        (Some(Cause::NamespaceTerminating), _, Some(namespace)) => Obstacle::NamespaceTerminating {
            object: id,
            namespace,
        },
        (Some(Cause::WebhookUnreachable), _, _) => Obstacle::Webhook {
            object: id,
            message: error.to_string(),
        },
        (_, Reason::NoKindMatch, _) => Obstacle::UnknownKind {
            object: id,
            gvk: object.gvk(),
        },
        (_, Reason::NotFound, None) => Obstacle::NamespaceUnset { object: id },
        (_, Reason::NotFound, Some(namespace)) => Obstacle::NamespaceMissing {
            object: id,
            namespace,
        },
        _ => Obstacle::Refused {
            object: id,
            message: error.to_string(),
        },
    }
}

/// The objects of a change set that a health wait covers: all but the skipped ones (F-271). Up to 2.6 those too (F-1740).
pub(super) fn waited_for(changes: &[Change], skipped_too: bool) -> Vec<ObjectId> {
    let covered = changes
        .iter()
        .filter(|change| skipped_too || change.action != Action::Skipped);
    covered.map(|change| change.entry.id.clone()).collect()
}
