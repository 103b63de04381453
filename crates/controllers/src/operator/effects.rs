//! Carrying out effects: kinds, objects, workloads, webhooks.

use std::sync::Arc;

use firstpass_knowledge::{Effect, PlacedWorkload, TemplateScope, VersionPoint, Webhook, place};
use firstpass_object::{GroupKind, ObjectExt, ObjectId};
use serde_json::Value;

use super::instance::{Instance, effect_delay};
use super::{Act, Deed, EffectKey, InstanceKey, OperatorController};
use crate::context::Context;
use crate::flux_api::generation;
use crate::made;

impl OperatorController {
    /// Plans the next effect of starting after `previous`, among those before (or after) being ready.
    pub(super) fn plan_start(
        &mut self,
        key: &InstanceKey,
        previous: Option<usize>,
        before_ready: bool,
        context: &mut Context<'_>,
    ) {
        let (Some(operator), Some(instance)) = (context.knowledge.operator(&key.0), self.instances.get(key))
        else {
            return;
        };
        let Some(workload) = context.server.object(&key.1) else {
            return;
        };
        let from = previous.map_or(0, |previous| previous + 1);
        let mut rest = operator.at_start.iter().enumerate().skip(from);
        let next =
            rest.find(|(_, effect)| effect.before_ready == before_ready && instance.does(effect, None));
        if let Some((index, effect)) = next {
            let at = context.now + effect_delay(effect, workload, 0, context);
            self.timers.set(
                at,
                Act::Start {
                    instance: key.clone(),
                    effect: index,
                },
            );
        }
    }

    pub(super) fn act_at_start(&mut self, key: &InstanceKey, index: usize, context: &mut Context<'_>) {
        let Some(operator) = context.knowledge.operator(&key.0) else {
            return;
        };
        let Some(effect) = operator.at_start.get(index) else {
            return;
        };
        if !self.instances.contains_key(key) {
            return;
        }
        self.carry_out(key, effect, None, context);
        self.plan_start(key, Some(index), effect.before_ready, context);
    }

    /// Plans the next effect of having seen an object, after `previous`.
    pub(super) fn plan_object(
        &mut self,
        key: &InstanceKey,
        rule: usize,
        previous: Option<usize>,
        object: &Value,
        context: &mut Context<'_>,
    ) {
        let (Some(operator), Some(instance)) = (context.knowledge.operator(&key.0), self.instances.get(key))
        else {
            return;
        };
        let Some(on_object) = operator.on_object.get(rule) else {
            return;
        };
        let from = previous.map_or(0, |previous| previous + 1);
        let mut rest = on_object.effects.iter().enumerate().skip(from);
        let Some((index, effect)) = rest.find(|(_, effect)| instance.does(effect, Some(object))) else {
            return;
        };
        let id = object.id();
        let generation = generation(object);
        if self
            .done
            .contains(&effect_key(&key.0, &id, generation, rule, index))
        {
            return;
        }
        let delay = context.delays.delay(&effect.after, &id.to_string(), index as u64);
        let act = Act::Object {
            instance: key.clone(),
            rule,
            effect: index,
            object: id,
            generation,
        };
        self.timers.set(context.now + delay, act);
    }

    pub(super) fn act_on_object(
        &mut self,
        key: &InstanceKey,
        rule: usize,
        index: usize,
        id: &ObjectId,
        generation_seen: i64,
        context: &mut Context<'_>,
    ) {
        let Some(operator) = context.knowledge.operator(&key.0) else {
            return;
        };
        let Some(effect) = operator
            .on_object
            .get(rule)
            .and_then(|rule| rule.effects.get(index))
        else {
            return;
        };
        let Some(object) = context.server.object(id).cloned() else {
            return;
        };
        if !self.instances.contains_key(key) || generation(&object) != generation_seen {
            return;
        }
        let done = effect_key(&key.0, id, generation_seen, rule, index);
        if !self.done.insert(done) {
            return;
        }
        self.carry_out(key, effect, Some(&object), context);
        self.plan_object(key, rule, Some(index), &object, context);
        for act in self.blocked.remove(id).unwrap_or_default() {
            self.timers.set(context.now, Act::Status(act));
        }
    }

