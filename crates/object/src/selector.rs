//! Label selectors.

use serde_json::Value;

use crate::ObjectExt;

/// Whether a label selector (`matchLabels`, `matchExpressions`) selects an object by its labels. An empty selector
/// selects everything.
pub fn selects(selector: &Value, object: &Value) -> bool {
    let labels_match = selector
        .get("matchLabels")
        .and_then(Value::as_object)
        .is_none_or(|labels| {
            labels
                .iter()
                .all(|(key, value)| value.is_string() && object.label(key) == value.as_str())
        });
    labels_match
        && selector
            .items_at(&["matchExpressions"])
            .iter()
            .all(|expression| expression_selects(expression, object))
}

/// Whether a selector as text (`app=web,tier in (a, b),!canary`) selects by labels or annotations. The empty selector
/// selects everything; a part that is none selects nothing.
pub fn selects_text(selector: &str, labels: Option<&Value>) -> bool {
    let value = |key: &str| labels.and_then(|labels| labels.get(key.trim())?.as_str());
    split_parts(selector).into_iter().all(|part| {
        if let Some((key, list)) = part.split_once(" notin ") {
            return !value(key).is_some_and(|value| holds(list, value));
        }
        if let Some((key, list)) = part.split_once(" in ") {
            return value(key).is_some_and(|value| holds(list, value));
        }
        if let Some((key, wanted)) = part.split_once("!=") {
            return value(key) != Some(wanted.trim());
        }
        if let Some((key, wanted)) = part.split_once("==").or_else(|| part.split_once('=')) {
            return value(key) == Some(wanted.trim());
        }
        match part.strip_prefix('!') {
            Some(key) => value(key).is_none(),
            None => value(part).is_some(),
        }
    })
}

/// The parts between commas that stand outside of parentheses.
fn split_parts(selector: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let parts = selector.split(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// Whether a list `(a, b)` holds a value.
fn holds(list: &str, value: &str) -> bool {
    let inside = list.trim().trim_start_matches('(').trim_end_matches(')');
    inside.split(',').any(|item| item.trim() == value)
}

fn expression_selects(expression: &Value, object: &Value) -> bool {
    let label = object.label(expression.text_at(&["key"]).unwrap_or_default());
    let is_listed = || {
        let mut values = expression.items_at(&["values"]).iter().filter_map(Value::as_str);
        label.is_some_and(|label| values.any(|value| value == label))
    };
    match expression.text_at(&["operator"]).unwrap_or_default() {
        "In" => is_listed(),
        "NotIn" => !is_listed(),
        "Exists" => label.is_some(),
        "DoesNotExist" => label.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn labels_and_expressions_must_all_match() {
        let object = json!({"metadata": {"labels": {"app": "web", "tier": "front"}}});
        for (selector, expected) in [
            (json!({}), true),
            (json!({"matchLabels": {"app": "web"}}), true),
            (json!({"matchLabels": {"app": "db"}}), false),
            (
                json!({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["front", "back"]}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["front"]}]}),
                false,
            ),
            (
                json!({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "zone", "operator": "Exists"}]}),
                false,
            ),
            (
                json!({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}]}),
                true,
            ),
        ] {
            assert_eq!(selects(&selector, &object), expected, "{selector}");
        }
    }

    #[test]
    fn selectors_can_be_text() {
        let labels = json!({"app": "web", "tier": "front"});
        for (selector, expected) in [
            ("", true),
            ("app=web", true),
            ("app==web, tier!=back", true),
            ("app = other", false),
            ("tier in (front, back),app", true),
            ("tier notin (front, back)", false),
            ("missing notin (a)", true),
            ("!missing", true),
            ("!app", false),
        ] {
            assert_eq!(selects_text(selector, Some(&labels)), expected, "{selector}");
        }
    }
}
