//! A stage is all or nothing at the dry-run.

use std::collections::BTreeSet;

use firstpass_apiserver::Time;
use firstpass_controllers::kustomization::{FailedAttempt, Obstacle, Stage};
use firstpass_object::{ObjectId, TierName};
use serde_json::json;

use super::{Law, Laws};
use crate::world::World;

/// How the text of a refusal at the dry-run can be told from others.
const DRY_RUN: [&str; 3] = ["dry-run failed", "not found: ", "namespace not specified: "];

impl Laws {
    pub(super) fn check_failures(&mut self, touched: &BTreeSet<TierName>, world: &World) {
        for name in touched {
            let record = world.kustomizations.tiers().get(name);
            let (Some(record), Some(tier)) = (record, self.tiers.get_mut(name)) else {
                continue;
            };
            let first = std::mem::replace(&mut tier.failures, record.failures.len());
            for failed in record.failures.iter().skip(first) {
                self.check_failure(name, failed);
            }
            if let Some(tier) = self.tiers.get_mut(name) {
                let running = world.kustomizations.running().get(name);
                let since = running.map_or(Time::NEVER, |attempt| attempt.began_at);
                tier.written.retain(|written| written.at >= since);
            }
        }
    }

    fn check_failure(&mut self, name: &TierName, failed: &FailedAttempt) {
        let is_dry_run = DRY_RUN.iter().any(|text| failed.failure.message.contains(text));
        let refused = failed.failure.obstacles.iter().find_map(refused);
        let (true, Some(refused)) = (is_dry_run, refused) else {
            return;
        };
        let stage = self.stage_of(refused);
        let written = self.tiers.get(name).map(|tier| tier.written.clone());
        let during = written
            .unwrap_or_default()
            .into_iter()
            .filter(|written| written.at > failed.began_at && written.at <= failed.ended_at);
        let past = during
            .into_iter()
            .find(|written| self.stage_of(&written.id) >= stage);
        self.judge(Law::StageHolds, failed.ended_at, past.is_none(), || {
            let past = past
                .as_ref()
                .map(|written| written.id.to_string())
                .unwrap_or_default();
            format!("{name} had stored {past} when the dry-run of {refused} failed")
        });
    }

    fn stage_of(&self, id: &ObjectId) -> Stage {
        let api_version = match id.group.as_str() {
            "" => "v1".to_owned(),
            group => format!("{group}/v1"),
        };
        self.rules
            .stage_of(&json!({"apiVersion": api_version, "kind": id.kind}))
    }
}

fn refused(obstacle: &Obstacle) -> Option<&ObjectId> {
    match obstacle {
        Obstacle::UnknownKind { object, .. }
        | Obstacle::NamespaceUnset { object }
        | Obstacle::NamespaceMissing { object, .. }
        | Obstacle::NamespaceTerminating { object, .. }
        | Obstacle::Webhook { object, .. }
        | Obstacle::Refused { object, .. } => Some(object),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use firstpass_controllers::kustomization::{Failure, Retry};

    use super::*;
    use crate::laws::{FollowedTier, Written};

    #[test]
    fn what_is_stored_beside_a_refusal_breaks_the_law_and_an_earlier_stage_does_not() {
        let object = |kind: &str| ObjectId::new("", kind, Some("default"), "x");
        let name = TierName::new("flux-system", "a");
        for (kind, holds) in [("Namespace", true), ("ConfigMap", false)] {
            let mut laws = Laws::default();
            let tier = FollowedTier {
                object: Arc::new(json!({})),
                ready_at: BTreeSet::new(),
                written: vec![Written {
                    at: Time::from_secs(5),
                    id: object(kind),
                }],
                failures: 0,
            };
            laws.tiers.insert(name.clone(), tier);
            let refused = Obstacle::NamespaceMissing {
                object: object("Secret"),
                namespace: "default".to_owned(),
            };
            let failed = FailedAttempt {
                began_at: Time::from_secs(1),
                ended_at: Time::from_secs(6),
                failure: Failure {
                    reason: "ReconciliationFailed",
                    message: "Secret/default/x not found: namespaces \"default\" not found".to_owned(),
                    obstacles: vec![refused],
                    retry: Retry::Never,
                },
            };
            laws.check_failure(&name, &failed);
            assert_eq!(laws.broken().is_empty(), holds, "{kind}");
        }
    }
}
