//! What operators write to the status of the objects that they control: one write after the other, each after its delay
//! and after the effects that come before it.

use std::sync::Arc;

use firstpass_apiserver::{Request, Target};
use firstpass_knowledge::{KindDef, StatusWrite, TemplateScope};
use firstpass_object::{ObjectExt, ObjectId};
use serde_json::Value;

use super::{Act, InstanceKey, OperatorController, applies, effect_key, effects};
use crate::context::Context;
use crate::flux_api::generation;

const CDI: &str = "cdi.kubevirt.io";
const DATA_VOLUME: &str = "DataVolume";

/// A write of an object's status that is due.
#[derive(Clone, Debug)]
pub(super) struct StatusAct {
    pub(super) object: ObjectId,
    generation: i64,
    write: usize,
}

impl OperatorController {
    /// Begins to write the status of an object in a generation that was not seen before, if its controller works.
    pub(super) fn report(&mut self, object: &Arc<Value>, ready: &[InstanceKey], context: &Context<'_>) {
        let id = object.id();
        let def = context.knowledge.custom_kind(&id.group, &id.kind);
        let Some(def) = def.filter(|def| !def.status.is_empty()) else {
            return;
        };
        let runs = |operator: &String| {
            ready.iter().any(|(name, _)| name == operator) || context.contents.runs_unseen(operator)
        };
        let is_controlled = def.controller.as_ref().is_some_and(runs);
        let is_new = self.reported.get(&id) != Some(&generation(object));
        if is_controlled && is_new {
            self.reported.insert(id.clone(), generation(object));
            self.plan_status(&id, generation(object), 0, def, context);
        }
    }

    fn plan_status(
        &mut self,
        id: &ObjectId,
        generation: i64,
        write: usize,
        def: &KindDef,
        context: &Context<'_>,
    ) {
        if let Some(step) = def.status.get(write) {
            let delay = context.delays.delay(&step.after, &id.to_string(), write as u64);
            let act = StatusAct {
                object: id.clone(),
                generation,
                write,
            };
            self.timers.set(context.now + delay, Act::Status(act));
        }
    }

    pub(super) fn write_status(&mut self, act: StatusAct, context: &mut Context<'_>) {
        let id = act.object.clone();
        let Some(object) = context.server.object(&id).cloned() else {
            return;
        };
        let Some(def) = context.knowledge.custom_kind(&id.group, &id.kind) else {
            return;
        };
        let Some(step) = def.status.get(act.write) else {
            return;
        };
        if generation(&object) != act.generation {
            return;
        }
        let waits = |name: &String| {
            self.waits_for_effect(name, &object, context) || waits_for_its_claim(name, &object, context)
        };
        if step.name.as_ref().is_some_and(waits) {
            self.blocked.entry(id).or_default().push(act);
            return;
        }
        if step.when.as_ref().is_none_or(|when| when.holds(&object)) {
            patch_status(step, &object, context);
        }
        self.plan_status(&id, act.generation, act.write + 1, def, context);
    }

    /// Whether an effect that comes before a status write is still to be done.
    fn waits_for_effect(&self, status: &str, object: &Value, context: &Context<'_>) -> bool {
        let ready = self.instances.iter().filter(|(_, instance)| instance.ready);
        ready.into_iter().any(|((name, _), instance)| {
            let Some(operator) = context.knowledge.operator(name) else {
                return false;
            };
            operator.on_object.iter().enumerate().any(|(rule, on_object)| {
                applies(on_object, object)
                    && on_object.effects.iter().enumerate().any(|(index, effect)| {
                        effect.before_status.as_deref() == Some(status)
                            && instance.does(effect, Some(object))
                            && !(self.done.contains(&effect_key(name, object, rule, index))
                                && effects::is_complete(effect, instance, object, context))
                    })
            })
        })
    }

    /// Status writes that waited are tried again.
    pub(super) fn unblock_all(&mut self, context: &Context<'_>) {
        for act in std::mem::take(&mut self.blocked).into_values().flatten() {
            self.timers.set(context.now, Act::Status(act));
        }
    }

    /// A claim is there: the status of the DataVolume that it belongs to may wait for it.
    pub(super) fn unblock_disk(&mut self, claim: &ObjectId, context: &Context<'_>) {
        let volume = ObjectId {
            group: CDI.to_owned(),
            kind: DATA_VOLUME.to_owned(),
            ..claim.clone()
        };
        for act in self.blocked.remove(&volume).unwrap_or_default() {
            self.timers.set(context.now, Act::Status(act));
        }
    }
}

/// A DataVolume has succeeded only once its claim is made ([`crate::disks`]).
fn waits_for_its_claim(status: &str, object: &Value, context: &Context<'_>) -> bool {
    let is_disk = object.kind() == DATA_VOLUME && firstpass_object::group_of(object.api_version()) == CDI;
    let claim = ObjectId::new("", "PersistentVolumeClaim", object.namespace(), object.name());
    is_disk && status == "succeeded" && context.server.object(&claim).is_none()
}

fn patch_status(step: &StatusWrite, object: &Value, context: &mut Context<'_>) {
    let now = context.now.timestamp();
    let scope = TemplateScope {
        object: Some(object),
        now: &now,
        ..TemplateScope::default()
    };
    let Some(patch) = scope.value(&step.set) else {
        return;
    };
    let request = Request::PatchStatus {
        target: Target::of(object),
        patch,
        manager: "operator".into(),
    };
    if context.server.call(&request).is_ok()
        && let Some(name) = &step.name
    {
        context.note("operator", object.id(), format!("status: {name}"));
    }
}
