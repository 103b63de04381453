//! What was stored, and by whom.

use std::sync::Arc;

use firstpass_apiserver::{Event, EventType, Time};
use firstpass_flux::names;
use firstpass_object::{ObjectExt, ObjectId, TierName};
use serde_json::Value;

use super::{Law, Laws, owner};

/// Something that kustomize-controller stored on behalf of a Flux Kustomization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// When.
    pub at: Time,
    /// What.
    pub id: ObjectId,
}

/// Something that kustomize-controller deleted.
#[derive(Clone, Debug)]
pub struct Deletion {
    /// When.
    pub at: Time,
    /// What.
    pub object: Arc<Value>,
    /// For which Flux Kustomization, as the labels say.
    pub by: Option<TierName>,
    /// Whether it is to be created again at once (F-242).
    pub forced: bool,
}

impl Laws {
    pub(super) fn check_versions(&mut self, event: &Event) {
        let id = &event.id;
        if event.event_type == EventType::Deleted {
            return;
        }
        let version = resource_version(&event.object);
        let newest = self.newest;
        self.judge(Law::VersionsGrow, event.at, version > newest, || {
            format!("{id} has version {version} after {newest}")
        });
        self.newest = newest.max(version);
        let Some(previous) = &event.previous else { return };
        let generation = |object: &Value| object.at(&["metadata", "generation"]).and_then(Value::as_u64);
        let deletion = |object: &Value| object.at(&["metadata", "deletionTimestamp"]).cloned();
        let (before, after) = (previous, &event.object);
        let grows = generation(before) <= generation(after)
            && (deletion(before).is_none() || deletion(before) == deletion(after))
            && before.at(&["metadata", "uid"]) == after.at(&["metadata", "uid"]);
        self.judge(Law::VersionsGrow, event.at, grows, || {
            format!("the generation of {id} shrank, its uid changed, or its deletion was taken back")
        });
    }

    /// Remembers what an attempt stores.
    pub(super) fn note_written(&mut self, event: &Event) {
        let stores = event.event_type != EventType::Deleted
            && &*event.by == names::KUSTOMIZE_MANAGER
            && is_content(event);
        let Some(owner) = owner(&event.object).filter(|_| stores) else {
            return;
        };
        if let Some(tier) = self.tiers.get_mut(&owner) {
            tier.written.push(Written {
                at: event.at,
                id: (*event.id).clone(),
            });
        }
    }
}

/// Whether more than metadata and status changed: the clean-up of an object happens while others are still dry-run (F-213).
fn is_content(event: &Event) -> bool {
    let Some(previous) = &event.previous else {
        return true;
    };
    let fields = |object: &Value| -> Vec<(String, Value)> {
        let fields = object.as_object().into_iter().flatten();
        let kept = fields.filter(|(key, _)| !matches!(key.as_str(), "metadata" | "status"));
        kept.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    fields(previous) != fields(&event.object)
}

pub(super) fn resource_version(object: &Value) -> u64 {
    let version = object.text_at(&["metadata", "resourceVersion"]);
    version.and_then(|version| version.parse().ok()).unwrap_or(0)
}

pub(super) fn tier_name(object: &Value) -> TierName {
    TierName::new(object.namespace().unwrap_or_default(), object.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(version: u64, generation: u64, previous: Option<u64>) -> Event {
        let object = |generation: u64| {
            Arc::new(json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "a", "namespace": "b", "uid": "c", "generation": generation, "resourceVersion": version.to_string()},
            }))
        };
        Event {
            index: 0,
            at: Time::START,
            event_type: if previous.is_some() {
                EventType::Modified
            } else {
                EventType::Added
            },
            id: Arc::new(object(0).id()),
            object: object(generation),
            previous: previous.map(object),
            by: "test".into(),
        }
    }

    #[test]
    fn versions_that_shrink_break_the_law() {
        let mut laws = Laws::default();
        laws.check_versions(&event(7, 1, None));
        laws.check_versions(&event(8, 2, Some(1)));
        assert_eq!((laws.broken(), laws.cases()[&Law::VersionsGrow]), (&[][..], 3));
        laws.check_versions(&event(8, 2, None));
        laws.check_versions(&event(9, 1, Some(2)));
        assert_eq!(laws.broken().len(), 2);
    }
}
