//! Writing a tree as YAML the way kustomize writes it into a text: two spaces, lists not indented, no line is folded,
//! quotes as they were.
//!
//! Absent: comments and the brackets of flow style, which the tree does not keep.

use std::fmt::Write as _;

use firstpass_yaml::{Node, NodeKind, Scalar, Style, Tag};

/// The YAML of a tree, with a newline at the end.
pub(super) fn write(node: &Node) -> String {
    let mut out = String::new();
    value(&mut out, node, 0, Place::Top);
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Top,
    AfterKey,
    AfterDash,
}

fn value(out: &mut String, node: &Node, indent: usize, place: Place) {
    match &node.kind {
        NodeKind::Scalar(content) => {
            let is_nothing = content.tag == Tag::Null && content.text.is_empty();
            if place == Place::AfterKey && !is_nothing {
                out.push(' ');
            }
            scalar(out, content, indent);
            out.push('\n');
        }
        NodeKind::Seq(items) if items.is_empty() => line(out, "[]", place),
        NodeKind::Map(map) if map.is_empty() => line(out, "{}", place),
        NodeKind::Seq(items) => {
            // A list below a key stands at the key's own column.
            let column = if place == Place::AfterKey {
                indent.saturating_sub(2)
            } else {
                indent
            };
            if place == Place::AfterKey {
                out.push('\n');
            }
            for (index, item) in items.iter().enumerate() {
                if index > 0 || place != Place::AfterDash {
                    pad(out, column);
                }
                out.push_str("- ");
                value(out, item, column + 2, Place::AfterDash);
            }
        }
        NodeKind::Map(map) => {
            if place == Place::AfterKey {
                out.push('\n');
            }
            for (index, (key, field)) in map.iter().enumerate() {
                if index > 0 || place != Place::AfterDash {
                    pad(out, indent);
                }
                match &key.kind {
                    NodeKind::Scalar(key) => scalar(out, &one_line(key), indent),
                    _ => out.push_str("? "),
                }
                out.push(':');
                value(out, field, indent + 2, Place::AfterKey);
            }
        }
    }
}

fn line(out: &mut String, text: &str, place: Place) {
    if place == Place::AfterKey {
        out.push(' ');
    }
    out.push_str(text);
    out.push('\n');
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

fn scalar(out: &mut String, scalar: &Scalar, indent: usize) {
    let text = scalar.text.as_str();
    let looks_like = Scalar::plain(text).tag;
    let style = match scalar.style {
        Style::Plain | Style::Nothing if text.contains('\n') => Style::Literal,
        Style::Plain | Style::Nothing if scalar.tag == Tag::Str && looks_like != Tag::Str => {
            Style::DoubleQuoted
        }
        Style::Plain | Style::Nothing if !can_be_plain(text) && scalar.tag == Tag::Str => Style::SingleQuoted,
        Style::SingleQuoted if text.contains('\n') => Style::DoubleQuoted,
        style => style,
    };
    if let Some(tag) = explicit_tag(&scalar.tag, &looks_like) {
        out.push_str(tag);
        out.push(' ');
    }
    match style {
        Style::Plain | Style::Nothing => out.push_str(text),
        Style::SingleQuoted => {
            let _ = write!(out, "'{}'", text.replace('\'', "''"));
        }
        Style::DoubleQuoted => double_quoted(out, text),
        Style::Literal | Style::Folded => block(out, text, style, indent),
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

fn can_be_plain(text: &str) -> bool {
    const STARTS: [char; 17] = [
        '#', ',', '[', ']', '{', '}', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`', ' ',
    ];
    let starts_entry = ["- ", "? ", ": "].iter().any(|start| text.starts_with(start));
    !(text.is_empty()
        || text.starts_with(STARTS)
        || starts_entry
        || matches!(text, "-" | "?" | ":" | "---" | "...")
        || text.ends_with([' ', ':'])
        || text.contains(": ")
        || text.contains(" #"))
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
