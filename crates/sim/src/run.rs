//! Running a world until there is nothing left to hope for.

use std::collections::BTreeMap;
use std::ops::Bound;

use firstpass_apiserver::{Duration, Time};
use firstpass_controllers::ReleaseRecord;
use firstpass_controllers::kustomization::{DependencyState, Obstacle, OutcomeResult, TierRecord};
use firstpass_object::TierName;

use crate::world::World;

/// How long a rehearsal goes on if it neither converges nor stalls.
pub const HORIZON: Duration = Duration::from_secs(24 * 60 * 60);

/// Changes without anything new after which a run that does not come to rest goes in circles. A cold start brings
/// something new at least every few changes; one change per retry for a day is far more than any real one has.
const LIVELOCK_CHANGES: u64 = 100_000;

/// Steps at one and the same moment after which a run goes in circles.
const LIVELOCK_STEPS: u64 = 100_000;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Nothing is under way, and everybody who still waits has tried again in vain.
    Quiet,
    /// Things change all the time, and nothing new comes of it.
    Livelock,
    /// The limit was reached before that: there is no answer.
    Horizon,
}

impl World {
    /// Runs until it is quiet, or until the time is up.
    pub fn run_until_quiet(&mut self, limit: Time) -> End {
        self.run_watched(limit, |_| {})
    }

    /// The same, with somebody who looks after every step.
    pub fn run_watched(&mut self, limit: Time, mut look: impl FnMut(&mut World)) -> End {
        let mut moment = (self.now(), 0);
        let mut restless = None;
        loop {
            moment = if moment.0 == self.now() {
                (moment.0, moment.1 + 1)
            } else {
                (self.now(), 0)
            };
            if moment.1 > LIVELOCK_STEPS {
                return End::Livelock;
            }
            if !self.step(limit) {
                let beyond = self.next_at().is_some_and(|at| at > limit);
                return if beyond && self.restless(restless).is_some() {
                    End::Horizon
                } else {
                    End::Quiet
                };
            }
            look(self);
            if self.progress().changes_since_growth > LIVELOCK_CHANGES {
                return End::Livelock;
            }
            restless = self.restless(restless);
            if restless.is_none() {
                return End::Quiet;
            }
        }
    }

    /// Whether nothing but retries is pending and each waiting actor has tried again since the last change.
    pub fn is_quiet(&self) -> bool {
        self.restless(None).is_none()
    }

    /// Somebody on whose account the world is not quiet yet. `last` is asked first and looked for from there on: who was
    /// restless a moment ago mostly still is, and a step must not cost a look at everybody.
    fn restless(&self, last: Option<Restless>) -> Option<Restless> {
        let (tiers, releases) = (self.kustomizations.tiers(), self.releases.releases());
        let (tier, release) = match last {
            Some(Restless::Tier(tier)) => (Some(tier), None),
            Some(Restless::Release(release)) => (None, Some(release)),
            _ => (None, None),
        };
        let is_restless = |tier: &TierName, record: &TierRecord| {
            // An attempt that is running only repeats the last one, if that began after the last change: it may go on.
            !self.is_settled(record) && !self.has_tried_in_vain(tier, record)
        };
        if let Some(tier) = find_from(tiers, tier, is_restless) {
            return Some(Restless::Tier(tier));
        }
        let is_restless =
            |name: &TierName, record: &ReleaseRecord| !self.has_release_come_to_rest(name, record);
        if let Some(release) = find_from(releases, release, is_restless) {
            return Some(Restless::Release(release));
        }
        (self.is_working() || self.releases.is_running()).then_some(Restless::Work)
    }

    /// Whether a tier has what it wants: Ready, or suspended.
    pub fn is_settled(&self, record: &TierRecord) -> bool {
        match &record.last {
            Some(outcome) => match outcome.result {
                OutcomeResult::Succeeded => record.ready_at.is_some(),
                OutcomeResult::Suspended => true,
                OutcomeResult::Failed(_) => false,
            },
            None => false,
        }
    }

    /// Whether a HelmRelease is done, or has been looked at in vain since the last change.
    fn has_release_come_to_rest(&self, name: &TierName, record: &ReleaseRecord) -> bool {
        if record.settled {
            return true;
        }
        let due = self.releases.due(name);
        let tried = record.looked_at.is_some_and(|at| at > self.progress().changed_at) || due.is_none();
        let soon = due.is_some_and(|due| due <= self.now());
        record.last_failure.is_some() && tried && !soon
    }

    fn has_tried_in_vain(&self, tier: &TierName, record: &TierRecord) -> bool {
        let Some(outcome) = &record.last else { return false };
        let due = self.kustomizations.due(tier);
        if due.is_some_and(|due| due <= self.now()) {
            return false;
        }
        let OutcomeResult::Failed(failure) = &outcome.result else {
            return false;
        };
        // A dependency that was only looked at in the middle of a run of its own will do the next time (F-127).
        let unlucky = failure.obstacles.iter().any(|obstacle| match obstacle {
            Obstacle::Dependency {
                tier,
                state: DependencyState::NotReady | DependencyState::OtherRevision,
            } => self
                .kustomizations
                .tiers()
                .get(tier)
                .is_some_and(|record| record.ready_at.is_some() && self.is_settled(record)),
            _ => false,
        });
        let is_over = due.is_none() && !self.kustomizations.running().contains_key(tier);
        let tried = outcome.began_at > self.progress().changed_at || is_over;
        tried && !unlucky
    }
}

/// Why a world is not quiet.
#[derive(Clone, Debug)]
enum Restless {
    /// A Flux Kustomization has not got what it wants, nor tried again in vain.
    Tier(TierName),
    /// So with a HelmRelease.
    Release(TierName),
    /// Something that takes its time is under way.
    Work,
}

/// The first key whose record `fits`, looked for from `start` on and then from the beginning.
fn find_from<R>(
    records: &BTreeMap<TierName, R>,
    start: Option<TierName>,
    fits: impl Fn(&TierName, &R) -> bool,
) -> Option<TierName> {
    let (from, until) = match start {
        Some(start) => (Bound::Included(start.clone()), Bound::Excluded(start)),
        None => (Bound::Unbounded, Bound::Unbounded),
    };
    let rest = matches!(until, Bound::Excluded(_)).then(|| records.range((Bound::Unbounded, until)));
    records
        .range((from, Bound::Unbounded))
        .chain(rest.into_iter().flatten())
        .find(|(name, record)| fits(name, record))
        .map(|(name, _)| name.clone())
}
