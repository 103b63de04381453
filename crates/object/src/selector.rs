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
}
