//! The hash that kustomize appends to the names of generated objects.

use firstpass_yaml::Node;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::Error;

/// How many hexadecimal digits of the hash make the suffix.
const LENGTH: usize = 10;

/// The hash of an object's contents.
///
/// # Errors
/// If the contents have no JSON form.
pub(crate) fn of(node: &Node) -> Result<String, Error> {
    let kind = node.get("kind").and_then(Node::as_text).unwrap_or_default();
    let fields: &[&str] = match kind {
        "ConfigMap" => &["data"],
        "Secret" => &["data", "type"],
        _ => {
            return Err(Error::new(format!(
                "the name suffix of a {kind} cannot be computed: only ConfigMaps and Secrets have one"
            )));
        }
    };
    let optional = if kind == "Secret" {
        "stringData"
    } else {
        "binaryData"
    };

    let mut encoded = Map::new();
    encoded.insert("kind".to_owned(), kind.into());
    // kustomize means to hash the name too, but looks for a field that is called `metadata/name`.
    encoded.insert("name".to_owned(), "".into());
    for field in fields {
        encoded.insert((*field).to_owned(), value(node.get(field))?);
    }
    if let value @ Value::Object(_) = value(node.get(optional))? {
        encoded.insert(optional.to_owned(), value);
    }
    Ok(suffix(go_json(&Value::Object(encoded)).as_bytes()))
}

/// A field as it is hashed: scalars by their text, missing ones as the empty text.
fn value(node: Option<&Node>) -> Result<Value, Error> {
    match node {
        None => Ok("".into()),
        Some(node) => match node.as_scalar() {
            Some(scalar) => Ok(scalar.text.as_str().into()),
            None => node.to_json().map_err(|error| Error::new(error.message)),
        },
    }
}

/// The first digits of the hash, with letters and digits that form no words and are not mistaken for each other.
fn suffix(data: &[u8]) -> String {
    let digest = Sha256::digest(data);
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 0xF]);
    digits
        .take(LENGTH)
        .map(|digit| match char::from_digit(digit.into(), 16).unwrap_or('0') {
            '0' => 'g',
            '1' => 'h',
            '3' => 'k',
            'a' => 'm',
            'e' => 't',
            other => other,
        })
        .collect()
}

/// JSON as Go writes it: keys sorted, and characters escaped that could end a script element in a page.
fn go_json(value: &Value) -> String {
    let mut text = String::new();
    for character in value.to_string().chars() {
        match character {
            '<' => text.push_str("\\u003c"),
            '>' => text.push_str("\\u003e"),
            '&' => text.push_str("\\u0026"),
            '\u{2028}' => text.push_str("\\u2028"),
            '\u{2029}' => text.push_str("\\u2029"),
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(yaml: &str) -> String {
        of(&firstpass_yaml::parse_one(yaml).unwrap()).unwrap()
    }

    /// The hashes are those of kustomize 5.8.1.
    #[test]
    fn hashes_of_config_maps_and_secrets() {
        assert_eq!(hash("kind: ConfigMap"), "6ct58987ht");
        assert_eq!(hash("kind: ConfigMap\ndata: {one: ''}"), "9g67k2htb6");
        assert_eq!(
            hash("kind: ConfigMap\ndata: {two: 2, one: '', three: 3}"),
            "7757f9kkct"
        );
        assert_eq!(hash("kind: Secret\ntype: my-type\ndata: {one: ''}"), "74bd68bm66");
    }

    #[test]
    fn names_do_not_count() {
        assert_eq!(
            hash("kind: ConfigMap\nmetadata: {name: a}"),
            hash("kind: ConfigMap")
        );
    }

    #[test]
    fn go_escapes_what_html_would_read() {
        assert_eq!(
            go_json(&serde_json::json!({"b": "<&>", "a": "\u{2028}"})),
            r#"{"a":"\u2028","b":"\u003c\u0026\u003e"}"#
        );
    }
}
