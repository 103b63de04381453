//! CEL rules of a CRD's schema against an object.
//!
//! Upstream: `k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go`. One difference on purpose: a rule
//! that cannot be compiled or evaluated here refuses nothing; it is handed to the caller instead.

use serde_json::Value;

use super::{Checker, Path};
use crate::apply::{ListShape, PathElement};
use crate::cel::{Expression, Library, Variable};
use crate::crd::{Rule, Structural};

/// What rules say when others have failed before them.
const NOT_CHECKED: &str = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

/// Rules that could not be judged, with the reason.
pub(crate) type Unread = Vec<(String, String)>;

/// Checks the rules of a schema, unless something worse is wrong with the object already.
pub(super) fn check(
    checker: &mut Checker<'_>,
    object: &Value,
    old: Option<&Value>,
    schema: &Structural,
    unread: &mut Unread,
) {
    if !schema.has_rules {
        return;
    }
    if checker.is_blocked() {
        checker.push("<nil>", format!("Invalid value: null: {NOT_CHECKED}"));
        return;
    }
    walk(checker, object, old, schema, Path::ROOT, unread);
}

fn walk(
    checker: &mut Checker<'_>,
    value: &Value,
    old: Option<&Value>,
    schema: &Structural,
    path: Path<'_>,
    unread: &mut Unread,
) {
    if value.is_null() || !schema.has_rules {
        return;
    }
    let old = old.filter(|old| !old.is_null());
    for rule in &schema.validations {
        check_rule(checker, rule, value, old, schema, &path, unread);
    }
    for part in &schema.rules.all_of {
        for rule in &part.validations {
            check_rule(checker, rule, value, old, schema, &path, unread);
        }
    }
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let old = old.and_then(|old| old.get(name));
                if let Some(schema) = schema.properties.get(name) {
                    walk(checker, field, old, schema, path.field(name), unread);
                } else if let Some(schema) = &schema.additional {
                    walk(checker, field, old, schema, path.key(name), unread);
                }
            }
        }
        Value::Array(items) => {
            let Some(below) = schema.items() else { return };
            let list = schema.list_shape();
            let before = old.and_then(Value::as_array);
            for (index, item) in items.iter().enumerate() {
                // Only the items of keyed lists have a past.
                let old = match &list {
                    ListShape::Map(_) => PathElement::of_item(item, &list).and_then(|element| {
                        let mut before = before?.iter();
                        before.find(|old| PathElement::of_item(old, &list).as_ref() == Some(&element))
                    }),
                    _ => None,
                };
                walk(checker, item, old, below, path.index(index), unread);
            }
        }
        _ => {}
    }
}

fn check_rule(
    checker: &mut Checker<'_>,
    rule: &Rule,
    value: &Value,
    old: Option<&Value>,
    schema: &Structural,
    path: &Path<'_>,
    unread: &mut Unread,
) {
    // Statuses are written by models that leave out what nobody here reads, so they are not judged.
    let judges_status = schema.is_root && rule.expression.contains("self.status");
    if judges_status || checker.holds_unknown(value) {
        return;
    }
    let mut fail = |error: String| unread.push((rule.described().to_owned(), error));
    let expression = match Expression::compile(&rule.expression, Library::Kubernetes) {
        Ok(expression) => expression,
        Err(error) => return fail(error),
    };
    let is_transition = expression.uses("oldSelf");
    if is_transition && old.is_none() && !rule.optional_old_self {
        return;
    }
    let variables = |is_optional: bool| {
        let mut variables = vec![("self", Variable::Typed(value, schema))];
        if is_optional {
            variables.push(("oldSelf", Variable::Optional(old.map(|old| (old, schema)))));
        } else if let Some(old) = old {
            variables.push(("oldSelf", Variable::Typed(old, schema)));
        }
        variables
    };
    match expression.is_true(&variables(rule.optional_old_self)) {
        Ok(true) => return,
        Ok(false) => {}
        Err(error) => {
            // What holds for all items, or for one, may hold in spite of an error in one of them.
            let macros = [".all(", ".exists(", ".exists_one(", ".filter(", ".map("];
            let is_plain = !macros.iter().any(|name| rule.expression.contains(name));
            let Some(key) = error.strip_prefix("No such key: ").filter(|_| is_plain) else {
                return fail(error);
            };
            let detail = format!("no such key: {key} evaluating rule: {}", rule.described());
            let shown = match value {
                Value::Object(_) => "\"object\"".to_owned(),
                Value::Array(_) => "\"array\"".to_owned(),
                scalar => scalar.to_string(),
            };
            return checker.push(path, format!("Invalid value: {shown}: {detail}"));
        }
    }
    // What was there before and has not changed is let through.
    if !is_transition && old == Some(value) {
        return;
    }
    let by_expression = rule.message_expression.as_ref().and_then(|text| {
        // The order of maps must not reach a message.
        let is_ordered = !text.contains(".map(") && !text.contains(".filter(");
        let expression = Expression::compile(text, Library::Kubernetes)
            .ok()
            .filter(|_| is_ordered)?;
        let message = expression.text(&variables(false)).ok()?;
        Some(message).filter(|message| !message.trim().is_empty() && !message.contains('\n'))
    });
    let detail = by_expression.unwrap_or_else(|| match &rule.message {
        Some(message) => message.trim().to_owned(),
        None => format!("failed rule: {}", rule.described()),
    });
    let place = format!("{path}{}", rule.field_path.as_deref().unwrap_or_default());
    let place = match place.trim_start_matches('.') {
        "" => "<nil>",
        place => place,
    };
    complain(checker, rule, value, place, &detail);
}

fn complain(checker: &mut Checker<'_>, rule: &Rule, value: &Value, path: &str, detail: &str) {
    let stated = match value {
        Value::Object(_) | Value::Array(_) => String::new(),
        scalar => format!(": {scalar}"),
    };
    match rule.reason.as_deref() {
        Some("FieldValueForbidden") => checker.push(path, format!("Forbidden: {detail}")),
        Some("FieldValueRequired") => checker.push(path, format!("Required value: {detail}")),
        Some("FieldValueDuplicate") => checker.push(path, format!("Duplicate value{stated}")),
        _ => checker.push(path, format!("Invalid value{stated}: {detail}")),
    }
}
