//! From bytes to text: which encoding is it, and are all characters allowed?

use std::borrow::Cow;

use crate::{Mark, ParseError};

/// Turns the bytes of a file into text, as go-yaml does: UTF-8, or UTF-16 if a byte order mark says so.
///
/// A byte order mark at the start is dropped.
///
/// # Errors
/// If the bytes are no valid UTF-8 or UTF-16; the mark is that of the first bad character.
pub fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, ParseError> {
    match bytes {
        [0xFF, 0xFE, rest @ ..] => decode_utf16(rest, u16::from_le_bytes).map(Cow::Owned),
        [0xFE, 0xFF, rest @ ..] => decode_utf16(rest, u16::from_be_bytes).map(Cow::Owned),
        [0xEF, 0xBB, 0xBF, rest @ ..] => decode_utf8(rest).map(Cow::Borrowed),
        _ => decode_utf8(bytes).map(Cow::Borrowed),
    }
}

/// Refuses the control characters that YAML does not allow in a text, wherever they stand.
pub(crate) fn check_characters(text: &str) -> Result<(), ParseError> {
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(offset) = bytes[from..].iter().position(|&byte| is_suspicious(byte)) {
        let at = from + offset;
        let refused = match bytes[at..] {
            // U+0080 to U+009F, but for the next-line character
            [0xC2, second, ..] => second < 0xA0 && second != 0x85,
            // U+FFFE and U+FFFF
            [0xEF, second, third, ..] => second == 0xBF && third >= 0xBE,
            _ => true,
        };
        if refused {
            return Err(ParseError::new(
                "control characters are not allowed",
                mark_after(&text[..at]),
            ));
        }
        from = at + 1;
    }
    Ok(())
}

/// Whether a byte is a forbidden character or may begin one.
fn is_suspicious(byte: u8) -> bool {
    (byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r')) || matches!(byte, 0x7F | 0xC2 | 0xEF)
}

/// The mark of what comes after `text`.
pub(crate) fn mark_after(text: &str) -> Mark {
    let line_start = text.rfind('\n').map_or(0, |at| at + 1);
    Mark {
        line: line_number(text),
        column: count(text[line_start..].chars().count()) + 1,
    }
}

/// The number of the line on which `text` ends, counted from 1.
pub(crate) fn line_number(text: &str) -> u32 {
    count(text.bytes().filter(|&byte| byte == b'\n').count()) + 1
}

/// Lines and columns as marks hold them; no text of four billion lines is read here.
fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX - 1)
}

fn decode_utf8(bytes: &[u8]) -> Result<&str, ParseError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let message = match error.error_len() {
            None => "incomplete UTF-8 octet sequence: the file is no UTF-8 text",
            Some(_) => "invalid UTF-8 octet: the file is no UTF-8 text",
        };
        ParseError::new(message, mark_after(&valid))
    })
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, ParseError> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(bytes.len());
    for character in char::decode_utf16(pairs.iter().map(|&pair| unit(pair))) {
        match character {
            Ok(character) => text.push(character),
            Err(_) => {
                return Err(ParseError::new(
                    "unexpected surrogate in UTF-16 text",
                    mark_after(&text),
                ));
            }
        }
    }
    if !rest.is_empty() {
        return Err(ParseError::new("incomplete UTF-16 character", mark_after(&text)));
    }
    Ok(text)
}
