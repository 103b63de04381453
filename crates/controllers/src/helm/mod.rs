//! helm-controller: from HelmReleases to what their charts bring (reference section 11).
//!
//! Charts are not rendered here. What a chart brings (kinds, workloads, webhooks, a few objects) is what knowledge says; an
//! unknown chart is taken to install fine and to become ready.

mod attempt;
mod begin;
mod bring;
mod conclude;
mod conditions;
mod decide;
mod hooks;
mod make;
mod manifest;
mod prerequisites;
mod record;
mod storage;
mod undo;
mod wait;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use firstpass_apiserver::{Duration, Time};
use firstpass_flux::{ControllerSettings, HelmGate, HelmRelease, names};
use firstpass_object::{ObjectExt, ObjectId, TierName};
use serde_json::Value;

pub use self::record::ReleaseRecord;
use attempt::{Attempt, Phase};
use storage::Storage;

use crate::context::{Context, Controller};
use crate::kustomization::Retry;
use crate::queue::{PRIORITY_LISTED, PRIORITY_NORMAL};
use crate::workers::{self, Reconciler, Workers};

pub(crate) const ACTOR: &str = "helm-controller";

/// The controller's state.
#[derive(Clone, Debug)]
pub struct HelmController {
    workers: Workers<Attempt>,
    releases: BTreeMap<TierName, ReleaseRecord>,
    /// Helm's own records.
    storage: Storage,
    /// The releases whose chart comes from a source.
    users: BTreeMap<ObjectId, BTreeSet<TierName>>,
    /// Charts that nothing is known of, with a release of each.
    unknown_charts: BTreeMap<String, ObjectId>,
    /// ConfigMaps and Secrets with values that nothing brings and that are taken to exist, with a release that uses each.
    assumed: BTreeMap<ObjectId, ObjectId>,
}

impl HelmController {
    /// A controller that has seen nothing yet.
    pub fn new(settings: &ControllerSettings) -> HelmController {
        HelmController {
            workers: Workers::new(settings, settings.helm_concurrent),
            releases: BTreeMap::new(),
            storage: Storage::default(),
            users: BTreeMap::new(),
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
        let mut attempts = self.workers.attempts.values();
        attempts.any(|attempt| !matches!(attempt.phase, Phase::Over))
    }

    /// When a release will be looked at again.
    pub fn due(&self, release: &TierName) -> Option<Time> {
        self.workers.queue.due(release)
    }

    /// The controller restarts: running installs are lost and begin again, as those of releases that are still pending do.
    pub fn restart(&mut self, context: &mut Context<'_>) {
        let releases: Vec<TierName> = self.releases.keys().cloned().collect();
        self.workers.restart();
        for release in releases {
            self.workers.queue.add(release, context.now, PRIORITY_LISTED);
        }
    }

    fn record(&mut self, release: &TierName) -> &mut ReleaseRecord {
        self.releases.entry(release.clone()).or_default()
    }

    /// Asks for the next look; the worker is free at `free_at`.
    fn plan(&mut self, release: &TierName, retry: Retry, free_at: Time) {
        match retry {
            // A result of zero asks for nothing.
            Retry::After(Duration::ZERO) => self.workers.queue.forget(release),
            Retry::After(delay) => {
                self.workers.queue.forget(release);
                self.workers.queue.add_after(release.clone(), free_at, delay);
            }
            Retry::Backoff => {
                self.workers.queue.add_rate_limited(release.clone(), free_at);
            }
            Retry::Never => self.workers.queue.forget(release),
        }
    }

    /// ConfigMaps and Secrets that ask for it wake the releases that take values from them, since Flux 2.7 (F-1713).
    fn observe_values(
        &mut self,
        old: Option<&Arc<Value>>,
        new: Option<&Arc<Value>>,
        context: &mut Context<'_>,
    ) {
        let Some(object) = new.or(old) else { return };
        let content = |object: Option<&Arc<Value>>| {
            object.map(|object| (object.get("data").cloned(), object.get("stringData").cloned()))
        };
        if object.label(names::WATCH_LABEL) != Some("Enabled")
            || !context.settings.flux.at_least(7)
            || context.settings.helm_gate(HelmGate::DisableConfigWatchers)
            || content(old) == content(new)
        {
            return;
        }
        let id = object.id();
        let kind = firstpass_object::GroupKind::new(names::HELM_GROUP, names::HELM_RELEASE);
        let users: Vec<TierName> = context
            .server
            .objects(&kind, id.namespace.as_deref())
            .map(|(_, release)| HelmRelease::read(release).value)
            .filter(|release| {
                let mut references = release.spec.values_from.iter();
                references.any(|reference| reference.kind == id.kind && reference.name == id.name)
            })
            .map(|release| release.name)
            .collect();
        for user in users {
            self.workers.queue.add(user, context.now, PRIORITY_NORMAL);
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
            self.workers.queue.add(user, context.now, PRIORITY_NORMAL);
        }
    }
}

impl Controller for HelmController {
    fn observe(&mut self, old: Option<&Arc<Value>>, new: Option<&Arc<Value>>, context: &mut Context<'_>) {
        let Some(object) = new.or(old) else { return };
        if !HelmRelease::is(object) {
            if firstpass_object::group_of(object.api_version()) == names::SOURCE_GROUP {
                self.observe_source(old, new, context);
            } else if matches!(object.kind(), "ConfigMap" | "Secret") && object.api_version() == "v1" {
                self.observe_values(old, new, context);
            }
            return;
        }
        let release = TierName::new(object.namespace().unwrap_or_default(), object.name());
        let Some(new) = new else {
            self.workers.queue.remove(&release);
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
            self.workers.queue.add(release, context.now, PRIORITY_NORMAL);
        }
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        workers::work(self, context);
    }

    fn next_wake(&self) -> Option<Time> {
        self.workers.next_wake()
    }

    fn is_working(&self) -> bool {
        self.workers
            .attempts
            .values()
            .any(|attempt| matches!(attempt.phase, Phase::Act(_)))
    }
}

impl Reconciler for HelmController {
    type Attempt = Attempt;

    fn workers(&mut self) -> &mut Workers<Attempt> {
        &mut self.workers
    }

    fn look_at(&mut self, release: &TierName, context: &mut Context<'_>) {
        self.begin(release, context);
    }

    fn go_on(&mut self, release: &TierName, context: &mut Context<'_>) {
        self.step(release, context);
    }
}

/// The source that a release's chart comes from: the HelmChart that helm-controller makes, or the one it refers to.
fn chart_source(release: &HelmRelease) -> Option<firstpass_flux::SourceName> {
    match &release.spec.chart_ref {
        Some(reference) => Some(reference.source.clone()),
        None => release.helm_chart(),
    }
}

/// Time between two polls of the wait: 5 s since Helm 4 (F-1007, F-1780), 2 s before.
fn poll_interval(settings: &ControllerSettings) -> Duration {
    Duration::from_secs(if settings.flux.at_least(8) { 5 } else { 2 })
}
