//! How a text is written: plain, in one of the two quotes, or as a literal block.

use super::{WIDTH, Writer};
use crate::resolve::{Resolved, resolve};

/// The ways to write a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quoting {
    Plain,
    Single,
    Double,
    Literal,
}

/// What a text contains, as far as it matters for writing it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Analysis {
    /// Any line break, the exotic ones of YAML 1.1 included.
    pub(crate) line_breaks: bool,
    /// A character that has to be escaped.
    pub(crate) special: bool,
    newline: bool,
    /// Something at the start or within that means something else outside of quotes.
    indicators: bool,
    edge_blank: bool,
    trailing_space: bool,
    break_space: bool,
    space_break: bool,
    spaces: bool,
}

/// What a byte may do to a text: most do nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Ordinary,
    Space,
    Newline,
    /// `:` and `#`, which matter next to blanks.
    Separator,
    /// Not printable.
    Special,
    /// The first byte of a character that may be special: these are looked at whole.
    Wide,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Ordinary; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'\n' => Class::Newline,
            0..0x20 | 0x7F => Class::Special,
            b' ' => Class::Space,
            b':' | b'#' => Class::Separator,
            0xC2 | 0xE2 | 0xEF | 0xF0..=0xFF => Class::Wide,
            _ => Class::Ordinary,
        };
        byte += 1;
    }
    classes
};

impl Analysis {
    pub(crate) fn of(text: &str) -> Analysis {
        let bytes = text.as_bytes();
        let mut found = Analysis::default();
        let Some(&first) = bytes.first() else {
            return found;
        };
        found.indicators = starts_like_an_indicator(first, bytes);
        let (mut after_space, mut after_break) = (false, false);
        let mut at = 0;
        while at < bytes.len() {
            let start = at;
            at += 1;
            let (mut is_space, mut ends_line) = (false, false);
            match CLASSES[bytes[start] as usize] {
                Class::Ordinary => {}
                Class::Space => is_space = true,
                Class::Newline => {
                    ends_line = true;
                    found.newline = true;
                }
                Class::Separator => found.indicators |= separates(bytes, start),
                Class::Special => {
                    found.special = true;
                    ends_line = bytes[start] == b'\r';
                }
                Class::Wide => {
                    let c = text[start..].chars().next().unwrap_or_default();
                    at = start + c.len_utf8();
                    found.special |= !is_printable(c);
                    ends_line = is_break(c);
                }
            }
            found.spaces |= is_space;
            found.line_breaks |= ends_line;
            found.break_space |= is_space && after_break;
            found.space_break |= ends_line && after_space;
            found.edge_blank |= (is_space || ends_line) && (start == 0 || at == bytes.len());
            (after_space, after_break) = (is_space, ends_line);
        }
        found.trailing_space = after_space;
        found
    }

    pub(crate) fn quoting(&self, text: &str) -> Quoting {
        if self.newline {
            return if self.special || self.space_break || self.trailing_space {
                Quoting::Double
            } else {
                Quoting::Literal
            };
        }
        if self.special || self.space_break || self.break_space || !reads_as_text(text) {
            return Quoting::Double;
        }
        if self.indicators || self.edge_blank || self.line_breaks {
            return Quoting::Single;
        }
        Quoting::Plain
    }
}

fn starts_like_an_indicator(first: u8, bytes: &[u8]) -> bool {
    let followed_by_blank = matches!(bytes.get(1), None | Some(b' ' | b'\t'));
    match first {
        b'#' | b',' | b'[' | b']' | b'{' | b'}' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"' | b'%'
        | b'@' | b'`' => true,
        b'-' => followed_by_blank || bytes.starts_with(b"---"),
        b'?' | b':' => followed_by_blank,
        b'.' => bytes.starts_with(b"..."),
        _ => false,
    }
}

/// Whether the `:` or `#` at this place begins something else outside of quotes: `: ` and ` #` do.
fn separates(bytes: &[u8], at: usize) -> bool {
    match bytes[at] {
        b':' => matches!(bytes.get(at + 1), None | Some(b' ' | b'\t')),
        _ => preceded_by_blank(bytes, at),
    }
}

