//! The work queue of a controller: what has to be looked at, and when (F-109, F-1105, F-1714).
//!
//! One pending entry per key; the earliest due time wins; a key that is being processed is locked, and what is added for
//! it meanwhile waits until it is done. Among the keys that are due, a higher priority goes first, then who was due first,
//! then who was added first.

use std::collections::{BTreeMap, BTreeSet};

use firstpass_apiserver::{Duration, Time};

/// Priority of changes.
pub(crate) const PRIORITY_NORMAL: i32 = 0;
/// Priority of the events of an initial listing, when a controller has restarted (F-109).
pub(crate) const PRIORITY_LISTED: i32 = -100;

/// Which generation of controller-runtime's queue is at work (F-1714).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavor {
    /// Since controller-runtime 0.23 (Flux 2.8): an immediate add replaces a later one.
    Priority,
    /// Before: a delayed add stays, so that one more attempt follows at the old time; no priorities.
    Delaying,
}

/// A queue of keys.
#[derive(Clone, Debug)]
pub(crate) struct WorkQueue<K: Ord> {
    flavor: Flavor,
    /// What is to be looked at.
    pending: Lane<K>,
    /// With [`Flavor::Delaying`], entries that wait for their time beside one that is due at once.
    delayed: Lane<K>,
    /// What was added for keys that a worker holds; it is pending once they are done.
    held: BTreeMap<K, Option<Entry>>,
    /// How often each key failed in a row.
    failures: BTreeMap<K, u32>,
    sequence: u64,
}

/// Entries by key, and by whose turn it is.
#[derive(Clone, Debug)]
struct Lane<K: Ord> {
    entries: BTreeMap<K, Entry>,
    /// Those whose time has not come as far as anybody has looked.
    by_time: BTreeSet<(Time, u64, K)>,
    /// Those that are due, by priority first.
    due: BTreeSet<(i32, Time, u64, K)>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    due: Time,
    priority: i32,
    sequence: u64,
}

/// First delay of the exponential backoff (F-1105).
pub(crate) const BACKOFF_LEAST: Duration = Duration::from_millis(750);
/// Longest delay of the exponential backoff (F-1105).
pub(crate) const BACKOFF_MOST: Duration = Duration::from_secs(15 * 60);

impl<K: Ord + Clone> WorkQueue<K> {
    /// An empty queue.
    pub(crate) fn new(flavor: Flavor) -> WorkQueue<K> {
        WorkQueue {
            flavor,
            pending: Lane::new(),
            delayed: Lane::new(),
            held: BTreeMap::new(),
            failures: BTreeMap::new(),
            sequence: 0,
        }
    }

    /// Which generation of queue this is.
    pub(crate) fn flavor(&self) -> Flavor {
        self.flavor
    }

    /// Asks for the key to be looked at, now.
    pub(crate) fn add(&mut self, key: K, now: Time, priority: i32) {
        self.insert(key, now, priority, true);
    }

    /// Asks for the key to be looked at after a while.
    pub(crate) fn add_after(&mut self, key: K, now: Time, delay: Duration) {
        self.insert(key, now + delay, PRIORITY_NORMAL, delay == Duration::ZERO);
    }

    /// Asks for the key to be looked at after its backoff, which doubles each time until [`WorkQueue::forget`].
    /// Gives the delay.
    pub(crate) fn add_rate_limited(&mut self, key: K, now: Time) -> Duration {
        let failures = self.failures.entry(key.clone()).or_default();
        let factor = 1_u64 << (*failures).min(20);
        *failures += 1;
        let delay = (BACKOFF_LEAST * factor).min(BACKOFF_MOST);
        self.add_after(key, now, delay);
        delay
    }

    /// Resets the key's backoff.
    pub(crate) fn forget(&mut self, key: &K) {
        self.failures.remove(key);
    }

    /// Takes the key whose turn it is and locks it.
    pub(crate) fn take(&mut self, now: Time) -> Option<K> {
        self.promote(now);
        let key = self.pending.first_due(now)?;
        self.pending.remove(&key);
        self.held.insert(key.clone(), None);
        Some(key)
    }

    /// Unlocks a key.
    pub(crate) fn done(&mut self, key: &K) {
        if let Some(Some(entry)) = self.held.remove(key) {
            self.pending.merge(key.clone(), entry);
        }
    }

    /// Drops whatever is pending for a key, since its object is gone.
    pub(crate) fn remove(&mut self, key: &K) {
        self.pending.remove(key);
        self.delayed.remove(key);
        if let Some(held) = self.held.get_mut(key) {
            *held = None;
        }
        self.failures.remove(key);
    }

    /// When the key is due.
    pub(crate) fn due(&self, key: &K) -> Option<Time> {
        let held = self.held.get(key).and_then(Option::as_ref);
        let entries = [self.pending.entries.get(key), self.delayed.entries.get(key), held];
        entries.into_iter().flatten().map(|entry| entry.due).min()
    }

    /// When the next key that no worker holds is due.
    pub(crate) fn next_due(&self) -> Option<Time> {
        let delayed = self.delayed.next(|key| !self.held.contains_key(key));
        self.pending.next(|_| true).into_iter().chain(delayed).min()
    }

    /// Keys that are due and that no worker holds.
    pub(crate) fn due_count(&self, now: Time) -> usize {
        self.pending.due_count(now)
    }

    fn insert(&mut self, key: K, due: Time, priority: i32, at_once: bool) {
        self.sequence += 1;
        let entry = Entry {
            due,
            priority,
            sequence: self.sequence,
        };
        let is_delayed = self.flavor == Flavor::Delaying && !at_once;
        if is_delayed {
            self.delayed.merge(key, entry);
        } else if let Some(held) = self.held.get_mut(&key) {
            *held = Some(held.map_or(entry, |present| present.merged(entry)));
        } else {
            self.pending.merge(key, entry);
        }
    }

