//! What Helm remembers of releases, and what a HelmRelease remembers of having done to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

/// How many revisions of a release Helm keeps (F-1007).
const HISTORY_MAX: usize = 5;

/// A chart in one version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ChartVersion {
    pub(super) name: String,
    pub(super) version: String,
}

/// Namespace of Helm's records, and name of the release.
pub(super) type ReleaseKey = (String, String);

/// Helm's records of all releases.
#[derive(Clone, Debug, Default)]
pub(super) struct Storage {
    revisions: BTreeMap<ReleaseKey, Vec<Revision>>,
}

/// One revision of a release, as Helm stores it. One that is being made is stored as failed, which it is if nobody ends it.
#[derive(Clone, Debug)]
pub(super) struct Revision {
    pub(super) version: u32,
    pub(super) state: RevisionState,
    pub(super) chart: ChartVersion,
    /// What tells two sets of values apart.
    pub(super) values: String,
    /// What the chart made of them, CRDs of `crds/` aside.
    pub(super) objects: Vec<Arc<Value>>,
    /// The hooks of the chart.
    pub(super) hooks: Vec<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RevisionState {
    Deployed,
    Superseded,
    Failed,
}

/// A revision that a HelmRelease has made, as its status says (`status.history`).
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    /// Namespace that the chart was installed in.
    pub(super) namespace: String,
    /// Name of the release.
    pub(super) name: String,
    pub(super) version: u32,
    pub(super) state: RevisionState,
    pub(super) chart: ChartVersion,
    /// Whether its tests succeeded; absent before they have run.
    pub(super) tested: Option<bool>,
}

impl Storage {
    /// The newest revision.
    pub(super) fn last(&self, key: &ReleaseKey) -> Option<&Revision> {
        self.revisions.get(key)?.last()
    }

    pub(super) fn get(&self, key: &ReleaseKey, version: u32) -> Option<&Revision> {
        let mut revisions = self.revisions.get(key)?.iter();
        revisions.find(|revision| revision.version == version)
    }

    /// The number of the next revision.
    pub(super) fn next_version(&self, key: &ReleaseKey) -> u32 {
        self.last(key).map_or(1, |last| last.version + 1)
    }

    /// Stores a revision, in place of the one with its number if there is one.
    pub(super) fn put(&mut self, key: &ReleaseKey, revision: Revision) {
        let revisions = self.revisions.entry(key.clone()).or_default();
        match revisions
            .iter_mut()
            .find(|known| known.version == revision.version)
        {
            Some(known) => *known = revision,
            None => revisions.push(revision),
        }
        // The one that is in place is kept, however old.
        let is_old = |revision: &Revision| revision.state != RevisionState::Deployed;
        if revisions.len() > HISTORY_MAX
            && let Some(oldest) = revisions.iter().position(is_old)
        {
            revisions.remove(oldest);
        }
    }

    /// A revision is in place now, instead of whatever was.
    pub(super) fn deploy(&mut self, key: &ReleaseKey, version: u32) {
        for revision in self.revisions.get_mut(key).into_iter().flatten() {
            if revision.version == version {
                revision.state = RevisionState::Deployed;
            } else if revision.state == RevisionState::Deployed {
                revision.state = RevisionState::Superseded;
            }
        }
    }

    /// Forgets a release.
    pub(super) fn purge(&mut self, key: &ReleaseKey) {
        self.revisions.remove(key);
    }
}

impl ChartVersion {
    /// `web@1.0.0`
    pub(super) fn text(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }
}

impl Snapshot {
    /// `default/web.v1`
    pub(super) fn release_text(&self) -> String {
        format!("{}/{}.v{}", self.namespace, self.name, self.version)
    }
}
