//! What a model has set up to happen, by time. What is due at one moment happens in the order in which it was set up, or
//! in that which the schedule says.

use std::collections::BTreeMap;

use firstpass_apiserver::Time;

use crate::context::Delays;

/// Pending happenings.
#[derive(Clone, Debug)]
pub(crate) struct Timers<T> {
    pending: BTreeMap<(Time, u64), T>,
    count: u64,
}

impl<T> Default for Timers<T> {
    fn default() -> Timers<T> {
        Timers {
            pending: BTreeMap::new(),
            count: 0,
        }
    }
}

impl<T> Timers<T> {
    /// Sets something up.
    pub(crate) fn set(&mut self, at: Time, what: T) {
        self.count += 1;
        self.pending.insert((at, self.count), what);
    }

    /// Takes the next happening that is due.
    pub(crate) fn pop_due(&mut self, now: Time, delays: &dyn Delays) -> Option<T> {
        let at = self.next().filter(|at| *at <= now)?;
        let at_once = self.pending.range((at, 0)..=(at, u64::MAX));
        let (key, _) = at_once.min_by_key(|((_, count), _)| (delays.turn("timers", *count), *count))?;
        let key = *key;
        self.pending.remove(&key)
    }

    /// When the next one is due.
    pub(crate) fn next(&self) -> Option<Time> {
        self.pending.first_key_value().map(|((at, _), _)| *at)
    }

    /// What is pending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.pending.values()
    }
}
