//! The values of a release: those of the objects that `valuesFrom` names, and those in place (F-1004).

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use firstpass_flux::{HelmRelease, ValuesFrom};
use firstpass_object::{ObjectExt, ObjectId};
use serde_json::{Map, Value};

use crate::release::Found;

/// Values files nest this deep at most; deeper ones are taken as they are, unmerged.
const MERGE_DEPTH_MAX: usize = 100;

/// Values in Flux's order: `valuesFrom` as listed, then `values`. The flag says whether that is all of them.
pub(crate) fn merged(release: &HelmRelease, found: Found<'_>) -> (Value, bool) {
    let mut values = Value::Object(Map::new());
    let mut inline = release
        .spec
        .values
        .clone()
        .filter(Value::is_object)
        .unwrap_or_else(|| Value::Object(Map::new()));
    let mut complete = true;
    for reference in &release.spec.values_from {
        let text = text_of(reference, &release.name.namespace, found);
        let is_known = match (text, &reference.target_path) {
            (Some(text), None) => match parsed(&text) {
                Some(more) => {
                    merge(&mut values, more, 0);
                    true
                }
                None => false,
            },
            (Some(text), Some(path)) => put_at(&mut values, &mut inline, path, &text, reference.literal),
            (None, _) => reference.optional,
        };
        complete &= is_known;
    }
    merge(&mut values, inline, 0);
    (values, complete)
}

/// What an object holds under the key; `None` if nobody can say.
fn text_of(reference: &ValuesFrom, namespace: &str, found: Found<'_>) -> Option<String> {
    let object = found(&ObjectId::new(
        "",
        &reference.kind,
        Some(namespace),
        &reference.name,
    ))?;
    let at = |field: &str| object.text_at(&[field, &reference.values_key]);
    let text = match reference.kind.as_str() {
        "ConfigMap" => at("data")?.to_owned(),
        "Secret" => match at("stringData") {
            Some(text) => text.to_owned(),
            None => String::from_utf8(BASE64_STANDARD.decode(at("data")?).ok()?).ok()?,
        },
        _ => return None,
    };
    // Ciphertext is not the value.
    (!text.starts_with("ENC[")).then_some(text)
}

/// A file of values. An empty one holds none.
fn parsed(text: &str) -> Option<Value> {
    let value = firstpass_yaml::parse_one(text).ok()?.to_json().ok()?;
    match value {
        Value::Object(_) => Some(value),
        Value::Null => Some(Value::Object(Map::new())),
        _ => None,
    }
}

/// Puts a single value at a path. The values in place are merged first, and once more at the end: what they hold at the
/// path itself wins, unless the map around it came from them alone, since then it is one and the same map.
///
/// Says whether the value and the path are plain enough to be understood.
fn put_at(values: &mut Value, inline: &mut Value, path: &str, text: &str, is_literal: bool) -> bool {
    let Some(keys) = keys_of(path) else { return false };
    let Some(value) = typed(text, is_literal) else {
        return false;
    };
    let is_shared = is_one_map(values, inline, &keys);
    merge(values, inline.clone(), 0);
    set(values, &keys, value.clone());
    if is_shared {
        set(inline, &keys, value);
    }
    true
}

/// The keys of `a.b\.c`; `None` for a path into a list.
fn keys_of(path: &str) -> Option<Vec<String>> {
    if path.contains(['[', ']', '{', '}', ',', '=']) {
        return None;
    }
    let mut keys = vec![String::new()];
    let mut rest = path.chars();
    while let Some(char) = rest.next() {
        match (char, keys.last_mut()) {
            ('.', _) => keys.push(String::new()),
            ('\\', Some(key)) => key.extend(rest.next()),
            (char, Some(key)) => key.push(char),
            (_, None) => {}
        }
    }
    (keys.len() <= MERGE_DEPTH_MAX).then_some(keys)
}

