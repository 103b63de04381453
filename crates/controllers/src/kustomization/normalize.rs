//! What Flux does to an object before the API server sees it (F-248, F-249).
//!
//! Objects of built-in kinds go through Go's types once. Fields that the types do not have are dropped without a word,
//! so a misspelled field is no error; but an object that does not fit the types stays as it is, and meets the API server
//! with everything that is wrong with it.
//!
//! Absent on purpose: the zero values that the round trip adds (`strategy: {}`), which mean nothing to the server.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use firstpass_object::ObjectExt;
use firstpass_schema::fields::{self, FieldType};
use serde_json::{Map, Value};

/// The object as Flux sends it.
pub(super) fn normalize(object: &Arc<Value>, unknown_tokens: &[String]) -> Arc<Value> {
    let gvk = object.gvk();
    // F-249: roles skip all of it.
    if gvk.group == "rbac.authorization.k8s.io" && matches!(gvk.kind.as_str(), "Role" | "ClusterRole") {
        return Arc::clone(object);
    }
    let Some(kind) = fields::fields_of(object.api_version(), object.kind()) else {
        return Arc::clone(object);
    };
    let mut normal = (**object).clone();
    let mut changed = drop_unknown_fields(&mut normal, kind);
    if !firstpass_apiserver::misfits(&normal, unknown_tokens).is_empty() {
        return Arc::clone(object);
    }
    if let Value::Object(content) = &mut normal {
        if gvk.kind != "CustomResourceDefinition" {
            changed |= content.remove("status").is_some();
        }
        if gvk.kind == "Secret" && gvk.group.is_empty() {
            changed |= merge_string_data(content);
        }
    }
    if changed {
        Arc::new(normal)
    } else {
        Arc::clone(object)
    }
}

/// Drops fields that a type does not have; says whether there were any.
fn drop_unknown_fields(value: &mut Value, structure: &fields::Struct) -> bool {
    let Value::Object(content) = value else {
        return false;
    };
    let count = content.len();
    content.retain(|name, _| structure.fields.contains_key(name.as_str()));
    let mut changed = content.len() != count;
    for (name, field) in content {
        if let Some(known) = structure.fields.get(name.as_str()) {
            changed |= drop_unknown(field, &known.field_type);
        }
    }
    changed
}

fn drop_unknown(value: &mut Value, field_type: &FieldType) -> bool {
    match (field_type, value) {
        (FieldType::Struct(id), value) => drop_unknown_fields(value, fields::structure(*id)),
        (FieldType::List(items), Value::Array(list)) => list
            .iter_mut()
            .fold(false, |changed, item| drop_unknown(item, items) | changed),
        (FieldType::Map(values), Value::Object(map)) => map
            .values_mut()
            .fold(false, |changed, value| drop_unknown(value, values) | changed),
        _ => false,
    }
}

/// `stringData` becomes `data`.
fn merge_string_data(content: &mut Map<String, Value>) -> bool {
    let Some(Value::Object(texts)) = content.remove("stringData") else {
        return false;
    };
    let data = content.entry("data").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(data) = data {
        for (key, text) in texts {
            let text = text.as_str().unwrap_or_default();
            data.insert(key, Value::String(STANDARD.encode(text)));
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(container: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [container]}})
    }

    #[track_caller]
    fn check(object: Value, expected: &Value) {
        assert_eq!(*normalize(&Arc::new(object), &[]), *expected);
    }

    #[test]
    fn misspelled_fields_vanish() {
        // F-248
        check(
            pod(&json!({"name": "a", "image": "a", "imagePullPolcy": "Always"})),
            &pod(&json!({"name": "a", "image": "a"})),
        );
    }

    #[test]
    fn what_does_not_fit_stays_as_it_is() {
        // F-248
        let misfit =
            pod(&json!({"name": "a", "env": [{"name": "PORT", "value": 80}], "imagePullPolcy": "Always"}));
        check(misfit.clone(), &misfit);
        let custom =
            json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {}, "status": {}, "what": 1});
        check(custom.clone(), &custom);
    }

    #[test]
    fn secrets_are_encoded_and_statuses_go() {
        // F-248, F-249
        check(
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {}, "stringData": {"a": "value"}, "data": {"b": "YQ=="}}),
            &json!({"apiVersion": "v1", "kind": "Secret", "metadata": {}, "data": {"a": "dmFsdWU=", "b": "YQ=="}}),
        );
        check(
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {}, "status": {"phase": "Active"}}),
            &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {}}),
        );
    }
}
