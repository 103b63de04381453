//! How a scalar changes its meaning when kustomize puts a new text into an old place.
//!
//! kustomize moves text, type and quotes of a scalar separately, and go-yaml makes sense of what came out when the
//! object is written. The functions here say at once what go-yaml would read back.

use ecow::EcoString;
use firstpass_yaml::{Node, NodeKind, Scalar, Style, Tag};

use crate::Error;

/// What kustomize calls the shape of a node in its messages.
pub(crate) fn shape_name(node: &Node) -> &'static str {
    match node.kind {
        NodeKind::Scalar(_) => "ScalarNode",
        NodeKind::Seq(_) => "SequenceNode",
        NodeKind::Map(_) => "MappingNode",
    }
}

/// The error of a place that has another shape than was asked for.
pub(crate) fn wrong_shape(expected: &str, node: &Node) -> Error {
    Error::new(format!(
        "wrong node kind: expected {expected} but got {}",
        shape_name(node)
    ))
}

/// The text of a scalar; of a list or a mapping the empty text, as kustomize has it.
pub(crate) fn text_of(node: &Node) -> &str {
    node.as_text().unwrap_or_default()
}

/// Whether a node holds nothing: null, an empty mapping or an empty list.
pub(crate) fn is_nil_or_empty(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Scalar(scalar) => scalar.tag == Tag::Null,
        NodeKind::Seq(items) => items.is_empty(),
        NodeKind::Map(map) => map.is_empty(),
    }
}

/// The style that a new text inherits from an old one.
fn quotes(style: Style) -> Style {
    if style == Style::Nothing {
        Style::Plain
    } else {
        style
    }
}

/// The scalar that go-yaml reads back after it wrote this text with this type in these quotes.
///
/// A number in quotes becomes text, unless its type had to be written down beside it; text without quotes that looks
/// like a number gets some.
pub(crate) fn written(text: EcoString, tag: Tag, style: Style) -> Scalar {
    let style = quotes(style);
    let is_implied = |tag: &Tag| !matches!(tag, Tag::Str) && Scalar::plain(text.clone()).tag == *tag;
    let tag = if style != Style::Plain && is_implied(&tag) {
        Tag::Str
    } else {
        tag
    };
    Scalar { text, tag, style }
}

/// Puts a text without a type into a place: quotes stay, and without quotes the text decides what it is.
pub(crate) fn untyped(text: EcoString, style: Style) -> Scalar {
    match quotes(style) {
        Style::Plain => Scalar::plain(text),
        style => Scalar {
            text,
            tag: Tag::Str,
            style,
        },
    }
}

/// A key that kustomize makes. It carries no type, so that one which looks like a number is a number, which no object
/// may have for a key: the build fails when the object is written.
pub(crate) fn key(name: &str) -> Node {
    Node::new(NodeKind::Scalar(Scalar::plain(name)))
}

/// A text that was put into a tree without a type: what it is will be decided when it is written.
pub(crate) fn undecided(text: &str) -> Scalar {
    Scalar {
        text: text.into(),
        tag: Tag::Custom(EcoString::new()),
        style: Style::Plain,
    }
}

/// Whether a scalar was put into the tree without a type.
pub(crate) fn is_undecided(scalar: &Scalar) -> bool {
    matches!(&scalar.tag, Tag::Custom(name) if name.is_empty())
}

/// Whether kustomize takes a scalar for a text: it is one, or nothing says that it is not.
pub(crate) fn is_textual(scalar: &Scalar) -> bool {
    scalar.tag == Tag::Str || is_undecided(scalar)
}

/// Whether a text without quotes is something else than text by YAML 1.1: a number, a boolean (`yes`), null, or a
/// mapping (`a: b`) or list (`[x]`).
pub(crate) fn is_no_text_in_yaml_1_1(text: &str) -> bool {
    let Some(first) = text.chars().next().filter(|_| !text.contains('\n')) else {
        return false;
    };
    let has_syntax = text.contains(": ") || text.ends_with(':') || text.contains(" #");
    if has_syntax || first.is_ascii_punctuation() {
        let value = firstpass_yaml::parse_one(text)
            .ok()
            .and_then(|node| node.to_config().ok());
        return value.is_some_and(|value| !value.is_string());
    }
    // Without a look at the text as a document, for this is asked of every field that a patch passes by.
    let word = Node::new(NodeKind::Scalar(Scalar::plain(text)));
    word.to_config().is_ok_and(|value| !value.is_string())
}

/// Gives quotes to a text that YAML 1.1 would take for something else, as kustomize does whenever it sets a field.
pub(crate) fn protect(scalar: &mut Scalar) {
    if is_textual(scalar) && scalar.style == Style::Plain && is_no_text_in_yaml_1_1(&scalar.text) {
        scalar.style = Style::DoubleQuoted;
    }
}

/// Sets the value of a scalar, as kustomize's `SetScalar` and nameless `SetEntry` do: the quotes of the old value stay.
///
/// Without a tag the text decides what it is.
pub fn set_scalar(node: &mut Node, text: &str, tag: Option<Tag>) -> Result<(), Error> {
    let NodeKind::Scalar(old) = &node.kind else {
        return Err(wrong_shape("ScalarNode", node));
    };
    node.kind = NodeKind::Scalar(match tag {
        Some(tag) => written(text.into(), tag, old.style),
        None => untyped(text.into(), old.style),
    });
    Ok(())
}

/// Sets an entry of a mapping to a text, as kustomize's `SetEntry` with a name does.
///
/// The quotes of the old value stay. A new value without a tag is text.
pub fn set_entry(node: &mut Node, name: &str, text: &str, tag: Option<Tag>) -> Result<(), Error> {
    if node.is_null() {
        // kustomize writes the entry into the null, from where it never reaches the output.
        return Ok(());
    }
    let NodeKind::Map(map) = &mut node.kind else {
        return Err(wrong_shape("MappingNode", node));
    };
    match map.get_mut(name) {
        Some(value) => {
            let style = value.as_scalar().map_or(Style::Plain, |old| old.style);
            value.kind = NodeKind::Scalar(match tag {
                Some(tag) => written(text.into(), tag, style),
                None => untyped(text.into(), style),
            });
        }
        None => {
            let value = Scalar {
                text: text.into(),
                tag: tag.unwrap_or(Tag::Str),
                style: Style::Plain,
            };
            map.push(key(name), Node::new(NodeKind::Scalar(value)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(yaml: &str, text: &str, tag: Option<Tag>) -> serde_json::Value {
        let mut node = firstpass_yaml::parse_one(yaml).unwrap();
        set_scalar(&mut node, text, tag).unwrap();
        node.to_json().unwrap()
    }

    #[test]
    fn the_quotes_of_the_old_value_stay() {
        assert_eq!(set("old", "5", None), 5);
        assert_eq!(set("'old'", "5", None), "5");
        assert_eq!(set("old", "5", Some(Tag::Str)), "5");
        assert_eq!(set("'old'", "5", Some(Tag::Int)), "5");
        assert_eq!(set("7", "5", Some(Tag::Int)), 5);
    }

    #[test]
    fn entries() {
        let mut node = firstpass_yaml::parse_one("{a: x, b: 'y'}").unwrap();
        for name in ["a", "b", "c"] {
            set_entry(&mut node, name, "5", None).unwrap();
        }
        assert_eq!(
            node.to_json().unwrap(),
            serde_json::json!({"a": 5, "b": "5", "c": "5"})
        );
        assert!(set_entry(&mut Node::seq(), "a", "5", None).is_err());
    }
}
