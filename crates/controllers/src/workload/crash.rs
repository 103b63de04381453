//! Pods that crash, and are started again.

use std::sync::Arc;

use firstpass_apiserver::{Duration, Request, Target, Time};
use firstpass_object::{ObjectExt, ObjectId, kstatus};
use serde_json::Value;

use super::report::{self, Stage};
use super::{ACTOR, Happening, Record, WorkloadController, runs_once};
use crate::context::Context;
use crate::made;
use crate::trouble::Trouble;

/// `backoffLimit` where a Job names none (Kubernetes API, `JobSpec`).
const BACKOFF_LIMIT: u64 = 6;
/// The first wait before a crashed container is started again (Kubernetes, pod lifecycle).
const RESTART_LEAST: Duration = Duration::from_secs(10);
/// The longest such wait.
const RESTART_MOST: Duration = Duration::from_secs(300);

impl WorkloadController {
    /// The processes of a workload crash now, since a fault began.
    pub fn crash(&mut self, id: &ObjectId, context: &mut Context<'_>) {
        let runs = |record: &&Record| matches!(record.stage, Stage::Running | Stage::Ready);
        let has_run = self.workloads.get(id).filter(runs).is_some();
        let object = context.server.object(id).cloned();
        if let Some(record) = self.workloads.get_mut(id) {
            record.serves_still = false;
        }
        // What has done its task has nothing left that could crash.
        if let Some(object) = object.filter(|object| has_run && !runs_once(object)) {
            self.crash_again(id, &object, context);
        }
    }

    /// Pods crash, and are started again after a back-off that doubles; a Job gives up after its last retry.
    pub(super) fn crash_again(&mut self, id: &ObjectId, object: &Value, context: &mut Context<'_>) {
        let until = context.trouble(Trouble::Run(id)).unwrap_or(context.now);
        let Some(record) = self.workloads.get_mut(id) else {
            return;
        };
        record.crashes += 1;
        record.hopeless = until == Time::NEVER;
        let crashes = record.crashes;
        let retries = object
            .at(&["spec", "backoffLimit"])
            .and_then(Value::as_u64)
            .unwrap_or(BACKOFF_LIMIT);
        if object.kind() == "Job" && u64::from(crashes) > retries {
            context.note(ACTOR, id, "failed: its pods crashed too often");
            self.reach(id, Stage::Failed, context);
            return;
        }
        if crashes == 1 {
            context.note(ACTOR, id, "pods crash");
            self.reach(id, Stage::Crashing, context);
            if kstatus::looks_at_pods(object) {
                let pod = Arc::new(report::crashing_pod(object));
                made::bring((*pod).clone(), ACTOR, context);
                let request = Request::UpdateStatus {
                    object: pod,
                    manager: ACTOR.into(),
                };
                let _gone_meanwhile = context.server.call(&request);
            }
        }
        let back_off = RESTART_LEAST * (1_u64 << (crashes - 1).min(10));
        self.set_timer(context.now + back_off.min(RESTART_MOST), id, Happening::Running);
    }

    /// Pods of a workload that crashed run again.
    pub(super) fn recover(&mut self, id: &ObjectId, object: &Value, context: &mut Context<'_>) {
        if let Some(record) = self.workloads.get_mut(id) {
            record.crashes = 0;
            record.hopeless = false;
        }
        if kstatus::looks_at_pods(object) {
            let pod = report::crashing_pod(object);
            let _gone_already = context.server.call(&Request::delete(Target::of(&pod)));
        }
    }
}
