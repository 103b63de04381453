//! The journal: what happened, line by line.

use std::borrow::Cow;

use firstpass_apiserver::{ApiServer, Cursor, Event, EventType, Time};
use firstpass_object::ObjectExt;
use serde_json::Value;

/// One line: something changed its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When.
    pub at: Time,
    /// Who did it, such as `kustomize-controller`.
    pub actor: Cow<'static, str>,
    /// What it is about: an object, written as reports write it.
    pub subject: String,
    /// What happened.
    pub what: String,
}

/// All lines so far. What the API server stores becomes a line by itself; before a controller writes one of its own, the
/// journal catches up, so that lines stand in the order in which things happened.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    lines: Vec<Line>,
    cursor: Cursor,
}

impl Journal {
    /// The lines.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Forgets the lines; what happened so far is not told again.
    pub fn clear(&mut self, server: &ApiServer) {
        self.lines.clear();
        self.cursor = server.log().head();
    }

    /// Writes what the API server has stored meanwhile.
    pub fn catch_up(&mut self, server: &ApiServer) {
        let lines = server.events_since(self.cursor).filter_map(line_of);
        self.lines.extend(lines);
        self.cursor = server.log().head();
    }

    /// Writes a line.
    pub fn note(&mut self, server: &ApiServer, actor: &'static str, subject: String, what: String) {
        self.catch_up(server);
        self.lines.push(Line {
            at: server.now(),
            actor: Cow::Borrowed(actor),
            subject,
            what,
        });
    }
}

fn line_of(event: &Event) -> Option<Line> {
    let what = match event.event_type {
        EventType::Added => "created",
        EventType::Deleted => "gone",
        EventType::Modified if is_new_generation(event) => "configured",
        EventType::Modified => return None,
    };
    Some(Line {
        at: event.at,
        actor: Cow::Owned(event.by.to_string()),
        subject: event.id.to_string(),
        what: what.to_owned(),
    })
}

fn is_new_generation(event: &Event) -> bool {
    let generation = |object: &Value| object.at(&["metadata", "generation"]).cloned();
    event
        .previous
        .as_ref()
        .is_some_and(|previous| generation(previous) != generation(&event.object))
}
