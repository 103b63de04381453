//! The other way to read a text: as `sigs.k8s.io/yaml` does, which is go-yaml v2 and then JSON.
//!
//! kustomize reads its own files this way (kustomization files, transformer configurations, JSON patches), and so does
//! everything in Kubernetes that decodes YAML into a Go type. YAML 1.1 rules there: `yes` is true.

use serde_json::{Map as JsonMap, Value};

use crate::emit::go_float;
use crate::{Map, Node, NodeKind, ParseError, Scalar, Style, Tag};

impl Node {
    /// The value that Kubernetes tools decode from this text, where [`Node::to_json`] gives what kustomize writes for
    /// an object.
    ///
    /// Unlike there: `yes`, `no`, `on`, `off`, `y` and `n` are booleans, dates stay as they are spelled, keys become
    /// texts (`1`, `true`), and of keys that occur twice the last one counts.
    ///
    /// # Errors
    /// Keys that are lists, mappings or null, values that do not fit their tag, `.inf` and `.nan`.
    ///
    /// ```
    /// let node = firstpass_yaml::parse_one("immutable: yes\nsince: 2020-01-01\n1: a\n")?;
    /// let expected = serde_json::json!({"immutable": true, "since": "2020-01-01", "1": "a"});
    /// assert_eq!(node.to_config()?, expected);
    /// # Ok::<(), firstpass_yaml::ParseError>(())
    /// ```
    pub fn to_config(&self) -> Result<Value, ParseError> {
        match &self.kind {
            NodeKind::Scalar(scalar) => {
                scalar_value(scalar).map_err(|message| ParseError::new(message, self.mark))
            }
            NodeKind::Seq(items) => items
                .iter()
                .map(Node::to_config)
                .collect::<Result<_, _>>()
                .map(Value::Array),
            NodeKind::Map(map) => map_value(map),
        }
    }
}

fn map_value(map: &Map) -> Result<Value, ParseError> {
    let mut fields = JsonMap::new();
    for (key, value) in map.iter() {
        fields.insert(key_text(key)?, value.to_config()?);
    }
    Ok(Value::Object(fields))
}

fn scalar_value(scalar: &Scalar) -> Result<Value, String> {
    match (&scalar.tag, scalar.style) {
        (Tag::Str, Style::Plain) => Ok(match scalar.text.as_str() {
            "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Value::Bool(true),
            "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Value::Bool(false),
            text => Value::String(text.to_owned()),
        }),
        (Tag::Str | Tag::Timestamp | Tag::Custom(_), _) => Ok(Value::String(scalar.text.to_string())),
        (Tag::Null, Style::Nothing) => Ok(Value::Null),
        (Tag::Null | Tag::Bool | Tag::Int | Tag::Float | Tag::Binary, _) => scalar.to_json(),
    }
}

fn key_text(key: &Node) -> Result<String, ParseError> {
    let refused = || ParseError::new("a mapping key must be a text, a number or a boolean", key.mark);
    let scalar = key.as_scalar().ok_or_else(refused)?;
    match scalar_value(scalar).map_err(|message| ParseError::new(message, key.mark))? {
        Value::String(text) => Ok(text),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => Ok(go_float(float)),
            _ => Ok(number.to_string()),
        },
        Value::Null | Value::Array(_) | Value::Object(_) => Err(refused()),
    }
}

#[cfg(test)]
mod tests {
    use crate::parse_one;
    use serde_json::json;

    #[test]
    fn config_is_read_by_the_rules_of_yaml_1_1() {
        let text = "\
            bools: [yes, No, ON, off, y, 'n', \"on\", !!str yes]\n\
            nulls: {a: , b: ~}\n\
            numbers: [0400, 0x10, 1e3, 1.5]\n\
            times: [2020-01-01, 2020-01-01T00:00:00Z]\n\
            keys: {1: a, true: b, 0x10: c, yes: d, 1.5: e}\n\
            folded: >-\n  one\n\n    two\n\
            twice: 1\n\
            twice: 2\n";
        let expected = json!({
            "bools": [true, false, true, false, true, "n", "on", "yes"],
            "nulls": {"a": null, "b": null},
            "numbers": [256, 16, 1000, 1.5],
            "times": ["2020-01-01", "2020-01-01T00:00:00Z"],
            "keys": {"1": "a", "true": "d", "16": "c", "1.5": "e"},
            "folded": "one\n\n  two",
            "twice": 2,
        });
        assert_eq!(parse_one(text).unwrap().to_config().unwrap(), expected);
        for text in ["{[a]: b}", "{~: b}", "a: .nan", "a: !!int x"] {
            assert!(parse_one(text).unwrap().to_config().is_err(), "{text}");
        }
    }
}
