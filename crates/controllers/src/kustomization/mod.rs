//! kustomize-controller: from Flux Kustomizations to applied, pruned and healthy objects (reference sections 2 to 6).
//!
//! A key per Kustomization waits in a queue ([`Workers`]); up to `--concurrent` workers each hold one [`Attempt`]. An
//! attempt is a small state machine: it does a step, and says when the next one is due. A health wait keeps its worker
//! for its whole duration (F-162).
//!
//! ```text
//! observe ──► queue ──► begin (F-110) ──► Attempt: build ─► stage ─► (wait) ─► stage ─► prune ─► health ──► end
//!                ▲                                                                                          │
//!                └── interval, retryInterval, 30 s, backoff ◄───────────────────────────────────────────────┘
//! ```

mod attempt;
mod begin;
mod clean;
mod dependencies;
mod failure;
mod finalize;
mod health;
mod history;
mod ignore;
mod impersonate;
mod inventory;
mod mapper;
mod normalize;
mod prepared;
mod prune;
mod stages;
mod submit;
mod wake;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use firstpass_apiserver::{Duration, Time};
use firstpass_flux::{ControllerSettings, Kustomization, names};
use firstpass_object::{GroupVersionKind, ObjectExt, ObjectId, TierName};
use serde_json::Value;

use crate::context::{Context, Controller};
use crate::queue::PRIORITY_LISTED;
use crate::workers::{self, Reconciler, Workers};

use prepared::Prepared;

pub use attempt::Attempt;
pub(crate) use begin::{check_health_expressions, terminal};
pub(crate) use dependencies::is_ready;
pub use failure::{DependencyState, Failure, Obstacle, Retry};
pub(crate) use health::health_of;
pub use inventory::Entry as InventoryEntry;
pub use stages::{Stage, StageRules};
pub(crate) use submit::obstacle_of;

/// Who writes the journal here.
pub(crate) const ACTOR: &str = "kustomize-controller";

/// The controller's state.
#[derive(Clone, Debug)]
pub struct KustomizationController {
    workers: Workers<Attempt>,
    /// What is remembered of each Kustomization.
    tiers: BTreeMap<TierName, TierRecord>,
    stage_rules: StageRules,
    /// What each was last built to.
    prepared: BTreeMap<TierName, Arc<Prepared>>,
    /// The default client's table of kinds, which is never forgotten (F-226).
    known_kinds: BTreeMap<GroupVersionKind, String>,
    /// The status poller's table of kinds.
    poller: mapper::PollerMapper,
    /// When the last planned build is done.
    build_free_at: Time,
    /// Service accounts that were seen (F-433).
    accounts_seen: BTreeSet<TierName>,
    /// Deleted Kustomizations that wait for their objects to go (F-432).
    terminations: BTreeMap<TierName, finalize::Termination>,
}

/// What became of a Kustomization so far. Explanations are made of this.
#[derive(Clone, Debug, Default)]
pub struct TierRecord {
    /// Attempts that got past the dependency check.
    pub attempts: u32,
    /// Attempts among them that failed.
    pub failures: Vec<FailedAttempt>,
    /// When its objects were first applied in full.
    pub applied_at: Option<Time>,
    /// When it was first Ready at the newest revision it was asked for.
    pub ready_at: Option<Time>,
    /// How the last look at it ended.
    pub last: Option<Outcome>,
    /// What it waited for, in the order in which that first happened.
    pub waited_for: Vec<Obstacle>,
    /// The attempt that made it Ready first.
    pub came_up: Option<CameUp>,
    /// Objects of its last build, and whether its contents could be seen.
    pub objects: Vec<ObjectId>,
    /// Its contents cannot be seen.
    pub unrendered: bool,
    /// Revision of its last success.
    pub revision: Option<String>,
    /// How often it was looked at, for draws.
    looks: u64,
}

/// The attempt that made a Kustomization Ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CameUp {
    /// When it began.
    pub began_at: Time,
    /// When all was applied and the health checks began.
    pub applied_at: Time,
    /// What the health checks waited for at last.
    pub held_by: Vec<Obstacle>,
}

/// An attempt that got past the dependency check and failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedAttempt {
    /// When it began.
    pub began_at: Time,
    /// When it ended.
    pub ended_at: Time,
    /// Why.
    pub failure: Failure,
}

/// How a look at a Kustomization ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// When the look began.
    pub began_at: Time,
    /// When it ended.
    pub ended_at: Time,
    /// What came of it.
    pub result: OutcomeResult,
}

/// What came of a look at a Kustomization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutcomeResult {
    /// Ready.
    Succeeded,
    /// Left alone, since it is suspended.
    Suspended,
    /// Not Ready.
    Failed(Failure),
}

