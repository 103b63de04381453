//! What a model has set up to happen, by time. What is due at one moment happens in the order in which it was set up, or
//! in that which the schedule says.

use std::collections::BTreeMap;

use firstpass_apiserver::Time;

use crate::context::Delays;

/// Pending happenings.
#[derive(Clone, Debug)]
pub(crate) struct Timers<T> {
    /// By time, and then in the order in which they were set up.
    pending: BTreeMap<(Time, u64), T>,
    /// Those of a moment that has come, by whose turn it is.
    due: BTreeMap<(Time, u64, u64), T>,
    count: u64,
}

impl<T> Default for Timers<T> {
    fn default() -> Timers<T> {
        Timers {
            pending: BTreeMap::new(),
            due: BTreeMap::new(),
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
        while let Some(entry) = self.pending.first_entry().filter(|entry| entry.key().0 == at) {
            let (_, count) = *entry.key();
            self.due
                .insert((at, delays.turn("timers", count), count), entry.remove());
        }
        self.due.pop_first().map(|(_, what)| what)
    }

    /// When the next one is due.
    pub(crate) fn next(&self) -> Option<Time> {
        let due = self.due.first_key_value().map(|((at, ..), _)| *at);
        let pending = self.pending.first_key_value().map(|((at, _), _)| *at);
        due.into_iter().chain(pending).min()
    }

    /// What is pending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.due.values().chain(self.pending.values())
    }
}
