//! What becomes of a folded text (`>`) on its way through kustomize.
//!
//! kustomize writes every object as YAML once more, keeping styles, and reads that back before it makes JSON of it.
//! go-yaml's writer of folded texts is not quite the inverse of its reader: around indented lines, and before several
//! newlines at the end, newlines are lost or added.

use ecow::EcoString;

use crate::events::{Event, Events};

/// The text that comes back, or nothing if it is the same.
pub(crate) fn refolded(text: &str) -> Option<EcoString> {
    let inner = text.strip_suffix('\n').unwrap_or(text);
    if !inner.contains('\n') && !inner.is_empty() && !text.starts_with(' ') {
        return None;
    }
    if text.is_empty() || text.ends_with(' ') || text.contains(" \n") || !text.chars().all(stays_in_a_block) {
        // Written in double quotes, which hold everything.
        return None;
    }
    let written = write(text);
    let mut events = Events::new(&written, 0);
    while let Ok(Some((event, _))) = events.next() {
        if let Event::Scalar { text, .. } = event {
            return Some(text.as_ref().into());
        }
    }
    None
}

fn stays_in_a_block(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{A0}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}') && c != '\u{FEFF}'
}

/// A folded block as go-yaml writes it.
fn write(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8 + 8);
    out.push('>');
    if text.starts_with([' ', '\n']) {
        out.push('2');
    }
    if !text.ends_with('\n') {
        out.push('-');
    } else if text.len() == 1 || text.ends_with("\n\n") {
        out.push('+');
    }
    out.push('\n');
    // Whether a newline is doubled depends on the first line that is not empty, not on the one that follows.
    let doubles =
        !text.trim_start_matches('\n').starts_with([' ', '\t']) && !text.trim_start_matches('\n').is_empty();
    let (mut after_break, mut indented) = (true, true);
    for c in text.chars() {
        if c == '\n' {
            if !after_break && !indented && doubles {
                out.push('\n');
            }
            out.push('\n');
            after_break = true;
        } else {
            if after_break {
                out.push_str("  ");
                indented = c == ' ' || c == '\t';
            }
            out.push(c);
            after_break = false;
        }
    }
    out
}
