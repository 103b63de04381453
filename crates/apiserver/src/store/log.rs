//! The log of all changes, which is what watches read.

use std::collections::VecDeque;
use std::sync::Arc;

use firstpass_object::ObjectId;
use serde_json::Value;

use crate::Time;

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    /// It came to be.
    Added,
    /// It changed (also: got its deletion timestamp).
    Modified,
    /// It is gone.
    Deleted,
}

/// One change of one object.
#[derive(Clone, Debug)]
pub struct Event {
    /// Position in the log; grows by one with each event.
    pub index: u64,
    /// When it happened.
    pub at: Time,
    /// Added, modified or deleted.
    pub event_type: EventType,
    /// Which object.
    pub id: Arc<ObjectId>,
    /// The object after the change; for a deletion its last state.
    pub object: Arc<Value>,
    /// The object before the change; `None` for an addition.
    pub previous: Option<Arc<Value>>,
    /// Who did it: a field manager, or a part of Kubernetes.
    pub by: Arc<str>,
}

/// A reader's place in the log: the index of the next event it has not seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor(pub u64);

/// Events per chunk: a fork copies at most this many on its next write, and a million events cost it 4,000 pointers.
const CHUNK: usize = 256;

/// All events since the last compaction, in chunks that forks share.
#[derive(Clone, Debug, Default)]
pub struct Log {
    chunks: VecDeque<Arc<Vec<Event>>>,
    /// Index of the first event of the first chunk.
    start: u64,
    /// Index of the next event.
    next: u64,
}

impl Log {
    pub(crate) fn push(&mut self, mut event: Event) {
        event.index = self.next;
        self.next += 1;
        match self.chunks.back_mut() {
            Some(last) if last.len() < CHUNK => Arc::make_mut(last).push(event),
            _ => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(event);
                self.chunks.push_back(Arc::new(chunk));
            }
        }
    }

    /// The place behind the newest event.
    pub fn head(&self) -> Cursor {
        Cursor(self.next)
    }

    /// The place of the oldest event still kept.
    pub fn tail(&self) -> Cursor {
        Cursor(self.start)
    }

    /// All events from a place on.
    ///
    /// # Panics
    /// If the place was compacted away: whoever compacts must know the slowest reader.
    pub fn since(&self, cursor: Cursor) -> impl Iterator<Item = &Event> {
        assert!(
            cursor.0 >= self.start,
            "events before {} were compacted",
            self.start
        );
        let skip = (cursor.0 - self.start) as usize;
        self.chunks
            .iter()
            .skip(skip / CHUNK)
            .flat_map(|chunk| chunk.iter())
            .skip(skip % CHUNK)
    }

    /// Forgets events before a place, in whole chunks, so that old states of objects can go.
    pub fn compact(&mut self, before: Cursor) {
        while self
            .chunks
            .front()
            .is_some_and(|chunk| chunk.len() == CHUNK && self.start + CHUNK as u64 <= before.0)
        {
            self.chunks.pop_front();
            self.start += CHUNK as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str) -> Event {
        Event {
            index: 0,
            at: Time::START,
            event_type: EventType::Added,
            id: Arc::new(ObjectId::new("", "ConfigMap", Some("a"), name)),
            object: Arc::new(Value::Null),
            previous: None,
            by: Arc::from("test"),
        }
    }

    #[test]
    fn readers_continue_where_they_were_and_forks_do_not_meet() {
        let mut log = Log::default();
        for index in 0..1000 {
            log.push(event(&index.to_string()));
        }
        let mut fork = log.clone();
        fork.push(event("only in the fork"));
        assert_eq!(
            log.since(Cursor(998))
                .map(|event| event.id.name.as_str())
                .collect::<Vec<_>>(),
            ["998", "999"]
        );
        assert_eq!(log.since(log.head()).count(), 0);
        assert_eq!(fork.since(log.head()).count(), 1);
        log.compact(Cursor(700));
        assert_eq!(log.tail(), Cursor(512));
        assert_eq!(log.since(Cursor(700)).next().map(|event| event.index), Some(700));
    }
}
