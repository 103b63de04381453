//! The seam to the YAML parser underneath: its events in our words, with positions as go-yaml gives them.
//!
//! Everything that knows `granit-parser` is in this file, so that another parser can take its place.

use std::borrow::Cow;

use granit_parser::{
    ErrorKind, Event as RawEvent, Marker, Parser, ScalarStyle, StrInput, StructureStyle, Tag as RawTag,
};

use crate::encoding::line_number;
use crate::{Mark, ParseError, Style};

/// How deep lists and mappings may be nested, in the text and after aliases are expanded. Deeper is never meant:
/// the deepest schema in public CRDs stays below 60. go-yaml allows 10,000.
pub(crate) const DEPTH_MAX: usize = 255;

const TAB: &str = "found a tab character where indentation is expected: indent with spaces";

/// One step through a document.
#[derive(Debug)]
pub(crate) enum Event<'a> {
    Scalar {
        text: Cow<'a, str>,
        style: Style,
        properties: Properties,
    },
    SeqStart {
        /// Whether it is written in brackets.
        flow: bool,
        properties: Properties,
    },
    MapStart {
        flow: bool,
        properties: Properties,
    },
    /// The end of the innermost list or mapping.
    End,
    /// A reference to the anchor of this number.
    Alias(usize),
    /// A reference to an anchor that is not there.
    UnknownAlias(String),
}

/// What may stand in front of a node.
#[derive(Debug, Default)]
pub(crate) struct Properties {
    /// The number of the anchor; a name that is defined again gets a new number.
    pub(crate) anchor: Option<usize>,
    /// The tag in its short form: `!!int`, `!custom`.
    pub(crate) tag: Option<String>,
}

/// Where an event stands in the text: marks for people, bytes for slicing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) mark: Mark,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Place {
    /// Whether nothing at all stands there.
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }
}

/// The events of the first document of a text.
pub(crate) struct Events<'a> {
    parser: Parser<'a, StrInput<'a>>,
    text: &'a str,
    line_offset: u32,
    /// Where the document ended, once it has.
    document_end: Option<usize>,
    /// Of each open list and mapping, whether it is written in brackets.
    open: Vec<bool>,
}

