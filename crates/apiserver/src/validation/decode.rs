//! Texts that must be readable as something: quantities, base64, timestamps, integers.
//!
//! The real server reads a built-in object into Go's types, and one bad text spoils the whole object.

use firstpass_object::ObjectExt;
use firstpass_object::quantity::Quantity;
use firstpass_schema::fields::{self, FieldType};
use serde_json::Value;

use super::{ErrorClass, FieldError, is_unknown};

/// Checks an object of a built-in kind whose types are known to fit; gives at most one error, as the server does.
pub(super) fn check(object: &Value, unknown_tokens: &[String]) -> Vec<FieldError> {
    let Some(kind) = fields::fields_of(object.api_version(), object.kind()) else {
        return Vec::new();
    };
    let problem = in_struct(object, kind, unknown_tokens);
    problem
        .map(|problem| FieldError {
            path: String::new(),
            message: {
                let gvk = object.gvk();
                let (group, version, kind) = (gvk.group, gvk.version, gvk.kind);
                format!("unable to convert unstructured object to {group}/{version}, Kind={kind}: {problem}")
            },
            class: ErrorClass::Undecodable,
        })
        .into_iter()
        .collect()
}

fn in_struct(value: &Value, structure: &fields::Struct, unknown_tokens: &[String]) -> Option<String> {
    value.as_object()?.iter().find_map(|(name, field)| {
        let field_type = &structure.fields.get(name.as_str())?.field_type;
        in_value(name, field, field_type, unknown_tokens)
    })
}

fn in_value(name: &str, value: &Value, field_type: &FieldType, unknown_tokens: &[String]) -> Option<String> {
    if let Value::String(text) = value
        && is_unknown(text, unknown_tokens)
    {
        return None;
    }
    match (field_type, value) {
        (FieldType::List(items), Value::Array(list)) => list
            .iter()
            .find_map(|item| in_value(name, item, items, unknown_tokens)),
        (FieldType::Map(values), Value::Object(map)) => map
            .values()
            .find_map(|value| in_value(name, value, values, unknown_tokens)),
        (FieldType::Struct(id), _) => in_struct(value, fields::structure(*id), unknown_tokens),
        (FieldType::Quantity, Value::String(text)) => {
            Quantity::parse(text).err().map(|error| error.to_string())
        }
        (FieldType::Quantity, Value::Number(_) | Value::Null) => None,
        (FieldType::Quantity, _) => Some(Quantity::FORM.to_owned()),
        (FieldType::Base64, Value::String(text)) => illegal_base64(text),
        (FieldType::Time, Value::String(text)) if firstpass_object::parse_timestamp(text).is_none() => {
            has_offset(text).map_or_else(
                || Some(format!("parsing time {text:?} as \"2006-01-02T15:04:05Z07:00\"")),
                |()| None,
            )
        }
        (FieldType::Integer, Value::Number(number)) if number.is_f64() && number.as_f64()?.fract() != 0.0 => {
            let bits = if WIDE.contains(&name) { 64 } else { 32 };
            Some(format!("cannot convert float64 to int{bits}"))
        }
        (FieldType::IntOrString, Value::Number(number))
            if number.as_i64().is_none_or(|n| i32::try_from(n).is_err()) =>
        {
            not_an_int(&format!("number {number}"))
        }
        (FieldType::IntOrString, Value::Object(_)) => not_an_int("object"),
        (FieldType::IntOrString, Value::Array(_)) => not_an_int("array"),
        (FieldType::IntOrString, Value::Bool(_)) => not_an_int("bool"),
        _ => None,
    }
}

/// The integers of 64 bits.
pub(super) const WIDE: [&str; 14] = [
    "activeDeadlineSeconds",
    "deletionGracePeriodSeconds",
    "expirationSeconds",
    "fsGroup",
    "generation",
    "observedGeneration",
    "runAsGroup",
    "runAsUser",
    "startingDeadlineSeconds",
    "supplementalGroups",
    "terminationGracePeriodSeconds",
    "tolerationSeconds",
    "maxLength",
    "maxItems",
];

fn not_an_int(what: &str) -> Option<String> {
    Some(format!(
        "json: cannot unmarshal {what} into Go value of type int32"
    ))
}

/// A timestamp with an offset instead of `Z` is fine too.
fn has_offset(text: &str) -> Option<()> {
    let (rest, offset) = text.split_at_checked(text.len().checked_sub(6)?)?;
    let signed = offset.starts_with(['+', '-']) && offset.as_bytes().get(3) == Some(&b':');
    (signed && firstpass_object::parse_timestamp(&format!("{rest}Z")).is_some()).then_some(())
}

/// Go's message for text that is not padded standard base64; line breaks are let through.
fn illegal_base64(text: &str) -> Option<String> {
    let illegal = |position: usize| {
        Some(format!(
            "error decoding from json: illegal base64 data at input byte {position}"
        ))
    };
    let mut length = 0;
    let mut padding = 0;
    for (position, c) in text.bytes().enumerate() {
        match c {
            b'\n' | b'\r' => {}
            b'=' if length % 4 >= 2 => {
                padding += 1;
                length += 1;
            }
            _ if padding > 0 => return illegal(position),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => length += 1,
            _ => return illegal(position),
        }
    }
    if length % 4 == 0 {
        None
    } else {
        illegal(text.len() / 4 * 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_padded_and_standard() {
        for good in ["", "YQ==", "YWI=", "YWJj", "YWJj\nYWJj"] {
            assert_eq!(illegal_base64(good), None, "{good}");
        }
        for bad in ["YQ", "plain text", "YQ==YQ==", "YW-j", "=", "Y==="] {
            assert!(illegal_base64(bad).is_some(), "{bad}");
        }
    }
}
