//! Workloads: when do pods run, when are they ready, and what keeps them from it?
//!
//! There are no pods here but for those written as objects: a workload's pods start together, once everything that they
//! need is there, and are ready after a modelled delay. Claims are the other half ([`super::storage`]): a claim may wait
//! for a pod, and a pod waits for its claims.

mod admission;
mod autoscale;
mod crash;
mod endpoints;
pub(crate) mod needs;
mod placement;
mod report;
mod rollout;
mod serving;
mod start;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use firstpass_apiserver::{Duration, Request, Time};
use firstpass_object::{GroupKind, ObjectExt, ObjectId};
use serde_json::Value;

use crate::context::{Context, Controller};
use crate::flux_api::generation;
use crate::marks;
use crate::timers::Timers;
use crate::trouble::Trouble;
use endpoints::Endpoints;
use report::Stage;
use rollout::Rollout;

use admission::RefusedPods;
pub(crate) use admission::admit_pod;
pub(crate) use report::is_ready;

pub(crate) const ACTOR: &str = "kubelet";
/// `progressDeadlineSeconds` where a Deployment names none (Kubernetes API, `DeploymentSpec`).
const PROGRESS_DEADLINE_S: u64 = 600;

/// Deadlines beyond this say nothing new.
const DAY_S: u64 = 86_400;

/// The models of all workloads.
#[derive(Clone, Debug, Default)]
pub struct WorkloadController {
    workloads: BTreeMap<ObjectId, Record>,
    /// Which workloads wait for an object.
    waiting: BTreeMap<ObjectId, BTreeSet<ObjectId>>,
    endpoints: Endpoints,
    timers: Timers<Timer>,
    /// How often each workload was started, deletions and new beginnings included.
    starts: BTreeMap<ObjectId, u64>,
    /// Objects that nothing brings and that are taken to exist all the same, with the workload that uses each.
    assumed: BTreeMap<ObjectId, ObjectId>,
    /// What nodes are taken to be like, with a workload that asks for it.
    assumed_nodes: BTreeMap<String, ObjectId>,
    /// Autoscalers that look at their target at a time.
    autoscalers: Timers<ObjectId>,
    /// How often the Services behind webhooks had changed when refused pods were last looked at.
    serving_changes: u64,
}

/// What became of a workload so far.
#[derive(Clone, Debug)]
pub struct Record {
    generation: i64,
    stage: Stage,
    /// What its pods wait for.
    pub missing: BTreeSet<ObjectId>,
    /// Keys that some of it lacks.
    pub missing_keys: BTreeMap<ObjectId, BTreeSet<String>>,
    /// Why no node takes its pods.
    pub unplaced: Option<String>,
    /// The webhook that keeps its pods from being made.
    refused: Option<RefusedPods>,
    /// Its pods are made: the API server has taken them.
    is_taken: bool,
    /// Pods of before the last change still run and answer.
    serves_still: bool,
    /// How many nodes a DaemonSet runs on.
    nodes: u64,
    starts: u64,
    /// How often its processes crashed in a row.
    pub crashes: u32,
    /// Its processes crash for ever, as far as anybody can see.
    hopeless: bool,
}

impl Record {
    /// Whether its processes crash again and again.
    pub fn is_crashing(&self) -> bool {
        matches!(self.stage, Stage::Crashing | Stage::Failed)
    }

    /// What the API server says to its pods, and the Service behind the webhook that does not answer.
    pub fn refused(&self) -> Option<(&str, &ObjectId)> {
        let refused = self.refused.as_ref()?;
        Some((&refused.message, &refused.service))
    }

    /// What its pods wait for, in words: `Secret/web/tls`, or the keys of it that are not there.
    pub fn missing_texts(&self) -> Vec<String> {
        let text = |id: &ObjectId| start::missing_text(id, &self.missing_keys);
        self.missing.iter().map(text).collect()
    }
}

#[derive(Clone, Debug)]
struct Timer {
    workload: ObjectId,
    generation: i64,
    what: Happening,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Happening {
    Running,
    Ready,
    Deadline,
    /// Pods that a webhook refused are made once more.
    Retry,
    /// `activeDeadlineSeconds` of a Job.
    JobDeadline,
}

impl WorkloadController {
    /// What became of each workload so far.
    pub fn workloads(&self) -> &BTreeMap<ObjectId, Record> {
        &self.workloads
    }

    /// Objects that nothing brings and that are taken to exist, with a workload that uses each.
    pub fn assumed(&self) -> &BTreeMap<ObjectId, ObjectId> {
        &self.assumed
    }