/// Whether a blank or a break precedes the byte.
fn preceded_by_blank(bytes: &[u8], at: usize) -> bool {
    match bytes[..at] {
        [.., 0xE2, 0x80, 0xA8 | 0xA9] | [.., 0xC2, 0x85] => true,
        [.., last] => matches!(last, b' ' | b'\t' | b'\r' | b'\n' | 0),
        [] => true,
    }
}

fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// What go-yaml writes as it is. It does not know that characters beyond U+FFFF can be printed.
fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{A0}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}') && c != '\u{FEFF}'
}

/// What go-yaml does not even read.
pub(crate) fn is_refused(c: char) -> bool {
    matches!(c, '\u{7F}'..='\u{84}' | '\u{86}'..='\u{9F}' | '\u{FFFE}' | '\u{FFFF}')
}

/// Whether a plain text is taken for a text by YAML 1.1 and 1.2 alike.
fn reads_as_text(text: &str) -> bool {
    let Some(&first) = text.as_bytes().first() else {
        return false;
    };
    match first {
        b'0'..=b'9' | b'+' | b'-' => resolve(text, true) == Resolved::Str && !is_base_60(text),
        b'.' | b't' | b'T' | b'f' | b'F' | b'~' => resolve(text, true) == Resolved::Str,
        b'y' | b'Y' | b'o' | b'O' => !is_old_boolean(text),
        b'n' | b'N' => !is_old_boolean(text) && resolve(text, true) == Resolved::Str,
        _ => true,
    }
}

fn is_old_boolean(text: &str) -> bool {
    matches!(
        text,
        "y" | "Y"
            | "yes"
            | "Yes"
            | "YES"
            | "on"
            | "On"
            | "ON"
            | "n"
            | "N"
            | "no"
            | "No"
            | "NO"
            | "off"
            | "Off"
            | "OFF"
    )
}

/// Whether the text is `[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?`, as `190:20:30` is.
fn is_base_60(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut parts = text.split(':');
    let leading = parts.next().unwrap_or_default();
    if !leading.starts_with(|c: char| c.is_ascii_digit()) || !leading.bytes().all(is_digit_or_underscore) {
        return false;
    }
    let mut rest: Vec<&str> = parts.collect();
    let Some(last) = rest.last_mut() else {
        return false;
    };
    if let Some((digits, fraction)) = last.split_once('.') {
        if !fraction.bytes().all(is_digit_or_underscore) {
            return false;
        }
        *last = digits;
    }
    rest.iter().all(|part| match part.as_bytes() {
        [units] => units.is_ascii_digit(),
        [tens, units] => matches!(tens, b'0'..=b'5') && units.is_ascii_digit(),
        _ => false,
    })
}

fn is_digit_or_underscore(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'_'
}

/// A text without next-line characters: go-yaml takes them for line breaks when it reads the JSON in between, which
/// does not escape them, and folds them.
pub(super) fn without_next_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut parts = text.split('\u{85}').enumerate().peekable();
    let mut breaks = 0;
    while let Some((index, part)) = parts.next() {
        let part = if index > 0 {
            part.trim_start_matches(' ')
        } else {
            part
        };
        let part = if parts.peek().is_some() {
            part.trim_end_matches(' ')
        } else {
            part
        };
        if index > 0 {
            breaks += 1;
        }
        if breaks > 0 && (!part.is_empty() || parts.peek().is_none()) {
            if breaks == 1 {
                out.push(' ');
            }
            out.extend(std::iter::repeat_n('\n', breaks - 1));
            breaks = 0;
        }
        out.push_str(part);
    }
    out
}

impl Writer {
    pub(super) fn plain(&mut self, text: &str, analysis: &Analysis, indent: usize, may_fold: bool) {
        self.space();
        if may_fold && analysis.spaces && self.column + text.len() > WIDTH {
            self.folded(text, indent, |_, _| {});
        } else {
            self.run(text);
        }
        self.close_token();
    }

