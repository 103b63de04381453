//! Conditions on chart values or on an object's fields: `{path: crds.enabled, equals: true, default: false}`.

use serde::Deserialize;
use serde_json::Value;

/// When a fact holds. Written as one clause, as `any: [clauses]` or as `all: [clauses]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The dotted path whose value decides; a dot inside a key is written `\.`.
    pub path: Option<String>,
    /// The value that must be found; absent: any that Helm's templates take as true.
    pub equals: Option<Value>,
    /// A part of the text that must be found, such as the name of a package in its URL.
    pub contains: Option<String>,
    /// What counts where the path is not set, such as the chart's default. Absent: null, which is not true.
    #[serde(default)]
    pub default: Value,
    /// Turns the answer around.
    #[serde(default)]
    pub not: bool,
    /// At least one of these must hold.
    #[serde(default)]
    pub any: Vec<Condition>,
    /// Each of these must hold.
    #[serde(default)]
    pub all: Vec<Condition>,
}

impl Condition {
    /// Does it hold for these values (or this object)?
    pub fn holds(&self, values: &Value) -> bool {
        let Condition {
            path,
            equals,
            contains,
            default,
            not,
            any,
            all,
        } = self;
        let clause = path.as_deref().is_none_or(|path| {
            let found = lookup(values, path).unwrap_or(default);
            match (equals, contains) {
                (Some(wanted), _) => found == wanted,
                (None, Some(part)) => found.as_str().is_some_and(|text| text.contains(part.as_str())),
                (None, None) => truthy(found),
            }
        });
        let any = any.is_empty() || any.iter().any(|condition| condition.holds(values));
        let all = all.iter().all(|condition| condition.holds(values));
        (clause && any && all) != *not
    }
}

/// The value at a dotted path. A number steps into a list; null counts as not set, as it does in Helm's values.
pub fn lookup<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let mut here = value;
    for step in steps(path) {
        here = match here {
            Value::Object(map) => map.get(&step)?,
            Value::Array(list) => list.get(step.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    (!here.is_null()).then_some(here)
}

fn steps(path: &str) -> Vec<String> {
    let mut steps = vec![String::new()];
    let mut chars = path.chars();
    while let Some(c) = chars.next() {
        let last = steps.len() - 1;
        match c {
            '\\' => steps[last].extend(chars.next()),
            '.' => steps.push(String::new()),
            c => steps[last].push(c),
        }
    }
    steps
}

/// Truth as Helm's templates see it: empty text, lists and maps, zero, false and null are not true.
fn truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(bool) => *bool,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn condition(value: Value) -> Condition {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn defaults_count_where_nothing_is_set() {
        let on = condition(json!({"path": "crds.enabled", "default": true}));
        assert!(on.holds(&json!({})));
        assert!(on.holds(&json!({"crds": {"enabled": null}})));
        assert!(!on.holds(&json!({"crds": {"enabled": false}})));
        let off = condition(json!({"path": "installCRDs"}));
        assert!(!off.holds(&json!({})));
        assert!(off.holds(&json!({"installCRDs": true})));
    }

    #[test]
    fn clauses_combine() {
        let any = condition(json!({"any": [{"path": "crds.enabled"}, {"path": "installCRDs"}]}));
        assert!(any.holds(&json!({"installCRDs": true})));
        assert!(!any.holds(&json!({})));
        let all = condition(json!({"all": [{"path": "a"}, {"path": "b", "not": true}]}));
        assert!(all.holds(&json!({"a": "x"})));
        assert!(!all.holds(&json!({"a": "x", "b": 1})));
        assert!(condition(json!({"path": "mode", "equals": "x"})).holds(&json!({"mode": "x"})));
        assert!(
            condition(json!({"path": "image", "contains": "aws"}))
                .holds(&json!({"image": "x/provider-aws:v1"}))
        );
        assert!(!condition(json!({"path": "image", "contains": "aws"})).holds(&json!({})));
    }

    #[test]
    fn paths_step_through_maps_lists_and_dotted_keys() {
        let value = json!({"a": [{"b.c/d": 1}]});
        assert_eq!(lookup(&value, "a.0.b\\.c/d"), Some(&json!(1)));
        assert_eq!(lookup(&value, "a.1"), None);
        assert_eq!(lookup(&value, "a.0.b.c"), None);
    }
}
