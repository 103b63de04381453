//! Vars: `$(NAME)` in the fields that may hold one.
//!
//! Upstream: `api/filters/refvar`. The syntax is that of Kubernetes' own expansion: `$$` is a dollar sign, and what is
//! no name in brackets stays as it is.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use firstpass_yaml::{Node, NodeKind, Scalar, Style, Tag, go_float};

use crate::Error;
use crate::fieldspec::{self, FieldSpec};
use crate::scalar::is_textual;

/// The value of a var.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text.
    Str(String),
    /// A whole number.
    Int(i64),
    /// A number with a fraction or an exponent.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// A mapping or a list, which cannot be put into a text: the reference stays.
    Composite,
}

/// What a node is worth as a var; nothing for a number that kustomize cannot read here, such as `0x10`.
pub fn value_of(node: &Node) -> Option<Value> {
    let NodeKind::Scalar(scalar) = &node.kind else {
        return Some(Value::Composite);
    };
    let text = scalar.text.as_str();
    match scalar.tag {
        Tag::Int => fieldspec::as_go_int(text).map(Value::Int),
        Tag::Float => text.parse().ok().map(Value::Float),
        Tag::Bool => match text {
            "true" | "True" | "TRUE" => Some(Value::Bool(true)),
            "false" | "False" | "FALSE" => Some(Value::Bool(false)),
            _ => None,
        },
        _ => Some(Value::Str(text.to_owned())),
    }
}

/// Puts values in the place of references, and remembers which it used.
#[derive(Clone, Debug)]
pub struct Replacer {
    values: BTreeMap<String, Value>,
    used: BTreeSet<String>,
}

impl Replacer {
    /// A replacer for these vars.
    pub fn new(values: BTreeMap<String, Value>) -> Replacer {
        Replacer {
            values,
            used: BTreeSet::new(),
        }
    }

    /// The vars that no reference named so far.
    pub fn unused(&self) -> Vec<&str> {
        let names = self.values.keys().map(String::as_str);
        names.filter(|name| !self.used.contains(*name)).collect()
    }

    /// Replaces the references in the fields of an object that the spec means: in a text, in the texts of a mapping, or
    /// in a list of texts.
    ///
    /// # Errors
    /// A list with something else than texts, and a mapping with a key that is none.
    pub fn apply(&mut self, target: &mut Node, spec: &FieldSpec) -> Result<(), Error> {
        fieldspec::for_each(target, spec, None, &mut |field| self.replace(field))
    }

    fn replace(&mut self, field: &mut Node) -> Result<(), Error> {
        match &mut field.kind {
            NodeKind::Scalar(scalar) => self.replace_scalar(scalar),
            NodeKind::Map(map) => {
                for (key, value) in map.iter_mut() {
                    if !is_text(key) {
                        let text = key.as_text().unwrap_or_default();
                        return Err(Error::new(format!("invalid map key: value='{text}'")));
                    }
                    if let NodeKind::Scalar(scalar) = &mut value.kind {
                        self.replace_scalar(scalar);
                    }
                }
            }
            NodeKind::Seq(items) => {
                for item in items {
                    match &mut item.kind {
                        NodeKind::Scalar(scalar) if is_textual(scalar) => self.replace_scalar(scalar),
                        _ => return Err(Error::new("invalid value type expect a string")),
                    }
                }
            }
        }
        Ok(())
    }

    fn replace_scalar(&mut self, scalar: &mut Scalar) {
        if !is_textual(scalar) {
            return;
        }
        let (text, tag) = match self.expand(&scalar.text) {
            Value::Str(text) => (text, Tag::Str),
            Value::Int(number) => (number.to_string(), Tag::Int),
            Value::Float(number) => (number.to_string(), Tag::Float),
            Value::Bool(value) => (value.to_string(), Tag::Bool),
            Value::Composite => return,
        };
        *scalar = Scalar {
            text: text.into(),
            tag,
            style: Style::Plain,
        };
    }

    /// Replaces the references in a text. A text that is nothing but a reference becomes what the var is.
    pub fn expand(&mut self, text: &str) -> Value {
        let bytes = text.as_bytes();
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = 0;
        while at < bytes.len() {
            if bytes[at] != b'$' || at + 1 == bytes.len() {
                out.push(bytes[at]);
                at += 1;
                continue;
            }
            let rest = &text[at + 1..];
            match (bytes[at + 1], rest.find(')')) {
                (b'$', _) => out.push(b'$'),
                (b'(', Some(end)) => {
                    let name = &rest[1..end];
                    let value = self.value(name);
                    if end + 2 == text.len() {
                        return value;
                    }
                    out.extend_from_slice(as_text(value, name).as_bytes());
                    at += end;
                }
                (b'(', None) => out.extend_from_slice(b"$("),
                // Upstream takes a byte for a character, which spells out what is not ASCII.
                (byte, _) => out.extend_from_slice(format!("${}", char::from(byte)).as_bytes()),
            }
            at += 2;
        }
        Value::Str(String::from_utf8(out).unwrap_or_else(|broken| {
            // What is no longer UTF-8 is written in base64.
            base64::engine::general_purpose::STANDARD.encode(broken.as_bytes())
        }))
    }

