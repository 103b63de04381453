//! The order of keys: letters by code point, anything else before letters, runs of digits by their value.

use std::cmp::Ordering;

use serde_json::{Map, Value};

/// Visits the fields in go-yaml's order.
pub(crate) fn in_natural_order<'m>(
    fields: &'m Map<String, Value>,
    mut visit: impl FnMut(&'m str, &'m Value),
) {
    let mut sorted = true;
    let mut previous: Option<&str> = None;
    for key in fields.keys() {
        if previous.is_some_and(|previous| compare(previous, key) == Ordering::Greater) {
            sorted = false;
            break;
        }
        previous = Some(key);
    }
    if sorted {
        for (key, value) in fields {
            visit(key, value);
        }
        return;
    }
    // The order has cycles (`1a` < `2` < `10` < `1a`), which the sorts of the standard library may punish with a panic.
    let mut order: Vec<(&str, &Value)> = Vec::with_capacity(fields.len());
    for (key, value) in fields {
        let at = order.partition_point(|(have, _)| compare(have, key) != Ordering::Greater);
        order.insert(at, (key, value));
    }
    for (key, value) in order {
        visit(key, value);
    }
}

/// Compares two keys as go-yaml does.
pub(crate) fn compare(a: &str, b: &str) -> Ordering {
    let common = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    let start = (0..=common)
        .rev()
        .find(|&at| a.is_char_boundary(at) && b.is_char_boundary(at));
    let start = start.unwrap_or(0);
    let (Some(x), Some(y)) = (a[start..].chars().next(), b[start..].chars().next()) else {
        return a.len().cmp(&b.len());
    };
    match (x.is_alphabetic(), y.is_alphabetic()) {
        (true, true) => return x.cmp(&y),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A zero inside a number must not be taken for a leading one.
    let inside = (x == '0' || y == '0')
        && a[..start]
            .bytes()
            .rev()
            .take_while(u8::is_ascii_digit)
            .any(|digit| digit != b'0');
    let (a_value, a_digits) = digits(&a[start..], i64::from(inside));
    let (b_value, b_digits) = digits(&b[start..], i64::from(inside));
    a_value
        .cmp(&b_value)
        .then(a_digits.cmp(&b_digits))
        .then(x.cmp(&y))
}

/// The value and length of the run of digits at the start; large values wrap around, as they do in Go.
fn digits(text: &str, from: i64) -> (i64, usize) {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    let value = text.bytes().take(length).fold(from, |value, digit| {
        value.wrapping_mul(10).wrapping_add(i64::from(digit - b'0'))
    });
    (value, length)
}
