//! From a tree to typed data, for the files whose format is our own: configuration and knowledge.
//!
//! An unknown key or variant is an error at its place that names the nearest known one. Texts keep their spelling:
//! `since: 1.60` read into a string is `1.60`. Nothing at all (`key:` and no value) reads as an empty mapping.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, Visitor};
use serde_json::Value;

use crate::{Map, Mark, Node, NodeKind, Scalar, Tag};

/// Why a tree does not fit the type, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The place of the node at fault; [`Mark::NONE`] if it is not known.
    pub mark: Mark,
    /// The keys that lead to the node.
    pub path: String,
    /// What is wrong, without the place.
    pub message: String,
}

/// Reads a tree into a type that derives `Deserialize`.
pub fn from_node<T: DeserializeOwned>(node: &Node) -> Result<T, DecodeError> {
    T::deserialize(NodeDecoder { node, known: &[] }).map_err(|error| error.at(node.mark))
}

/// The one of `known` that was probably meant by `name`, if one is near enough.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let close = |candidate: &&str| distance(name, candidate) <= name.chars().count().max(3) / 3 + 1;
    known
        .into_iter()
        .filter(close)
        .min_by_key(|candidate| distance(name, candidate))
}

impl DecodeError {
    fn at(mut self, mark: Mark) -> DecodeError {
        if self.mark == Mark::NONE {
            self.mark = mark;
        }
        self
    }

    fn below(mut self, key: &str) -> DecodeError {
        self.path = match self.path.as_str() {
            "" => key.to_owned(),
            path => format!("{key}.{path}"),
        };
        self
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.mark != Mark::NONE {
            write!(f, "{}:{}: ", self.mark.line, self.mark.column)?;
        }
        if !self.path.is_empty() {
            write!(f, "`{}`: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for DecodeError {}

impl de::Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> DecodeError {
        DecodeError {
            mark: Mark::NONE,
            path: String::new(),
            message: message.to_string(),
        }
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> DecodeError {
        DecodeError::custom(unknown("value", variant, expected))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> DecodeError {
        DecodeError::custom(unknown("key", field, expected))
    }
}

fn unknown(what: &str, name: &str, known: &[&'static str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(meant) => format!("unknown {what} `{name}`; did you mean `{meant}`?"),
        None => format!("unknown {what} `{name}`; known are {}", known.join(", ")),
    }
}

/// Edits (insert, delete, replace, swap of neighbours) between two names, letter case aside.
pub fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().collect();
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[derive(Clone, Copy)]
struct NodeDecoder<'n> {
    node: &'n Node,
    /// The keys of the struct that the node is read into; empty where any key is good.
    known: &'static [&'static str],
}

impl<'n> NodeDecoder<'n> {
    fn any(node: &'n Node) -> NodeDecoder<'n> {
        NodeDecoder { node, known: &[] }
    }

    fn scalar<'de, V: Visitor<'de>>(scalar: &Scalar, visitor: V) -> Result<V::Value, DecodeError> {
        let text = scalar.text.as_str();
        match scalar.tag {
            Tag::Null => visitor.visit_unit(),
            Tag::Bool => visitor.visit_bool(text.eq_ignore_ascii_case("true")),
            Tag::Int | Tag::Float => match scalar.to_json() {
                Ok(Value::Number(number)) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                    (Some(number), _, _) => visitor.visit_u64(number),
                    (_, Some(number), _) => visitor.visit_i64(number),
                    (_, _, Some(number)) => visitor.visit_f64(number),
                    (None, None, None) => visitor.visit_str(text),
                },
                _ => visitor.visit_str(text),
            },
            Tag::Str | Tag::Timestamp | Tag::Binary | Tag::Custom(_) => visitor.visit_str(text),
        }
    }
}

impl<'de> de::Deserializer<'de> for NodeDecoder<'_> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let result = match &self.node.kind {
            NodeKind::Scalar(scalar) => NodeDecoder::scalar(scalar, visitor),
            NodeKind::Seq(items) => visitor.visit_seq(Items {
                items: items.iter().enumerate(),
            }),
            NodeKind::Map(map) => {
                only_once(map)?;
                visitor.visit_map(Pairs {
                    pairs: map.iter(),
                    known: self.known,
                    value: None,
                })
            }
        };
        result.map_err(|error| error.at(self.node.mark))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        if self.node.is_null() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.node.as_scalar() {
            Some(scalar) if scalar.tag != Tag::Null => visitor
                .visit_str(&scalar.text)
                .map_err(|error: DecodeError| error.at(self.node.mark)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let decoder = NodeDecoder {
            node: self.node,
            known: fields,
        };
        decoder.deserialize_map(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        if self.node.is_null() {
            let empty = Pairs {
                pairs: [].iter(),
                known: self.known,
                value: None,
            };
            return visitor.visit_map(empty).map_err(|error| error.at(self.node.mark));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        if self.node.is_null() {
            let empty = Items {
                items: [].iter().enumerate(),
            };
            return visitor.visit_seq(empty);
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let result = match &self.node.kind {
            NodeKind::Scalar(scalar) => {
                let unit: StrDeserializer<'_, DecodeError> = scalar.text.as_str().into_deserializer();
                unit.deserialize_enum(name, variants, visitor)
            }
            NodeKind::Map(map) => visitor.visit_enum(MapAccessDeserializer::new(Pairs {
                pairs: map.iter(),
                known: variants,
                value: None,
            })),
            NodeKind::Seq(_) => Err(de::Error::custom("a list is not expected here")),
        };
        result.map_err(|error: DecodeError| error.at(self.node.mark))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct
        tuple tuple_struct identifier ignored_any
    }
}

/// Of a key that stands there twice, one value would be dropped without a word.
fn only_once(map: &Map) -> Result<(), DecodeError> {
    let mut seen: BTreeMap<&str, Mark> = BTreeMap::new();
    for (key, _) in map.iter() {
        let Some(name) = key.as_scalar().map(|scalar| scalar.text.as_str()) else {
            continue;
        };
        if let Some(first) = seen.insert(name, key.mark) {
            let message = format!("the key `{name}` is there twice, first in line {}", first.line);
            return Err(<DecodeError as de::Error>::custom(message).at(key.mark));
        }
    }
    Ok(())
}

struct Items<'n> {
    items: std::iter::Enumerate<std::slice::Iter<'n, Node>>,
}

impl<'de> de::SeqAccess<'de> for Items<'_> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        let Some((index, item)) = self.items.next() else {
            return Ok(None);
        };
        let value = seed.deserialize(NodeDecoder::any(item));
        value
            .map(Some)
            .map_err(|error| error.at(item.mark).below(&index.to_string()))
    }
}

struct Pairs<'n> {
    pairs: std::slice::Iter<'n, (Node, Node)>,
    known: &'static [&'static str],
    value: Option<(&'n str, &'n Node)>,
}

