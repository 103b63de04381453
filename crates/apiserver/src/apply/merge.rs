//! Merging a manager's configuration into a live object, and taking out what it no longer states.

use serde_json::{Map, Value};

use super::{FieldSet, ListShape, PathElement, Shape};

/// Lays a configuration over a live value.
pub(crate) fn merge(live: &mut Value, config: &Value, shape: Shape<'_>) {
    match (live, config) {
        (Value::Object(live), Value::Object(config)) if !shape.is_atomic_map() => {
            for (name, value) in config {
                match live.get_mut(name) {
                    Some(slot) => merge(slot, value, shape.field(name)),
                    None => {
                        live.insert(name.clone(), value.clone());
                    }
                }
            }
        }
        (Value::Array(live), Value::Array(config)) => match shape.list() {
            ListShape::Atomic => live.clone_from(config),
            list => merge_items(live, config, &list, shape.items()),
        },
        // Nothing said about a map or a list of many owners takes nothing away.
        (Value::Object(_), Value::Null) if !shape.is_atomic_map() => {}
        (Value::Array(_), Value::Null) if !matches!(shape.list(), ListShape::Atomic) => {}
        (live, config) => {
            if live != config {
                *live = config.clone();
            }
        }
    }
}

/// Whether laying the configuration over the live value would change nothing. May say no where it would not.
pub(crate) fn holds(live: &Value, config: &Value, shape: Shape<'_>) -> bool {
    match (live, config) {
        (Value::Object(live), Value::Object(config)) if !shape.is_atomic_map() => {
            config.iter().all(|(name, value)| {
                live.get(name)
                    .is_some_and(|live| holds(live, value, shape.field(name)))
            })
        }
        (Value::Array(live), Value::Array(config)) => {
            let list = shape.list();
            if matches!(list, ListShape::Atomic) {
                return live == config;
            }
            let mut rest = live.iter();
            config.iter().all(|item| {
                let element = PathElement::of_item(item, &list);
                rest.find(|candidate| PathElement::of_item(candidate, &list) == element)
                    .is_some_and(|live| holds(live, item, shape.items()))
            })
        }
        _ => live == config,
    }
}

/// Keyed lists and sets: the items of the configuration in its order; items of others keep their place behind what
/// precedes them.
fn merge_items(live: &mut Vec<Value>, config: &[Value], list: &ListShape<'_>, shape: Shape<'_>) {
    let stated: Vec<_> = config
        .iter()
        .map(|item| PathElement::of_item(item, list))
        .collect();
    let mut old: Vec<(Option<PathElement>, Option<Value>)> = std::mem::take(live)
        .into_iter()
        .map(|item| (PathElement::of_item(&item, list), Some(item)))
        .collect();
    let mut next = 0;
    for (item, element) in config.iter().zip(&stated) {
        // Items of others that stand in front of the next item that the configuration states too.
        while let Some((candidate, slot)) = old.get_mut(next)
            && (slot.is_none() || !stated.contains(candidate))
        {
            live.extend(slot.take());
            next += 1;
        }
        let partner = old
            .iter_mut()
            .find(|(candidate, slot)| slot.is_some() && candidate == element);
        match partner.and_then(|(_, slot)| slot.take()) {
            Some(mut merged) if element.is_some() => {
                merge(&mut merged, item, shape);
                live.push(merged);
            }
            _ => live.push(item.clone()),
        }
    }
    let left = old
        .into_iter()
        .filter(|(candidate, _)| !stated.contains(candidate));
    live.extend(left.filter_map(|(_, slot)| slot));
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
                remove_field(fields, name, below, &kept_below, shape.field(name));
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
    below: &FieldSet,
    kept_below: &[&FieldSet],
    shape: Shape<'_>,
) {
    // Defaults that nobody owns go along.
    if kept_below.is_empty() {
        fields.remove(name);
        return;
    }
    let Some(field) = fields.get_mut(name) else { return };
    let was_empty = is_empty(field);
    remove_owned(field, below, kept_below, shape);
    if !is_empty(field) {
        return;
    }
    if !was_empty {
        // Somebody states the map or the list itself, and nothing in it is left: structured-merge-diff makes null of it.
        *field = Value::Null;
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
