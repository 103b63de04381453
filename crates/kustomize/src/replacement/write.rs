//! Writing a tree as YAML the way kustomize writes it into a text: two spaces, lists not indented, no line is folded,
//! quotes, brackets and comments as they were.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use firstpass_yaml::{Mark, Node, NodeKind, Scalar, Style, Tag};

use super::layout::{Entry, Layout, Run};
use crate::scalar::is_undecided;

/// The YAML of a tree that has this layout, with a newline at the end.
pub(super) fn write(node: &Node, layout: &Layout) -> String {
    let mut writer = Writer {
        out: String::new(),
        layout,
        columns: BTreeMap::new(),
    };
    writer.value(node, 0, Place::Top);
    for run in &layout.after {
        writer.run(run, 0);
    }
    writer.out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Top,
    AfterKey,
    AfterDash,
}

struct Writer<'l> {
    out: String,
    layout: &'l Layout,
    /// Where entries that stood in a column of the old text stand now.
    columns: BTreeMap<u32, usize>,
}

impl Writer<'_> {
    /// Writes what stands behind a key or a dash, or all, up to the end of the line.
    fn value(&mut self, node: &Node, indent: usize, place: Place) {
        match &node.kind {
            NodeKind::Scalar(content) => {
                let is_nothing = content.tag == Tag::Null && content.text.is_empty();
                if place == Place::AfterKey && !is_nothing {
                    self.out.push(' ');
                }
                scalar(&mut self.out, content, indent, false);
                self.end_line(node.mark);
            }
            NodeKind::Seq(_) | NodeKind::Map(_) if self.layout.is_flow(node) || is_empty(node) => {
                if place == Place::AfterKey {
                    self.out.push(' ');
                }
                flow(&mut self.out, node);
                self.end_line(node.mark);
            }
            NodeKind::Seq(items) => {
                // A list below a key stands at the key's own column.
                let column = if place == Place::AfterKey {
                    indent.saturating_sub(2)
                } else {
                    indent
                };
                for (index, item) in items.iter().enumerate() {
                    if index > 0 || place != Place::AfterDash {
                        let entry = Entry {
                            mark: item.mark,
                            is_element: true,
                        };
                        self.before(entry, column);
                    }
                    self.out.push_str("- ");
                    self.value(item, column + 2, Place::AfterDash);
                }
            }
            NodeKind::Map(map) => {
                for (index, (key, field)) in map.iter().enumerate() {
                    if index > 0 || place != Place::AfterDash {
                        let entry = Entry {
                            mark: key.mark,
                            is_element: false,
                        };
                        self.before(entry, indent);
                    }
                    self.columns.insert(key.mark.column, indent);
                    match &key.kind {
                        NodeKind::Scalar(key) => scalar(&mut self.out, &one_line(key), indent, false),
                        _ => self.out.push_str("? "),
                    }
                    self.out.push(':');
                    let is_block =
                        field.as_scalar().is_none() && !is_empty(field) && !self.layout.is_flow(field);
                    if is_block {
                        self.end_line(key.mark);
                    }
                    self.value(field, indent + 2, Place::AfterKey);
                }
            }
        }
    }

    /// Ends a line with the comment that stood beside it.
    fn end_line(&mut self, mark: Mark) {
        if let Some(comment) = self.layout.beside(mark) {
            self.out.push(' ');
            self.out.push_str(comment);
        }
        self.out.push('\n');
    }

    /// Writes the comments before an entry, and the way to where it begins.
    fn before(&mut self, entry: Entry, indent: usize) {
        for run in self.layout.before(entry) {
            self.run(run, indent);
        }
        if entry.is_element {
            // The dash stands before its element, wherever that is.
            self.columns.insert(entry.mark.column.saturating_sub(2), indent);
        }
        pad(&mut self.out, indent);
    }

    fn run(&mut self, run: &Run, indent: usize) {
        let indent = run.column.map_or(indent, |column| {
            let known = self.columns.range(..=column).next_back();
            known.map_or(0, |(_, indent)| *indent)
        });
        if run.blank_before {
            self.out.push('\n');
        }
        for line in &run.lines {
            pad(&mut self.out, indent);
            self.out.push_str(line);
            self.out.push('\n');
        }
        if run.blank_after {
            self.out.push('\n');
        }
    }
}

fn is_empty(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Scalar(_) => false,
        NodeKind::Seq(items) => items.is_empty(),
        NodeKind::Map(map) => map.is_empty(),
    }
}

