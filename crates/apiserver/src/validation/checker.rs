//! Collecting what is wrong, in Kubernetes' words.

use std::fmt::Display;

use serde_json::Value;

use super::{ErrorClass, FieldError, Path};

/// Collects errors and knows which texts are beyond judgement.
#[derive(Debug)]
pub(crate) struct Checker<'a> {
    pub(crate) minor: u16,
    unknown_tokens: &'a [String],
    errors: Vec<FieldError>,
}

impl<'a> Checker<'a> {
    pub(crate) fn new(minor: u16, unknown_tokens: &'a [String]) -> Checker<'a> {
        Checker {
            minor,
            unknown_tokens,
            errors: Vec::new(),
        }
    }

    pub(crate) fn into_errors(self) -> Vec<FieldError> {
        self.errors
    }

    /// Whether a text holds something whose value nobody knows.
    pub(crate) fn is_unknown(&self, text: &str) -> bool {
        super::is_unknown(text, self.unknown_tokens)
    }

    /// Whether a value is or holds something whose value nobody knows.
    pub(crate) fn holds_unknown(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.is_unknown(text),
            Value::Array(items) => items.iter().any(|item| self.holds_unknown(item)),
            Value::Object(fields) => fields
                .iter()
                .any(|(name, field)| self.is_unknown(name) || self.holds_unknown(field)),
            _ => false,
        }
    }

    /// Whether something is wrong that keeps CEL rules from being looked at: missing fields, wrong types, unknown words,
    /// and what is too long.
    pub(crate) fn is_blocked(&self) -> bool {
        self.errors.iter().any(|error| {
            let starts = ["Required value", "Unsupported value", "Too long", "Too many"];
            starts.iter().any(|start| error.message.starts_with(start))
                || error.message.contains("in body must be of type")
        })
    }

    /// How many errors there are so far.
    pub(crate) fn count(&self) -> usize {
        self.errors.len()
    }

    /// The number in a field. Go reads those that do not fit into 32 bits into them all the same.
    #[expect(clippy::cast_possible_truncation, reason = "it is what Go does")]
    pub(crate) fn number(&self, parent: &Value, field: &str) -> Option<i64> {
        let number = parent.get(field)?.as_i64()?;
        Some(if super::decode::WIDE.contains(&field) {
            number
        } else {
            i64::from(number as i32)
        })
    }

    pub(crate) fn push(&mut self, path: impl Display, message: impl Into<String>) {
        self.errors.push(FieldError {
            path: path.to_string(),
            message: message.into(),
            class: ErrorClass::Invalid,
        });
    }

    pub(crate) fn required(&mut self, path: impl Display, detail: &str) {
        let detail = if detail.is_empty() {
            String::new()
        } else {
            format!(": {detail}")
        };
        self.push(path, format!("Required value{detail}"));
    }

    pub(crate) fn invalid(&mut self, path: impl Display, value: &Value, detail: impl Display) {
        if !self.holds_unknown(value) {
            self.push(path, format!("Invalid value: {value}: {detail}"));
        }
    }

    pub(crate) fn invalid_text(&mut self, path: impl Display, text: &str, detail: impl Display) {
        if !self.is_unknown(text) {
            self.push(path, format!("Invalid value: {text:?}: {detail}"));
        }
    }

    pub(crate) fn forbidden(&mut self, path: impl Display, detail: &str) {
        self.push(path, format!("Forbidden: {detail}"));
    }

    pub(crate) fn duplicate(&mut self, path: impl Display, value: &Value) {
        if !self.holds_unknown(value) {
            self.push(path, format!("Duplicate value: {value}"));
        }
    }

    pub(crate) fn not_found(&mut self, path: impl Display, name: &str) {
        if !self.is_unknown(name) {
            self.push(path, format!("Not found: {name:?}"));
        }
    }

    /// A text that must be one of some.
    pub(crate) fn one_of(&mut self, path: impl Display, text: &str, supported: &[&str]) {
        if !supported.contains(&text) && !self.is_unknown(text) {
            let mut supported: Vec<String> = supported.iter().map(|text| format!("{text:?}")).collect();
            supported.sort();
            self.push(
                path,
                format!(
                    "Unsupported value: {text:?}: supported values: {}",
                    supported.join(", ")
                ),
            );
        }
    }

    /// The field, if it holds a text, must be one of some. An empty text is none: to Go's types it is as if nothing was
    /// said, and a default takes its place.
    pub(crate) fn field_one_of(&mut self, parent: &Value, path: &Path<'_>, field: &str, supported: &[&str]) {
        if let Some(text) = parent.get(field).and_then(Value::as_str)
            && !text.is_empty()
        {
            self.one_of(path.field(field), text, supported);
        }
    }

    /// The same of a field that Go's types keep even if it is empty.
    pub(crate) fn pointer_one_of(
        &mut self,
        parent: &Value,
        path: &Path<'_>,
        field: &str,
        supported: &[&str],
    ) {
        if let Some(text) = parent.get(field).and_then(Value::as_str) {
            self.one_of(path.field(field), text, supported);
        }
    }

    /// Every message of a test of a text.
    pub(crate) fn text(&mut self, path: impl Display, text: &str, messages: Vec<String>) {
        for message in messages {
            self.invalid_text(&path, text, message);
        }
    }

    /// A field that must hold a text that is not empty; gives it if it does.
    pub(crate) fn required_text<'v>(
        &mut self,
        parent: &'v Value,
        path: &Path<'_>,
        field: &str,
    ) -> Option<&'v str> {
        match parent.get(field) {
            Some(Value::String(text)) if !text.is_empty() => Some(text),
            None | Some(Value::Null | Value::String(_)) => {
                self.required(path.field(field), "");
                None
            }
            Some(_) => None,
        }
    }

    /// A field that, if it holds a number, must not be negative.
    pub(crate) fn non_negative(&mut self, parent: &Value, path: &Path<'_>, field: &str) {
        if let Some(number) = self.number(parent, field).filter(|number| *number < 0) {
            self.invalid(
                path.field(field),
                &Value::from(number),
                "must be greater than or equal to 0",
            );
        }
    }

    /// A field that, if it holds a number, must be in a range.
    pub(crate) fn in_range(&mut self, parent: &Value, path: &Path<'_>, field: &str, least: i64, most: i64) {
        if let Some(number) = self
            .number(parent, field)
            .filter(|number| *number < least || *number > most)
        {
            self.invalid(
                path.field(field),
                &Value::from(number),
                format!("must be between {least} and {most}, inclusive"),
            );
        }
    }
}
