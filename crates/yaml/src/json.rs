//! Between trees and JSON values: what kustomize makes of a scalar when it writes an object.

use base64::Engine as _;
use serde_json::{Map as JsonMap, Number, Value};

use crate::emit::go_float;
use crate::refold::refolded;
use crate::resolve::{Resolved, resolve};
use crate::{Map, Node, NodeKind, ParseError, Scalar, Style, Tag};

impl Node {
    /// The value that kustomize writes for this node: numbers in any base become decimal, dates become points in time,
    /// everything else keeps its meaning.
    ///
    /// At the top a key of any type stands for its text; further down a key that is no string is an error, as it is for
    /// kustomize.
    ///
    /// # Errors
    /// Keys that occur twice or are no strings, values that do not fit their tag, `.inf` and `.nan`.
    ///
    /// ```
    /// let node = firstpass_yaml::parse_one("mode: 0400\nsince: 2020-01-01\nenabled: off\n")?;
    /// let expected = serde_json::json!({"mode": 256, "since": "2020-01-01T00:00:00Z", "enabled": "off"});
    /// assert_eq!(node.to_json()?, expected);
    /// # Ok::<(), firstpass_yaml::ParseError>(())
    /// ```
    pub fn to_json(&self) -> Result<Value, ParseError> {
        match &self.kind {
            NodeKind::Map(map) => map_to_json(map, true),
            _ => node_to_json(self),
        }
    }

    /// The tree of a JSON value, without places.
    pub fn from_json(value: &Value) -> Node {
        let scalar = |text: String, tag| {
            Node::new(NodeKind::Scalar(Scalar {
                text: text.into(),
                tag,
                style: Style::Plain,
            }))
        };
        match value {
            Value::Null => Node::null(),
            Value::Bool(value) => scalar(value.to_string(), Tag::Bool),
            Value::Number(number) => {
                let number = whole_if_possible(number);
                match number.as_f64() {
                    Some(float) if number.is_f64() => scalar(go_float(float), Tag::Float),
                    _ => scalar(number.to_string(), Tag::Int),
                }
            }
            Value::String(text) => Node::string(text.as_str()),
            Value::Array(items) => Node::new(NodeKind::Seq(items.iter().map(Node::from_json).collect())),
            Value::Object(fields) => Node::new(NodeKind::Map(
                fields
                    .iter()
                    .map(|(key, value)| (Node::string(key.as_str()), Node::from_json(value)))
                    .collect(),
            )),
        }
    }
}

impl Scalar {
    /// The value of a scalar on its own.
    ///
    /// # Errors
    /// If the text does not fit the tag, or JSON has no word for the value.
    pub fn to_json(&self) -> Result<Value, String> {
        if self.style == Style::Nothing && self.tag == Tag::Null {
            return Ok(Value::String(String::new()));
        }
        let resolved = match &self.tag {
            Tag::Str if self.style == Style::Folded => {
                let text = refolded(&self.text).unwrap_or_else(|| self.text.clone());
                return Ok(Value::String(text.into()));
            }
            Tag::Custom(name) if name.is_empty() && self.style == Style::Plain => {
                return Scalar::plain(self.text.clone()).to_json();
            }
            Tag::Str | Tag::Custom(_) => return Ok(Value::String(self.text.to_string())),
            Tag::Binary => return binary(&self.text).map(Value::String),
            Tag::Timestamp => resolve(&self.text, true),
            Tag::Null | Tag::Bool | Tag::Int | Tag::Float => resolve(&self.text, false),
        };
        match (&self.tag, resolved) {
            (Tag::Null, Resolved::Null) => Ok(Value::Null),
            (Tag::Bool, Resolved::Bool(value)) => Ok(Value::Bool(value)),
            (Tag::Int, Resolved::Int(value)) => Ok(Value::from(value)),
            (Tag::Int, Resolved::Uint(value)) => Ok(Value::from(value)),
            (Tag::Float, Resolved::Int(value)) => float(value as f64),
            (Tag::Float, Resolved::Uint(value)) => float(value as f64),
            (Tag::Float, Resolved::Float(value)) => float(value),
            (Tag::Timestamp, Resolved::Timestamp(stamp)) => stamp
                .to_rfc3339()
                .map(Value::String)
                .ok_or_else(|| format!("the time `{}` cannot be written in RFC 3339", self.text)),
            (tag, resolved) => Err(format!(
                "cannot decode {} `{}` as a {}",
                resolved_name(resolved),
                self.text,
                tag_name(tag)
            )),
        }
    }
}