    /// What nodes are taken to be like, with a workload that asks for it.
    pub fn assumed_nodes(&self) -> &BTreeMap<String, ObjectId> {
        &self.assumed_nodes
    }

    /// A workload is new, or changed: its pods start again, unless they are as many and as they were.
    fn begin(&mut self, old: Option<&Arc<Value>>, object: &Arc<Value>, context: &mut Context<'_>) {
        let id = object.id();
        let rollout = Rollout::of(old, object);
        let was_ready = self
            .workloads
            .get(&id)
            .is_some_and(|record| record.stage == Stage::Ready);
        if rollout == Rollout::Nothing
            && was_ready
            && let Some(record) = self.workloads.get_mut(&id)
        {
            record.generation = generation(object);
            self.reach(&id, Stage::Ready, context);
            return;
        }
        let count = self.starts.entry(id.clone()).or_default();
        *count += 1;
        let starts = *count - 1;
        let record = Record {
            generation: generation(object),
            stage: Stage::Pending,
            missing: BTreeSet::new(),
            missing_keys: BTreeMap::new(),
            unplaced: None,
            refused: None,
            is_taken: false,
            serves_still: was_ready && rollout == Rollout::Rolling,
            nodes: 1,
            starts,
            crashes: 0,
            hopeless: false,
        };
        self.workloads.insert(id.clone(), record);
        for claim in needs::claim_templates(object) {
            if context.server.object(&claim.id()).is_none() {
                let create = Request::Create {
                    object: claim.into(),
                    manager: "statefulset-controller".into(),
                };
                let _exists_already = context.server.call(&create);
            }
        }
        if object.kind() == "Deployment" {
            let deadline = object
                .at(&["spec", "progressDeadlineSeconds"])
                .and_then(Value::as_u64);
            let at = context.now + Duration::from_secs(deadline.unwrap_or(PROGRESS_DEADLINE_S));
            self.set_timer(at, &id, Happening::Deadline);
        }
        let job_deadline = object
            .at(&["spec", "activeDeadlineSeconds"])
            .and_then(Value::as_u64);
        if let Some(seconds) = job_deadline.filter(|_| object.kind() == "Job") {
            self.set_timer(
                context.now + Duration::from_secs(seconds.min(DAY_S)),
                &id,
                Happening::JobDeadline,
            );
        }
        self.look(&id, context);
        if was_ready && rollout == Rollout::Replacing {
            self.update_services(object, context);
        }
    }

    fn reach(&mut self, id: &ObjectId, stage: Stage, context: &mut Context<'_>) {
        let Some(object) = context.server.object(id).cloned() else {
            return;
        };
        let mut before = stage;
        if let Some(record) = self.workloads.get_mut(id) {
            before = std::mem::replace(&mut record.stage, stage);
        }
        report::write(&object, stage, self.nodes(id), context);
        if stage == Stage::Ready {
            if let Some(record) = self.workloads.get_mut(id) {
                record.serves_still = false;
            }
            context.note(ACTOR, id, report::ready_word(&object));
        }
        if stage == Stage::Ready || before == Stage::Ready {
            self.update_services(&object, context);
        }
    }

    fn nodes(&self, id: &ObjectId) -> u64 {
        self.workloads.get(id).map_or(1, |record| record.nodes)
    }

    fn set_timer(&mut self, at: Time, id: &ObjectId, what: Happening) {
        let Some(record) = self.workloads.get(id) else {
            return;
        };
        self.timers.set(
            at,
            Timer {
                workload: id.clone(),
                generation: record.generation,
                what,
            },
        );
    }

