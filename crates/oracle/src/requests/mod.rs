//! Does the embedded API server answer as kube-apiserver does?
//!
//! ```text
//! oracle/requests/NAME.txt ─┬─► plan ─► real API server ─► answers ─┬─► lines ─► oracle/answers/NAME.txt (committed)
//!                           └─► embedded API server ───────────────┘
//! ```
//!
//! A file holds objects and a script; each line of the script is one request. Most are tries: a server-side dry-run of an
//! object with one thing changed. `oracle/README.md` describes the format.

mod answer;
mod compare;
mod edit;
mod mutate;
mod plan;
mod play;
mod step;

use std::collections::BTreeMap;

use serde_json::Value;

pub use answer::{Answer, from_text, to_text, transcript};
pub use compare::agree;
pub use mutate::{representatives, with_mutations};
pub use plan::plan;
pub use play::answers;
pub use step::{RequestStep, Verb};

use crate::scenario::{ScenarioError, documents, split, yaml};

/// A file of requests.
#[derive(Clone, Debug)]
pub struct Requests {
    /// What it is about, in a sentence.
    pub shows: String,
    /// The objects that steps name.
    pub objects: BTreeMap<String, Value>,
    /// The script.
    pub steps: Vec<RequestStep>,
}

impl Requests {
    /// Reads a file.
    ///
    /// # Errors
    /// If a section or a step is unknown, a step names an object that is not there, or YAML cannot be read.
    pub fn parse(text: &str) -> Result<Requests, ScenarioError> {
        let (head, sections) = split(text);
        let head = yaml(&head)?;
        let mut requests = Requests {
            shows: head["shows"].as_str().unwrap_or_default().to_owned(),
            objects: BTreeMap::new(),
            steps: Vec::new(),
        };
        for (title, text) in sections {
            match title.split_once(' ') {
                Some(("object", name)) => {
                    let documents = documents(&text)?;
                    let [object] = documents.as_slice() else {
                        return Err(ScenarioError::new(format!("`{name}` is not one object")));
                    };
                    requests.objects.insert(name.to_owned(), object.clone());
                }
                None if title == "steps" => {
                    for line in text.lines().map(str::trim) {
                        if !line.is_empty() && !line.starts_with('#') {
                            requests.steps.push(RequestStep::parse(line, &requests.objects)?);
                        }
                    }
                }
                _ => return Err(ScenarioError::new(format!("no section is called `{title}`"))),
            }
        }
        Ok(requests)
    }
}