fn node_to_json(node: &Node) -> Result<Value, ParseError> {
    match &node.kind {
        NodeKind::Scalar(scalar) => scalar
            .to_json()
            .map_err(|message| ParseError::new(message, node.mark)),
        NodeKind::Seq(items) => items
            .iter()
            .map(node_to_json)
            .collect::<Result<_, _>>()
            .map(Value::Array),
        NodeKind::Map(map) => map_to_json(map, false),
    }
}

fn map_to_json(map: &Map, top: bool) -> Result<Value, ParseError> {
    let mut fields = JsonMap::new();
    for (key, value) in map.iter() {
        let text = key_text(key, top)?;
        if fields.insert(text.to_owned(), node_to_json(value)?).is_some() {
            return Err(already_defined(map, key, text));
        }
    }
    Ok(Value::Object(fields))
}

/// The text of a key. kustomize trips over a null key at any depth, and over other keys that are no strings below the
/// top; nothing at all in front of the `:` is an empty text.
fn key_text(key: &Node, top: bool) -> Result<&str, ParseError> {
    let NodeKind::Scalar(scalar) = &key.kind else {
        let message = "a mapping key must be a string, this is a list or a mapping";
        return Err(ParseError::new(message, key.mark));
    };
    match (&scalar.tag, top) {
        (Tag::Str, _) => {}
        (Tag::Null, _) if scalar.text.is_empty() => {}
        (Tag::Null, _) | (_, false) => {
            let message = format!(
                "a mapping key must be a string, `{}` is a {}: quote it",
                scalar.text,
                tag_name(&scalar.tag)
            );
            return Err(ParseError::new(message, key.mark));
        }
        (_, true) => {
            scalar
                .to_json()
                .map_err(|message| ParseError::new(message, key.mark))?;
        }
    }
    Ok(&scalar.text)
}

fn already_defined(map: &Map, again: &Node, text: &str) -> ParseError {
    let first = map.key(text).map_or(0, |key| key.mark.line);
    ParseError::new(
        format!("mapping key {text:?} already defined at line {first}"),
        again.mark,
    )
}

/// A float as kustomize writes it, which is through JSON and back: whole numbers lose their fraction.
fn float(value: f64) -> Result<Value, String> {
    Ok(Value::Number(number(value).ok_or(
        "the value is infinite or no number, which JSON cannot hold",
    )?))
}

/// A number as it comes out of JSON text: whole if it can be.
pub(crate) fn whole_if_possible(number: &Number) -> Number {
    match number.as_f64() {
        Some(float) if number.is_f64() => self::number(float).unwrap_or_else(|| number.clone()),
        _ => number.clone(),
    }
}

/// The number that remains of a float when its JSON text is read again; nothing if it has no JSON text.
pub(crate) fn number(value: f64) -> Option<Number> {
    // Go writes floats below 1e21 in full, and a text of digits alone is read as a whole number if 64 bits can hold it.
    if value.fract() == 0.0 && value.abs() < 1e21 {
        let digits = format!("{}", value + 0.0);
        if let Ok(whole) = digits.parse::<i64>() {
            return Some(Number::from(whole));
        }
        if let Ok(whole) = digits.parse::<u64>() {
            return Some(Number::from(whole));
        }
    }
    Number::from_f64(value)
}

fn binary(text: &str) -> Result<String, String> {
    let compact: String = text.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
    base64::engine::general_purpose::STANDARD
        .decode(compact)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .map_err(|_| "!!binary value contains invalid base64 data".to_owned())
}

fn tag_name(tag: &Tag) -> &str {
    match tag {
        Tag::Null => "!!null",
        Tag::Bool => "!!bool",
        Tag::Int => "!!int",
        Tag::Float => "!!float",
        Tag::Str => "!!str",
        Tag::Timestamp => "!!timestamp",
        Tag::Binary => "!!binary",
        Tag::Custom(name) => name,
    }
}

fn resolved_name(resolved: Resolved) -> &'static str {
    match resolved {
        Resolved::Null => "!!null",
        Resolved::Bool(_) => "!!bool",
        Resolved::Int(_) | Resolved::Uint(_) => "!!int",
        Resolved::Float(_) => "!!float",
        Resolved::Timestamp(_) => "!!timestamp",
        Resolved::Str => "!!str",
    }
}
