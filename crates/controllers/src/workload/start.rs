//! What keeps the pods of a workload from starting: things that are missing, nodes that do not fit, an API server that refuses.

use std::collections::{BTreeMap, BTreeSet};

use firstpass_apiserver::{Duration, Time};
use firstpass_object::{ObjectExt, ObjectId};
use serde_json::Value;

use super::admission::RefusedPods;
use super::needs::{self, Needs};
use super::placement::{self, Placement};
use super::report::{self, Stage};
use super::{ACTOR, Happening, WorkloadController, runs_once};
use crate::context::Context;
use crate::trouble::Trouble;

impl WorkloadController {
    /// Looks whether the pods of a workload can start.
    pub(super) fn look(&mut self, id: &ObjectId, context: &mut Context<'_>) {
        let Some(object) = context.server.object(id).cloned() else {
            return;
        };
        let Some(record) = self
            .workloads
            .get(id)
            .filter(|record| record.stage == Stage::Pending)
        else {
            return;
        };
        let (starts, before) = (record.starts, record.missing.clone());
        if report::is_idle(&object) {
            self.reach(id, Stage::Ready, context);
            return;
        }
        let (unplaced, nodes) = self.place(&object, context);
        if object.kind() == "DaemonSet" && (nodes == 0 || unplaced.is_some()) {
            // It has a pod per node that fits, so it has none, and that is all it wants.
            self.set_nodes(id, 0);
            self.reach(id, Stage::Ready, context);
            return;
        }
        self.set_nodes(id, nodes);
        let needs = needs::of(&object);
        let (missing, missing_keys) = self.missing(&needs, id, context);
        for object in &missing {
            self.waiting.entry(object.clone()).or_default().insert(id.clone());
        }
        let is_first = before.is_empty() && !missing.is_empty();
        if is_first {
            let names: Vec<String> = missing
                .iter()
                .map(|missing| missing_text(missing, &missing_keys))
                .collect();
            context.note(ACTOR, id, format!("pods wait for {}", names.join(", ")));
        }
        let lacks_account = missing.iter().any(|missing| needs.admission.contains(missing));
        if !lacks_account {
            self.make_pods(id, &object, context);
        }
        let is_taken = self.workloads.get(id).is_some_and(|record| record.is_taken);
        let is_refused = lacks_account || !is_taken;
        let can_start = missing.is_empty() && unplaced.is_none() && is_taken;
        if let Some(record) = self.workloads.get_mut(id) {
            if let Some(why) = unplaced.as_ref().filter(|_| record.unplaced.is_none()) {
                context.note(ACTOR, id, format!("pods find no node: {why}"));
            }
            record.missing = missing;
            record.missing_keys = missing_keys;
            record.unplaced = unplaced;
        }
        if !can_start {
            let held = if is_refused {
                report::Held::Refused
            } else {
                self.held(id)
            };
            report::write_held(&object, held, self.nodes(id), context);
            return;
        }
        self.reach(id, Stage::Starting, context);
        let subject = id.to_string();
        // What a Job takes includes its pull.
        let pull = if runs_once(&object) {
            Duration::ZERO
        } else {
            context.delays.delay("image-pull", &subject, starts)
        };
        match context.trouble(Trouble::Pull(id)) {
            Some(Time::NEVER) => {}
            until => self.set_timer(
                (context.now + pull).max(until.unwrap_or_default()),
                id,
                Happening::Running,
            ),
        }
    }

    /// The controller of a workload makes its pods, if the API server takes them.
    fn make_pods(&mut self, id: &ObjectId, object: &Value, context: &mut Context<'_>) {
        let Some(record) = self.workloads.get_mut(id).filter(|record| !record.is_taken) else {
            return;
        };
        let before = record.refused.take();
        let refused = RefusedPods::of(object, before.is_none(), context);
        record.is_taken = refused.is_none();
        if before.is_none()
            && let Some(refused) = &refused
        {
            context.note(ACTOR, id, format!("pods are refused: {}", refused.message));
        }
        record.refused = refused.map(|refused| RefusedPods {
            since: before.map_or(refused.since, |before| before.since),
            ..refused
        });
    }

    /// Whoever answers for webhooks may have changed: pods that were refused are made again when their controllers next try.
    pub(super) fn retry_refused(&mut self, context: &Context<'_>) {
        let changes = context.server.serving_changes();
        if changes == std::mem::replace(&mut self.serving_changes, changes) {
            return;
        }
        let refused: Vec<(ObjectId, Time)> = self
            .workloads
            .iter()
            .filter_map(|(id, record)| Some((id.clone(), record.refused.as_ref()?.next_try(context.now))))
            .collect();
        for (id, at) in refused {
            self.set_timer(at, &id, Happening::Retry);
        }
    }

    /// Why no node takes the pods of a workload, and how many would.
    fn place(&mut self, object: &Value, context: &Context<'_>) -> (Option<String>, u64) {
        match placement::of(object, context) {
            Placement::Nodes(count) => (None, count),
            Placement::Nowhere(why) => (Some(why), 0),
            Placement::Unknown(assumed) => {
                if let Some(assumed) = assumed {
                    self.assumed_nodes.entry(assumed).or_insert_with(|| object.id());
                }
                (None, 1)
            }
        }
    }

    fn set_nodes(&mut self, id: &ObjectId, nodes: u64) {
        if let Some(record) = self.workloads.get_mut(id) {
            record.nodes = nodes;
        }
    }

    /// A pod without a node, or whose claim is not bound, is not scheduled; any other waits on its node.
    fn held(&self, id: &ObjectId) -> report::Held {
        let record = self.workloads.get(id);
        let is_unscheduled = record.is_some_and(|record| {
            let claims = |missing: &ObjectId| missing.is("", "PersistentVolumeClaim");
            record.unplaced.is_some() || record.missing.iter().any(claims)
        });
        if is_unscheduled {
            report::Held::Unscheduled
        } else {
            report::Held::OnNode
        }
    }

    /// What of a workload's needs is not there, and which keys of what is there are not. What nothing brings is taken to be
    /// there.
    fn missing(
        &mut self,
        needs: &Needs,
        id: &ObjectId,
        context: &Context<'_>,
    ) -> (BTreeSet<ObjectId>, BTreeMap<ObjectId, BTreeSet<String>>) {
        let mut missing = BTreeSet::new();
        let mut missing_keys = BTreeMap::new();
        for need in needs.admission.iter().chain(&needs.objects).chain(&needs.claims) {
            let there = context.server.object(need);
            let is_claim = need.kind == "PersistentVolumeClaim";
            match there {
                Some(claim) if is_claim && claim.text_at(&["status", "phase"]) != Some("Bound") => {
                    missing.insert(need.clone());
                }
                Some(object) => {
                    let keys = needs.keys.get(need).map(|keys| needs::missing_keys(object, keys));
                    if let Some(keys) = keys.filter(|keys| !keys.is_empty()) {
                        missing.insert(need.clone());
                        missing_keys.insert(need.clone(), keys);
                    }
                }
                None if context.contents.brings(need) || context.contents.rules_out(need) => {
                    missing.insert(need.clone());
                }
                None => {
                    self.assumed.entry(need.clone()).or_insert_with(|| id.clone());
                }
            }
        }
        (missing, missing_keys)
    }
}

/// `ConfigMap/web/settings`, or the keys that it lacks.
pub(super) fn missing_text(id: &ObjectId, keys: &BTreeMap<ObjectId, BTreeSet<String>>) -> String {
    match keys.get(id) {
        Some(keys) => {
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            format!("{} in {id}", keys.join(", "))
        }
        None => id.to_string(),
    }
}
