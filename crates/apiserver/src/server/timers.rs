//! What happens by itself, later.

use std::sync::Arc;

use firstpass_object::{GroupKind, ObjectId};

use super::ApiServer;
use crate::time::{Duration, Time};

/// Something set up to happen.
#[derive(Clone, Debug)]
pub(super) enum Timer {
    /// The CRD becomes Established.
    Establish(Arc<ObjectId>),
    /// Discovery catches up with the kind.
    List(GroupKind),
    /// The namespace controller looks at a terminating namespace.
    EmptyNamespace(String),
    /// The objects of a CRD under deletion are deleted.
    EmptyCrd(Arc<ObjectId>),
    /// The garbage collector looks at an object whose owner is gone.
    Collect(Arc<ObjectId>),
    /// The garbage collector looks at an owner under foreground deletion.
    FinishForeground(Arc<ObjectId>),
}

impl ApiServer {
    pub(super) fn set_timer(&mut self, after: Duration, timer: Timer) {
        self.timer_count += 1;
        self.timers.insert((self.now + after, self.timer_count), timer);
    }

    pub(super) fn pop_due(&mut self, now: Time) -> Option<((Time, u64), Timer)> {
        let first = self.timers.first_entry()?;
        (first.key().0 <= now).then(|| first.remove_entry())
    }

    pub(super) fn fire(&mut self, timer: Timer) {
        match timer {
            Timer::Establish(id) => self.establish(&id),
            Timer::List(kind) => self.discovery.list(&kind),
            Timer::EmptyNamespace(name) => self.empty_namespace(&name),
            Timer::EmptyCrd(id) => self.empty_crd(&id),
            Timer::Collect(id) => self.collect(&id),
            Timer::FinishForeground(id) => self.finish_foreground(&id),
        }
    }
}
