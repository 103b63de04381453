//! Merging a manager's configuration into a live object, and taking out what it no longer states.

use serde_json::{Map, Value};

use super::{FieldSet, ListShape, PathElement, Shape};

/// The live value with the configuration laid over it.
pub(crate) fn merge(live: &Value, config: &Value, shape: Shape<'_>) -> Value {
    match (live, config) {
        (Value::Object(live), Value::Object(config)) if !shape.is_atomic_map() => {
            let mut merged = live.clone();
            for (name, value) in config {
                match merged.get_mut(name) {
                    Some(slot) => *slot = merge(slot, value, shape.field(name)),
                    None => {
                        merged.insert(name.clone(), value.clone());
                    }
                }
            }
            Value::Object(merged)
        }
        (Value::Array(live), Value::Array(config)) => match shape.list() {
            ListShape::Atomic => Value::Array(config.clone()),
            list => Value::Array(merge_items(live, config, &list, shape.items())),
        },
        _ => config.clone(),
    }
}

/// Keyed lists and sets: the order of the configuration wins, items of others keep their place relative to what
/// precedes them.
fn merge_items(live: &[Value], config: &[Value], list: &ListShape<'_>, shape: Shape<'_>) -> Vec<Value> {
    let element_of = |item: &Value| PathElement::of_item(item, list);
    let live_elements: Vec<_> = live.iter().map(element_of).collect();
    let config_elements: Vec<_> = config.iter().map(element_of).collect();
    let mut merged = Vec::with_capacity(live.len() + config.len());
    let mut next_live = 0;
    for (item, element) in config.iter().zip(&config_elements) {
        while next_live < live.len() {
            let candidate = &live_elements[next_live];
            if config_elements.contains(candidate) {
                break;
            }
            merged.push(live[next_live].clone());
            next_live += 1;
        }
        let partner = live_elements
            .iter()
            .position(|candidate| candidate.is_some() && candidate == element);
        match partner {
            Some(index) => {
                merged.push(merge(&live[index], item, shape));
                if index == next_live {
                    next_live += 1;
                }
            }
            None => merged.push(item.clone()),
        }
        while next_live < live.len() && config_elements.contains(&live_elements[next_live]) && {
            // Already placed by an earlier turn of the configuration's order.
            let candidate = &live_elements[next_live];
            let placed = config_elements.iter().position(|element| element == candidate);
            placed.is_some_and(|index| std::ptr::eq(&config[index], item) || index < index_of(config, item))
        } {
            next_live += 1;
        }
    }
    for (item, element) in live.iter().zip(&live_elements).skip(next_live) {
        if !config_elements.contains(element) {
            merged.push(item.clone());
        }
    }
    merged
}

fn index_of(items: &[Value], item: &Value) -> usize {
    items
        .iter()
        .position(|candidate| std::ptr::eq(candidate, item))
        .unwrap_or(items.len())
}

/// Removes from `value` what the manager `gone` owned before and neither states now nor anybody else owns.
///
/// A removed item or map takes what nobody owns in it (such as defaults) with it; one in which others own something
/// stays with those fields.
pub(crate) fn remove_owned(value: &mut Value, gone: &FieldSet, kept_by: &[&FieldSet], shape: Shape<'_>) {
    for (element, member, below) in gone.elements() {
        let kept_below: Vec<&FieldSet> = kept_by.iter().filter_map(|set| set.below(element)).collect();
        let list = shape.list();
        match (element, &mut *value) {
            (PathElement::Field(name), Value::Object(fields)) => {
                remove_field(fields, name, (member, below), &kept_below, shape.field(name));
            }
            (_, Value::Array(items)) => {
                let position = items
                    .iter()
                    .position(|item| PathElement::of_item(item, &list).as_ref() == Some(element));
                let Some(index) = position else { continue };
                if member && kept_below.is_empty() {
                    items.remove(index);
                } else {
                    remove_owned(&mut items[index], below, &kept_below, shape.items());
                }
            }
            _ => {}
        }
    }
}

fn remove_field(
    fields: &mut Map<String, Value>,
    name: &str,
    (member, below): (bool, &FieldSet),
    kept_below: &[&FieldSet],
    shape: Shape<'_>,
) {
    if member && kept_below.is_empty() {
        fields.remove(name);
        return;
    }
    let Some(field) = fields.get_mut(name) else { return };
    remove_owned(field, below, kept_below, shape);
    let is_empty = match field {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    if is_empty && kept_below.is_empty() && !below.is_empty() {
        fields.remove(name);
    }
}
