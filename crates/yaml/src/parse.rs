//! From text to trees: documents, tags, anchors and merge keys as kustomize reads them.

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::encoding::{check_characters, line_number};
use crate::events::{Event, Events, Place};
use crate::tree::Builder;
use crate::{Mark, Node, ParseError};

/// From this many bytes on, the documents of a text are read on all cores; it takes a few milliseconds on one.
const PARALLEL_MIN: usize = 256 * 1024;

/// One document of a text.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its content; never null, since empty documents are left out.
    pub root: Node,
    /// Which document of the text it is, from 0, empty ones counted.
    pub index: usize,
}

/// Reads all documents of a text as kustomize does.
///
/// - Only a line that begins with `---` parts documents. Nothing but a comment may follow on that line.
/// - Documents that hold nothing, only comments, or null are left out.
/// - What follows a document end (`...`) up to the next `---` is not read.
/// - Anchors live in one document. Aliases are replaced by what they stand for, merge keys by what they merge.
/// - Keys that occur twice are kept; [`Node::to_json`] refuses them.
///
/// # Errors
/// The first thing in the text that is no YAML, or that aliases and merge keys may not do.
///
/// ```
/// let documents = firstpass_yaml::parse_all("kind: A\n---\n# nothing here\n---\nkind: B\n")?;
/// let kinds: Vec<_> = documents.iter().filter_map(|d| d.root.get("kind")?.as_str()).collect();
/// assert_eq!(kinds, ["A", "B"]);
/// assert_eq!(documents[1].root.mark.line, 5);
/// # Ok::<(), firstpass_yaml::ParseError>(())
/// ```
pub fn parse_all(text: &str) -> Result<Vec<Document>, ParseError> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    check_characters(text)?;
    let chunks: Vec<_> = Chunks::new(text).collect();
    let parse = |chunk: Result<Chunk<'_>, ParseError>| parse_chunk(chunk?);
    let roots: Vec<_> = if text.len() < PARALLEL_MIN || chunks.len() == 1 {
        chunks.into_iter().map(parse).collect()
    } else {
        chunks.into_par_iter().map(parse).collect()
    };
    let mut documents = Vec::with_capacity(roots.len());
    for (index, root) in roots.into_iter().enumerate() {
        if let Some(root) = root?
            && !root.is_null()
        {
            documents.push(Document { root, index });
        }
    }
    Ok(documents)
}

/// Reads the first document of a text; null if there is none.
///
/// # Errors
/// As [`parse_all`].
pub fn parse_one(text: &str) -> Result<Node, ParseError> {
    let mut documents = parse_all(text)?;
    if documents.is_empty() {
        return Ok(Node::null());
    }
    Ok(documents.swap_remove(0).root)
}

/// The text between two separators, and how many lines precede it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk<'a> {
    pub(crate) text: &'a str,
    pub(crate) line_offset: u32,
}

/// Cuts a text into documents the way kustomize does before it hands each to go-yaml.
pub(crate) struct Chunks<'a> {
    rest: Option<&'a str>,
    line_offset: u32,
}

impl<'a> Chunks<'a> {
    pub(crate) fn new(text: &'a str) -> Chunks<'a> {
        Chunks {
            rest: Some(text),
            line_offset: 0,
        }
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<Chunk<'a>, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        let text = self.rest.take()?;
        let line_offset = self.line_offset;
        let separator = text.find("\n---").and_then(|newline| {
            let line = newline + 1;
            text[line..].find('\n').map(|length| (line, line + length))
        });
        let Some((line_start, line_end)) = separator else {
            // An unfinished separator line at the very end is left to the parser.
            return Some(Ok(Chunk { text, line_offset }));
        };
        self.line_offset += line_number(&text[..=line_end]) - 1;
        let after_dashes = text[line_start + 3..line_end].trim();
        if !after_dashes.is_empty() && !after_dashes.starts_with('#') {
            let mark = Mark {
                line: self.line_offset,
                column: 1,
            };
            let separator = text[line_start..line_end].trim();
            return Some(Err(ParseError::new(
                format!("invalid document separator: {separator}"),
                mark,
            )));
        }
        self.rest = Some(&text[line_end + 1..]);
        Some(Ok(Chunk {
            text: &text[..line_start],
            line_offset,
        }))
    }
}

/// The first document of a chunk, if there is one.
pub(crate) fn parse_chunk(chunk: Chunk<'_>) -> Result<Option<Node>, ParseError> {
    if chunk.text.starts_with("...") {
        let mark = Mark {
            line: chunk.line_offset + 1,
            column: 1,
        };
        return Err(ParseError::new(
            "did not find expected node content: a document begins with `...`",
            mark,
        ));
    }
    let mut events = Events::new(chunk.text, chunk.line_offset);
    let mut builder = Builder::default();
    while let Some((event, place)) = events.next()? {
        if builder.expects_key() && matches!(event, Event::Scalar { .. }) {
            check_key(&events, &place, builder.in_flow())?;
        }
        builder.take(event, place)?;
    }
    events.check_rest()?;
    Ok(builder.into_root())
}

fn check_key(events: &Events<'_>, place: &Place, in_flow: bool) -> Result<(), ParseError> {
    let message = if in_flow && events.is_broken_key(place) {
        "did not find expected ',' or '}': a key in brackets has to fit on one line"
    } else if events.is_missing_key(place) {
        "did not find expected key: there is nothing before the `:`"
    } else {
        return Ok(());
    };
    Err(ParseError::new(message, place.mark))
}
