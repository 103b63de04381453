//! The schemas of CustomResourceDefinitions: is a schema structural, and do its parts fit together?

use std::collections::BTreeSet;

use firstpass_object::ObjectExt;
use regex::Regex;
use serde_json::Value;

use super::{Checker, Path, structural};
use crate::cel::{Expression, Library};
use crate::crd::Structural;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];
/// Deeper schemas are refused when they are read.
const DEPTH_MAX: usize = 128;

/// Where a schema stands in the one around it.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    Root,
    Field,
    Item,
}

/// Checks the schema of a version.
pub(super) fn check_root(checker: &mut Checker<'_>, schema: &Value, path: &Path<'_>) {
    match schema.text_at(&["type"]).unwrap_or_default() {
        "" if flag(schema, "x-kubernetes-preserve-unknown-fields") => {}
        "" => checker.required(path.field("type"), "must not be empty at the root"),
        "object" => {}
        other => checker.invalid_text(path.field("type"), other, "must be object at the root"),
    }
    if let Some(metadata) = schema.at(&["properties", "metadata"]) {
        let known = ["type", "properties", "description"];
        let names = ["name", "generateName"];
        let is_plain = |map: &Value, known: &[&str]| {
            map.as_object()
                .is_none_or(|map| map.keys().all(|key| known.contains(&key.as_str())))
        };
        if !is_plain(metadata, &known) || !is_plain(&metadata["properties"], &names) {
            let properties = path.field("properties");
            checker.forbidden(
                properties.key("metadata"),
                "must not specify anything other than name and generateName, but metadata is implicitly specified",
            );
        }
    }
    walk(checker, schema, path, Role::Root, DEPTH_MAX);
}

fn walk(checker: &mut Checker<'_>, schema: &Value, path: &Path<'_>, role: Role, depth: usize) {
    let (Some(depth), true) = (depth.checked_sub(1), schema.is_object() || role == Role::Field) else {
        return;
    };
    check_type(checker, schema, path, role);
    forbid(checker, schema, path);
    check_list(checker, schema, path);
    check_default(checker, schema, path);
    check_rules(checker, schema, path);
    check_logic(checker, schema, path);
    let properties = path.field("properties");
    for (name, below) in schema["properties"].as_object().into_iter().flatten() {
        if role != Role::Root || !matches!(name.as_str(), "metadata" | "apiVersion" | "kind") {
            walk(checker, below, &properties.key(name), Role::Field, depth);
        }
    }
    if schema["additionalProperties"].is_object() {
        let path = path.field("additionalProperties");
        walk(
            checker,
            &schema["additionalProperties"],
            &path,
            Role::Field,
            depth,
        );
    }
    walk(checker, &schema["items"], &path.field("items"), Role::Item, depth);
}

fn flag(schema: &Value, name: &str) -> bool {
    schema.get(name) == Some(&Value::Bool(true))
}

fn check_type(checker: &mut Checker<'_>, schema: &Value, path: &Path<'_>, role: Role) {
    let is_int_or_string = flag(schema, "x-kubernetes-int-or-string");
    let is_open = flag(schema, "x-kubernetes-preserve-unknown-fields");
    let path = path.field("type");
    match schema.text_at(&["type"]).unwrap_or_default() {
        "" if role == Role::Root || is_int_or_string || is_open => {}
        "" => {
            let what = if role == Role::Item {
                "array items"
            } else {
                "object fields"
            };
            checker.required(path, &format!("must not be empty for specified {what}"));
        }
        kind => checker.one_of(path, kind, &TYPES),
    }
}