    /// Does what an effect says.
    fn carry_out(
        &mut self,
        key: &InstanceKey,
        effect: &Effect,
        object: Option<&Arc<Value>>,
        context: &mut Context<'_>,
    ) {
        let Some(instance) = self.instances.get(key).cloned() else {
            return;
        };
        let seen = object.map(|object| &**object);
        let version_text = context
            .server
            .object(&key.1)
            .and_then(|workload| workload.annotation(crate::marks::VERSION).map(str::to_owned));
        let knowledge = context.knowledge;
        for def in knowledge.effect_kinds(effect, seen) {
            let point = if def.source.is_empty() {
                VersionPoint::Newest
            } else {
                instance.version
            };
            let written = context.contents.written_versions(&def.group, &def.kind);
            let Some(crd) = made::crd_at(&def, point, &written) else {
                continue;
            };
            self.deeds.push(Deed {
                operator: key.0.clone(),
                kind: GroupKind::new(&def.group, &def.kind),
                trigger: object.map(|object| object.id()),
                at: context.now,
            });
            let exists = context.server.object(&crd.id()).is_some();
            self.keep(key, effect.recreate, &crd);
            if !exists {
                self.bring(key, crd, 0, context);
            }
        }
        let scope = TemplateScope {
            object: seen,
            values: Some(&instance.values),
            namespace: &instance.namespace,
            ..TemplateScope::default()
        };
        let asked = seen.unwrap_or(&instance.values);
        let workloads = place(&effect.workloads, &scope, asked);
        for placed in &workloads {
            let workload = made::workload(placed, version_text.as_deref(), &instance.values);
            self.keep(key, effect.recreate, &workload);
            self.bring_with_namespace(key, workload, context);
        }
        for webhook in &effect.webhooks {
            let wanted = webhook.when.as_ref().is_none_or(|when| when.holds(asked));
            let (Some(name), Some(server)) = (scope.text(&webhook.name), scope.text(&webhook.served_by))
            else {
                continue;
            };
            if !wanted || !webhook.range().contains(instance.version) || webhook.only.is_some() {
                continue;
            }
            let namespace = workloads.iter().find(|placed| placed.name == server);
            let namespace = namespace
                .map_or(&instance.namespace, |placed| &placed.namespace)
                .clone();
            if let Some(webhook) = made::webhook(webhook, &name, (&namespace, &server), knowledge) {
                context.server.register_webhook(webhook);
            }
            // The workload may be ready already, and nobody knew that it serves anything.
            let place = (namespace, server);
            if self.webhook_servers.insert(place.clone()) && is_ready_at(&place.0, &place.1, context) {
                context.server.set_service_serving(&place.0, &place.1, true);
            }
        }
        self.make_objects(key, effect, &scope, asked, context);
    }

    fn make_objects(
        &mut self,
        key: &InstanceKey,
        effect: &Effect,
        scope: &TemplateScope<'_>,
        asked: &Value,
        context: &mut Context<'_>,
    ) {
        for template in &effect.objects {
            if template.when.as_ref().is_some_and(|when| !when.holds(asked)) {
                continue;
            }
            let objects: Vec<Value> = match &template.for_each {
                None => template.render(scope).into_iter().collect(),
                Some(each) => {
                    let matching = context
                        .server
                        .all_objects()
                        .filter(|(id, _)| each.matches(&id.group, &id.kind));
                    matching
                        .filter_map(|(_, each)| {
                            template.render(&TemplateScope {
                                each: Some(each),
                                ..*scope
                            })
                        })
                        .collect()
                }
            };
            for object in objects {
                self.keep(key, template.recreate, &object);
                if context.server.object(&object.id()).is_none() {
                    self.bring_with_namespace(key, object, context);
                }
            }
        }
    }