/// Writes a node on one line, with brackets.
fn flow(out: &mut String, node: &Node) {
    match &node.kind {
        NodeKind::Scalar(content) => scalar(out, content, 0, true),
        NodeKind::Seq(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                flow(out, item);
            }
            out.push(']');
        }
        NodeKind::Map(map) => {
            out.push('{');
            for (index, (key, value)) in map.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                flow(out, key);
                out.push_str(": ");
                flow(out, value);
            }
            out.push('}');
        }
    }
}

fn pad(out: &mut String, count: usize) {
    out.extend(std::iter::repeat_n(' ', count));
}

fn one_line(key: &Scalar) -> Scalar {
    let mut key = key.clone();
    if matches!(key.style, Style::Literal | Style::Folded) {
        key.style = Style::DoubleQuoted;
    }
    key
}

fn scalar(out: &mut String, scalar: &Scalar, indent: usize, in_flow: bool) {
    let text = scalar.text.as_str();
    let implied = Scalar::plain(text).tag;
    let has_to_be_text = scalar.tag == Tag::Str || (is_undecided(scalar) && !text.is_empty());
    let style = match scalar.style {
        Style::Plain | Style::Nothing if text.contains('\n') => Style::Literal,
        Style::Plain | Style::Nothing if scalar.tag == Tag::Str && implied != Tag::Str => Style::DoubleQuoted,
        Style::Plain | Style::Nothing if !can_be_plain(text, in_flow) && (in_flow || has_to_be_text) => {
            Style::SingleQuoted
        }
        Style::SingleQuoted if text.contains('\n') => Style::DoubleQuoted,
        style => style,
    };
    if let Some(tag) = explicit_tag(&scalar.tag, &implied) {
        out.push_str(tag);
        out.push(' ');
    }
    match style {
        Style::Plain | Style::Nothing => out.push_str(text),
        Style::SingleQuoted => {
            let _ = write!(out, "'{}'", text.replace('\'', "''"));
        }
        Style::Literal | Style::Folded if !in_flow => block(out, text, style, indent),
        Style::DoubleQuoted | Style::Literal | Style::Folded => double_quoted(out, text),
    }
}

/// The tag that has to be written, since the text does not imply it.
fn explicit_tag<'t>(tag: &'t Tag, implied: &Tag) -> Option<&'t str> {
    if tag == implied {
        return None;
    }
    match tag {
        Tag::Str => None,
        Tag::Null => Some("!!null"),
        Tag::Bool => Some("!!bool"),
        Tag::Int => Some("!!int"),
        Tag::Float => Some("!!float"),
        Tag::Timestamp => Some("!!timestamp"),
        Tag::Binary => Some("!!binary"),
        Tag::Custom(name) => (!name.is_empty()).then_some(name.as_str()),
    }
}

fn can_be_plain(text: &str, in_flow: bool) -> bool {
    const STARTS: [char; 17] = [
        '#', ',', '[', ']', '{', '}', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`', ' ',
    ];
    const NOT_IN_FLOW: [char; 7] = [',', '?', '[', ']', '{', '}', ':'];
    let starts_entry = ["- ", "? ", ": "].iter().any(|start| text.starts_with(start));
    !(text.is_empty()
        || text.starts_with(STARTS)
        || starts_entry
        || matches!(text, "-" | "?" | ":" | "---" | "...")
        || text.ends_with([' ', ':'])
        || text.contains(": ")
        || text.contains(" #")
        || (in_flow && text.contains(NOT_IN_FLOW)))
}

fn double_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push_str("\\0"),
            '\u{1b}' => out.push_str("\\e"),
            c if c.is_control() => {
                let _ = write!(out, "\\x{:02X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn block(out: &mut String, text: &str, style: Style, indent: usize) {
    out.push(if style == Style::Folded { '>' } else { '|' });
    if text.starts_with([' ', '\n']) {
        out.push('2');
    }
    let body = match text.strip_suffix('\n') {
        None => {
            out.push('-');
            text
        }
        Some(body) if body.is_empty() || body.ends_with('\n') => {
            out.push('+');
            body
        }
        Some(body) => body,
    };
    let mut lines = body.split('\n').peekable();
    while let Some(text) = lines.next() {
        out.push('\n');
        if !text.is_empty() {
            pad(out, indent.max(2));
            out.push_str(text);
        }
        // A folded text needs an empty line where it breaks.
        let next_folds = lines
            .peek()
            .is_some_and(|next| !next.is_empty() && !next.starts_with(' '));
        if style == Style::Folded && !text.is_empty() && !text.starts_with(' ') && next_folds {
            out.push('\n');
        }
    }
}