impl KustomizationController {
    /// A controller that has seen nothing yet.
    pub fn new(settings: &ControllerSettings) -> KustomizationController {
        KustomizationController {
            workers: Workers::new(settings, settings.kustomize_concurrent),
            tiers: BTreeMap::new(),
            stage_rules: StageRules::of(settings),
            prepared: BTreeMap::new(),
            known_kinds: BTreeMap::new(),
            poller: mapper::PollerMapper::default(),
            build_free_at: Time::START,
            accounts_seen: BTreeSet::new(),
            terminations: BTreeMap::new(),
        }
    }

    /// What is remembered of each Kustomization.
    pub fn tiers(&self) -> &BTreeMap<TierName, TierRecord> {
        &self.tiers
    }

    /// The attempts that are running.
    pub fn running(&self) -> &BTreeMap<TierName, Attempt> {
        &self.workers.attempts
    }

    /// When a Kustomization will be looked at again; `None` if nothing but an event will do that.
    pub fn due(&self, tier: &TierName) -> Option<Time> {
        self.workers.queue.due(tier)
    }

    /// Whether Kustomizations that are due find no free worker.
    pub fn is_starved(&self, now: Time) -> bool {
        self.workers.are_starved(now)
    }

    /// How many Kustomizations are worked on at once.
    pub fn workers_max(&self) -> usize {
        self.workers.concurrent()
    }

    /// The controller restarts: running attempts are lost, what it had learnt as well, and every Kustomization is listed
    /// anew, which counts less than a change (F-109).
    pub fn restart(&mut self, context: &mut Context<'_>) {
        self.workers.restart();
        self.known_kinds.clear();
        for object in wake::kustomizations(context) {
            let tier = TierName::new(object.namespace().unwrap_or_default(), object.name());
            self.workers.queue.add(tier, context.now, PRIORITY_LISTED);
        }
    }

    fn record(&mut self, tier: &TierName) -> &mut TierRecord {
        self.tiers.entry(tier.clone()).or_default()
    }

    /// Notes how a look ended and plans the next one.
    fn conclude(
        &mut self,
        tier: &TierName,
        began_at: Time,
        result: OutcomeResult,
        next: Next,
        context: &mut Context<'_>,
    ) {
        let now = context.now;
        match next {
            // A result of zero asks for nothing.
            Next::Interval(Duration::ZERO) | Next::After(Duration::ZERO) => self.workers.queue.forget(tier),
            Next::Interval(interval) => {
                let looks = self.record(tier).looks;
                let interval = context.delays.jittered(interval, &tier.to_string(), looks);
                self.workers.queue.forget(tier);
                self.workers.queue.add_after(tier.clone(), now, interval);
            }
            Next::After(delay) => {
                self.workers.queue.forget(tier);
                self.workers.queue.add_after(tier.clone(), now, delay);
            }
            Next::Backoff => {
                self.workers.queue.add_rate_limited(tier.clone(), now);
            }
            Next::Event => self.workers.queue.forget(tier),
        }
        let record = self.record(tier);
        if let OutcomeResult::Failed(failure) = &result {
            for obstacle in &failure.obstacles {
                if !record.waited_for.contains(obstacle) {
                    record.waited_for.push(obstacle.clone());
                }
            }
        }
        record.last = Some(Outcome {
            began_at,
            ended_at: now,
            result,
        });
    }
}

/// When a Kustomization is looked at again.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// After the interval, jittered (F-144).
    Interval(Duration),
    /// After a fixed time.
    After(Duration),
    /// After the backoff.
    Backoff,
    /// When an event comes.
    Event,
}

impl From<Retry> for Next {
    fn from(retry: Retry) -> Next {
        match retry {
            Retry::After(delay) => Next::After(delay),
            Retry::Backoff => Next::Backoff,
            Retry::Never => Next::Event,
        }
    }
}

impl Controller for KustomizationController {
    fn observe(&mut self, old: Option<&Arc<Value>>, new: Option<&Arc<Value>>, context: &mut Context<'_>) {
        let Some(object) = new.or(old) else { return };
        if Kustomization::is(object) {
            self.observe_own(old, new, context);
        } else if firstpass_object::group_of(object.api_version()) == names::SOURCE_GROUP {
            self.observe_source(old, new, context);
        } else if matches!(object.kind(), "ConfigMap" | "Secret") && object.api_version() == "v1" {
            self.observe_config(old, new, context);
        }
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        workers::work(self, context);
    }

    fn next_wake(&self) -> Option<Time> {
        self.workers.next_wake()
    }

    /// Waiting for the end of what was deleted is limited by a timeout, and then something changes.
    fn is_working(&self) -> bool {
        !self.terminations.is_empty()
    }
}

impl Reconciler for KustomizationController {
    type Attempt = Attempt;

    fn workers(&mut self) -> &mut Workers<Attempt> {
        &mut self.workers
    }

    fn look_at(&mut self, tier: &TierName, context: &mut Context<'_>) {
        self.begin(tier, context);
    }

    fn go_on(&mut self, tier: &TierName, context: &mut Context<'_>) {
        if self.terminations.contains_key(tier) {
            self.poll_termination(tier, context);
        } else {
            self.step(tier, context);
        }
    }
}