    /// An operator that makes one object per object of a kind makes one for the new one as well.
    pub(super) fn make_each(&mut self, key: &InstanceKey, new: &Arc<Value>, context: &mut Context<'_>) {
        let (Some(operator), Some(instance)) = (
            context.knowledge.operator(&key.0),
            self.instances.get(key).cloned(),
        ) else {
            return;
        };
        let id = new.id();
        let effects = operator
            .at_start
            .iter()
            .filter(|effect| instance.does(effect, None));
        for template in effects.flat_map(|effect| &effect.objects) {
            let is_each = template
                .for_each
                .as_ref()
                .is_some_and(|each| each.matches(&id.group, &id.kind));
            let scope = TemplateScope {
                each: Some(new),
                values: Some(&instance.values),
                namespace: &instance.namespace,
                ..TemplateScope::default()
            };
            if let Some(object) = is_each.then(|| template.render(&scope)).flatten() {
                self.keep(key, template.recreate, &object);
                if context.server.object(&object.id()).is_none() {
                    let delay = context.delays.delay("reconcile", &object.id().to_string(), 0);
                    let act = Act::Bring {
                        instance: key.clone(),
                        object,
                        tries: 0,
                    };
                    self.timers.set(context.now + delay, act);
                }
            }
        }
    }

    fn keep(&mut self, key: &InstanceKey, recreate: bool, object: &Value) {
        if recreate {
            self.kept.insert(object.id(), (key.clone(), object.clone()));
        }
    }

    /// Operators make the namespaces that they work in.
    fn bring_with_namespace(&mut self, key: &InstanceKey, object: Value, context: &mut Context<'_>) {
        if let Some(namespace) = object.namespace() {
            ensure_namespace(namespace, &key.0, context);
        }
        self.bring(key, object, 0, context);
    }
}

/// Whether what an effect started is up: its workloads are ready, and its webhooks serve.
pub(super) fn is_complete(
    effect: &Effect,
    instance: &Instance,
    object: &Value,
    context: &Context<'_>,
) -> bool {
    let scope = TemplateScope {
        object: Some(object),
        values: Some(&instance.values),
        namespace: &instance.namespace,
        ..TemplateScope::default()
    };
    let workloads = place(&effect.workloads, &scope, object);
    let is_up = |placed: &PlacedWorkload<'_>| {
        let kind = placed.workload.kind;
        let id = ObjectId::new(kind.group(), kind.as_str(), Some(&placed.namespace), &placed.name);
        context.server.object(&id).is_some_and(|workload| is_up(workload))
    };
    let serves = |webhook: &Webhook| {
        let Some(server) = scope.text(&webhook.served_by) else {
            return true;
        };
        let placed = workloads.iter().find(|placed| placed.name == server);
        placed.is_none_or(|placed| context.server.is_service_serving(&placed.namespace, &server))
    };
    workloads.iter().all(is_up) && effect.webhooks.iter().all(serves)
}

fn is_up(workload: &Value) -> bool {
    if workload.kind() == "Job" {
        return workload.condition_is_true("Complete");
    }
    crate::workload::is_ready(workload)
}

fn is_ready_at(namespace: &str, name: &str, context: &Context<'_>) -> bool {
    ["Deployment", "DaemonSet", "StatefulSet"].iter().any(|kind| {
        let id = ObjectId::new("apps", kind, Some(namespace), name);
        context
            .server
            .object(&id)
            .is_some_and(|workload| crate::workload::is_ready(workload))
    })
}

fn effect_key(operator: &str, object: &ObjectId, generation: i64, rule: usize, effect: usize) -> EffectKey {
    EffectKey {
        operator: operator.to_owned(),
        object: object.clone(),
        generation,
        rule,
        effect,
    }
}

/// Creates a namespace that is not there.
pub(crate) fn ensure_namespace(namespace: &str, manager: &str, context: &mut Context<'_>) {
    let id = ObjectId::new("", "Namespace", None, namespace);
    if context.server.object(&id).is_none() {
        let object =
            serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        made::bring(object, manager, context);
    }
}
