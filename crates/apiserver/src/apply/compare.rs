//! What changed between two states of an object, as field sets.

use serde_json::Value;

use super::{FieldSet, ListShape, PathElement, Shape};

/// The paths that differ.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    /// New or with another value.
    pub(crate) set: FieldSet,
    /// No longer there.
    pub(crate) removed: FieldSet,
}

/// Compares two states.
pub(crate) fn compare(old: &Value, new: &Value, shape: Shape<'_>) -> Changes {
    let mut changes = Changes::default();
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (name, value) in new {
                let element = PathElement::field(name);
                changes.child(&element, old.get(name), Some(value), shape.field(name));
            }
            for (name, value) in old {
                if !new.contains_key(name) {
                    let element = PathElement::field(name);
                    changes.child(&element, Some(value), None, shape.field(name));
                }
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            let list = shape.list();
            let find = |items: &'_ [Value], element: &PathElement| {
                items
                    .iter()
                    .position(|item| PathElement::of_item(item, &list).as_ref() == Some(element))
            };
            for item in new {
                if let Some(element) = PathElement::of_item(item, &list) {
                    let before = find(old, &element).map(|index| &old[index]);
                    changes.child(&element, before, Some(item), shape.items());
                }
            }
            for item in old {
                if let Some(element) = PathElement::of_item(item, &list)
                    && find(new, &element).is_none()
                {
                    changes.child(&element, Some(item), None, shape.items());
                }
            }
        }
        _ => {}
    }
    changes
}

impl Changes {
    fn child(&mut self, element: &PathElement, old: Option<&Value>, new: Option<&Value>, shape: Shape<'_>) {
        if old == new {
            return;
        }
        match (old, new) {
            (Some(old), Some(new)) if is_granular(old, shape) && is_granular(new, shape) => {
                let below = compare(old, new, shape);
                self.set.insert_below(element, false, below.set);
                self.removed.insert_below(element, false, below.removed);
            }
            (old, Some(new)) => {
                // Whoever brings a map or a list into being owns it, and not only what is in it.
                let is_new = old.is_none_or(Value::is_null) && !is_always_there(element, shape);
                let is_item = !matches!(element, PathElement::Field(_));
                let member = !is_granular(new, shape) || is_item || is_new;
                if let Some(old) = old {
                    self.removed.insert_below(element, false, stated(old, shape));
                }
                self.set.insert_below(element, member, stated(new, shape));
            }
            (Some(old), None) => self.removed.insert_below(element, true, stated(old, shape)),
            (None, None) => {}
        }
    }
}

/// Whether Go's types of the built-in kinds write the field even if nobody set it, so that it never is new.
fn is_always_there(element: &PathElement, shape: Shape<'_>) -> bool {
    const ALWAYS: [&str; 12] = [
        "metadata",
        "spec",
        "status",
        "template",
        "jobTemplate",
        "strategy",
        "updateStrategy",
        "containers",
        "resources",
        "rules",
        "limits",
        "names",
    ];
    match (element, shape) {
        (PathElement::Field(name), Shape::Builtin(_)) => ALWAYS.contains(&name.as_str()),
        (PathElement::Field(name), _) => *name == "metadata",
        _ => false,
    }
}

fn stated(value: &Value, shape: Shape<'_>) -> FieldSet {
    if is_granular(value, shape) {
        FieldSet::of(value, shape)
    } else {
        FieldSet::default()
    }
}

/// Whether fields of the value are owned one by one.
fn is_granular(value: &Value, shape: Shape<'_>) -> bool {
    match value {
        Value::Object(fields) => !fields.is_empty() && !shape.is_atomic_map(),
        Value::Array(items) => !items.is_empty() && !matches!(shape.list(), ListShape::Atomic),
        _ => false,
    }
}
