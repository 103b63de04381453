//! helm-controller: from HelmReleases to what their charts bring (reference section 11).
//!
//! Charts are not rendered here. What a chart brings (kinds, workloads, webhooks, a few objects) is what knowledge says; an
//! unknown chart is taken to install fine and to become ready.

mod begin;
mod install;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use firstpass_apiserver::{Duration, Time};
use firstpass_flux::{ControllerSettings, HelmRelease, names};
use firstpass_object::{ObjectExt, ObjectId, TierName};
use serde_json::Value;

use crate::context::{Context, Controller};
use crate::flux_api;
use crate::kustomization::{Failure, Retry};
use crate::queue::{Flavor, PRIORITY_NORMAL, WorkQueue};
use crate::status::Status;

pub(crate) const ACTOR: &str = "helm-controller";

/// The controller's state.
#[derive(Clone, Debug)]
pub struct HelmController {
    queue: WorkQueue<TierName>,
    attempts: BTreeMap<TierName, Attempt>,
    releases: BTreeMap<TierName, ReleaseRecord>,
    /// The releases whose chart comes from a source.
    users: BTreeMap<ObjectId, BTreeSet<TierName>>,
    workers_max: usize,
    /// Charts that nothing is known of, with a release of each.
    unknown_charts: BTreeMap<String, ObjectId>,
    /// ConfigMaps and Secrets with values that nothing brings and that are taken to exist, with a release that uses each.
    assumed: BTreeMap<ObjectId, ObjectId>,
}

/// What became of a HelmRelease so far.
#[derive(Clone, Debug, Default)]
pub struct ReleaseRecord {
    /// When it was first Ready.
    pub ready_at: Option<Time>,
    /// Installs and upgrades that were tried.
    pub attempts: u32,
    /// Failures in a row of the same generation (F-1009).
    pub failures: u32,
    /// Why it is not Ready; absent before the first look and once it is.
    pub last_failure: Option<Failure>,
    /// When the last look began.
    pub looked_at: Option<Time>,
    /// The generation, chart and values that were installed last.
    installed: Option<(i64, String)>,
    /// The chart is unknown: it was taken to install fine.
    pub chart_unknown: bool,
    /// Suspended or done: nothing is expected.
    pub settled: bool,
    made: BTreeSet<ObjectId>,
    looks: u64,
}

/// An install or upgrade that is running.
#[derive(Clone, Debug)]
struct Attempt {
    release: Arc<HelmRelease>,
    generation: i64,
    fingerprint: String,
    status: Status,
    next_at: Time,
    phase: Phase,
}

#[derive(Clone, Debug)]
enum Phase {
    /// The chart is rendered and its objects are applied.
    Install,
    /// Its workloads are looked at.
    Wait {
        workloads: Vec<ObjectId>,
        deadline: Time,
    },
}

impl ReleaseRecord {
    /// The objects that its chart brought, CRDs aside.
    pub fn made(&self) -> &BTreeSet<ObjectId> {
        &self.made
    }
}

impl HelmController {
    /// A controller that has seen nothing yet.
    pub fn new(settings: &ControllerSettings) -> HelmController {
        let flavor = if settings.flux.at_least(8) {
            Flavor::Priority
        } else {
            Flavor::Delaying
        };
        HelmController {
            queue: WorkQueue::new(flavor),
            attempts: BTreeMap::new(),
            releases: BTreeMap::new(),
            users: BTreeMap::new(),
            workers_max: settings.helm_concurrent as usize,
            unknown_charts: BTreeMap::new(),
            assumed: BTreeMap::new(),
        }
    }

    /// What became of each release so far.
    pub fn releases(&self) -> &BTreeMap<TierName, ReleaseRecord> {
        &self.releases
    }

    /// Charts that nothing is known of, with a release of each.
    pub fn unknown_charts(&self) -> &BTreeMap<String, ObjectId> {
        &self.unknown_charts
    }

    /// Values that nothing brings and that are taken to exist, with a release that uses each.
    pub fn assumed(&self) -> &BTreeMap<ObjectId, ObjectId> {
        &self.assumed
    }

    /// Whether an install or upgrade is running.
    pub fn is_running(&self) -> bool {
        !self.attempts.is_empty()
    }

    /// When a release will be looked at again.
    pub fn due(&self, release: &TierName) -> Option<Time> {
        self.queue.due(release)
    }

    fn record(&mut self, release: &TierName) -> &mut ReleaseRecord {
        self.releases.entry(release.clone()).or_default()
    }

    fn start_attempts(&mut self, context: &mut Context<'_>) {
        while self.attempts.len() < self.workers_max {
            let Some(release) = self.queue.take(context.now) else {
                return;
            };
            self.begin(&release, context);
            if !self.attempts.contains_key(&release) {
                self.queue.done(&release);
            }
        }
    }

