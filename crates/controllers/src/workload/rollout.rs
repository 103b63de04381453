//! What a change of a workload does to the pods that run.

use std::sync::Arc;

use firstpass_object::ObjectExt;
use serde_json::Value;

/// What becomes of the pods of a workload that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rollout {
    /// They stay: neither the template nor the number grows.
    Nothing,
    /// New ones come before old ones go.
    Rolling,
    /// Old ones go first.
    Replacing,
}

impl Rollout {
    pub(super) fn of(old: Option<&Arc<Value>>, new: &Value) -> Rollout {
        let Some(old) = old else {
            return Rollout::Replacing;
        };
        let replicas = |object: &Value| {
            object
                .at(&["spec", "replicas"])
                .and_then(Value::as_i64)
                .unwrap_or(1)
        };
        let same_pods = old.at(&["spec", "template"]) == new.at(&["spec", "template"]);
        match new.kind() {
            "Deployment" | "StatefulSet" | "ReplicaSet" if same_pods => {
                if replicas(new) <= replicas(old) {
                    Rollout::Nothing
                } else {
                    Rollout::Rolling
                }
            }
            "DaemonSet" if same_pods => Rollout::Nothing,
            "Deployment" if new.text_at(&["spec", "strategy", "type"]) != Some("Recreate") => {
                Rollout::Rolling
            }
            "StatefulSet" if replicas(old) > 1 => Rollout::Rolling,
            // One node after another, and nobody knows how many there are.
            "DaemonSet" => Rollout::Rolling,
            _ => Rollout::Replacing,
        }
    }
}