    fn happen(&mut self, timer: &Timer, context: &mut Context<'_>) {
        let Timer {
            workload: id,
            generation,
            what,
        } = timer;
        let Some(record) = self
            .workloads
            .get(id)
            .filter(|record| record.generation == *generation)
        else {
            return;
        };
        let (stage, starts) = (record.stage, record.starts);
        let Some(object) = context.server.object(id).cloned() else {
            return;
        };
        match (what, stage) {
            (Happening::Running, Stage::Starting | Stage::Crashing)
                if context.trouble(Trouble::Run(id)).is_some() =>
            {
                self.crash_again(id, &object, context);
            }
            (Happening::Running, Stage::Starting | Stage::Crashing) => {
                if stage == Stage::Crashing {
                    self.recover(id, &object, context);
                }
                self.reach(id, Stage::Running, context);
                let at = context.now + start_time(&object, starts, context);
                self.set_timer(at, id, Happening::Ready);
            }
            (Happening::Retry, Stage::Pending) => self.look(id, context),
            (Happening::JobDeadline, stage) if stage < Stage::Ready && stage != Stage::Failed => {
                context.note(ACTOR, id, "failed: its deadline has passed");
                self.reach(id, Stage::TooLate, context);
            }
            (Happening::Ready, Stage::Running) => self.reach(id, Stage::Ready, context),
            (Happening::Deadline, Stage::Pending | Stage::Starting | Stage::Crashing | Stage::Running) => {
                report::write_deadline(&object, self.nodes(id), context);
                context.note(ACTOR, id, "exceeded its progress deadline");
            }
            _ => {}
        }
    }
}

/// From running to ready. Operators that do some work before they are ready take that much longer.
fn start_time(object: &Value, starts: u64, context: &Context<'_>) -> Duration {
    let subject = object.id().to_string();
    if runs_once(object) {
        return context.delays.delay("job-run", &subject, starts) * needs::rounds(object);
    }
    let name = object.annotation(marks::READY_AFTER).unwrap_or("pod-start");
    let start = context.delays.delay(name, &subject, starts);
    let declared = Duration::from_secs(needs::declared_delay_s(object));
    (start + declared) * needs::pods_in_a_row(object)
        + crate::operator::work_before_ready(object, starts, context)
}

/// Whether the pods of a workload do their task and end.
fn runs_once(object: &Value) -> bool {
    object.kind() == "Job"
        || object.kind() == "Pod" && object.text_at(&["spec", "restartPolicy"]) == Some("Never")
}

impl Controller for WorkloadController {
    fn observe(&mut self, old: Option<&Arc<Value>>, new: Option<&Arc<Value>>, context: &mut Context<'_>) {
        let Some(object) = new.or(old) else { return };
        let id = object.id();
        self.retry_refused(context);
        if id.group == "admissionregistration.k8s.io" {
            self.serving_changes = u64::MAX;
        }
        if is_workload(&id.group_kind()) {
            if object.annotation(marks::POD_OF).is_some() {
                return;
            }
            if endpoints::has_lasting_pods(&id) {
                self.endpoints.note(old.map(|old| &**old), new.map(|new| &**new));
            }
            match new {
                None => {
                    self.workloads.remove(&id);
                    self.update_services(object, context);
                }
                Some(new)
                    if self
                        .workloads
                        .get(&id)
                        .is_none_or(|record| record.generation != generation(new)) =>
                {
                    self.begin(old, new, context);
                    for autoscaler in autoscale::of_workload(&id, context) {
                        self.autoscalers.set(context.now + autoscale::PERIOD, autoscaler);
                    }
                }
                Some(_) => {}
            }
            return;
        }
        if autoscale::is_autoscaler(&id) && new.is_some() {
            self.autoscalers.set(context.now + autoscale::PERIOD, id.clone());
        }
        if id.is("", "Service") {
            self.endpoints.note(old.map(|old| &**old), new.map(|new| &**new));
            if new.is_some() {
                serving::give_address(object, context);
                self.update_service(object, context);
            }
        }
        if self.waiting.contains_key(&id) {
            let waiting = self.waiting.remove(&id).unwrap_or_default();
            for workload in waiting {
                self.look(&workload, context);
            }
        }
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        while let Some(timer) = self.timers.pop_due(context.now, context.delays) {
            self.happen(&timer, context);
        }
        while let Some(autoscaler) = self.autoscalers.pop_due(context.now, context.delays) {
            autoscale::sync(&autoscaler, context);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.timers
            .next()
            .into_iter()
            .chain(self.autoscalers.next())
            .min()
    }

    fn is_working(&self) -> bool {
        if self.autoscalers.next().is_some() {
            return true;
        }
        self.timers.iter().any(|timer| {
            let record = self.workloads.get(&timer.workload);
            let waits = |record: &Record| {
                record.generation == timer.generation
                    && !matches!(record.stage, Stage::Ready | Stage::Failed | Stage::TooLate)
                    && !(record.hopeless && timer.what == Happening::Running)
            };
            record.is_some_and(waits)
        })
    }
}

/// Whether a kind has pods.
pub(crate) fn is_workload(kind: &GroupKind) -> bool {
    match kind.group.as_str() {
        "apps" => matches!(
            kind.kind.as_str(),
            "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet"
        ),
        "batch" => kind.kind == "Job",
        "" => kind.kind == "Pod",
        _ => false,
    }
}