impl<'de> de::MapAccess<'de> for Pairs<'_> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        let Some((key, value)) = self.pairs.next() else {
            return Ok(None);
        };
        let error = |message: String| de::Error::custom(message);
        let text = key
            .as_text()
            .ok_or_else(|| error("a key has to be a text".to_owned()))
            .map_err(|error: DecodeError| error.at(key.mark))?;
        if !self.known.is_empty() && !self.known.contains(&text) {
            let unknown: DecodeError = de::Error::unknown_field(text, self.known);
            return Err(unknown.at(key.mark));
        }
        self.value = Some((text, value));
        let name: StrDeserializer<'_, DecodeError> = text.into_deserializer();
        seed.deserialize(name)
            .map(Some)
            .map_err(|error| error.at(key.mark))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, DecodeError> {
        let Some((key, value)) = self.value.take() else {
            return Err(de::Error::custom("a value was asked for before its key"));
        };
        seed.deserialize(NodeDecoder::any(value))
            .map_err(|error| error.at(value.mark).below(key))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Mode {
        Fast,
        Slow,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        since: String,
        mode: Mode,
        #[serde(default)]
        counts: Vec<u32>,
        #[serde(default)]
        more: BTreeMap<String, Sample>,
        note: Option<serde_json::Value>,
    }

    fn scalar(text: &str, tag: Tag, line: u32) -> Node {
        Node {
            kind: NodeKind::Scalar(Scalar {
                text: text.into(),
                tag,
                style: crate::Style::Plain,
            }),
            mark: Mark { line, column: 1 },
        }
    }

    fn map(pairs: Vec<(&str, Node)>) -> Node {
        let pairs = pairs
            .into_iter()
            .map(|(key, value)| (scalar(key, Tag::Str, value.mark.line), value));
        Node::new(NodeKind::Map(pairs.collect()))
    }

    #[test]
    fn texts_keep_their_spelling_and_nothing_is_an_empty_mapping() {
        let node = map(vec![
            ("since", scalar("1.60", Tag::Float, 1)),
            ("mode", scalar("fast", Tag::Str, 2)),
            (
                "counts",
                Node::new(NodeKind::Seq(vec![
                    scalar("3", Tag::Int, 3),
                    scalar("4", Tag::Int, 4),
                ])),
            ),
            ("more", Node::null()),
            ("note", map(vec![("on", scalar("true", Tag::Bool, 5))])),
        ]);
        let sample: Sample = from_node(&node).unwrap();
        assert_eq!(sample.since, "1.60");
        assert_eq!(sample.mode, Mode::Fast);
        assert_eq!(sample.counts, [3, 4]);
        assert!(sample.more.is_empty());
        assert_eq!(sample.note, Some(serde_json::json!({"on": true})));
    }

    #[test]
    fn a_key_that_is_there_twice_is_an_error_wherever_it_is() {
        for (text, message) in [
            (
                "since: a\nmode: fast\nsince: b\n",
                "3:1: the key `since` is there twice, first in line 1",
            ),
            (
                "since: a\nmode: fast\nmore:\n  x: {since: a, mode: fast}\n  x: {since: b, mode: slow}\n",
                "5:3: `more`: the key `x` is there twice, first in line 4",
            ),
            (
                "since: a\nmode: fast\nnote:\n  - {b: 1, b: 2}\n",
                "4:12: `note.0`: the key `b` is there twice, first in line 4",
            ),
        ] {
            let node = crate::parse_one(text).unwrap();
            assert_eq!(from_node::<Sample>(&node).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn what_does_not_fit_is_told_with_its_place_and_the_nearest_name() {
        let inner = |key, value| map(vec![("more", map(vec![("a", map(vec![(key, value)]))]))]);
        let error = from_node::<Sample>(&inner("sinse", scalar("1", Tag::Int, 7))).unwrap_err();
        assert_eq!(
            error.to_string(),
            "7:1: `more.a`: unknown key `sinse`; did you mean `since`?"
        );
        let error = from_node::<Sample>(&inner("mode", scalar("fats", Tag::Str, 8))).unwrap_err();
        assert_eq!(
            error.to_string(),
            "8:1: `more.a.mode`: unknown value `fats`; did you mean `fast`?"
        );
        let error = from_node::<Sample>(&inner("counts", scalar("x", Tag::Str, 9))).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("9:1: `more.a.counts`: invalid type"),
            "{error}"
        );
    }
}
