//! JSON Patch (RFC 6902), as the library that kustomize uses understands it.
//!
//! It takes more than the RFC: indices may be negative and count from the end, `replace` makes a missing key, `copy`
//! of a missing key copies null. The object goes to JSON and back, so quotes and the order of keys are lost on the
//! way, and numbers become floats: whole numbers beyond 2⁵³ lose digits, in kustomize as here.
//!
//! Upstream: `api/filters/patchjson6902`, `evanphx/json-patch` v4.13.

use firstpass_yaml::{Node, NodeKind, Scalar, Style, Tag, go_float};
use serde_json::{Map, Value};

use crate::Error;
use crate::fieldspec::as_go_int;
use crate::scalar::is_no_text_in_yaml_1_1;

/// How deep an object may be after a patch.
const DEPTH_MAX: usize = 500;

/// How many values `copy` may add to an object. A few operations that copy a field into itself make as many as one likes.
const COPIED_MAX: usize = 100_000;

/// A list of operations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patch {
    operations: Vec<Map<String, Value>>,
}

impl Patch {
    /// Reads a patch. What begins with `[` has to be JSON; anything else is YAML as kustomize reads it in its own files,
    /// where `yes`, `off` and the like are booleans.
    ///
    /// # Errors
    /// Text that is neither, and what is no list of mappings. Whether an operation makes sense shows when it is applied.
    pub fn parse(text: &str) -> Result<Patch, Error> {
        let value = if text.starts_with('[') {
            serde_json::from_str(text)
                .map_err(|error| Error::new(format!("the patch is not valid JSON: {error}")))?
        } else {
            let node = firstpass_yaml::parse_one(text)
                .map_err(|error| Error::new(format!("the patch is not valid YAML: {}", error.message)))?;
            node.to_config()
                .map_err(|error| Error::new(format!("the patch is not valid YAML: {}", error.message)))?
        };
        Patch::from_json(value)
    }

    /// The patch that a JSON value is.
    pub fn from_json(value: Value) -> Result<Patch, Error> {
        let is_wrong = || Error::new("a JSON patch is a list of operations, each of them a mapping");
        let operations = match value {
            Value::Null => Vec::new(),
            Value::Array(items) => items
                .into_iter()
                .map(|item| match item {
                    Value::Object(operation) => Ok(operation),
                    Value::Null => Ok(Map::new()),
                    _ => Err(is_wrong()),
                })
                .collect::<Result<_, _>>()?,
            _ => return Err(is_wrong()),
        };
        Ok(Patch { operations })
    }

    /// Whether there is no operation.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }
}

/// Applies a patch to an object.
///
/// # Errors
/// The first operation that does not apply. The target is then as it was before.
pub fn apply(target: &mut Node, patch: &Patch) -> Result<(), Error> {
    let mut document = target.to_json().map_err(|error| Error::new(error.message))?;
    let mut copies_left = COPIED_MAX;
    for operation in &patch.operations {
        apply_one(&mut document, operation, &mut copies_left)?;
    }
    let mut unlimited = usize::MAX;
    if !is_within(&document, DEPTH_MAX, &mut unlimited) {
        return Err(Error::new("the patch nests the object too deep"));
    }
    if !document.is_object() {
        return Err(Error::new("the patch leaves something that is no mapping"));
    }
    let mark = target.mark;
    *target = node_by_go(&document);
    target.mark = mark;
    Ok(())
}

