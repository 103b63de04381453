//! What does a plain scalar mean? The rules of go-yaml v3: YAML 1.2, plus the octals, binaries and underscores of 1.1,
//! minus its spellings of booleans and its base 60.

use crate::timestamp::Timestamp;

/// The meaning of a plain scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Resolved {
    Null,
    Bool(bool),
    Int(i64),
    /// A whole number that only fits without a sign.
    Uint(u64),
    Float(f64),
    Timestamp(Timestamp),
    Str,
}

/// Reads a plain scalar. Dates and times are recognised only if `timestamps` says so: go-yaml does not look for them
/// where a tag promises something else.
pub(crate) fn resolve(text: &str, timestamps: bool) -> Resolved {
    let Some(&first) = text.as_bytes().first() else {
        return Resolved::Null;
    };
    match first {
        b'0'..=b'9' | b'+' | b'-' => named(text).unwrap_or_else(|| number(text, timestamps)),
        b'.' => named(text).or_else(|| dotted(text)).unwrap_or(Resolved::Str),
        b't' | b'T' | b'f' | b'F' | b'n' | b'N' | b'~' => named(text).unwrap_or(Resolved::Str),
        _ => Resolved::Str,
    }
}

/// The words with a meaning.
fn named(text: &str) -> Option<Resolved> {
    Some(match text {
        "~" | "null" | "Null" | "NULL" => Resolved::Null,
        "true" | "True" | "TRUE" => Resolved::Bool(true),
        "false" | "False" | "FALSE" => Resolved::Bool(false),
        ".nan" | ".NaN" | ".NAN" => Resolved::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Resolved::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Resolved::Float(f64::NEG_INFINITY),
        _ => return None,
    })
}

/// What begins with a digit or a sign.
fn number(text: &str, timestamps: bool) -> Resolved {
    if timestamps && let Some(stamp) = Timestamp::parse(text) {
        return Resolved::Timestamp(stamp);
    }
    let without_underscores;
    let plain = if text.contains('_') {
        without_underscores = text.replace('_', "");
        &without_underscores
    } else {
        text
    };
    if let Some(int) = whole(plain, 0) {
        return int;
    }
    if is_decimal(plain)
        && let Some(float) = finite(plain)
    {
        return float;
    }
    marked_base(plain).unwrap_or(Resolved::Str)
}

/// What begins with a dot: digits and perhaps an exponent. Here underscores have to stand between digits.
fn dotted(text: &str) -> Option<Resolved> {
    let plain = text.replace('_', "");
    let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let bytes = text.as_bytes();
    let underscores_fit = (1..bytes.len())
        .all(|at| bytes[at] != b'_' || (digit(bytes.get(at - 1)) && digit(bytes.get(at + 1))));
    (underscores_fit && is_decimal(&plain))
        .then(|| finite(&plain))
        .flatten()
}

/// A float, unless it is too large for one; go-yaml then takes the text for text.
fn finite(text: &str) -> Option<Resolved> {
    let value: f64 = text.parse().ok()?;
    value.is_finite().then_some(Resolved::Float(value))
}

/// go-yaml's second look at `0b` and `0o`, behind which even a sign is accepted (`0b-11`).
fn marked_base(plain: &str) -> Option<Resolved> {
    for (mark, base) in [("0b", 2), ("0o", 8)] {
        if let Some(digits) = plain.strip_prefix(mark) {
            return whole(digits, base);
        }
        if let Some(digits) = plain.strip_prefix('-').and_then(|rest| rest.strip_prefix(mark)) {
            return magnitude(digits, base).and_then(|value| signed(value, true));
        }
    }
    None
}

/// A whole number of 64 bits, with or without sign, as Go's `strconv` reads it.
fn whole(text: &str, base: u32) -> Option<Resolved> {
    let (digits, sign) = match text.as_bytes().first()? {
        b'+' => (&text[1..], Some(false)),
        b'-' => (&text[1..], Some(true)),
        _ => (text, None),
    };
    let value = magnitude(digits, base)?;
    match signed(value, sign == Some(true)) {
        None if sign.is_none() => Some(Resolved::Uint(value)),
        int => int,
    }
}

fn signed(magnitude: u64, negative: bool) -> Option<Resolved> {
    let value = if negative {
        0i64.checked_sub_unsigned(magnitude)?
    } else {
        i64::try_from(magnitude).ok()?
    };
    Some(Resolved::Int(value))
}

/// Digits of a base; base 0 is told by the prefix, where a lone leading zero means octal.
fn magnitude(text: &str, base: u32) -> Option<u64> {
    let (digits, base) = match (base, text.as_bytes()) {
        (_, []) => return None,
        (0, [b'0', b'b' | b'B', _, ..]) => (&text[2..], 2),
        (0, [b'0', b'o' | b'O', _, ..]) => (&text[2..], 8),
        (0, [b'0', b'x' | b'X', _, ..]) => (&text[2..], 16),
        (0, [b'0']) => return Some(0),
        (0, [b'0', ..]) => (&text[1..], 8),
        (0, _) => (text, 10),
        (base, _) => (text, base),
    };
    if digits.starts_with('+') {
        return None;
    }
    u64::from_str_radix(digits, base).ok()
}

/// Whether the text is `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
fn is_decimal(text: &str) -> bool {
    let digits = |bytes: &[u8]| bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let signed = |bytes: &[u8]| matches!(bytes.first(), Some(b'+' | b'-'));

    let mut rest = text.as_bytes();
    if signed(rest) {
        rest = &rest[1..];
    }
    let before = digits(rest);
    rest = &rest[before..];
    if let [b'.', tail @ ..] = rest {
        let after = digits(tail);
        if before + after == 0 {
            return false;
        }
        rest = &tail[after..];
    } else if before == 0 {
        return false;
    }
    if let [b'e' | b'E', tail @ ..] = rest {
        rest = if signed(tail) { &tail[1..] } else { tail };
        let exponent = digits(rest);
        return exponent > 0 && exponent == rest.len();
    }
    rest.is_empty()
}