    /// With the older queue, moves what has become due among the rest.
    fn promote(&mut self, now: Time) {
        while let Some(key) = self.delayed.first_due(now) {
            let Some(entry) = self.delayed.remove(&key) else {
                return;
            };
            match self.held.get_mut(&key) {
                Some(held) => *held = Some(held.map_or(entry, |present| present.merged(entry))),
                None => self.pending.merge(key, entry),
            }
        }
    }
}

impl<K: Ord + Clone> Lane<K> {
    fn new() -> Lane<K> {
        Lane {
            entries: BTreeMap::new(),
            by_time: BTreeSet::new(),
            due: BTreeSet::new(),
        }
    }

    /// Whose turn it is among those that are due.
    fn first_due(&mut self, now: Time) -> Option<K> {
        while self.by_time.first().is_some_and(|(due, _, _)| *due <= now) {
            let Some((due, sequence, key)) = self.by_time.pop_first() else {
                break;
            };
            let priority = self.entries.get(&key).map_or(0, |entry| entry.priority);
            self.due.insert((-priority, due, sequence, key));
        }
        self.due.first().map(|(_, _, _, key)| key.clone())
    }

    /// When the next one is due, of those that pass.
    fn next(&self, passes: impl Fn(&K) -> bool) -> Option<Time> {
        let due = self
            .due
            .iter()
            .find(|(_, _, _, key)| passes(key))
            .map(|(_, due, _, _)| *due);
        due.or_else(|| {
            self.by_time
                .iter()
                .find(|(_, _, key)| passes(key))
                .map(|(due, _, _)| *due)
        })
    }

    fn due_count(&self, now: Time) -> usize {
        self.due.len() + self.by_time.iter().take_while(|(due, _, _)| *due <= now).count()
    }

    fn merge(&mut self, key: K, entry: Entry) {
        let merged = self.remove(&key).map_or(entry, |present| present.merged(entry));
        self.by_time.insert((merged.due, merged.sequence, key.clone()));
        self.entries.insert(key, merged);
    }

    fn remove(&mut self, key: &K) -> Option<Entry> {
        let entry = self.entries.remove(key)?;
        if !self.by_time.remove(&(entry.due, entry.sequence, key.clone())) {
            self.due
                .remove(&(-entry.priority, entry.due, entry.sequence, key.clone()));
        }
        Some(entry)
    }
}

impl Entry {
    /// The earliest due time and the highest priority win; the place in the queue stays, unless the time moves.
    fn merged(self, other: Entry) -> Entry {
        let sooner = if other.due < self.due { other } else { self };
        Entry {
            priority: self.priority.max(other.priority),
            ..sooner
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::from_secs(seconds)
    }

    #[test]
    fn one_entry_per_key_and_the_earliest_time_wins() {
        // F-109
        let mut queue = WorkQueue::new(Flavor::Priority);
        queue.add_after("a", at(0), Duration::from_secs(60));
        queue.add_after("a", at(0), Duration::from_secs(30));
        queue.add_after("a", at(0), Duration::from_secs(90));
        assert_eq!(queue.next_due(), Some(at(30)));
        assert_eq!(queue.take(at(29)), None);
        assert_eq!(queue.take(at(30)), Some("a"));
        queue.done(&"a");
        assert_eq!(queue.take(at(100)), None);
    }

    #[test]
    fn a_locked_key_runs_again_after_it_is_done() {
        // F-109, F-160
        let mut queue = WorkQueue::new(Flavor::Priority);
        queue.add("a", at(0), PRIORITY_NORMAL);
        assert_eq!(queue.take(at(0)), Some("a"));
        queue.add("a", at(1), PRIORITY_NORMAL);
        assert_eq!(queue.take(at(2)), None);
        assert_eq!(queue.next_due(), None);
        queue.done(&"a");
        assert_eq!(queue.take(at(2)), Some("a"));
    }

    #[test]
    fn order_is_priority_then_first_come() {
        let mut queue = WorkQueue::new(Flavor::Priority);
        queue.add("low", at(0), -100);
        queue.add("b", at(1), PRIORITY_NORMAL);
        queue.add("a", at(1), PRIORITY_NORMAL);
        let order: Vec<_> = std::iter::from_fn(|| queue.take(at(1))).collect();
        assert_eq!(order, ["b", "a", "low"]);
    }

    #[test]
    fn backoff_doubles_from_750_ms_to_15_minutes_and_is_forgotten() {
        // F-1105
        let mut queue = WorkQueue::new(Flavor::Priority);
        let delays: Vec<_> = (0..12).map(|_| queue.add_rate_limited("a", at(0))).collect();
        assert_eq!(delays[0], Duration::from_millis(750));
        assert_eq!(delays[1], Duration::from_millis(1500));
        assert_eq!(delays[10], Duration::from_secs(768));
        assert_eq!(delays[11], Duration::from_secs(900));
        queue.forget(&"a");
        assert_eq!(queue.add_rate_limited("a", at(0)), Duration::from_millis(750));
    }

    #[test]
    fn before_flux_2_8_a_delayed_add_survives_an_immediate_one() {
        // F-1714
        for (flavor, later) in [(Flavor::Priority, None), (Flavor::Delaying, Some("a"))] {
            let mut queue = WorkQueue::new(flavor);
            queue.add_after("a", at(0), Duration::from_secs(30));
            queue.add("a", at(10), PRIORITY_NORMAL);
            assert_eq!(queue.take(at(10)), Some("a"));
            queue.done(&"a");
            assert_eq!(queue.take(at(30)), later);
        }
    }
}
