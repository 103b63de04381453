//! Custom resources against the structural schema of their CRD: pruning, defaulting, validation.

use serde_json::{Map, Value};

use super::{Checker, Path};
use crate::apply::{ListShape, PathElement};
use crate::crd::{Bound, Rules, Structural, ValueType};

/// Fields of the root, and of embedded objects, that no schema needs to declare.
const IMPLICIT: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Drops what the schema does not declare and fills in defaults.
pub(crate) fn prune_and_default(value: &mut Value, schema: &Structural) {
    match value {
        Value::Object(fields) => {
            let is_object = schema.is_root || schema.embedded;
            if !schema.preserve_unknown && schema.value_type.is_some() {
                fields.retain(|name, _| {
                    schema.field(name).is_some() || (is_object && IMPLICIT.contains(&name.as_str()))
                });
            }
            for (name, field) in &schema.properties {
                set_default(fields, name, field);
            }
            for (name, field) in fields {
                if is_object && IMPLICIT.contains(&name.as_str()) {
                    continue;
                }
                if let Some(schema) = schema.field(name) {
                    prune_and_default(field, schema);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.items() {
                items.iter_mut().for_each(|item| prune_and_default(item, schema));
            }
        }
        _ => {}
    }
}

/// A null where null is not allowed counts as missing if there is a default.
fn set_default(fields: &mut Map<String, Value>, name: &str, schema: &Structural) {
    let Some(default) = &schema.default else { return };
    let is_open = fields
        .get(name)
        .is_none_or(|value| value.is_null() && !schema.nullable);
    if is_open {
        fields.insert(name.to_owned(), default.clone());
    }
}

/// Takes away nulls where null is not allowed. The server does this for whoever creates or replaces an object, and not for
/// whoever applies one.
pub(crate) fn drop_nulls(value: &mut Value, schema: &Structural) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, field| {
                let declared = schema.properties.get(name);
                !field.is_null() || declared.is_none_or(|declared| declared.nullable)
            });
            for (name, field) in fields {
                if let Some(schema) = schema.field(name) {
                    drop_nulls(field, schema);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.items() {
                items.iter_mut().for_each(|item| drop_nulls(item, schema));
            }
        }
        _ => {}
    }
}

/// What is wrong with a value by itself: places in it, and messages.
pub(super) fn problems(value: &Value, schema: &Structural) -> Vec<(String, String)> {
    let mut checker = Checker::new(0, &[]);
    check(&mut checker, value, schema, Path::ROOT);
    let errors = checker.into_errors().into_iter();
    errors.map(|error| (error.path, error.message)).collect()
}

