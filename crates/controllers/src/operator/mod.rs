//! Operators: what they do when they start and after they have seen an object, as knowledge tells.
//!
//! An operator runs in a workload: one of the repository, recognised by its image, or one that a chart or another
//! operator brought. Effects follow one another, each after its delay. A status write waits for the effects that come
//! before it.

mod effects;
mod instance;
mod status;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use firstpass_apiserver::{Duration, Time};
use firstpass_knowledge::{OnObject, Operator, VersionPoint};
use firstpass_object::{GroupKind, ObjectExt, ObjectId};
use serde_json::Value;

use crate::context::{Context, Controller};
use crate::flux_api::generation;
use crate::marks::PODS_RUNNING;
use crate::timers::Timers;
use crate::trouble::Trouble;
use crate::workload::is_workload;
use instance::Instance;
use status::StatusAct;

pub(crate) use effects::ensure_namespace;
pub(crate) use instance::work_before_ready;
pub(crate) use status::lacks;

/// How long an object that was refused is left alone before an operator tries again.
const RETRY: Duration = Duration::from_secs(5);
/// How often an operator tries to bring an object before it gives up until something else happens.
const TRIES_MAX: u32 = 60;

/// The models of all operators.
#[derive(Clone, Debug, Default)]
pub struct OperatorController {
    /// Operators whose processes run, by name and workload.
    instances: BTreeMap<InstanceKey, Instance>,
    timers: Timers<Act>,
    /// Effects that are done, for an object in a generation.
    done: BTreeSet<EffectKey>,
    /// Status writes that wait for an effect.
    blocked: BTreeMap<ObjectId, Vec<StatusAct>>,
    /// Objects that others cannot do without and that are not there or not healthy, with those others.
    awaited: BTreeMap<ObjectId, BTreeSet<ObjectId>>,
    /// Objects whose status is being written, in which generation.
    reported: BTreeMap<ObjectId, i64>,
    /// What comes back when somebody deletes it, and who brings it.
    kept: BTreeMap<ObjectId, (InstanceKey, Value)>,
    /// Services that webhooks are served by; the name of the workload stands for that of the Service.
    webhook_servers: BTreeSet<(String, String)>,
    /// What operators have done, for explanations: kinds and the objects that triggered them.
    deeds: Vec<Deed>,
    /// What a fault that never heals keeps operators from.
    given_up: Vec<Act>,
}

/// An operator made a kind known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    /// The operator.
    pub operator: String,
    /// The kind.
    pub kind: GroupKind,
    /// The object that it had to see first, if any.
    pub trigger: Option<ObjectId>,
    /// When.
    pub at: Time,
}

type InstanceKey = (String, ObjectId);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct EffectKey {
    operator: String,
    object: ObjectId,
    generation: i64,
    rule: usize,
    effect: usize,
}

#[derive(Clone, Debug)]
enum Act {
    /// An effect of starting.
    Start { instance: InstanceKey, effect: usize },
    /// An effect of having seen an object.
    Object {
        instance: InstanceKey,
        rule: usize,
        effect: usize,
        object: ObjectId,
        generation: i64,
    },
    /// A write of an object's status.
    Status(StatusAct),
    /// An object to bring, again after it was refused or deleted.
    Bring {
        instance: InstanceKey,
        object: Value,
        tries: u32,
    },
}

impl OperatorController {
    /// What operators have done so far.
    pub fn deeds(&self) -> &[Deed] {
        &self.deeds
    }

    /// The operators that are ready.
    pub fn running(&self) -> impl Iterator<Item = (&str, &ObjectId)> {
        self.instances
            .iter()
            .filter(|(_, instance)| instance.ready)
            .map(|((name, workload), _)| (name.as_str(), workload))
    }

    /// A workload runs or is ready: so are the operators in it.
    fn observe_workload(
        &mut self,
        old: Option<&Arc<Value>>,
        new: Option<&Arc<Value>>,
        context: &mut Context<'_>,
    ) {
        let Some(workload) = new else {
            if let Some(old) = old {
                let id = old.id();
                self.instances.retain(|(_, workload), _| *workload != id);
            }
            return;
        };
        let was = |condition: fn(&Value) -> bool| old.is_some_and(|old| condition(old));
        if is_running(workload) && !was(is_running) {
            self.start(workload, context);
        }
        if is_ready(workload) && !was(is_ready) {
            self.make_ready(workload, context);
        }
        if was(is_ready) && !is_ready(workload) {
            self.lose(workload, context);
        }
    }

    /// A workload is ready no more: what it served is not served, and the operators in it do nothing.
    fn lose(&mut self, workload: &Arc<Value>, context: &mut Context<'_>) {
        let id = workload.id();
        let place = place_of(&id);
        if self.webhook_servers.contains(&place) || crate::made::is_made(workload) {
            context.server.set_service_serving(&place.0, &place.1, false);
        }
        for ((_, host), instance) in &mut self.instances {
            if *host == id {
                instance.ready = false;
            }
        }
    }

