//! Flux's other controllers, as far as somebody may wait for them: notification-controller, the image controllers,
//! source-watcher and Flux Operator.
//!
//! What they do is not played. Their objects are taken to become Ready after a while; an ArtifactGenerator also brings its
//! ExternalArtifacts.

use std::sync::Arc;

use firstpass_apiserver::{Apply, Request, Target, Time};
use firstpass_flux::{ArtifactGenerator, names};
use firstpass_object::{GroupKind, ObjectExt, ObjectId};
use serde_json::{Value, json};

use crate::context::{Context, Controller};
use crate::flux_api::generation;
use crate::timers::Timers;

const MANAGER: &str = "flux";

/// The controller's state: objects that will be Ready after a while.
#[derive(Clone, Debug, Default)]
pub struct FluxRestController {
    timers: Timers<ObjectId>,
}

impl FluxRestController {
    fn make_ready(&mut self, id: &ObjectId, context: &mut Context<'_>) {
        let Some(object) = context.server.object(id).cloned() else {
            return;
        };
        if ArtifactGenerator::is(&object) {
            bring_artifacts(&object, context);
        }
        if object.condition_is_true(names::condition::READY)
            && crate::flux_api::observed_generation(&object) == Some(generation(&object))
        {
            return;
        }
        let condition = json!({
            "type": names::condition::READY,
            "status": "True",
            "reason": names::reason::SUCCEEDED,
            "message": "",
            "observedGeneration": generation(&object),
            "lastTransitionTime": context.now.timestamp(),
        });
        let request = Request::PatchStatus {
            target: Target::of(&object),
            patch: json!({"observedGeneration": generation(&object), "conditions": [condition]}),
            manager: MANAGER.into(),
        };
        if context.server.call(&request).is_ok() {
            context.note("flux", id, "Ready=True");
        }
    }
}

/// The artifacts of a generator (F-904).
fn bring_artifacts(object: &Value, context: &mut Context<'_>) {
    let generator = ArtifactGenerator::read(object).value;
    for artifact in &generator.artifacts {
        let source = json!({
            "apiVersion": object.api_version(),
            "kind": names::ARTIFACT_GENERATOR,
            "name": generator.name,
            "namespace": generator.namespace,
        });
        let artifact = json!({
            "apiVersion": format!("{}/v1", names::SOURCE_GROUP),
            "kind": "ExternalArtifact",
            "metadata": {"name": artifact.name, "namespace": generator.namespace},
            "spec": {"sourceRef": source},
        });
        let _refused_without_the_kind = context.apply(Apply::forced(artifact.into(), "source-watcher"));
    }
}

/// Kinds whose objects report that they are Ready, and nobody else here writes it.
fn reports(kind: &GroupKind) -> bool {
    match kind.group.as_str() {
        names::SOURCE_EXTENSIONS_GROUP => kind.kind == names::ARTIFACT_GENERATOR,
        names::NOTIFICATION_GROUP => kind.kind == "Receiver",
        names::IMAGE_GROUP => true,
        names::OPERATOR_GROUP => matches!(
            kind.kind.as_str(),
            "FluxInstance" | "ResourceSet" | "ResourceSetInputProvider"
        ),
        _ => false,
    }
}

impl Controller for FluxRestController {
    fn observe(&mut self, old: Option<&Arc<Value>>, new: Option<&Arc<Value>>, context: &mut Context<'_>) {
        let Some(new) = new else { return };
        let id = new.id();
        let changed = old.is_none_or(|old| generation(old) != generation(new));
        if changed && reports(&id.group_kind()) {
            let name = if id.kind == names::ARTIFACT_GENERATOR {
                "source-fetch"
            } else {
                "reconcile"
            };
            let delay = context.delays.delay(name, &id.to_string(), 0);
            self.timers.set(context.now + delay, id);
        }
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        while let Some(id) = self.timers.pop_due(context.now, context.delays) {
            self.make_ready(&id, context);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.timers.next()
    }

    fn is_working(&self) -> bool {
        self.timers.next().is_some()
    }
}
