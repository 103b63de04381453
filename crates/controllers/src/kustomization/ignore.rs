//! `spec.ignore`: drift that is left alone (F-251).

use std::sync::Arc;

use firstpass_apiserver::Managers;
use firstpass_flux::{Ignore, PatchTarget, names};
use firstpass_object::{ObjectExt, selects_text};
use regex::Regex;
use serde_json::Value;

/// The JSON pointers that are ignored in an object.
pub(super) fn pointers<'a>(rules: &'a [Ignore], object: &Value) -> Vec<&'a str> {
    rules
        .iter()
        .filter(|rule| rule.target.as_ref().is_none_or(|target| fits(target, object)))
        .flat_map(|rule| rule.paths.iter().map(String::as_str))
        .collect()
}

/// An object without what is ignored in it.
pub(super) fn without(object: &Value, pointers: &[&str]) -> Value {
    let mut object = object.clone();
    for pointer in pointers {
        remove(&mut object, pointer);
    }
    object
}

/// What is really applied: an ignored field that has drifted is left out if another manager applies it, and keeps its
/// live value otherwise.
pub(super) fn adopt(
    desired: &Arc<Value>,
    live: &Value,
    applied: &Value,
    managers: Option<&Managers>,
    pointers: &[&str],
) -> Arc<Value> {
    let drifted = |pointer: &&&str| live.pointer(pointer) != applied.pointer(pointer);
    let mut object = Arc::clone(desired);
    for pointer in pointers.iter().filter(drifted) {
        let is_others = managers
            .is_some_and(|managers| managers.applied_by_others(names::KUSTOMIZE_MANAGER, live, pointer));
        let content = Arc::make_mut(&mut object);
        match live.pointer(pointer).filter(|_| !is_others) {
            Some(value) => {
                if let Some(place) = content.pointer_mut(pointer) {
                    *place = value.clone();
                }
            }
            None => remove(content, pointer),
        }
    }
    object
}

/// Regular expressions are anchored; unset parts match everything.
fn fits(target: &PatchTarget, object: &Value) -> bool {
    let gvk = object.gvk();
    let matches = |pattern: &Option<String>, text: &str| {
        pattern
            .as_ref()
            .filter(|pattern| !pattern.is_empty())
            .is_none_or(|pattern| {
                Regex::new(&format!("^(?:{pattern})$")).is_ok_and(|regex| regex.is_match(text))
            })
    };
    let selects = |selector: &Option<String>, field: &str| {
        selector
            .as_ref()
            .is_none_or(|selector| selects_text(selector, object.at(&["metadata", field])))
    };
    matches(&target.group, &gvk.group)
        && matches(&target.version, &gvk.version)
        && matches(&target.kind, &gvk.kind)
        && matches(&target.name, object.name())
        && matches(&target.namespace, object.namespace().unwrap_or_default())
        && selects(&target.label_selector, "labels")
        && selects(&target.annotation_selector, "annotations")
}

/// Removes the value that a JSON pointer names, if it is there.
fn remove(value: &mut Value, pointer: &str) {
    let Some((parent, last)) = pointer.rsplit_once('/') else {
        return;
    };
    let name = last.replace("~1", "/").replace("~0", "~");
    match value.pointer_mut(parent) {
        Some(Value::Object(fields)) => {
            fields.remove(&name);
        }
        Some(Value::Array(items)) => {
            if let Some(index) = name.parse().ok().filter(|index| *index < items.len()) {
                items.remove(index);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn targets_are_anchored_expressions_and_selectors() {
        // F-251
        let rule = |target: PatchTarget| Ignore {
            paths: vec!["/spec/replicas".to_owned()],
            target: Some(target),
        };
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
        });
        let text = |text: &str| Some(text.to_owned());
        let table = [
            (
                PatchTarget {
                    kind: text("Deployment"),
                    ..PatchTarget::default()
                },
                true,
            ),
            (
                PatchTarget {
                    kind: text("Deploy"),
                    ..PatchTarget::default()
                },
                false,
            ),
            (
                PatchTarget {
                    kind: text("Deploy.*"),
                    ..PatchTarget::default()
                },
                true,
            ),
            (
                PatchTarget {
                    label_selector: text("app=web"),
                    ..PatchTarget::default()
                },
                true,
            ),
            (
                PatchTarget {
                    label_selector: text("app!=web"),
                    ..PatchTarget::default()
                },
                false,
            ),
            (
                PatchTarget {
                    namespace: text("other"),
                    ..PatchTarget::default()
                },
                false,
            ),
            (PatchTarget::default(), true),
        ];
        for (target, expected) in table {
            let rules = [rule(target.clone())];
            assert_eq!(!pointers(&rules, &object).is_empty(), expected, "{target:?}");
        }
    }

    #[test]
    fn pointers_reach_into_maps_and_lists() {
        let object = json!({"a": {"b/c": 1, "d": [1, 2, 3]}});
        assert_eq!(
            without(&object, &["/a/b~1c", "/a/d/1", "/x/y"]),
            json!({"a": {"d": [1, 3]}})
        );
    }
}
