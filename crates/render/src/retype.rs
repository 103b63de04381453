//! Reading substituted text back: YAML as go-yaml v2 reads it, and numbers as kustomize keeps them (F-608, F-660).

use firstpass_yaml::{Map, Node, NodeKind, ParseError, Style, Tag};
use serde_json::{Number, Value};

/// The value of a substituted document. It has to be a mapping.
pub(crate) fn read_back(text: &str) -> Result<Value, ParseError> {
    let mut root = firstpass_yaml::parse_one(text)?;
    as_v2(&mut root);
    let mut value = root.to_json()?;
    if !value.is_object() {
        return Err(ParseError::new("the document is no mapping", root.mark));
    }
    through_float(&mut value);
    Ok(value)
}

/// Numbers go through 64-bit floats on the way back into kustomize: whole numbers above 2^53 lose digits (F-608).
fn through_float(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(rounded) = rounded(number) {
                *number = rounded;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(through_float),
        Value::Object(map) => map.values_mut().for_each(through_float),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn rounded(number: &Number) -> Option<Number> {
    const EXACT_MAX: u64 = 1 << 53;
    let whole = number
        .as_i64()
        .map(i64::unsigned_abs)
        .or_else(|| number.as_u64())?;
    if whole <= EXACT_MAX {
        return None;
    }
    let float = number.as_f64()?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the range is checked, and the value is whole"
    )]
    let integer = (float.abs() < 9.2e18).then_some(float as i64);
    match integer {
        Some(integer) => Some(integer.into()),
        None => Number::from_f64(float),
    }
}

/// Where go-yaml v2 reads a plain scalar in another way than v3, which the parser follows: `yes`, `off` and their kin
/// are booleans, dates are text. Of keys that occur twice the last one counts.
fn as_v2(node: &mut Node) {
    match &mut node.kind {
        NodeKind::Scalar(scalar) if scalar.style == Style::Plain => {
            match (&scalar.tag, boolean(&scalar.text)) {
                (Tag::Str, Some(value)) => {
                    scalar.tag = Tag::Bool;
                    scalar.text = if value { "true".into() } else { "false".into() };
                }
                (Tag::Timestamp, _) => scalar.tag = Tag::Str,
                _ => {}
            }
        }
        NodeKind::Scalar(_) => {}
        NodeKind::Seq(items) => items.iter_mut().for_each(as_v2),
        NodeKind::Map(map) => {
            let mut kept = Map::default();
            for (mut key, mut value) in std::mem::take(map) {
                as_v2(&mut key);
                as_v2(&mut value);
                let text = key.as_text().map(str::to_owned);
                match text.filter(|text| kept.contains_key(text)) {
                    Some(text) => {
                        kept.insert(&text, value);
                    }
                    None => kept.push(key, value),
                }
            }
            *map = kept;
        }
    }
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// F-660, F-661, F-664, F-667.
    #[test]
    fn plain_scalars_are_typed_by_yaml_1_1() {
        let table = [
            ("8080", json!(8080)),
            ("yes", json!(true)),
            ("on", json!(true)),
            ("n", json!(false)),
            ("1.20", json!(1.2)),
            ("0755", json!(493)),
            ("0x1F", json!(31)),
            ("1e3", json!(1000)),
            ("1_000", json!(1000)),
            ("~", json!(null)),
            ("", json!(null)),
            ("{x: 1}", json!({"x": 1})),
            ("[1, 2]", json!([1, 2])),
            ("1.2.3", json!("1.2.3")),
            ("2024-01-01", json!("2024-01-01")),
            ("12:30:45", json!("12:30:45")),
            ("8080%", json!("8080%")),
            ("a #b", json!("a")),
            ("\"5\"", json!("5")),
            ("&x", json!(null)),
            ("9007199254740993", json!(9_007_199_254_740_992_i64)),
        ];
        for (text, expected) in table {
            let value = read_back(&format!("v: {text}\n")).map(|value| value["v"].clone());
            let (value, text_of) = (
                value.unwrap_or_else(|error| panic!("{text}: {error}")),
                expected.to_string(),
            );
            assert!(
                value == expected || value.as_f64().is_some() && value.as_f64() == expected.as_f64(),
                "{text}: {value} {text_of}"
            );
        }
        assert_eq!(
            read_back("8080: a\nyes: b\na: 1\na: 2\n").unwrap(),
            json!({"8080": "a", "true": "b", "a": 2})
        );
    }

    /// F-661.
    #[test]
    fn breakers_are_errors() {
        for text in ["a: b", "*x", "@x", "%x", "- a", "a: 'it's'"] {
            assert!(read_back(&format!("v: {text}\n")).is_err(), "{text}");
        }
        assert!(read_back("- a\n").is_err());
    }
}
