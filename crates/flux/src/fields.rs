//! Reading an object field by field, keeping what is well-formed and noting what is not.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::Duration;

/// A field that is not what Flux's API asks for. The API server would refuse the object (or drop the field).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldProblem {
    /// The field, such as `spec.dependsOn[0].name`.
    pub path: String,
    /// What is wrong with it, for a person.
    pub message: String,
}

/// What an object says, and the fields that could not be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Read<T> {
    /// Everything that is well-formed.
    pub value: T,
    /// The rest, in the order of reading.
    pub problems: Vec<FieldProblem>,
}

/// A map inside an object, or the lack of one.
#[derive(Clone)]
pub(crate) struct Fields<'a> {
    map: Option<&'a Map<String, Value>>,
    path: String,
    problems: &'a RefCell<Vec<FieldProblem>>,
}

/// Reads an object: `read` gets its fields, problems are collected on the way.
pub(crate) fn read_object<T>(object: &Value, read: impl FnOnce(&Fields<'_>) -> T) -> Read<T> {
    let problems = RefCell::new(Vec::new());
    let value = read(&Fields {
        map: object.as_object(),
        path: String::new(),
        problems: &problems,
    });
    Read {
        value,
        problems: problems.into_inner(),
    }
}

impl<'a> Fields<'a> {
    /// Whether the map is there.
    pub(crate) fn exists(&self) -> bool {
        self.map.is_some()
    }

    pub(crate) fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    pub(crate) fn problem(&self, key: &str, message: impl Into<String>) {
        self.problems.borrow_mut().push(FieldProblem {
            path: self.path_of(key),
            message: message.into(),
        });
    }

    /// The value under a key; null reads as absent, as in the API.
    pub(crate) fn value(&self, key: &str) -> Option<&'a Value> {
        self.map?.get(key).filter(|value| !value.is_null())
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.map
            .into_iter()
            .flat_map(|map| map.keys().map(String::as_str))
    }

    /// The map under a key; absent if it is something else.
    pub(crate) fn map(&self, key: &str) -> Fields<'a> {
        let map = self.value(key).and_then(|value| {
            let map = value.as_object();
            if map.is_none() {
                self.problem(key, format!("must be a map, is {}", describe(value)));
            }
            map
        });
        Fields {
            map,
            path: self.path_of(key),
            problems: self.problems,
        }
    }

    pub(crate) fn text(&self, key: &str) -> Option<String> {
        let value = self.value(key)?;
        let text = value.as_str();
        if text.is_none() {
            self.problem(key, format!("must be a string, is {}", describe(value)));
        }
        text.map(str::to_owned)
    }

    pub(crate) fn required_text(&self, key: &str) -> String {
        match self.value(key) {
            Some(_) => self.text(key).unwrap_or_default(),
            None => {
                self.problem(key, "is required");
                String::new()
            }
        }
    }

    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        let value = self.value(key)?;
        if value.as_bool().is_none() {
            self.problem(key, format!("must be true or false, is {}", describe(value)));
        }
        value.as_bool()
    }

    pub(crate) fn integer(&self, key: &str) -> Option<i64> {
        let value = self.value(key)?;
        if value.as_i64().is_none() {
            self.problem(key, format!("must be a whole number, is {}", describe(value)));
        }
        value.as_i64()
    }

    pub(crate) fn duration(&self, key: &str) -> Option<Duration> {
        match self.text(key)?.parse() {
            Ok(duration) => Some(duration),
            Err(error) => {
                self.problem(key, error.to_string());
                None
            }
        }
    }

    /// One of the words of an enumeration.
    pub(crate) fn word<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(key)?;
        let found = words
            .iter()
            .find(|(word, _)| *word == text)
            .map(|(_, value)| *value);
        if found.is_none() {
            let known: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            self.problem(key, format!("`{text}` is none of {}", known.join(", ")));
        }
        found
    }

    /// The items of a list; an item that is no map reads as an empty one, with a problem.
    pub(crate) fn list(&self, key: &str) -> Vec<Fields<'a>> {
        let items = self.items(key);
        let read = |(index, value): (usize, &'a Value)| {
            let key = format!("{key}[{index}]");
            if !value.is_object() {
                self.problem(&key, format!("must be a map, is {}", describe(value)));
            }
            Fields {
                map: value.as_object(),
                path: self.path_of(&key),
                problems: self.problems,
            }
        };
        items.iter().enumerate().map(read).collect()
    }

    pub(crate) fn texts(&self, key: &str) -> Vec<String> {
        let read = |(index, value): (usize, &'a Value)| match value.as_str() {
            Some(text) => Some(text.to_owned()),
            None => {
                self.problem(
                    &format!("{key}[{index}]"),
                    format!("must be a string, is {}", describe(value)),
                );
                None
            }
        };
        self.items(key).iter().enumerate().filter_map(read).collect()
    }

    pub(crate) fn text_map(&self, key: &str) -> BTreeMap<String, String> {
        let map = self.map(key);
        let read = |key: &str| map.text(key).map(|text| (key.to_owned(), text));
        map.keys().filter_map(read).collect()
    }

    fn items(&self, key: &str) -> &'a [Value] {
        let Some(value) = self.value(key) else {
            return &[];
        };
        match value.as_array() {
            Some(items) => items,
            None => {
                self.problem(key, format!("must be a list, is {}", describe(value)));
                &[]
            }
        }
    }
}

fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => format!("`{value}`"),
        Value::String(text) => format!("the string `{text}`"),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a map".to_owned(),
    }
}