fn apply_one(
    document: &mut Value,
    operation: &Map<String, Value>,
    copies_left: &mut usize,
) -> Result<(), Error> {
    let kind = operation.get("op").and_then(Value::as_str).unwrap_or("unknown");
    let text = |field: &str| {
        operation
            .get(field)
            .and_then(Value::as_str)
            .ok_or_else(|| Error::new(format!("{kind} operation has no `{field}`")))
    };
    let value = || operation.get("value").cloned().unwrap_or_default();
    match kind {
        "add" => {
            let path = text("path")?;
            locate(document, path, kind)?
                .add(value())
                .map_err(|error| about(kind, path, error))
        }
        "remove" => {
            let path = text("path")?;
            locate(document, path, kind)?
                .remove()
                .map(drop)
                .map_err(|error| about(kind, path, error))
        }
        "replace" => replace(document, text("path")?, value()),
        "move" => {
            let from = text("from")?;
            let moved = locate(document, from, kind)?
                .remove()
                .map_err(|error| about(kind, from, error))?;
            let path = text("path")?;
            locate(document, path, kind)?
                .add(moved)
                .map_err(|error| about(kind, path, error))
        }
        "copy" => {
            let from = text("from")?;
            let copied = locate(document, from, kind)?
                .get()
                .map_err(|error| about(kind, from, error))?;
            if copied
                .as_ref()
                .is_some_and(|copied| !is_within(copied, DEPTH_MAX, copies_left))
            {
                return Err(Error::new("the patch copies too much"));
            }
            let path = text("path")?;
            locate(document, path, kind)?
                .add(copied.unwrap_or_default())
                .map_err(|error| about(kind, path, error))
        }
        "test" => test(document, text("path")?, &value()),
        other => Err(Error::new(format!("unexpected kind of operation: {other}"))),
    }
}

/// Whether a value is no deeper than that and has no more parts than are left, which are used up.
fn is_within(value: &Value, depth: usize, parts_left: &mut usize) -> bool {
    let (Some(depth), Some(left)) = (depth.checked_sub(1), parts_left.checked_sub(1)) else {
        return false;
    };
    *parts_left = left;
    match value {
        Value::Array(items) => items.iter().all(|item| is_within(item, depth, parts_left)),
        Value::Object(fields) => fields.values().all(|field| is_within(field, depth, parts_left)),
        _ => true,
    }
}

fn replace(document: &mut Value, path: &str, value: Value) -> Result<(), Error> {
    if path.is_empty() {
        if !value.is_object() && !value.is_array() {
            return Err(Error::new("replace operation value must be object or array"));
        }
        *document = value;
        return Ok(());
    }
    let mut place = locate(document, path, "replace")?;
    place
        .get()
        .and_then(|_| place.set(value))
        .map_err(|error| about("replace", path, error))
}

fn test(document: &mut Value, path: &str, expected: &Value) -> Result<(), Error> {
    let found = if path.is_empty() {
        document.clone()
    } else {
        let place = locate(document, path, "test")?;
        place
            .get()
            .map_err(|error| about("test", path, error))?
            .unwrap_or_default()
    };
    if found == *expected {
        return Ok(());
    }
    Err(Error::new(format!("testing value {path} failed: test failed")))
}

fn about(kind: &str, path: &str, mut error: Error) -> Error {
    error.what = format!("error in {kind} for path: '{path}': {}", error.what);
    error
}

/// The place that a path means: a mapping or a list, and a key of it that need not be there.
enum Place<'d> {
    InMap(&'d mut Map<String, Value>, String),
    InList(&'d mut Vec<Value>, String),
}

fn locate<'d>(document: &'d mut Value, path: &str, kind: &str) -> Result<Place<'d>, Error> {
    find(document, path).ok_or_else(|| {
        Error::new(format!(
            "{kind} operation does not apply: doc is missing path: \"{path}\": missing value"
        ))
    })
}

/// What stands before the first slash is never looked at.
fn find<'d>(document: &'d mut Value, path: &str) -> Option<Place<'d>> {
    let (_, path) = path.split_once('/')?;
    let (parents, key) = path
        .rsplit_once('/')
        .map_or(("", path), |(parents, key)| (parents, key));
    let has_parents = parents.len() < path.len() && path.contains('/');
    let mut at = document;
    for part in parents.split('/').filter(|_| has_parents) {
        let part = unescape(part);
        at = match at {
            Value::Object(map) => map.get_mut(&part)?,
            Value::Array(items) => {
                let index = existing(items.len(), &part).ok()?;
                items.get_mut(index)?
            }
            _ => return None,
        };
    }
    let key = unescape(key);
    match at {
        Value::Object(map) => Some(Place::InMap(map, key)),
        Value::Array(items) => Some(Place::InList(items, key)),
        _ => None,
    }
}