/// What structural schemas do not have.
fn forbid(checker: &mut Checker<'_>, schema: &Value, path: &Path<'_>) {
    if schema.text_at(&["$ref"]).is_some() {
        checker.forbidden(path.field("$ref"), "$ref is not supported");
    }
    if flag(schema, "uniqueItems") {
        checker.forbidden(
            path.field("uniqueItems"),
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        );
    }
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        checker.invalid(
            path.field("x-kubernetes-preserve-unknown-fields"),
            &Value::Bool(false),
            "must be true or undefined",
        );
    }
    if let Some(pattern) = schema.text_at(&["pattern"]).filter(|pattern| !pattern.is_empty())
        && let Err(error) = Regex::new(pattern)
    {
        // Go and Rust word it differently, and take different expressions in rare cases.
        if matches!(error, regex::Error::Syntax(_)) && is_broken(pattern) {
            let message = "must be a valid regular expression, but isn't: error parsing regexp";
            checker.invalid_text(path.field("pattern"), pattern, message);
        }
    }
}

/// Whether brackets do not match, which no dialect takes.
fn is_broken(pattern: &str) -> bool {
    let (mut depth, mut in_class, mut escaped) = (0_i32, false, false);
    for letter in pattern.chars() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' if !in_class => in_class = true,
            ']' if in_class => in_class = false,
            '(' if !in_class => depth += 1,
            ')' if !in_class => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return true;
        }
    }
    depth != 0 || in_class || escaped
}

fn check_list(checker: &mut Checker<'_>, schema: &Value, path: &Path<'_>) {
    let is_array = schema.text_at(&["type"]) == Some("array");
    if is_array && !schema["items"].is_object() {
        checker.required(path.field("items"), "must be specified");
    }
    let list_type = schema.text_at(&["x-kubernetes-list-type"]);
    if list_type.is_some() && !is_array {
        let kind = schema.text_at(&["type"]).unwrap_or_default();
        let message = "must be array if x-kubernetes-list-type is specified";
        return checker.invalid_text(path.field("type"), kind, message);
    }
    if list_type != Some("map") {
        return;
    }
    let keys_path = path.field("x-kubernetes-list-map-keys");
    let items = &schema["items"];
    let items_path = path.field("items");
    let keys = schema.items_at(&["x-kubernetes-list-map-keys"]);
    if keys.is_empty() {
        checker.required(keys_path, "must not be empty if x-kubernetes-list-type is map");
    }
    let kind = items.text_at(&["type"]).unwrap_or_default();
    if items.is_object() && kind != "object" {
        let message = "must be object if parent array's x-kubernetes-list-type is map";
        return checker.invalid_text(items_path.field("type"), kind, message);
    }
    let properties = items_path.field("properties");
    for key in keys.iter().filter_map(Value::as_str) {
        let Some(property) = items["properties"].get(key) else {
            let message = "entries must all be names of item properties";
            checker.invalid(keys_path, &schema["x-kubernetes-list-map-keys"], message);
            continue;
        };
        let is_required = items.items_at(&["required"]).iter().any(|name| name == key);
        if !is_required && property.get("default").is_none() {
            let property = properties.key(key);
            checker.required(
                property.field("default"),
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            );
        }
    }
}

/// A default must be what its schema takes, and nothing else.
fn check_default(checker: &mut Checker<'_>, schema: &Value, path: &Path<'_>) {
    let Some(default) = schema.get("default").filter(|default| !default.is_null()) else {
        return;
    };
    let Ok(read) = Structural::read_below(schema) else {
        return;
    };
    let path = path.field("default");
    let mut pruned = default.clone();
    structural::prune_and_default(&mut pruned, &read);
    if holds_more(default, &pruned) {
        checker.invalid(path, default, "must not have unknown fields");
        return;
    }
    for (place, message) in structural::problems(&pruned, &read) {
        let separator = if place.is_empty() || place.starts_with('[') {
            ""
        } else {
            "."
        };
        checker.push(format!("{path}{separator}{place}"), message);
    }
}

/// Whether a value has fields that another lacks.
fn holds_more(value: &Value, other: &Value) -> bool {
    match (value, other) {
        (Value::Object(fields), Value::Object(others)) => fields
            .iter()
            .any(|(name, field)| others.get(name).is_none_or(|other| holds_more(field, other))),
        (Value::Array(items), Value::Array(others)) => items
            .iter()
            .zip(others)
            .any(|(item, other)| holds_more(item, other)),
        _ => false,
    }
}

