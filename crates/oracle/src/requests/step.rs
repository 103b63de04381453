//! One line of a script.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::edit::Edit;
use crate::scenario::{ScenarioError, duration, yaml};

/// A request.
#[derive(Clone, Debug)]
pub struct RequestStep {
    /// The line, without what follows ` # `.
    pub text: String,
    /// Why the embedded server is known to answer something else: what follows ` # gap: `.
    pub gap: Option<String>,
    /// What to do.
    pub verb: Verb,
    /// The object of the request, changed as the line says; null where there is none.
    pub object: Value,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Verb {
    /// `apply OBJECT [as MANAGER] [forced]`, or `try …`, which is a forced dry-run.
    Apply {
        /// Field manager.
        manager: String,
        /// Takes fields from others.
        force: bool,
        /// Stores nothing.
        dry_run: bool,
    },
    /// `create OBJECT [as MANAGER]`.
    Create {
        /// Field manager.
        manager: String,
    },
    /// `update OBJECT [as MANAGER]`: replaces the object; without a resource version that of the moment is used.
    Update {
        /// Field manager.
        manager: String,
    },
    /// `patch OBJECT [as MANAGER] {…}`: a merge patch.
    Patch {
        /// Field manager.
        manager: String,
        /// The patch.
        body: Value,
    },
    /// `status OBJECT [as MANAGER] {…}`: a merge patch of the status.
    Status {
        /// Field manager.
        manager: String,
        /// The patch, without `status:`.
        body: Value,
    },
    /// `delete OBJECT [background|foreground|orphan]`.
    Delete {
        /// As the API spells it.
        propagation: &'static str,
    },
    /// `show OBJECT [FIELD…]`: the object as it is, or some fields of it.
    Show {
        /// The fields; all if there are none.
        fields: Vec<String>,
    },
    /// `owners OBJECT`: who owns which fields.
    Owners,
    /// `wait 2s`.
    Wait(Duration),
    /// `until OBJECT exists|gone|established`.
    Until(String),
}

impl RequestStep {
    /// Reads a line. Changes follow a colon: `try web: spec.replicas = 2 ;; spec.selector gone`.
    pub(super) fn parse(line: &str, objects: &BTreeMap<String, Value>) -> Result<RequestStep, ScenarioError> {
        let (text, gap) = match line.split_once(" # gap: ") {
            Some((text, gap)) => (text.trim(), Some(gap.trim().to_owned())),
            None => (line, None),
        };
        let fail = |why: &str| ScenarioError::new(format!("{why}: {text}"));
        let (head, changes) = match text.split_once(": ") {
            Some((head, changes)) if !head.contains('{') => (head, Some(changes)),
            _ => (text, None),
        };
        let (head, body) = match head.find('{') {
            Some(at) => (&head[..at], yaml(&text[at..])?),
            None => (head, Value::Null),
        };
        let words: Vec<&str> = head.split_whitespace().collect();
        let (verb, rest) = words.split_first().ok_or_else(|| fail("an empty step"))?;
        if *verb == "wait" {
            let span = duration(rest.first().copied().unwrap_or_default())?;
            return Ok(RequestStep {
                text: text.to_owned(),
                gap,
                verb: Verb::Wait(span),
                object: Value::Null,
            });
        }
        let (name, rest) = rest
            .split_first()
            .ok_or_else(|| fail("a step without an object"))?;
        let mut object = objects
            .get(*name)
            .cloned()
            .ok_or_else(|| fail("no such object"))?;
        for change in changes.into_iter().flat_map(|changes| changes.split(" ;; ")) {
            Edit::parse(change)?.apply(&mut object)?;
        }
        let manager = rest
            .iter()
            .position(|word| *word == "as")
            .and_then(|at| rest.get(at + 1))
            .map_or("flux", |name| *name);
        let manager = manager.to_owned();
        let verb = match *verb {
            "apply" => Verb::Apply {
                manager,
                force: rest.contains(&"forced"),
                dry_run: rest.contains(&"dry-run"),
            },
            "try" => Verb::Apply {
                manager,
                force: true,
                dry_run: true,
            },
            "create" => Verb::Create { manager },
            "update" => Verb::Update { manager },
            "patch" => Verb::Patch { manager, body },
            "status" => Verb::Status { manager, body },
            "delete" => Verb::Delete {
                propagation: match rest.first().copied() {
                    Some("foreground") => "Foreground",
                    Some("orphan") => "Orphan",
                    _ => "Background",
                },
            },
            "show" => Verb::Show {
                fields: rest.iter().map(|field| (*field).to_owned()).collect(),
            },
            "owners" => Verb::Owners,
            // For `with_mutations`, which replaces the step.
            "mutate" => Verb::Wait(Duration::ZERO),
            "until" => Verb::Until(rest.first().copied().unwrap_or("exists").to_owned()),
            _ => return Err(fail("no such verb")),
        };
        Ok(RequestStep {
            text: text.to_owned(),
            gap,
            verb,
            object,
        })
    }
}