fn unescape(part: &str) -> String {
    // In one pass: `~01` is `~1`, not a slash.
    let mut text = String::with_capacity(part.len());
    let mut rest = part;
    while let Some(at) = rest.find('~') {
        let (before, tilde) = rest.split_at(at);
        text.push_str(before);
        let (written, length) = match tilde.as_bytes().get(1) {
            Some(b'0') => ('~', 2),
            Some(b'1') => ('/', 2),
            _ => ('~', 1),
        };
        text.push(written);
        rest = &tilde[length..];
    }
    text + rest
}

fn invalid_index(key: &str) -> Error {
    Error::new(format!("unable to access invalid index: {key}"))
}

/// The position that an index means in a list with so many places; negative ones count from the end.
fn position(places: usize, key: &str) -> Result<usize, Error> {
    let index =
        as_go_int(key).ok_or_else(|| Error::new(format!("value was not a proper array index: '{key}'")))?;
    let places = i64::try_from(places).unwrap_or(i64::MAX);
    let index = if index < 0 { index + places } else { index };
    if index >= places {
        return Err(invalid_index(key));
    }
    usize::try_from(index).map_err(|_| invalid_index(key))
}

fn existing(length: usize, key: &str) -> Result<usize, Error> {
    position(length, key)
}

impl Place<'_> {
    fn get(&self) -> Result<Option<Value>, Error> {
        match self {
            Place::InMap(map, key) => Ok(map.get(key).cloned()),
            Place::InList(items, key) => Ok(items.get(existing(items.len(), key)?).cloned()),
        }
    }

    fn set(&mut self, value: Value) -> Result<(), Error> {
        match self {
            Place::InMap(map, key) => {
                map.insert(key.clone(), value);
            }
            Place::InList(items, key) => {
                let index = existing(items.len(), key)?;
                items[index] = value;
            }
        }
        Ok(())
    }

    fn add(self, value: Value) -> Result<(), Error> {
        match self {
            Place::InMap(map, key) => {
                map.insert(key, value);
            }
            Place::InList(items, key) if key == "-" => items.push(value),
            Place::InList(items, key) => {
                let index = position(items.len() + 1, &key)?;
                items.insert(index, value);
            }
        }
        Ok(())
    }

    fn remove(self) -> Result<Value, Error> {
        match self {
            Place::InMap(map, key) => map
                .remove(&key)
                .ok_or_else(|| Error::new(format!("unable to remove nonexistent key: {key}: missing value"))),
            Place::InList(items, key) => {
                let index = existing(items.len(), &key)?;
                Ok(items.remove(index))
            }
        }
    }
}

/// The tree that kustomize reads back from JSON.
fn node_by_go(value: &Value) -> Node {
    Node::new(match value {
        Value::Number(number) => {
            let text = number.as_f64().map_or_else(|| number.to_string(), go_float);
            NodeKind::Scalar(Scalar::plain(text))
        }
        Value::String(text) => NodeKind::Scalar(Scalar {
            text: text.as_str().into(),
            tag: Tag::Str,
            style: style_by_go(text),
        }),
        Value::Array(items) => NodeKind::Seq(items.iter().map(node_by_go).collect()),
        Value::Object(map) => NodeKind::Map(
            map.iter()
                .map(|(key, value)| (Node::string(key.as_str()), node_by_go(value)))
                .collect(),
        ),
        Value::Null | Value::Bool(_) => Node::from_json(value).kind,
    })
}

/// The quotes that go-yaml gives a text. They matter when a later step puts another text into their place.
fn style_by_go(text: &str) -> Style {
    const INDICATORS: [char; 19] = [
        '#', ',', '[', ']', '{', '}', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`', ' ', '-', '?',
    ];
    let scalar = Scalar::plain(text);
    if text.contains('\n') {
        Style::Literal
    } else if scalar.tag != Tag::Str || is_no_text_in_yaml_1_1(text) {
        Style::DoubleQuoted
    } else if text.starts_with(INDICATORS)
        || text.ends_with([' ', ':'])
        || text.contains(": ")
        || text.contains(" #")
    {
        Style::SingleQuoted
    } else {
        Style::Plain
    }
}

#[cfg(test)]
mod tests;