    fn value(&mut self, name: &str) -> Value {
        match self.values.get(name) {
            Some(Value::Composite) | None => Value::Str(format!("$({name})")),
            Some(value) => {
                self.used.insert(name.to_owned());
                value.clone()
            }
        }
    }
}

fn is_text(node: &Node) -> bool {
    node.as_scalar().is_some_and(is_textual)
}

/// A value within a longer text.
fn as_text(value: Value, name: &str) -> String {
    match value {
        Value::Str(text) => text,
        Value::Int(number) => number.to_string(),
        Value::Float(number) => go_float(number),
        Value::Bool(value) => value.to_string(),
        Value::Composite => format!("$({name})"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn replacer() -> Replacer {
        let values = [
            ("A", Value::Str("a".to_owned())),
            ("REF", Value::Str("$(A)".to_owned())),
            ("EMPTY", Value::Str(String::new())),
            ("INT", Value::Int(5)),
            ("FLOAT", Value::Float(1.5)),
            ("BIG", Value::Float(2_000_000.0)),
            ("BOOL", Value::Bool(false)),
            ("MAP", Value::Composite),
        ];
        Replacer::new(
            values
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(replacer().expand(text), Value::Str(expected.to_owned()), "{text}");
    }

    #[test]
    fn references_in_texts() {
        check("$(A)", "a");
        check("x$(A)-$(A)y", "xa-ay");
        check("$(INT)/$(FLOAT)/$(BOOL)/$(BIG)", "5/1.5/false/2e+06");
        check("x$(EMPTY)y", "xy");
        check("$(REF)$(REF)", "$(A)$(A)");
    }

    #[test]
    fn what_stays() {
        for text in [
            "$(B)",
            "$(MAP)",
            "$(MAP)x",
            "$A",
            "${A}",
            "$(A",
            "$",
            "a$",
            "(A)",
            "$()",
            "$($(A)",
            "--$($($(--",
            "ä$x",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn dollars() {
        check("$$(A)", "$(A)");
        check("$$$(A)", "$a");
        check("$$$$(A)", "$$(A)");
        check("$$A", "$A");
        check(r"\$(A)", r"\a");
    }

    #[test]
    fn a_character_that_is_not_ascii_is_spelled_out() {
        // The second byte of `ä` is left alone, which is no UTF-8.
        check("$ä", "JMODpA==");
    }

    #[test]
    fn a_lone_reference_keeps_its_type() {
        assert_eq!(replacer().expand("$(INT)"), Value::Int(5));
        assert_eq!(replacer().expand("$(BOOL)"), Value::Bool(false));
    }

    fn apply(yaml: &str) -> Result<serde_json::Value, Error> {
        let mut node = firstpass_yaml::parse_one(yaml).unwrap();
        let spec = FieldSpec {
            path: "data".to_owned(),
            ..FieldSpec::default()
        };
        replacer().apply(&mut node, &spec)?;
        Ok(node.to_json().unwrap())
    }

    #[test]
    fn fields() {
        assert_eq!(apply("data: '$(INT)'").unwrap(), json!({"data": 5}));
        assert_eq!(apply("data: 7").unwrap(), json!({"data": 7}));
        assert_eq!(apply("data: null").unwrap(), json!({"data": null}));
        assert_eq!(
            apply("data: {x: $(A), y: 1, z: [$(A)]}").unwrap(),
            json!({"data": {"x": "a", "y": 1, "z": ["$(A)"]}})
        );
        assert_eq!(apply("data: [x, $(FLOAT)]").unwrap(), json!({"data": ["x", 1.5]}));
        assert!(apply("data: [1]").is_err());
        assert!(apply("data: {1: x}").is_err());
    }

    #[test]
    fn values() {
        let value = |yaml: &str| value_of(&firstpass_yaml::parse_one(yaml).unwrap());
        assert_eq!(value("12"), Some(Value::Int(12)));
        assert_eq!(value("1.5"), Some(Value::Float(1.5)));
        assert_eq!(value("true"), Some(Value::Bool(true)));
        assert_eq!(value("'12'"), Some(Value::Str("12".to_owned())));
        assert_eq!(value("[1]"), Some(Value::Composite));
        assert_eq!(value("0x10"), None);
    }

    #[test]
    fn unused_vars() {
        let mut replacer = replacer();
        replacer.expand("$(A)$(INT)");
        assert_eq!(replacer.unused(), ["BIG", "BOOL", "EMPTY", "FLOAT", "MAP", "REF"]);
    }
}