    fn start(&mut self, workload: &Arc<Value>, context: &mut Context<'_>) {
        for (operator, instance) in instance::of_workload(workload, context) {
            let key = (operator.name.clone(), workload.id());
            let is_new = !self.instances.contains_key(&key);
            self.instances.insert(key.clone(), instance);
            if is_new {
                context.note("operator", workload.id(), format!("{} runs", operator.name));
                self.plan_start(&key, None, true, context);
            }
        }
    }

    fn make_ready(&mut self, workload: &Arc<Value>, context: &mut Context<'_>) {
        let id = workload.id();
        let place = place_of(&id);
        if self.webhook_servers.contains(&place) || crate::made::is_made(workload) {
            // Being ready includes being reachable: a wait for the workload is a wait for its webhooks.
            context.server.set_service_serving(&place.0, &place.1, true);
        }
        self.unblock_all(context);
        let keys: Vec<InstanceKey> = self
            .instances
            .keys()
            .filter(|(_, workload)| *workload == id)
            .cloned()
            .collect();
        for key in keys {
            let Some(instance) = self.instances.get_mut(&key) else {
                continue;
            };
            if std::mem::replace(&mut instance.ready, true) {
                continue;
            }
            self.plan_start(&key, None, false, context);
            self.see_all_objects(&key, context);
        }
    }

    /// An operator that has become ready sees what is there.
    fn see_all_objects(&mut self, key: &InstanceKey, context: &mut Context<'_>) {
        let Some(operator) = context.knowledge.operator(&key.0) else {
            return;
        };
        let mut objects: Vec<Arc<Value>> = Vec::new();
        for rule in &operator.on_object {
            let of_rule = context
                .server
                .all_objects()
                .filter(|(id, _)| rule.kind.matches(&id.group, &id.kind));
            objects.extend(of_rule.map(|(_, object)| Arc::clone(object)));
        }
        let controlled = context
            .knowledge
            .all_kinds()
            .filter(|def| def.controller.as_deref() == Some(&operator.name));
        for def in controlled {
            let kind = GroupKind::new(&def.group, &def.kind);
            objects.extend(
                context
                    .server
                    .objects(&kind, None)
                    .map(|(_, object)| Arc::clone(object)),
            );
        }
        for object in objects {
            self.see(&object, context);
        }
    }

    /// Operators that are ready see a new object, or a new generation of one.
    fn see(&mut self, object: &Arc<Value>, context: &mut Context<'_>) {
        let ready: Vec<InstanceKey> = self
            .instances
            .iter()
            .filter(|(_, instance)| instance.ready)
            .map(|(key, _)| key.clone())
            .collect();
        for key in &ready {
            let Some(operator) = context.knowledge.operator(&key.0) else {
                continue;
            };
            for (rule, on_object) in operator.on_object.iter().enumerate() {
                if applies(on_object, object) {
                    self.plan_object(key, rule, None, object, context);
                }
            }
            self.make_each(key, object, context);
        }
        self.report(object, &ready, context);
    }

    /// Until when a fault keeps an operator from an act.
    fn trouble(&self, act: &Act, context: &Context<'_>) -> Option<Time> {
        match act {
            Act::Start { instance, .. } | Act::Object { instance, .. } | Act::Bring { instance, .. } => {
                context.trouble(Trouble::Operate(&instance.0))
            }
            Act::Status(StatusAct { object, .. }) => {
                let def = context.knowledge.custom_kind(&object.group, &object.kind);
                let controller = def.and_then(|def| def.controller.as_deref());
                let slow = controller.and_then(|controller| context.trouble(Trouble::Operate(controller)));
                slow.max(context.trouble(Trouble::Report(object)))
            }
        }
    }

    fn act(&mut self, act: Act, context: &mut Context<'_>) {
        match act {
            Act::Start { instance, effect } => self.act_at_start(&instance, effect, context),
            Act::Object {
                instance,
                rule,
                effect,
                object,
                generation,
            } => {
                self.act_on_object(&instance, rule, effect, &object, generation, context);
            }
            Act::Status(act) => self.write_status(act, context),
            Act::Bring {
                instance,
                object,
                tries,
            } => self.bring(&instance, object, tries, context),
        }
    }

    /// Brings an object, and tries again where it is refused for now.
    fn bring(&mut self, instance: &InstanceKey, object: Value, tries: u32, context: &mut Context<'_>) {
        if !self.instances.contains_key(instance) {
            return;
        }
        if !crate::made::bring(object.clone(), &instance.0, context) && tries < TRIES_MAX {
            let act = Act::Bring {
                instance: instance.clone(),
                object,
                tries: tries + 1,
            };
            self.timers.set(context.now + RETRY, act);
        }
    }