/// A value as Helm's `--set` reads it; `None` if its syntax would make more than one value of it.
fn typed(text: &str, is_literal: bool) -> Option<Value> {
    if is_literal {
        return Some(text.into());
    }
    if text.contains([',', '[', ']', '{', '}', '=', '\\']) {
        return None;
    }
    let quoted = |quote: char| text.starts_with(quote) && text.ends_with(quote);
    if quoted('\'') || quoted('"') {
        return Some(text.trim_matches(['\'', '"']).into());
    }
    let number = || {
        text.parse::<i64>()
            .ok()
            .filter(|_| text == "0" || !text.starts_with('0'))
    };
    Some(match text.to_lowercase().as_str() {
        "true" => true.into(),
        "false" => false.into(),
        "null" => Value::Null,
        _ => number().map_or_else(|| text.into(), Value::from),
    })
}

fn is_one_map(values: &Value, inline: &Value, keys: &[String]) -> bool {
    let (mut values, mut inline) = (values, inline);
    for key in keys.iter().rev().skip(1).rev() {
        let Some(within) = inline.get(key).filter(|within| within.is_object()) else {
            return false;
        };
        match values.get(key).filter(|within| within.is_object()) {
            Some(known) => (values, inline) = (known, within),
            None => return true,
        }
    }
    false
}

fn set(values: &mut Value, keys: &[String], value: Value) {
    let mut place = values;
    for key in keys {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        place = &mut place[key.as_str()];
    }
    *place = value;
}

/// Helm's way: maps merge, everything else is replaced.
pub(crate) fn merge(into: &mut Value, from: Value, depth: usize) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) if depth < MERGE_DEPTH_MAX => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value, depth + 1);
            }
        }
        (into, from) => *into = from,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use serde_json::json;

    fn check(from: &Value, inline: &Value, objects: &[Value]) -> (Value, bool) {
        let release = json!({
            "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
            "metadata": {"name": "web", "namespace": "apps"},
            "spec": {"interval": "1h", "valuesFrom": from, "values": inline},
        });
        let found = |id: &ObjectId| {
            let mut objects = objects.iter();
            objects.find(|object| object.id() == *id).cloned().map(Arc::new)
        };
        merged(&HelmRelease::read(&release).value, &found)
    }

    fn secret(data: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "apps"}, "stringData": data})
    }

    #[test]
    fn secrets_count_where_they_can_be_read() {
        let from = json!([{"kind": "Secret", "name": "s"}]);
        let plain = secret(&json!({"values.yaml": "a: 1"}));
        assert_eq!(check(&from, &json!({}), &[plain]), (json!({"a": 1}), true));
        let stored = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "apps"}, "data": {"values.yaml": "YTogMg=="}});
        assert_eq!(check(&from, &json!({}), &[stored]), (json!({"a": 2}), true));
        let encrypted = secret(&json!({"values.yaml": "ENC[AES256_GCM,data:x]"}));
        assert_eq!(check(&from, &json!({}), &[encrypted]), (json!({}), false));
    }

    #[test]
    fn a_target_path_takes_one_typed_value() {
        let at = |path: &str, value: &str, inline: Value| {
            let from = json!([{"kind": "Secret", "name": "s", "valuesKey": "k", "targetPath": path}]);
            check(&from, &inline, &[secret(&json!({"k": value}))])
        };
        assert_eq!(at("a.b", "7", json!({})), (json!({"a": {"b": 7}}), true));
        assert_eq!(at("a\\.b", "07", json!({})), (json!({"a.b": "07"}), true));
        assert_eq!(at("a", "'7'", json!({})), (json!({"a": "7"}), true));
        // A list of values, and a place in a list.
        assert_eq!(at("a", "x,y", json!({})), (json!({}), false));
        assert_eq!(at("a[0]", "x", json!({})), (json!({}), false));
        // The map around it is that of the values in place.
        assert_eq!(
            at("a.b", "x", json!({"a": {"b": "y"}})),
            (json!({"a": {"b": "x"}}), true)
        );
        assert_eq!(at("a", "x", json!({"a": "y"})), (json!({"a": "y"}), true));
    }
}