/// CEL rules. What they cost is not looked at.
fn check_rules(checker: &mut Checker<'_>, schema: &Value, path: &Path<'_>) {
    let rules_path = path.field("x-kubernetes-validations");
    for (index, rule) in schema.items_at(&["x-kubernetes-validations"]).iter().enumerate() {
        let path = rules_path.index(index);
        let text = rule.text_at(&["rule"]).unwrap_or_default().trim();
        if text.is_empty() {
            checker.required(path.field("rule"), "rule is not specified");
        } else if let Err(message) =
            Expression::compile_condition(text, Library::Kubernetes, &["self", "oldSelf"])
        {
            let detail = if message.contains("expected bool, got ") {
                "cel expression must evaluate to a bool".to_owned()
            } else {
                format!("compilation failed: {message}")
            };
            checker.invalid(path.field("rule"), rule, detail);
        }
        if let Some(reason) = rule.text_at(&["reason"]) {
            checker.one_of(path.field("reason"), reason, &REASONS);
        }
        if let Some(field) = rule.text_at(&["fieldPath"]).filter(|field| !field.is_empty())
            && !leads_somewhere(schema, field)
        {
            checker.invalid_text(path.field("fieldPath"), field, "must be a valid path");
        }
        if let Some(message) = rule.text_at(&["message"])
            && !message.is_empty()
            && message.trim().is_empty()
        {
            checker.invalid_text(
                path.field("message"),
                message,
                "message must be non-empty if specified",
            );
        }
    }
}

/// Whether a path such as `.a.b` or `.a['b']` names a place in the schema.
pub(super) fn leads_somewhere(schema: &Value, path: &str) -> bool {
    let mut place = schema;
    let plain = path.replace("['", ".").replace("']", "");
    for name in plain.split('.').skip(1) {
        let below = place["properties"]
            .get(name)
            .or_else(|| place.get("additionalProperties"));
        match below {
            Some(below) if !name.is_empty() => place = below,
            _ => return false,
        }
    }
    path.starts_with(['.', '[']) && plain.len() > 1
}

/// Inside of allOf and the like only values may be restricted.
fn check_logic(checker: &mut Checker<'_>, schema: &Value, path: &Path<'_>) {
    let is_int_or_string = flag(schema, "x-kubernetes-int-or-string");
    for list in ["allOf", "anyOf", "oneOf"] {
        let list_path = path.field(list);
        let parts = schema.items_at(&[list]);
        let types: BTreeSet<&str> = parts.iter().filter_map(|part| part.text_at(&["type"])).collect();
        let is_known = is_int_or_string && types == BTreeSet::from(["integer", "string"]);
        for (index, part) in parts.iter().enumerate() {
            let nests = is_int_or_string && list == "allOf" && part.get("anyOf").is_some();
            if !is_known && !nests {
                check_value_part(checker, part, &list_path.index(index), DEPTH_MAX);
            }
        }
    }
    check_value_part(checker, &schema["not"], &path.field("not"), DEPTH_MAX);
}

fn check_value_part(checker: &mut Checker<'_>, part: &Value, path: &Path<'_>, depth: usize) {
    let (Some(depth), true) = (depth.checked_sub(1), part.is_object()) else {
        return;
    };
    for field in [
        "type",
        "description",
        "title",
        "default",
        "nullable",
        "additionalProperties",
    ] {
        let is_there = match part.get(field) {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(_) => true,
        };
        if is_there {
            checker.forbidden(path.field(field), "must be empty to be structural");
        }
    }
    let properties = path.field("properties");
    for (name, below) in part["properties"].as_object().into_iter().flatten() {
        check_value_part(checker, below, &properties.key(name), depth);
    }
    check_value_part(checker, &part["items"], &path.field("items"), depth);
    for list in ["allOf", "anyOf", "oneOf"] {
        let list_path = path.field(list);
        for (index, below) in part.items_at(&[list]).iter().enumerate() {
            check_value_part(checker, below, &list_path.index(index), depth);
        }
    }
    check_value_part(checker, &part["not"], &path.field("not"), depth);
}
