//! The workers of a controller: a queue of keys, and up to so many attempts at once (F-109).

use std::collections::BTreeMap;

use firstpass_apiserver::Time;
use firstpass_flux::ControllerSettings;
use firstpass_object::TierName;

use crate::context::Context;
use crate::queue::{Flavor, WorkQueue};

/// What a worker holds: a small state machine that does a step whenever its time comes.
pub(crate) trait Attempt {
    /// When the next step is due.
    fn next_at(&self) -> Time;
}

/// Keys that wait, and attempts that run.
#[derive(Clone, Debug)]
pub(crate) struct Workers<A> {
    pub(crate) queue: WorkQueue<TierName>,
    /// What the workers hold. Its key is locked in the queue.
    pub(crate) attempts: BTreeMap<TierName, A>,
    /// Keys that hold a worker without an attempt, and when the next step of each is due.
    pub(crate) held: BTreeMap<TierName, Time>,
    concurrent: usize,
}

/// A controller with workers.
pub(crate) trait Reconciler {
    type Attempt: Attempt;

    fn workers(&mut self) -> &mut Workers<Self::Attempt>;

    /// Looks at a key whose turn it is. Either an attempt runs afterwards, or the look is over.
    fn look_at(&mut self, key: &TierName, context: &mut Context<'_>);

    /// Does the next step of an attempt.
    fn go_on(&mut self, key: &TierName, context: &mut Context<'_>);
}

/// Starts as many attempts as there are free workers and due keys, and does the steps that are due, until there is
/// nothing to do at this moment.
pub(crate) fn work<R: Reconciler>(reconciler: &mut R, context: &mut Context<'_>) {
    loop {
        while let Some(key) = reconciler.workers().take(context.now) {
            reconciler.look_at(&key, context);
            let workers = reconciler.workers();
            if !workers.attempts.contains_key(&key) && !workers.held.contains_key(&key) {
                workers.queue.done(&key);
            }
        }
        let Some(key) = reconciler.workers().due(context) else {
            return;
        };
        reconciler.go_on(&key, context);
    }
}

impl<A: Attempt> Workers<A> {
    /// `concurrent` workers who have nothing to do yet.
    pub(crate) fn new(settings: &ControllerSettings, concurrent: u32) -> Workers<A> {
        let flavor = if settings.flux.at_least(8) {
            Flavor::Priority
        } else {
            Flavor::Delaying
        };
        Workers {
            queue: WorkQueue::new(flavor),
            attempts: BTreeMap::new(),
            held: BTreeMap::new(),
            concurrent: concurrent as usize,
        }
    }

    /// How many attempts run at once.
    pub(crate) fn concurrent(&self) -> usize {
        self.concurrent
    }

    /// Forgets whatever waits and runs.
    pub(crate) fn restart(&mut self) {
        self.queue = WorkQueue::new(self.queue.flavor());
        self.attempts.clear();
        self.held.clear();
    }

    /// Whether keys that are due find no free worker.
    pub(crate) fn are_starved(&self, now: Time) -> bool {
        !self.has_free() && self.queue.due_count(now) > 0
    }

    /// When something is to be done next.
    pub(crate) fn next_wake(&self) -> Option<Time> {
        let attempts = self.attempts.values().map(Attempt::next_at);
        // A due key that finds no free worker waits for an attempt to end, which is a wake-up of its own.
        let queued = self.has_free().then(|| self.queue.next_due()).flatten();
        attempts.chain(self.held.values().copied()).chain(queued).min()
    }

    fn has_free(&self) -> bool {
        self.attempts.len() + self.held.len() < self.concurrent
    }

    /// The key whose turn it is, if a worker is free for it.
    fn take(&mut self, now: Time) -> Option<TierName> {
        if self.has_free() {
            self.queue.take(now)
        } else {
            None
        }
    }

    /// An attempt whose next step is due. Workers run side by side: which of them is first at one moment, only the schedule
    /// says.
    fn due(&self, context: &Context<'_>) -> Option<TierName> {
        let attempts = self
            .attempts
            .iter()
            .map(|(key, attempt)| (key, attempt.next_at()));
        let held = self.held.iter().map(|(key, at)| (key, *at));
        let due = attempts.chain(held).filter(|(_, at)| *at <= context.now);
        let first = due.min_by_key(|(key, _)| context.delays.turn("workers", number(key, context.now)));
        first.map(|(key, _)| key.clone())
    }
}

/// A number of a key's own at a moment, for draws.
fn number(key: &TierName, now: Time) -> u64 {
    let bytes = key.namespace.bytes().chain([b'/']).chain(key.name.bytes());
    bytes.fold(now.as_micros(), |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u64::from(byte))
    })
}