    pub(super) fn single_quoted(&mut self, text: &str, indent: usize, may_fold: bool) {
        self.space();
        self.put('\'');
        self.whitespace = false;
        self.indention = false;
        let fold_width = if may_fold { indent } else { usize::MAX };
        self.folded(text, fold_width, |writer, c| {
            if c == '\'' {
                writer.put('\'');
            }
        });
        self.put('\'');
        self.close_token();
    }

    /// Writes a text, broken at single spaces beyond the width. An indent of `usize::MAX` forbids that.
    fn folded(&mut self, text: &str, indent: usize, mut before: impl FnMut(&mut Writer, char)) {
        let may_fold = indent != usize::MAX;
        let line_indent = if may_fold { indent } else { 0 };
        let (mut after_space, mut after_break) = (false, false);
        for (at, c) in text.char_indices() {
            if c == ' ' {
                let next_is_space = text[at + 1..].starts_with(' ');
                let inner = at > 0 && at + 1 < text.len();
                if may_fold && inner && !after_space && self.column > WIDTH && !next_is_space {
                    self.start_line(line_indent);
                } else {
                    self.put(c);
                }
                after_space = true;
            } else if is_break(c) {
                self.out.push(c);
                self.column = 0;
                self.indention = true;
                after_break = true;
            } else {
                if after_break {
                    self.start_line(line_indent);
                }
                before(self, c);
                self.put(c);
                self.indention = false;
                (after_space, after_break) = (false, false);
            }
        }
    }

    pub(super) fn double_quoted(&mut self, text: &str, indent: usize, may_fold: bool) {
        self.space();
        self.put('"');
        self.close_token();
        let escape_all = text.starts_with('\u{FEFF}');
        let mut after_space = false;
        for (at, c) in text.char_indices() {
            if escape_all || !is_printable(c) || is_break(c) || matches!(c, '"' | '\\') {
                self.escape(c);
                after_space = false;
            } else if c == ' ' {
                let inner = at > 0 && at + 1 < text.len();
                if may_fold && inner && !after_space && self.column > WIDTH {
                    self.start_line(indent);
                    if text[at + 1..].starts_with(' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(' ');
                }
                after_space = true;
            } else {
                self.put(c);
                after_space = false;
            }
        }
        self.put('"');
        self.close_token();
    }

    fn escape(&mut self, c: char) {
        use std::fmt::Write as _;

        let before = self.out.len();
        let short = match c {
            '\0' => '0',
            '\u{7}' => 'a',
            '\u{8}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{B}' => 'v',
            '\u{C}' => 'f',
            '\r' => 'r',
            '\u{1B}' => 'e',
            '"' => '"',
            '\\' => '\\',
            '\u{85}' => 'N',
            '\u{A0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ => {
                let code = u32::from(c);
                let _ = match code {
                    0..=0xFF => write!(self.out, "\\x{code:02X}"),
                    0x100..=0xFFFF => write!(self.out, "\\u{code:04X}"),
                    _ => write!(self.out, "\\U{code:08X}"),
                };
                self.column += self.out.len() - before;
                return;
            }
        };
        self.put('\\');
        self.put(short);
    }

    pub(super) fn literal(&mut self, text: &str, indent: usize) {
        self.space();
        self.out.push('|');
        if text.starts_with(|c| c == ' ' || is_break(c)) {
            self.out.push('2');
        }
        let mut ends = text.chars().rev();
        match (ends.next().is_some_and(is_break), ends.next()) {
            (false, _) => self.out.push('-'),
            (true, None) => self.out.push('+'),
            (true, Some(c)) if is_break(c) => self.out.push('+'),
            (true, Some(_)) => {}
        }
        self.end_line();
        let mut at_start = true;
        for line in text.split_inclusive(is_break) {
            let content = line.trim_end_matches(is_break);
            at_start = content.len() < line.len();
            if !content.is_empty() {
                self.pad(indent);
                self.run(content);
            }
            if at_start {
                self.out.push_str(&line[content.len()..]);
                self.column = 0;
            }
        }
        self.whitespace = true;
        self.indention = at_start;
    }

    /// Appends text that holds no break.
    fn run(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += if text.is_ascii() {
            text.len()
        } else {
            text.chars().count()
        };
    }
}
