//! What happened: the changes of objects, as etcd saw them in a real cluster or the simulator's log tells them.

use std::collections::BTreeMap;
use std::sync::Arc;

use firstpass_object::{ObjectExt, ObjectId};
use serde_json::Value;

/// One change of one object.
#[derive(Clone, Debug)]
pub struct Change {
    /// Seconds since some start.
    pub at: f64,
    /// Which object.
    pub id: ObjectId,
    /// The object before; `None` if it was created.
    pub old: Option<Arc<Value>>,
    /// The object after; `None` if it is gone.
    pub new: Option<Arc<Value>>,
    /// Who did it.
    pub by: String,
}

/// A step of the script began, or something changed.
#[derive(Clone, Debug)]
pub enum Item {
    /// A step began.
    Step {
        /// When.
        at: f64,
        /// The line.
        text: String,
    },
    /// Something changed.
    Change(Change),
}

/// Reads what the real world wrote: a line of JSON for each change.
///
/// # Errors
/// The number of the line that cannot be read.
pub fn read_changes(text: &str) -> Result<Vec<Item>, usize> {
    let mut stored: BTreeMap<String, Arc<Value>> = BTreeMap::new();
    let mut items = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line: Value = serde_json::from_str(line).map_err(|_| index + 1)?;
        let key = line["key"].as_str().ok_or(index + 1)?;
        let at = line["at"].as_f64().ok_or(index + 1)?;
        let new = line.get("object").map(|object| Arc::new(object.clone()));
        let old = match &new {
            Some(object) => stored.insert(key.to_owned(), Arc::clone(object)),
            None => stored.remove(key),
        };
        let Some(object) = new.as_ref().or(old.as_ref()) else {
            continue;
        };
        if object.namespace() == Some("oracle-steps") {
            if let Some(text) = object.text_at(&["data", "step"])
                && old.is_none()
            {
                items.push(Item::Step {
                    at,
                    text: text.to_owned(),
                });
            }
            continue;
        }
        items.push(Item::Change(Change {
            at,
            id: object.id(),
            by: manager(old.as_deref(), new.as_deref()),
            old,
            new,
        }));
    }
    Ok(items)
}

/// The field manager whose entries differ between two states of an object.
fn manager(old: Option<&Value>, new: Option<&Value>) -> String {
    let entries = |object: Option<&Value>| -> Vec<Value> {
        object.map_or_else(Vec::new, |object| {
            object.items_at(&["metadata", "managedFields"]).to_vec()
        })
    };
    let before = entries(old);
    // `before-first-apply` takes what nobody owned when the first apply comes.
    let changed = entries(new)
        .into_iter()
        .filter(|entry| !before.contains(entry) && entry["manager"] != "before-first-apply")
        .max_by_key(|entry| entry["time"].as_str().unwrap_or_default().to_owned());
    // An apply in the second of the one before leaves its entry as it was.
    let newest = || {
        let all = entries(new);
        let time = |entry: &Value| entry["time"].as_str().unwrap_or_default().to_owned();
        let last = all.iter().map(time).max()?;
        let is_flux = |entry: &Value| entry["manager"] == "kustomize-controller";
        all.into_iter()
            .filter(|entry| time(entry) == last)
            .max_by_key(is_flux)
    };
    changed
        .or_else(newest)
        .as_ref()
        .and_then(|entry| entry["manager"].as_str())
        .unwrap_or_default()
        .to_owned()
}
