//! What a model has set up to happen, by time and then in the order in which it was set up.

use std::collections::BTreeMap;

use firstpass_apiserver::Time;

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
    pub(crate) fn pop_due(&mut self, now: Time) -> Option<T> {
        let first = self.pending.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
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