    /// Ends a look that did not succeed.
    fn refuse(
        &mut self,
        release: &TierName,
        mut status: Status,
        generation: i64,
        failure: Failure,
        context: &mut Context<'_>,
    ) {
        let before = status
            .condition_field(names::condition::READY, "message")
            .to_owned();
        let condition = names::condition::READY;
        status.set_condition(
            condition,
            "False",
            failure.reason,
            &failure.message,
            generation,
            context.now,
        );
        if failure.retry == Retry::Never {
            status.set_condition(
                names::condition::STALLED,
                "True",
                failure.reason,
                &failure.message,
                generation,
                context.now,
            );
            status.set("observedGeneration", generation.into());
        }
        write(context, release, &status);
        if before != failure.message {
            let line = format!("Ready=False {}: {}", failure.reason, failure.message);
            context.note(ACTOR, flux_api::helm_release_id(release), line);
        }
        self.plan(release, failure.retry, context);
        self.record(release).last_failure = Some(failure);
    }

    fn plan(&mut self, release: &TierName, retry: Retry, context: &Context<'_>) {
        match retry {
            // A result of zero asks for nothing.
            Retry::After(Duration::ZERO) => self.queue.forget(release),
            Retry::After(delay) => {
                self.queue.forget(release);
                self.queue.add_after(release.clone(), context.now, delay);
            }
            Retry::Backoff => {
                self.queue.add_rate_limited(release.clone(), context.now);
            }
            Retry::Never => self.queue.forget(release),
        }
    }

    /// The releases that use a chart source are looked at when it has an artifact.
    fn observe_source(
        &mut self,
        old: Option<&Arc<Value>>,
        new: Option<&Arc<Value>>,
        context: &mut Context<'_>,
    ) {
        let Some(source) = new else { return };
        let revision = |object: &Value| {
            object
                .text_at(&["status", "artifact", "revision"])
                .map(str::to_owned)
        };
        let newest = revision(source);
        if newest.is_none() || old.is_some_and(|old| revision(old) == newest) {
            return;
        }
        let id = source.id();
        let users = self.users.get(&id).cloned().unwrap_or_default();
        for user in users {
            self.queue.add(user, context.now, PRIORITY_NORMAL);
        }
    }
}

impl Controller for HelmController {
    fn observe(&mut self, old: Option<&Arc<Value>>, new: Option<&Arc<Value>>, context: &mut Context<'_>) {
        let Some(object) = new.or(old) else { return };
        if !HelmRelease::is(object) {
            if firstpass_object::group_of(object.api_version()) == names::SOURCE_GROUP {
                self.observe_source(old, new, context);
            }
            return;
        }
        let release = TierName::new(object.namespace().unwrap_or_default(), object.name());
        let Some(new) = new else {
            self.queue.remove(&release);
            self.releases.remove(&release);
            return;
        };
        if old.is_none_or(|old| old.get("spec") != new.get("spec"))
            && let Some(source) = chart_source(&HelmRelease::read(new).value)
        {
            self.users.entry(source.id()).or_default().insert(release.clone());
        }
        let differs = |path: &[&str]| old.is_none_or(|old| old.at(path) != new.at(path));
        let woken = differs(&["metadata", "generation"])
            || differs(&["metadata", "deletionTimestamp"])
            || differs(&["metadata", "annotations", names::REQUESTED_AT]);
        if woken {
            let record = self.record(&release);
            record.settled = false;
            self.queue.add(release, context.now, PRIORITY_NORMAL);
        }
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        loop {
            self.start_attempts(context);
            let due = self
                .attempts
                .iter()
                .find(|(_, attempt)| attempt.next_at <= context.now);
            let Some(release) = due.map(|(release, _)| release.clone()) else {
                return;
            };
            self.step(&release, context);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let attempts = self.attempts.values().map(|attempt| attempt.next_at);
        let free = self.attempts.len() < self.workers_max;
        let queued = if free { self.queue.next_due() } else { None };
        attempts.chain(queued).min()
    }

    fn is_working(&self) -> bool {
        self.attempts
            .values()
            .any(|attempt| matches!(attempt.phase, Phase::Install))
    }
}

/// The source that a release's chart comes from: the HelmChart that helm-controller makes, or the one it refers to.
fn chart_source(release: &HelmRelease) -> Option<firstpass_flux::SourceName> {
    match &release.spec.chart_ref {
        Some(reference) => Some(reference.source.clone()),
        None => release.helm_chart(),
    }
}

fn write(context: &mut Context<'_>, release: &TierName, status: &Status) {
    flux_api::write_status(
        context,
        &flux_api::helm_release(release),
        status,
        names::HELM_MANAGER,
    );
}

/// Time between two polls of the wait: 5 s since Helm 4 (F-1007, F-1780), 2 s before.
fn poll_interval(settings: &ControllerSettings) -> Duration {
    Duration::from_secs(if settings.flux.at_least(8) { 5 } else { 2 })
}
