//! What operators write to the status of the objects that they control: one write after the other, each after its delay
//! and after the effects that come before it.

use std::sync::Arc;

use firstpass_apiserver::{Request, Target};
use firstpass_knowledge::{KindDef, StatusWrite, TemplateScope, WaitProof};
use firstpass_object::kstatus::StatusKind;
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
    pub(super) fn report(&mut self, object: &Arc<Value>, ready: &[InstanceKey], context: &mut Context<'_>) {
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
            // A controller sees at once what it lacks, and says so before anybody looks.
            let missing = lacks(object, context);
            let last = def.status.iter().rfind(|step| step.name.is_some());
            if let Some(step) = last.filter(|_| !missing.is_empty()) {
                patch_waiting(step, object, &missing, context);
            }
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
        self.stop_waiting(&id);
        let missing = match &step.name {
            Some(_) => lacks(&object, context),
            None => Vec::new(),
        };
        if !missing.is_empty() {
            patch_waiting(step, &object, &missing, context);
            for other in missing {
                self.awaited.entry(other).or_default().insert(id.clone());
            }
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

    /// What an object cannot do without and still waits for.
    pub fn waits_of(&self, id: &ObjectId) -> Vec<ObjectId> {
        let awaited = self.awaited.iter().filter(|(_, others)| others.contains(id));
        awaited.map(|(other, _)| other.clone()).collect()
    }

    pub(super) fn stop_waiting(&mut self, id: &ObjectId) {
        self.awaited.retain(|_, others| {
            others.remove(id);
            !others.is_empty()
        });
    }

    /// Something that others cannot do without is there, or has changed.
    pub(super) fn unblock_those_who_need(&mut self, id: &ObjectId, context: &Context<'_>) {
        let waiting: Vec<ObjectId> = self.awaited.get(id).into_iter().flatten().cloned().collect();
        for act in waiting
            .iter()
            .filter_map(|object| self.blocked.remove(object))
            .flatten()
        {
            self.timers.set(context.now, Act::Status(act));
        }
    }

    /// A claim is there: the status of the DataVolume that it belongs to may wait for it.
    pub(super) fn unblock_disk(&mut self, claim: &ObjectId, context: &Context<'_>) {
        let volume = ObjectId {
            group: CDI.into(),
            kind: DATA_VOLUME.into(),
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

/// What an object's controller cannot do without and does not have: another object that is to come, or is not healthy yet.
/// What nothing brings is taken to be there.
pub(crate) fn lacks(object: &Value, context: &Context<'_>) -> Vec<ObjectId> {
    let reports_ready = |def: &&KindDef| def.wait_proof() == WaitProof::ReadyCondition;
    let id = object.id();
    if context
        .knowledge
        .custom_kind(&id.group, &id.kind)
        .filter(reports_ready)
        .is_none()
    {
        return Vec::new();
    }
    let needs = context.knowledge.needs_of(object).into_iter();
    needs
        .filter(|need| match context.server.object(need) {
            Some(_) => {
                let health = crate::readiness::health(need, context.server, context.settings.flux);
                health.status != StatusKind::Current
            }
            None => context.contents.brings(need),
        })
        .collect()
}

/// A controller that reports Ready says that it is not, and for what it waits.
fn patch_waiting(step: &StatusWrite, object: &Value, missing: &[ObjectId], context: &mut Context<'_>) {
    let names: Vec<String> = missing.iter().map(ToString::to_string).collect();
    let message = format!("waiting for {}", names.join(", "));
    let known = object
        .condition("Ready")
        .and_then(|ready| ready.text_at(&["message"]));
    let reports_ready = step.set["conditions"]
        .as_array()
        .is_some_and(|list| list.iter().any(|condition| condition["type"] == "Ready"));
    if !reports_ready || known == Some(&message) {
        return;
    }
    let ready = serde_json::json!({
        "type": "Ready", "status": "False", "reason": "Waiting", "message": message,
        "lastTransitionTime": context.now.timestamp(),
    });
    let request = Request::PatchStatus {
        target: Target::of(object),
        patch: serde_json::json!({ "conditions": [ready] }),
        manager: "operator".into(),
    };
    let _gone_meanwhile = context.server.call(&request);
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
