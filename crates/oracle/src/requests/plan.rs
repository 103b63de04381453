//! A script as the real world's player reads it: a line of JSON for each request.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{RequestStep, Requests, Verb};

/// What stands in an object in place of the uid of another: `uid of NAME`.
const UID: &str = "uid of ";

/// The lines of a plan, one for each step.
pub fn plan(requests: &Requests) -> String {
    let mut text = String::new();
    for step in &requests.steps {
        let mut line = request(step);
        let owners = owners(&step.object, &requests.objects);
        if !owners.is_empty() {
            line["uids"] = owners.into_iter().collect();
        }
        text.push_str(&line.to_string());
        text.push('\n');
    }
    text
}

/// The objects whose uids an object asks for, by the text that stands in for each.
pub(super) fn owners(object: &Value, objects: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for owner in object["metadata"]["ownerReferences"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let uid = owner["uid"].as_str().unwrap_or_default();
        if let Some(object) = uid.strip_prefix(UID).and_then(|name| objects.get(name)) {
            found.insert(uid.to_owned(), object.clone());
        }
    }
    found
}

fn request(step: &RequestStep) -> Value {
    let object = &step.object;
    match &step.verb {
        Verb::Apply {
            manager,
            force,
            dry_run,
        } => {
            json!({"verb": "apply", "object": object, "manager": manager, "force": force, "dry_run": dry_run})
        }
        Verb::Create { manager } => json!({"verb": "create", "object": object, "manager": manager}),
        Verb::Update { manager } => json!({"verb": "update", "object": object, "manager": manager}),
        Verb::Patch { manager, body } => {
            json!({"verb": "patch", "object": object, "manager": manager, "patch": body})
        }
        Verb::Status { manager, body } => {
            json!({"verb": "status", "object": object, "manager": manager, "patch": body})
        }
        Verb::Delete { propagation } => {
            json!({"verb": "delete", "object": object, "propagation": propagation})
        }
        Verb::Show { .. } | Verb::Owners => json!({"verb": "get", "object": object}),
        Verb::Wait(span) => json!({"verb": "wait", "wait": format!("{}ms", span.as_millis())}),
        Verb::Until(state) => json!({"verb": "until", "object": object, "state": state}),
    }
}
