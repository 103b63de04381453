//! Changes to an object, one a text: `spec.ports[0].port = 80`, `metadata.labels["a/b"] gone`.

use serde_json::{Map, Value};

use crate::scenario::{ScenarioError, yaml};

/// A change.
pub(super) struct Edit {
    path: Vec<Place>,
    /// The new value; `None` takes the field away.
    value: Option<Value>,
}

/// A step of a path.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Field(String),
    Item(usize),
}

impl Edit {
    pub(super) fn parse(text: &str) -> Result<Edit, ScenarioError> {
        let text = text.trim();
        if let Some(path) = text.strip_suffix(" gone") {
            return Ok(Edit {
                path: places(path)?,
                value: None,
            });
        }
        let (path, value) = text
            .split_once(" = ")
            .ok_or_else(|| ScenarioError::new(format!("neither `PATH = VALUE` nor `PATH gone`: {text}")))?;
        // The value is YAML, which reads JSON as well.
        let value = yaml(&format!("value: {value}"))?;
        Ok(Edit {
            path: places(path)?,
            value: Some(value["value"].clone()),
        })
    }

    /// Changes the object; maps on the way that are missing are made.
    pub(super) fn apply(&self, object: &mut Value) -> Result<(), ScenarioError> {
        let (last, way) = self
            .path
            .split_last()
            .ok_or_else(|| ScenarioError::new("a change of nothing"))?;
        let mut place = object;
        for step in way {
            place = enter(place, step)?;
        }
        match (&self.value, last) {
            (Some(value), _) => *enter(place, last)? = value.clone(),
            (None, Place::Field(name)) => {
                if let Value::Object(fields) = place {
                    fields.remove(name);
                }
            }
            (None, Place::Item(index)) => {
                if let Value::Array(items) = place
                    && *index < items.len()
                {
                    items.remove(*index);
                }
            }
        }
        Ok(())
    }
}

fn enter<'v>(value: &'v mut Value, step: &Place) -> Result<&'v mut Value, ScenarioError> {
    match step {
        Place::Field(name) => {
            if !value.is_object() {
                *value = Value::Object(Map::new());
            }
            Ok(value
                .as_object_mut()
                .expect("made one above")
                .entry(name.clone())
                .or_insert(Value::Null))
        }
        Place::Item(index) => {
            let Value::Array(items) = value else {
                return Err(ScenarioError::new(format!("item {index} of what is no list")));
            };
            if *index == items.len() {
                items.push(Value::Null);
            }
            items
                .get_mut(*index)
                .ok_or_else(|| ScenarioError::new(format!("there is no item {index}")))
        }
    }
}

/// Reads `a.b[0]["c.d"]`.
pub(super) fn places(text: &str) -> Result<Vec<Place>, ScenarioError> {
    let mut places = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("[\"") {
            let (name, after) = after
                .split_once("\"]")
                .ok_or_else(|| ScenarioError::new(format!("a key that does not end: {text}")))?;
            places.push(Place::Field(name.to_owned()));
            rest = after;
        } else if let Some(after) = rest.strip_prefix('[') {
            let (index, after) = after
                .split_once(']')
                .ok_or_else(|| ScenarioError::new(format!("an index that does not end: {text}")))?;
            let index = index
                .parse()
                .map_err(|_| ScenarioError::new(format!("no index: {text}")))?;
            places.push(Place::Item(index));
            rest = after;
        } else {
            let after = rest.strip_prefix('.').unwrap_or(rest);
            let end = after.find(['.', '[']).unwrap_or(after.len());
            places.push(Place::Field(after[..end].to_owned()));
            rest = &after[end..];
        }
    }
    Ok(places)
}
