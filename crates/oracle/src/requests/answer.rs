//! Answers as lines.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::edit::{Place, places};
use super::{Requests, Verb};

/// What a server said, of either world.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// HTTP status; 0 if the client found no such kind.
    pub code: u16,
    /// Reason of a refusal.
    pub reason: String,
    /// Text of a refusal.
    pub message: String,
    /// The object, if one was in the answer.
    pub object: Option<Value>,
    /// Whether the object existed before.
    pub was: bool,
    /// Whether nothing changed.
    pub unchanged: bool,
    /// Who owns which fields, a line each.
    pub owners: Vec<String>,
}

impl Answer {
    /// Reads a line of the real world's answers; `None` if it is none.
    pub fn read(line: &str) -> Option<Answer> {
        let said: Value = serde_json::from_str(line).ok()?;
        let text = |field: &str| said[field].as_str().unwrap_or_default().to_owned();
        let object = said.get("object").filter(|object| object.is_object()).cloned();
        Some(Answer {
            code: u16::try_from(said["code"].as_u64()?).ok()?,
            reason: text("reason"),
            message: text("message"),
            was: said["was"] == true,
            unchanged: said["unchanged"] == true,
            owners: object.as_ref().map(managers).unwrap_or_default(),
            object,
        })
    }

    /// The answer in a word or two, or what was asked to see.
    fn line(&self, verb: &Verb) -> String {
        if self.code == 0 || self.code >= 400 {
            return format!("{} {}: {}", self.code, self.reason, self.message.trim_end());
        }
        match verb {
            Verb::Wait(_) | Verb::Until(_) => "done".to_owned(),
            Verb::Delete { .. } if self.object.is_some() => "deletion under way".to_owned(),
            Verb::Delete { .. } => "deleted".to_owned(),
            Verb::Show { fields } => shown(self.object.as_ref().unwrap_or(&Value::Null), fields),
            Verb::Owners => self.owners.join("\n"),
            _ if !self.was => "created".to_owned(),
            _ if self.unchanged => "unchanged".to_owned(),
            _ => {
                let generation = self
                    .object
                    .as_ref()
                    .map(|object| &object["metadata"]["generation"]);
                match generation.and_then(Value::as_u64) {
                    Some(generation) => format!("configured, generation {generation}"),
                    None => "configured".to_owned(),
                }
            }
        }
    }
}

/// Each step with its answer below it.
pub fn transcript(requests: &Requests, answers: &[Answer]) -> Vec<(String, String)> {
    requests
        .steps
        .iter()
        .zip(answers)
        .map(|(step, answer)| (step.text.clone(), without_uids(&answer.line(&step.verb))))
        .collect()
}

/// The text with `UID` in place of every uid, which differ from run to run.
fn without_uids(text: &str) -> String {
    const LENGTH: usize = 36;
    let is_uid = |text: &str| {
        text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
    };
    let mut found = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let size = match rest.get(..LENGTH).filter(|start| is_uid(start)) {
            Some(_) => {
                found.push_str("UID");
                LENGTH
            }
            None => {
                found.push(letter);
                letter.len_utf8()
            }
        };
        rest = &rest[size..];
    }
    found
}

/// A transcript as a file: steps, and below each its answer.
pub fn to_text(transcript: &[(String, String)]) -> String {
    let mut text = String::new();
    for (step, answer) in transcript {
        text.push_str(step);
        text.push('\n');
        for line in answer.lines() {
            text.push_str("    ");
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// Reads what [`to_text`] wrote.
pub fn from_text(text: &str) -> Vec<(String, String)> {
    let mut transcript: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("    "), transcript.last_mut()) {
            (Some(line), Some((_, answer))) => {
                if !answer.is_empty() {
                    answer.push('\n');
                }
                answer.push_str(line);
            }
            _ => transcript.push((line.to_owned(), String::new())),
        }
    }
    transcript
}

/// The object, or some of its fields, without what differs from run to run.
fn shown(object: &Value, fields: &[String]) -> String {
    let mut object = object.clone();
    settle(&mut object);
    if fields.is_empty() {
        return object.to_string();
    }
    let lines: Vec<String> = fields
        .iter()
        .map(|field| format!("{field}: {}", at(&object, field)))
        .collect();
    lines.join("\n")
}

fn at(object: &Value, field: &str) -> Value {
    let Ok(way) = places(field) else {
        return Value::Null;
    };
    let mut value = object;
    for step in way {
        let below = match step {
            Place::Field(name) => value.get(name),
            Place::Item(index) => value.get(index),
        };
        match below {
            Some(below) => value = below,
            None => return Value::Null,
        }
    }
    value.clone()
}

/// Takes away uids and times, and says only that there is a moment of deletion.
fn settle(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for field in [
                "uid",
                "resourceVersion",
                "creationTimestamp",
                "managedFields",
                "lastTransitionTime",
            ] {
                fields.remove(field);
            }
            if fields.contains_key("deletionTimestamp") {
                fields.insert("deletionTimestamp".to_owned(), json!("some time"));
            }
            fields.values_mut().for_each(settle);
        }
        Value::Array(items) => items.iter_mut().for_each(settle),
        _ => {}
    }
}

/// `metadata.managedFields` as lines.
fn managers(object: &Value) -> Vec<String> {
    let mut lines: Vec<String> = object["metadata"]["managedFields"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|entry| {
            let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
            let mut paths = Vec::new();
            walk(&entry["fieldsV1"], "", &mut paths);
            owner_line(
                &text("manager"),
                &text("operation"),
                &text("subresource"),
                &text("apiVersion"),
                paths,
            )
        })
        .collect();
    lines.sort();
    lines
}

/// A manager and its paths.
pub(super) fn owner_line(
    name: &str,
    operation: &str,
    subresource: &str,
    api_version: &str,
    mut paths: Vec<String>,
) -> String {
    paths.sort();
    let subresource = if subresource.is_empty() {
        String::new()
    } else {
        format!(" of {subresource}")
    };
    format!(
        "{name} {operation}{subresource} in {api_version}: {}",
        paths.join(" ")
    )
}

/// The paths of a set in the form FieldsV1.
fn walk(set: &Value, prefix: &str, paths: &mut Vec<String>) {
    for (key, below) in set.as_object().into_iter().flatten() {
        if key == "." {
            paths.push(prefix.to_owned());
            continue;
        }
        let element = match key.split_once(':') {
            Some(("f", name)) => format!(".{name}"),
            Some(("k", keys)) => {
                let keys: BTreeMap<String, Value> = serde_json::from_str(keys).unwrap_or_default();
                let keys: Vec<String> = keys
                    .iter()
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                format!("[{}]", keys.join(","))
            }
            Some(("v", value)) => format!("[={value}]"),
            _ => format!("[{key}]"),
        };
        let path = format!("{prefix}{element}");
        if below.as_object().is_some_and(serde_json::Map::is_empty) {
            paths.push(path);
        } else {
            walk(below, &path, paths);
        }
    }
}