    /// Something that an operator keeps was deleted: it comes back.
    fn observe_deletion(&mut self, id: &ObjectId, context: &mut Context<'_>) {
        self.reported.remove(id);
        self.blocked.remove(id);
        self.stop_waiting(id);
        let Some((instance, object)) = self.kept.get(id).cloned() else {
            return;
        };
        if self.instances.contains_key(&instance) {
            let delay = context
                .delays
                .delay("reconcile", &id.to_string(), context.now.as_micros());
            self.timers.set(
                context.now + delay,
                Act::Bring {
                    instance,
                    object,
                    tries: 0,
                },
            );
        }
    }
}

/// Namespace and name.
fn place_of(id: &ObjectId) -> (String, String) {
    (
        id.namespace.as_deref().unwrap_or_default().to_owned(),
        id.name.to_string(),
    )
}

impl Controller for OperatorController {
    fn observe(&mut self, old: Option<&Arc<Value>>, new: Option<&Arc<Value>>, context: &mut Context<'_>) {
        let Some(object) = new.or(old) else { return };
        let id = object.id();
        if is_workload(&id.group_kind()) {
            self.observe_workload(old, new, context);
        }
        if id.is("", "PersistentVolumeClaim") && old.is_none() {
            self.unblock_disk(&id, context);
        }
        if new.is_some() {
            self.unblock_those_who_need(&id, context);
        }
        match new {
            None => self.observe_deletion(&id, context),
            Some(new) if old.is_none_or(|old| generation(old) != generation(new)) => self.see(new, context),
            Some(_) => {}
        }
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        while let Some(act) = self.timers.pop_due(context.now, context.delays) {
            match self.trouble(&act, context) {
                Some(Time::NEVER) => self.given_up.push(act),
                Some(until) => self.timers.set(until, act),
                None => self.act(act, context),
            }
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.timers.next()
    }

    fn is_working(&self) -> bool {
        self.timers
            .iter()
            .any(|act| !matches!(act, Act::Bring { tries, .. } if *tries > 0))
    }
}

fn applies(on_object: &OnObject, object: &Value) -> bool {
    let id = object.id();
    on_object.kind.matches(&id.group, &id.kind)
        && on_object.when.as_ref().is_none_or(|when| when.holds(object))
}

fn effect_key(operator: &str, object: &Value, rule: usize, effect: usize) -> EffectKey {
    EffectKey {
        operator: operator.to_owned(),
        object: object.id(),
        generation: generation(object),
        rule,
        effect,
    }
}

fn is_running(workload: &Value) -> bool {
    workload.condition_is_true(PODS_RUNNING)
}

fn is_ready(workload: &Value) -> bool {
    is_running(workload) && crate::workload::is_ready(workload)
}

/// Whether an operator works: it runs in a workload that is ready, or something unseen runs it.
pub(crate) fn runs(name: &str, context: &Context<'_>) -> bool {
    if context.contents.runs_unseen(name) {
        return true;
    }
    let deployments = GroupKind::new("apps", "Deployment");
    let mut workloads = context.server.objects(&deployments, None);
    workloads.any(|(_, workload)| is_of(name, workload) && crate::workload::is_ready(workload))
}

/// Whether an operator runs in a workload: one that a model made, or one with its image.
pub(crate) fn is_of(name: &str, workload: &Value) -> bool {
    match workload.annotation(crate::marks::OPERATOR) {
        Some(operator) => operator == name,
        None => {
            let images = crate::workload::needs::images(workload);
            images.iter().any(|image| {
                image
                    .rsplit('/')
                    .next()
                    .is_some_and(|last| last.split([':', '@']).next() == Some(name))
            })
        }
    }
}

/// The release of an operator that runs; `None` if none does.
pub(crate) fn running_version(name: &str, context: &Context<'_>) -> Option<VersionPoint> {
    let deployments = GroupKind::new("apps", "Deployment");
    let mut workloads = context.server.objects(&deployments, None);
    workloads.find_map(|(_, workload)| {
        let instances = is_of(name, workload).then(|| instance::of_workload(workload, context))?;
        let own = instances
            .into_iter()
            .find(|(operator, _)| operator.name == name)?;
        Some(own.1.version)
    })
}

/// The operators that a workload runs.
fn operators<'k>(workload: &Value, context: &Context<'k>) -> Vec<&'k Operator> {
    let knowledge = context.knowledge;
    match workload.annotation(crate::marks::OPERATOR) {
        Some(name) => knowledge.operator(name).into_iter().collect(),
        None if crate::made::is_made(workload) => Vec::new(),
        None => knowledge.operators_of_workload(workload.name(), crate::workload::needs::images(workload)),
    }
}
