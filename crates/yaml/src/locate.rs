//! Where in a text is this field? For findings, which underline what they talk about.

use crate::events::{Event, Events, Place};
use crate::parse::{Chunk, Chunks, parse_chunk};
use crate::{Mark, Node, NodeKind};

/// One step down into a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathSegment<'p> {
    /// The value under a key.
    Key(&'p str),
    /// An item of a list, counted from 0.
    Index(usize),
}

/// A piece of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Where it starts.
    pub start: Mark,
    /// How many characters it is long; at least 1.
    pub length: u32,
}

/// The place of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The key; nothing for an item of a list, and for the document itself.
    pub key: Option<Span>,
    /// The value; for a list or mapping its first word.
    pub value: Span,
    /// How many segments of the path were found.
    pub depth: usize,
}

impl From<&'static str> for PathSegment<'static> {
    fn from(key: &'static str) -> Self {
        PathSegment::Key(key)
    }
}

impl From<usize> for PathSegment<'static> {
    fn from(index: usize) -> Self {
        PathSegment::Index(index)
    }
}

/// Finds a field in the document of this index (see [`Document::index`](crate::Document::index)).
///
/// What came through an alias or a merge key is found where its anchor stands.
///
/// ```
/// use firstpass_yaml::{PathSegment::Key, locate};
///
/// let text = "kind: HelmRelease\nmetadata:\n  namespace: media\n";
/// let found = locate(text, 0, &[Key("metadata"), Key("namespace")]).unwrap();
/// assert_eq!((found.value.start.line, found.value.start.column, found.value.length), (3, 14, 5));
/// assert_eq!(found.key.unwrap().start.column, 3);
/// ```
pub fn locate(text: &str, document_index: usize, path: &[PathSegment<'_>]) -> Option<Found> {
    locate_nearest(text, document_index, path).filter(|found| found.depth == path.len())
}

/// Finds the field, or what is nearest to it: the last one on the path that is there.
pub fn locate_nearest(text: &str, document_index: usize, path: &[PathSegment<'_>]) -> Option<Found> {
    let chunk = chunks(text).nth(document_index)?.ok()?;
    nearest_in(chunk, path)
}

/// A text that is cut into its documents once, for whoever looks for fields in many of them.
///
/// ```
/// use firstpass_yaml::{Documents, PathSegment::Key};
///
/// let documents = Documents::of("kind: A\n---\nkind: B\n");
/// let found = documents.locate_nearest(1, &[Key("kind")]).unwrap();
/// assert_eq!(found.value.start.line, 3);
/// ```
#[derive(Clone, Debug)]
pub struct Documents {
    /// The text of each, and how many lines stand before it.
    texts: Vec<(String, u32)>,
}

impl Documents {
    /// The documents of a text, up to the first separator that is none.
    pub fn of(text: &str) -> Documents {
        let chunks = chunks(text).map_while(Result::ok);
        Documents {
            texts: chunks
                .map(|chunk| (chunk.text.to_owned(), chunk.line_offset))
                .collect(),
        }
    }

    /// As [`locate_nearest`] in the whole text.
    pub fn locate_nearest(&self, document_index: usize, path: &[PathSegment<'_>]) -> Option<Found> {
        let (text, line_offset) = self.texts.get(document_index)?;
        let chunk = Chunk {
            text,
            line_offset: *line_offset,
        };
        nearest_in(chunk, path)
    }
}

fn chunks(text: &str) -> Chunks<'_> {
    Chunks::new(text.strip_prefix('\u{FEFF}').unwrap_or(text))
}

fn nearest_in(chunk: Chunk<'_>, path: &[PathSegment<'_>]) -> Option<Found> {
    let root = parse_chunk(chunk).ok()??;
    let mut value = &root;
    let mut key: Option<&Node> = None;
    let mut depth = 0;
    for segment in path {
        let next = match (segment, &value.kind) {
            (PathSegment::Key(name), NodeKind::Map(map)) => map.get(name).map(|value| (map.key(name), value)),
            (PathSegment::Index(index), NodeKind::Seq(items)) => items.get(*index).map(|item| (None, item)),
            _ => None,
        };
        let Some(next) = next else {
            break;
        };
        (key, value) = next;
        depth += 1;
    }
    let key = key
        .filter(|key| key.mark != Mark::NONE)
        .map(|key| span(chunk, key.mark));
    Some(Found {
        key,
        value: span(chunk, value.mark),
        depth,
    })
}

/// The extent on its first line of what stands at `mark`.
fn span(chunk: Chunk<'_>, mark: Mark) -> Span {
    let mut events = Events::new(chunk.text, chunk.line_offset);
    let mut found: Option<Place> = None;
    while let Ok(Some((event, place))) = events.next() {
        let is_scalar = matches!(event, Event::Scalar { .. });
        match found {
            None if place.mark == mark => found = Some(place),
            // A mapping starts where its first key does.
            Some(_) if place.mark == mark && is_scalar => found = Some(place),
            Some(_) => break,
            None => {}
        }
        if is_scalar && found.is_some() {
            break;
        }
    }
    let length = found.map_or(0, |place| {
        let whole = chunk.text.get(place.start..place.end).unwrap_or_default();
        whole
            .lines()
            .next()
            .unwrap_or_default()
            .trim_end()
            .chars()
            .count()
    });
    Span {
        start: mark,
        length: u32::try_from(length).unwrap_or(u32::MAX).max(1),
    }
}
