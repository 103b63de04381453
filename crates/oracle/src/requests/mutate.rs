//! Wrong objects from a right one, by the dozen: fields that are missing, of another type, unknown, empty, out of range,
//! badly named, or there twice.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Requests;
use crate::scenario::ScenarioError;

/// Lists are changed in their first items only.
const ITEMS: usize = 2;

/// A file of requests with tries of all changes to the objects that its steps apply: as new objects, and then as changes of
/// what is there. The first step of the file makes the namespace.
///
/// # Errors
/// If the file is none.
pub fn with_mutations(text: &str) -> Result<String, ScenarioError> {
    let requests = Requests::parse(text)?;
    let (before, steps) = text.split_once("=== steps\n").unwrap_or((text, ""));
    let mut lines: Vec<String> = Vec::new();
    for line in steps.lines().map(str::trim) {
        let object = line
            .strip_prefix("mutate ")
            .and_then(|name| Some((name, requests.objects.get(name)?)));
        match object {
            Some((name, object)) => {
                let changes = mutations(object);
                let tries = || changes.iter().map(|change| format!("try {name}: {change}"));
                lines.extend(tries());
                lines.push(format!("apply {name} forced"));
                lines.extend(tries());
            }
            None => lines.push(line.to_owned()),
        }
    }
    Ok(format!("{before}=== steps\n{}\n", lines.join("\n")))
}

/// All changes of one place to an object, as steps write them.
fn mutations(object: &Value) -> Vec<String> {
    let mut changes = Vec::new();
    for (name, field) in object.as_object().into_iter().flatten() {
        if !matches!(name.as_str(), "apiVersion" | "kind" | "status") {
            walk(&step("", name), field, &mut changes);
        }
    }
    // Another object is another request.
    let identity = ["metadata ", "metadata.namespace", "metadata.name "];
    changes.retain(|change| !identity.iter().any(|start| change.starts_with(start)));
    changes.push("metadata.name = \"Bad_Name\"".to_owned());
    changes.push(format!("metadata.name = \"{}\"", "a".repeat(64)));
    changes.push("metadata.name = a.b".to_owned());
    changes.push("metadata.name = 1a".to_owned());
    changes
}

fn step(path: &str, name: &str) -> String {
    let is_plain = !name.is_empty()
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '$');
    match (is_plain, path.is_empty()) {
        (true, true) => name.to_owned(),
        (true, false) => format!("{path}.{name}"),
        (false, _) => format!("{path}[{}]", json!(name)),
    }
}

fn walk(path: &str, value: &Value, changes: &mut Vec<String>) {
    changes.push(format!("{path} gone"));
    let mut set = |path: &str, value: &Value| changes.push(format!("{path} = {value}"));
    for wrong in others(value) {
        set(path, &wrong);
    }
    match value {
        Value::Object(fields) => {
            set(&step(path, "unknownField"), &json!("x"));
            if fields.values().all(Value::is_string) {
                set(&step(path, "Bad Key!"), &json!("x"));
                set(&step(path, "a.example.com/b/c"), &json!("x"));
            }
            for (name, field) in fields {
                walk(&step(path, name), field, changes);
            }
        }
        Value::Array(items) => {
            if let Some(first) = items.first() {
                set(&format!("{path}[{}]", items.len()), first);
            }
            for (index, item) in items.iter().enumerate().take(ITEMS) {
                walk(&format!("{path}[{index}]"), item, changes);
            }
        }
        _ => {}
    }
}

/// What a value could be by mistake.
fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::String(text) => {
            let mut values = vec![
                json!(""),
                json!("Bad Value!"),
                json!("a/b"),
                json!("9a.b-c"),
                json!("-1"),
                json!("10Zi"),
                json!("1.2.3.4"),
                json!("${VAR}"),
                json!("a".repeat(64)),
                json!(7),
                json!({}),
                json!(null),
            ];
            values.push(json!(text.to_uppercase()));
            values
        }
        Value::Number(_) => [
            json!(-1),
            json!(0),
            json!(70000),
            json!(3_000_000_000_i64),
            json!("7"),
            json!(1.5),
            json!("x%"),
            json!(null),
        ]
        .to_vec(),
        Value::Bool(on) => vec![json!(!on), json!("true"), json!(1)],
        Value::Array(_) => vec![json!([]), json!({}), json!("x"), json!(null)],
        Value::Object(_) => vec![json!({}), json!([]), json!("x"), json!(null)],
        Value::Null => Vec::new(),
    }
}

/// Which of the steps to keep of a long table: one for each kind of refusal, all that `must_stay` names, and some of those
/// that are accepted.
pub fn representatives(transcript: &[(String, String)], must_stay: &BTreeSet<usize>) -> Vec<usize> {
    const ACCEPTED_EACH: usize = 12;
    let mut seen = BTreeSet::new();
    let mut accepted = 0;
    let mut kept = Vec::new();
    for (index, (text, answer)) in transcript.iter().enumerate() {
        let is_try = text.starts_with("try ");
        let is_refusal = answer.starts_with(|letter: char| letter.is_ascii_digit());
        let keeps = if must_stay.contains(&index) || !is_try {
            true
        } else if is_refusal {
            seen.insert(pattern(answer))
        } else {
            accepted += 1;
            accepted % ACCEPTED_EACH == 1
        };
        if keeps {
            kept.push(index);
        }
    }
    kept
}

/// A refusal without the values in it: digits, and what stands in quotes after `Invalid value`.
fn pattern(answer: &str) -> String {
    let mut pattern = String::new();
    let mut quoted = false;
    for letter in answer.chars() {
        match letter {
            '"' => quoted = !quoted,
            _ if quoted || letter.is_ascii_digit() => {}
            _ => pattern.push(letter),
        }
    }
    pattern
}
