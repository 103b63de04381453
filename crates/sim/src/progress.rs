//! What a run has achieved, and when its inputs last changed.
//!
//! During a cold start achievements only grow: objects that exist, kinds that are served, tiers that are Ready. A run is
//! over when everybody who waits has tried again since the last change, and nothing is under way.

use std::sync::Arc;

use firstpass_apiserver::{Event, EventType, Time};
use firstpass_flux::names;
use firstpass_object::{FixedSet, ObjectExt, ObjectId};
use serde_json::Value;

/// The record of achievements and changes.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Everything that ever existed.
    seen: Arc<FixedSet<Arc<ObjectId>>>,
    /// When something last came to be that had never been.
    pub grown_at: Time,
    /// When something last changed that a waiting actor could depend on.
    pub changed_at: Time,
    /// How many such changes there were since something last came to be.
    pub changes_since_growth: u64,
    /// How often a Service had begun or ceased to serve when last looked at.
    serving_changes: u64,
}

impl Progress {
    /// Takes note of a change.
    pub(crate) fn note(&mut self, event: &Event) {
        if !matters(event) {
            return;
        }
        self.changed_at = event.at;
        self.changes_since_growth += 1;
        let is_new = event.event_type == EventType::Added
            && Arc::make_mut(&mut self.seen).insert(Arc::clone(&event.id));
        if is_new || has_advanced(event) {
            self.grown_at = event.at;
            self.changes_since_growth = 0;
        }
    }

    /// Takes note of Services that began or ceased to serve, on which refused requests depend.
    pub(crate) fn note_serving(&mut self, changes: u64, now: Time) {
        if self.serving_changes != changes {
            self.serving_changes = changes;
            self.changed_at = now;
        }
    }

    /// A fault begins or heals: whoever was refused has to try again.
    pub(crate) fn disturb(&mut self, now: Time) {
        self.changed_at = now;
    }
}

/// Fields of the status of Flux objects that say more than "I tried".
const MILESTONES: [&str; 4] = [
    "observedGeneration",
    "lastAppliedRevision",
    "artifact",
    "inventory",
];

/// Whether somebody who waits could depend on the change. Flux objects write "I try" and "I failed" all the time, which
/// helps nobody.
fn matters(event: &Event) -> bool {
    let Some(previous) = event
        .previous
        .as_ref()
        .filter(|_| event.event_type == EventType::Modified)
    else {
        return true;
    };
    let differs = |path: &[&str]| previous.at(path) != event.object.at(path);
    if is_flux(&event.object) {
        let milestone = MILESTONES.iter().any(|field| differs(&["status", field]));
        return milestone || differs(&["metadata", "generation"]) || differs(&["metadata", "labels"]);
    }
    true
}

/// Whether a Flux object reached a milestone, or an object of another kind became what it should be.
fn has_advanced(event: &Event) -> bool {
    let Some(previous) = event
        .previous
        .as_ref()
        .filter(|_| event.event_type == EventType::Modified)
    else {
        return false;
    };
    let differs = |path: &[&str]| previous.at(path) != event.object.at(path);
    if is_flux(&event.object) {
        return differs(&["status", "lastAppliedRevision"]) || differs(&["status", "artifact"]);
    }
    let is_ready = |object: &Value| {
        ["Ready", "Available", "Established", "Complete"]
            .iter()
            .any(|kind| object.condition_is_true(kind))
    };
    is_ready(&event.object) && !is_ready(previous)
}

fn is_flux(object: &Value) -> bool {
    let group = firstpass_object::group_of(object.api_version());
    matches!(
        group,
        names::KUSTOMIZE_GROUP | names::HELM_GROUP | names::SOURCE_GROUP
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_that_begins_to_serve_is_a_change() {
        let mut progress = Progress::default();
        progress.note_serving(1, Time::from_secs(60));
        assert_eq!(
            progress.changed_at,
            Time::from_secs(60),
            "whoever was refused has to try again"
        );
        progress.note_serving(1, Time::from_secs(90));
        assert_eq!(progress.changed_at, Time::from_secs(60), "nothing changed since");
    }
}