impl<'a> Events<'a> {
    /// Reads `text`, which begins `line_offset` lines into its file. Comments, directives and stream events are passed
    /// over; the events stop where the first document ends.
    pub(crate) fn new(text: &'a str, line_offset: u32) -> Events<'a> {
        let options = granit_parser::options! {
            block_scalar_eof_without_line_feed: true,
            bom_inside_document_as_content: true,
            emit_unresolved_aliases: true,
            emit_anchor_events: true,
            emit_comments: false,
            flow_nesting_limit: DEPTH_MAX,
            block_nesting_limit: DEPTH_MAX,
        };
        Events {
            parser: Parser::new_from_str_with_options(text, options),
            text,
            line_offset,
            document_end: None,
            open: Vec::new(),
        }
    }

    /// The next event, nothing at the end of the document.
    pub(crate) fn next(&mut self) -> Result<Option<(Event<'a>, Place)>, ParseError> {
        loop {
            let (raw, span) = match self.parser.next_event() {
                None => return Ok(None),
                Some(Ok(next)) => next,
                Some(Err(error)) => return Err(self.error(error.kind(), *error.marker())),
            };
            let mut place = self.place(span.start, span.end);
            match &raw {
                RawEvent::Anchor(..) => {}
                RawEvent::SequenceEnd | RawEvent::MappingEnd => {
                    self.open.pop();
                }
                _ => self.check_tab(&place)?,
            }
            if let RawEvent::SequenceStart(style, ..) | RawEvent::MappingStart(style, ..) = &raw {
                self.open.push(*style == StructureStyle::Flow);
            }
            let event = match raw {
                RawEvent::StreamEnd | RawEvent::DocumentEnd => {
                    self.document_end = Some(place.start);
                    return Ok(None);
                }
                RawEvent::Alias(anchor) => {
                    check_anchor_name(
                        self.text.get(place.start + 1..place.end).unwrap_or_default(),
                        place.mark,
                    )?;
                    Event::Alias(anchor)
                }
                RawEvent::Anchor(_, name) => {
                    check_anchor_name(&name, place.mark)?;
                    continue;
                }
                RawEvent::UnresolvedAlias(name) => Event::UnknownAlias(name.into_owned()),
                RawEvent::SequenceStart(style, anchor, tag) => Event::SeqStart {
                    flow: style == StructureStyle::Flow,
                    properties: properties(anchor, tag),
                },
                RawEvent::MappingStart(style, anchor, tag) => Event::MapStart {
                    flow: style == StructureStyle::Flow,
                    properties: properties(anchor, tag),
                },
                RawEvent::SequenceEnd | RawEvent::MappingEnd => Event::End,
                RawEvent::Scalar(text, style, anchor, tag) => {
                    let style = style_of(style);
                    // Nothing at all is delivered as `~` without extent.
                    let absent = style == Style::Plain && place.is_empty();
                    if style == Style::DoubleQuoted {
                        self.check_surrogates(&text, &place)?;
                    }
                    if matches!(style, Style::Literal | Style::Folded) {
                        place = self.at_block_header(place);
                    }
                    Event::Scalar {
                        text: if absent { Cow::Borrowed("") } else { text },
                        style,
                        properties: properties(anchor, tag),
                    }
                }
                _ => continue,
            };
            return Ok(Some((event, place)));
        }
    }

    /// Looks at what stands behind the end of the document, as far as go-yaml does: it reads one key ahead, and fails
    /// on what is no YAML there, while it never comes to the rest.
    pub(crate) fn check_rest(&self) -> Result<(), ParseError> {
        let rest = self
            .document_end
            .and_then(|end| self.text.get(end..))
            .unwrap_or_default();
        let next = rest.trim_start();
        let at_line_start = rest.len() == next.len() || rest[..rest.len() - next.len()].ends_with('\n');
        let marker = at_line_start && (next.starts_with("---") || next.starts_with("..."));
        if next.is_empty() || next.starts_with('#') || marker {
            return Ok(());
        }
        let lines_before = line_number(&self.text[..self.text.len() - rest.len()]) - 1;
        let mut ahead = Events::new(rest, self.line_offset + lines_before);
        ahead.next()?;
        ahead.next()?;
        Ok(())
    }

    /// A tab at the start of a line or behind a `-` or `?` parts tokens for YAML, but not for go-yaml.
    fn check_tab(&self, place: &Place) -> Result<(), ParseError> {
        let before = &self.text.as_bytes()[..place.start.min(self.text.len())];
        let blanks = before
            .iter()
            .rev()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();
        let (head, blanks) = before.split_at(before.len() - blanks);
        if !blanks.contains(&b'\t') {
            return Ok(());
        }
        let starts_line = matches!(head, [] | [.., b'\n']) && !self.open.last().is_some_and(|flow| *flow);
        let behind_dash = matches!(head, [.., b' ' | b'\n' | b'-', b'-' | b'?'] | [b'-' | b'?']);
        if !starts_line && !behind_dash {
            return Ok(());
        }
        Err(ParseError::new(TAB, place.mark))
    }

    /// JSON writes characters beyond U+FFFF as two escapes, which go-yaml does not know.
    fn check_surrogates(&self, text: &str, place: &Place) -> Result<(), ParseError> {
        if text.bytes().all(|byte| byte < 0xF0) {
            return Ok(());
        }
        let written = self.text.get(place.start..place.end).unwrap_or_default();
        let mut rest = written.as_bytes();
        while let Some(at) = rest.iter().position(|&byte| byte == b'\\') {
            rest = &rest[at + 1..];
            if matches!(
                rest,
                [b'u', b'd' | b'D', b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F', ..]
            ) {
                return Err(ParseError::new(
                    "found invalid Unicode character escape code",
                    place.mark,
                ));
            }
            rest = rest.get(1..).unwrap_or_default();
        }
        Ok(())
    }

    /// Whether a key in brackets spans lines, which go-yaml does not allow.
    pub(crate) fn is_broken_key(&self, place: &Place) -> bool {
        let key = self.text.get(place.start..place.end).unwrap_or_default();
        let rest = self.text.get(place.end..).unwrap_or_default();
        key.trim_end().contains('\n') && rest.trim_start().starts_with(':')
    }

    /// Whether a key is nothing at all in front of a `:`, without a `?` that announces it.
    pub(crate) fn is_missing_key(&self, place: &Place) -> bool {
        let (before, rest) = self.text.split_at_checked(place.start).unwrap_or_default();
        place.is_empty() && rest.starts_with(':') && !before.trim_end().ends_with('?')
    }

    fn place(&self, start: Marker, end: Marker) -> Place {
        let start_byte = start.byte_offset().unwrap_or(self.text.len());
        Place {
            mark: self.mark(start),
            start: start_byte,
            end: end.byte_offset().unwrap_or(start_byte),
        }
    }

    fn mark(&self, marker: Marker) -> Mark {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX >> 1);
        Mark {
            line: number(marker.line()) + self.line_offset,
            column: number(marker.col()) + 1,
        }
    }

    /// A block scalar is delivered at its first line; people look for it at its `|` or `>`.
    fn at_block_header(&self, place: Place) -> Place {
        let before = &self.text[..place.start.min(self.text.len())];
        let header = before.trim_end_matches([' ', '\n', '\r', '\t']);
        let line_start = header.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let line = &header[line_start..];
        let code = match line.find(" #") {
            Some(comment) => &line[..comment],
            None => line,
        };
        let Some(indicator) = code.rfind(['|', '>']) else {
            return place;
        };
        let lines_between = self.text[line_start..place.start]
            .bytes()
            .filter(|&b| b == b'\n')
            .count();
        let number = |n: usize| u32::try_from(n).unwrap_or_default();
        Place {
            mark: Mark {
                line: place.mark.line.saturating_sub(number(lines_between)).max(1),
                column: number(code[..indicator].chars().count()) + 1,
            },
            start: line_start + indicator,
            end: place.end,
        }
    }

    /// Turns an error of the parser into ours, in go-yaml's words where they are the clearer ones.
    fn error(&self, kind: &ErrorKind, at: Marker) -> ParseError {
        let message = match kind {
            ErrorKind::RecursionLimitExceeded => format!("nested more than {DEPTH_MAX} levels deep"),
            ErrorKind::TabInBlockIndentation | ErrorKind::TabNotAllowed | ErrorKind::TabInIndentation => {
                TAB.to_owned()
            }
            ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
                "could not find expected ':'".to_owned()
            }
            ErrorKind::UnclosedQuotedScalar => {
                "found unexpected end of stream: a quote is opened here and never closed".to_owned()
            }
            ErrorKind::UnexpectedCharacter { character } => {
                format!("found character {character:?} that cannot start any token: quote the value")
            }
            ErrorKind::MappingValueNotAllowed => {
                "mapping values are not allowed in this context: a second `: ` on the \
                                                  line, or wrong indentation"
                    .to_owned()
            }
            ErrorKind::ExpectedBlockMappingKey => {
                "did not find expected key: check the indentation and that every line is `key: value`"
                    .to_owned()
            }
            other => other.to_string(),
        };
        ParseError::new(message, self.mark(at))
    }
}

/// go-yaml's anchors are made of ASCII letters, digits, `_` and `-`.
fn check_anchor_name(name: &str, mark: Mark) -> Result<(), ParseError> {
    match name
        .chars()
        .find(|&c| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-'))
    {
        None => Ok(()),
        Some(c) => Err(ParseError::new(
            format!(
                "did not find expected alphabetic or numeric character: {c:?} in the anchor name {name:?}"
            ),
            mark,
        )),
    }
}

fn properties(anchor: usize, tag: Option<Cow<'_, RawTag>>) -> Properties {
    Properties {
        anchor: (anchor != 0).then_some(anchor),
        tag: tag.map(|tag| short_tag(&tag)),
    }
}

fn short_tag(tag: &RawTag) -> String {
    let long = format!("{}{}", tag.handle(), tag.suffix());
    match long.strip_prefix("tag:yaml.org,2002:") {
        Some(name) => format!("!!{name}"),
        None => long,
    }
}

fn style_of(style: ScalarStyle) -> Style {
    match style {
        ScalarStyle::Plain => Style::Plain,
        ScalarStyle::SingleQuoted => Style::SingleQuoted,
        ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
        ScalarStyle::Literal => Style::Literal,
        ScalarStyle::Folded => Style::Folded,
    }
}
