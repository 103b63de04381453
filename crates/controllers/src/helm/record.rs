//! What became of a HelmRelease so far.

use std::collections::BTreeSet;

use firstpass_apiserver::Time;
use firstpass_flux::{HelmRelease, ReleaseAction};
use firstpass_object::ObjectId;

use super::storage::{ReleaseKey, RevisionState, Snapshot};
use crate::kustomization::{Failure, Obstacle};

/// What became of a HelmRelease so far.
#[derive(Clone, Debug, Default)]
pub struct ReleaseRecord {
    /// When it was first Ready.
    pub ready_at: Option<Time>,
    /// Installs and upgrades that were tried.
    pub attempts: u32,
    /// Why it is not Ready; absent before the first look and once it is.
    pub last_failure: Option<Failure>,
    /// When the last look began.
    pub looked_at: Option<Time>,
    /// The chart is unknown: it was taken to install fine.
    pub chart_unknown: bool,
    /// Suspended or done: nothing is expected.
    pub settled: bool,
    /// Failures that count against the retries of installs, and of upgrades (F-1009).
    pub(super) failures: Failures,
    /// What the failures were counted for: generation, version of the chart, values (F-1012).
    pub(super) counted: Option<(i64, String, String)>,
    /// The revisions that it has made, oldest first.
    pub(super) history: Vec<Snapshot>,
    /// What ran last: it says whose retries and whose remediation count.
    pub(super) last_action: Option<ReleaseActionKind>,
    /// Where Helm's records were at the last attempt; absent before the first one.
    pub(super) stored_at: Option<String>,
    /// The HelmChart that was made for it (F-1000).
    pub(super) helm_chart: Option<firstpass_flux::SourceName>,
    /// What stood in the way of the last action.
    pub(super) obstacles: Vec<Obstacle>,
    /// Values of the annotations that ask for a forced upgrade or for new counters, as they were handled last.
    pub(super) handled: Handled,
    pub(super) made: BTreeSet<ObjectId>,
    pub(super) looks: u64,
}

/// Counters of failures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Failures {
    pub(super) install: u32,
    pub(super) upgrade: u32,
}

/// Requests by annotation that were handled.
#[derive(Clone, Debug, Default)]
pub(super) struct Handled {
    pub(super) reconcile: Option<String>,
    pub(super) force: Option<String>,
    pub(super) reset: Option<String>,
}

/// What makes a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReleaseActionKind {
    Install,
    Upgrade,
}

impl ReleaseRecord {
    /// The objects that its chart brought, CRDs aside.
    pub fn made(&self) -> &BTreeSet<ObjectId> {
        &self.made
    }

    /// Failures that count, of installs and upgrades.
    pub fn failures(&self) -> u32 {
        self.failures.install + self.failures.upgrade
    }

    /// The newest revision that it has made.
    pub(super) fn latest(&self) -> Option<&Snapshot> {
        self.history.last()
    }

    /// The newest good revision before the newest one; one whose test failed is good only if that does not count.
    pub(super) fn previous(&self, ignores_tests: bool) -> Option<&Snapshot> {
        let good = |snapshot: &&Snapshot| {
            let is_made = matches!(
                snapshot.state,
                RevisionState::Deployed | RevisionState::Superseded
            );
            is_made && (ignores_tests || snapshot.tested != Some(false))
        };
        self.history.iter().rev().skip(1).find(good)
    }

    /// The newest revision, for changes.
    pub(super) fn latest_mut(&mut self) -> Option<&mut Snapshot> {
        self.history.last_mut()
    }

    /// Notes that a revision was made, or how it ended.
    pub(super) fn note(&mut self, snapshot: Snapshot) {
        let known = self.history.iter_mut();
        match known.into_iter().find(|known| known.version == snapshot.version) {
            Some(known) => *known = snapshot,
            None => self.history.push(snapshot),
        }
    }

    /// Revisions before one that is in place now are superseded.
    pub(super) fn supersede(&mut self, version: u32) {
        for known in &mut self.history {
            if known.version != version && known.state == RevisionState::Deployed {
                known.state = RevisionState::Superseded;
            }
        }
    }

    /// How often an action has failed.
    pub(super) fn failures_of(&self, action: ReleaseActionKind) -> u32 {
        match action {
            ReleaseActionKind::Install => self.failures.install,
            ReleaseActionKind::Upgrade => self.failures.upgrade,
        }
    }

    /// Whether an action has used up its retries (F-1009).
    pub(super) fn is_exhausted(&self, action: ReleaseActionKind, release: &HelmRelease) -> bool {
        let retries = action.spec(release).retries;
        retries >= 0 && i64::from(self.failures_of(action)) > retries
    }
}

impl ReleaseActionKind {
    /// The settings of the action.
    pub(super) fn spec(self, release: &HelmRelease) -> &ReleaseAction {
        match self {
            ReleaseActionKind::Install => &release.spec.install,
            ReleaseActionKind::Upgrade => &release.spec.upgrade,
        }
    }

    /// Whether failures of tests do not count for this action's remediation.
    pub(super) fn ignores_tests(self, release: &HelmRelease) -> bool {
        let own = self.spec(release).ignore_test_failures;
        own.unwrap_or(release.spec.test.ignore_failures)
    }

    pub(super) fn verb(self) -> &'static str {
        match self {
            ReleaseActionKind::Install => "install",
            ReleaseActionKind::Upgrade => "upgrade",
        }
    }
}

/// Where Helm keeps the records of a release.
pub(super) fn key_of(release: &HelmRelease) -> ReleaseKey {
    (release.storage_namespace().to_owned(), release.release_name())
}