/// Validates a value. `path` is where it stands.
pub(super) fn check(checker: &mut Checker<'_>, value: &Value, schema: &Structural, path: Path<'_>) {
    if let Value::String(text) = value
        && checker.is_unknown(text)
    {
        return;
    }
    let is_untyped = schema.value_type.is_none() && !schema.int_or_string;
    if value.is_null() && (schema.nullable || is_untyped) {
        return;
    }
    if !check_type(checker, value, schema, &path) {
        return;
    }
    check_rules(checker, value, schema, &path);
    match value {
        Value::Object(fields) => {
            if schema.embedded {
                for name in ["apiVersion", "kind"] {
                    if !fields.contains_key(name) {
                        checker.required(path.field(name), "");
                    }
                }
            }
            for (name, field) in fields {
                if (schema.is_root || schema.embedded) && IMPLICIT.contains(&name.as_str()) {
                    continue;
                }
                let declared = schema.properties.get(name);
                if let Some(schema) = declared {
                    check(checker, field, schema, path.field(name));
                } else if let Some(schema) = &schema.additional {
                    check(checker, field, schema, path.field(name));
                }
            }
        }
        Value::Array(items) => {
            check_duplicates(checker, items, schema, &path);
            if let Some(schema) = schema.items() {
                for (index, item) in items.iter().enumerate() {
                    check(checker, item, schema, path.index(index));
                }
            }
        }
        _ => {}
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn check_type(checker: &mut Checker<'_>, value: &Value, schema: &Structural, path: &Path<'_>) -> bool {
    let actual = type_name(value);
    let wanted = match schema.value_type {
        _ if schema.int_or_string => {
            if matches!(actual, "integer" | "string") {
                return true;
            }
            "integer,string"
        }
        None => return true,
        Some(ValueType::Object) => "object",
        Some(ValueType::Array) => "array",
        Some(ValueType::String) => "string",
        Some(ValueType::Integer) => "integer",
        Some(ValueType::Number) => "number",
        Some(ValueType::Boolean) => "boolean",
    };
    let is_whole = value.as_f64().is_some_and(|number| number.fract() == 0.0);
    let fits =
        actual == wanted || (wanted == "number" && actual == "integer") || (wanted == "integer" && is_whole);
    if !fits {
        checker.push(
            path,
            format!("Invalid value: {actual:?}: {path} in body must be of type {wanted}: {actual:?}"),
        );
    }
    fits
}

fn check_rules(checker: &mut Checker<'_>, value: &Value, schema: &Structural, path: &Path<'_>) {
    let rules = &schema.rules;
    if !rules.one_of_values.is_empty() && !rules.one_of_values.contains(value) {
        let supported: Vec<String> = rules.one_of_values.iter().map(Value::to_string).collect();
        if !checker.holds_unknown(value) {
            checker.push(
                path,
                format!(
                    "Unsupported value: {value}: supported values: {}",
                    supported.join(", ")
                ),
            );
        }
    }
    match value {
        Value::String(text) => check_text(checker, text, rules, path),
        Value::Number(_) => check_number(checker, value, rules, path),
        Value::Array(items) => check_size(
            checker,
            items.len(),
            rules.min_items,
            rules.max_items,
            "items",
            path,
        ),
        Value::Object(fields) => {
            let sizes = (rules.min_properties, rules.max_properties);
            check_size(checker, fields.len(), sizes.0, sizes.1, "properties", path);
            for name in &rules.required {
                if !fields.contains_key(name) {
                    checker.required(path.field(name), "");
                }
            }
        }
        _ => {}
    }
    check_combinations(checker, value, rules, path);
}

fn check_text(checker: &mut Checker<'_>, text: &str, rules: &Rules, path: &Path<'_>) {
    let length = text.chars().count() as u64;
    let body = |what: String| format!("{path} in body {what}");
    if rules.max_length.is_some_and(|most| length > most) {
        let most = rules.max_length.unwrap_or_default();
        checker.push(path, format!("Too long: may not be more than {most} bytes"));
    }
    if let Some(least) = rules.min_length.filter(|least| length < *least) {
        checker.invalid_text(path, text, body(format!("should be at least {least} chars long")));
    }
    if let Some(pattern) = rules.pattern.as_ref().filter(|pattern| !pattern.matches(text)) {
        checker.invalid_text(path, text, body(format!("should match '{}'", pattern.text())));
    }
    if let Some(format) = rules.format.as_deref().filter(|format| !has_format(text, format)) {
        checker.invalid_text(path, text, body(format!("must be of type {format}: {text:?}")));
    }
}

/// Formats that the server knows and checks; all others are let through.
fn has_format(text: &str, format: &str) -> bool {
    match format {
        "date-time" => {
            let with_offset = || {
                text.len() > 6
                    && firstpass_object::parse_timestamp(&format!("{}Z", &text[..text.len() - 6])).is_some()
            };
            firstpass_object::parse_timestamp(text).is_some() || (text.is_ascii() && with_offset())
        }
        "ipv4" => text.parse::<std::net::Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<std::net::Ipv6Addr>().is_ok(),
        "cidr" => super::names::cidr(text).is_empty(),
        _ => true,
    }
}

fn check_number(checker: &mut Checker<'_>, value: &Value, rules: &Rules, path: &Path<'_>) {
    let Some(number) = value.as_f64() else { return };
    let mut bound = |bound: Option<Bound>, breaks: fn(f64, f64) -> bool, what: &str| {
        let Some(Bound {
            value: limit,
            exclusive,
        }) = bound
        else {
            return;
        };
        if breaks(number, limit) || (exclusive && number == limit) {
            let or_equal = if exclusive { "" } else { " or equal to" };
            checker.invalid(
                path,
                value,
                format!("{path} in body should be {what} than{or_equal} {limit}"),
            );
        }
    };
    bound(rules.minimum, |number, limit| number < limit, "greater");
    bound(rules.maximum, |number, limit| number > limit, "less");
    if let Some(factor) = rules
        .multiple_of
        .filter(|factor| *factor > 0.0 && (number / factor).fract() != 0.0)
    {
        checker.invalid(
            path,
            value,
            format!("{path} in body should be a multiple of {factor}"),
        );
    }
}

fn check_size(
    checker: &mut Checker<'_>,
    size: usize,
    least: Option<u64>,
    most: Option<u64>,
    what: &str,
    path: &Path<'_>,
) {
    let size = size as u64;
    if let Some(least) = least.filter(|least| size < *least) {
        checker.push(
            path,
            format!("Invalid value: {size}: {path} in body should have at least {least} {what}"),
        );
    }
    if let Some(most) = most.filter(|most| size > *most) {
        checker.push(path, format!("Too many: {size}: must have at most {most} items"));
    }
}

fn check_duplicates(checker: &mut Checker<'_>, items: &[Value], schema: &Structural, path: &Path<'_>) {
    let list = schema.list_shape();
    if matches!(list, ListShape::Atomic) {
        return;
    }
    let mut seen: Vec<PathElement> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let Some(element) = PathElement::of_item(item, &list) else {
            continue;
        };
        if seen.contains(&element) {
            let key: Value = match &list {
                ListShape::Map(keys) => keys
                    .iter()
                    .filter_map(|key| {
                        Some((
                            key.name.to_owned(),
                            item.get(key.name).or(key.default.as_ref())?.clone(),
                        ))
                    })
                    .collect::<Map<String, Value>>()
                    .into(),
                _ => item.clone(),
            };
            checker.duplicate(path.index(index), &key);
        }
        seen.push(element);
    }
}

fn check_combinations(checker: &mut Checker<'_>, value: &Value, rules: &Rules, path: &Path<'_>) {
    if checker.holds_unknown(value) {
        return;
    }
    let fits = |schema: &Structural| {
        let mut checker = Checker::new(0, &[]);
        check(&mut checker, value, schema, Path::ROOT);
        checker.into_errors().is_empty()
    };
    let mut complain = |what: &str| {
        checker.push("<nil>", format!("Invalid value: \"\": \"{path}\" {what}"));
    };
    if !rules.any_of.is_empty() && !rules.any_of.iter().any(fits) {
        complain("must validate at least one schema (anyOf)");
    }
    if !rules.one_of.is_empty() {
        match rules.one_of.iter().filter(|schema| fits(schema)).count() {
            0 => complain("must validate one and only one schema (oneOf). Found none valid"),
            1 => {}
            several => complain(&format!(
                "must validate one and only one schema (oneOf). Found {several} valid alternatives"
            )),
        }
    }
    if !rules.all_of.iter().all(fits) {
        complain("must validate all the schemas (allOf)");
    }
    if rules.not.as_ref().is_some_and(|schema| fits(schema)) {
        complain("must not validate the schema (not)");
    }
}
