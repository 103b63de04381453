//! What Flux cleans on a live object before it applies (F-246, F-247).

use firstpass_apiserver::{Manager, Operation, Request, Target};
use firstpass_flux::names;
use firstpass_object::{ObjectExt, label_or_annotation};
use serde_json::{Map, Value, json};

use crate::context::Context;

/// Annotations of older tools that go.
const ANNOTATIONS: [&str; 3] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "kustomize.toolkit.fluxcd.io/checksum",
    "fluxcd.io/sync-checksum",
];
/// Labels of older tools that go.
const LABELS: [&str; 1] = ["fluxcd.io/sync-gc-mark"];

/// Takes old marks off a live object and hands the fields of managers that Flux replaces to its own entry, so that the
/// following apply removes what git does not state. Says whether there was anything to do.
pub(super) fn clean(desired: &Value, live: &Value, context: &mut Context<'_>) -> bool {
    // F-263
    let merges = |object: &Value| label_or_annotation(object, names::SSA, "Merge");
    if merges(desired) || merges(live) {
        return false;
    }
    let marks = old_marks(live);
    let cleaned = marks.is_some();
    if let Some(patch) = marks {
        let request = Request::Patch {
            target: Target::of(live),
            patch,
            manager: names::KUSTOMIZE_MANAGER.into(),
        };
        let _refused_like_the_apply = context.server.call(&request);
    }
    let overrides = &context.settings.override_managers;
    let absorbed = context
        .server
        .absorb_managers(&live.id(), names::KUSTOMIZE_MANAGER, |entry| {
            is_undone(entry, overrides)
        });
    cleaned || absorbed
}

/// F-246: names are prefixes.
fn is_undone(entry: &Manager, overrides: &[String]) -> bool {
    let updates = entry.operation == Operation::Update;
    entry.name.starts_with("kubectl")
        || (updates && entry.name.starts_with("before-first-apply"))
        || (updates && entry.name.starts_with(names::KUSTOMIZE_MANAGER))
        || overrides.iter().any(|name| entry.name.starts_with(name.as_str()))
}

/// The patch that takes the old marks off; `None` if there are none.
fn old_marks(live: &Value) -> Option<Value> {
    let gone = |field: &str, names: &[&str]| -> Map<String, Value> {
        let present = live.at(&["metadata", field]);
        let has = |name: &&&str| present.is_some_and(|present| present.get(**name).is_some());
        names
            .iter()
            .filter(has)
            .map(|name| ((*name).to_owned(), Value::Null))
            .collect()
    };
    let (annotations, labels) = (gone("annotations", &ANNOTATIONS), gone("labels", &LABELS));
    if annotations.is_empty() && labels.is_empty() {
        return None;
    }
    let mut metadata = Map::new();
    for (field, names) in [("annotations", annotations), ("labels", labels)] {
        if !names.is_empty() {
            metadata.insert(field.to_owned(), Value::Object(names));
        }
    }
    Some(json!({"metadata": metadata}))
}
