//! From pieces and values to a text.
//!
//! Behaves as `template.go` and `funcs.go` of fluxcd/pkg/envsubst:
//! <https://github.com/fluxcd/pkg/blob/envsubst/v1.7.0/envsubst/funcs.go>

use std::borrow::Cow;

use crate::{Error, ErrorKind, Expression, Node, Operator, Template, glob};

/// Values that are matched against patterns are cut off byte by byte, which takes a square of steps.
const PATTERN_VALUE_BYTES_MAX: usize = 8 * 1024;

/// What is known of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup<'v> {
    /// Its value.
    Known(Cow<'v, str>),
    /// It is not set.
    Unset,
    /// It is set, and nobody knows to what.
    Unknown,
    /// Nobody knows whether it is set. Defaults are taken, anything else is unknown.
    Open,
}

/// What happens to variables that are not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They are empty.
    Loose,
    /// They are an error under any operator that is no default (F-650).
    Strict,
    /// They are an error in the bare form `${v}` alone: strict mode before Flux 2.9 (F-1761).
    StrictBare,
}

/// A text with values in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    /// The text. Expressions whose value is unknown are still in it, as they were written.
    pub text: String,
    /// The variables that are unknown, or whose default was taken because nobody knows whether they are set.
    pub unknown: Vec<String>,
}

pub(crate) fn expand<'v>(
    template: &Template<'_>,
    mode: Mode,
    lookup: impl FnMut(&str) -> Lookup<'v>,
) -> Result<Expansion, Error> {
    let mut expander = Expander {
        mode,
        lookup,
        unknown: Vec::new(),
    };
    let mut text = String::with_capacity(template.text().len());
    for node in template.nodes() {
        match node {
            Node::Text(piece) => text.push_str(piece),
            Node::Expression(expression) => {
                let start = expression.span.start;
                let value = expander
                    .expression(expression)
                    .map_err(|kind| Error::new(kind, start))?;
                // A value that is unknown leaves the expression as written, escapes and all.
                text.push_str(
                    value
                        .as_deref()
                        .unwrap_or(&template.text()[expression.span.clone()]),
                );
            }
        }
    }
    let mut unknown = expander.unknown;
    unknown.sort_unstable();
    unknown.dedup();
    Ok(Expansion { text, unknown })
}

struct Expander<L> {
    mode: Mode,
    lookup: L,
    unknown: Vec<String>,
}

impl<'v, L: FnMut(&str) -> Lookup<'v>> Expander<L> {
    /// The value of an expression; `None` if it is unknown. Arguments come first, needed or not (F-652).
    fn expression(&mut self, expression: &Expression<'_>) -> Result<Option<String>, ErrorKind> {
        let mut arguments: Vec<Option<String>> = Vec::with_capacity(expression.arguments.len());
        for argument in &expression.arguments {
            arguments.push(match argument {
                Node::Text(text) => Some(text.to_string()),
                Node::Expression(nested) => self.expression(nested)?,
            });
        }
        let operator = expression.operator;
        let value = match (self.lookup)(expression.name) {
            Lookup::Known(value) => value,
            Lookup::Unset => {
                let refused = match self.mode {
                    Mode::Loose => false,
                    Mode::Strict => !operator.tolerates_unset(),
                    Mode::StrictBare => operator == Operator::Value,
                };
                if refused {
                    return Err(ErrorKind::NotSet {
                        name: expression.name.to_owned(),
                    });
                }
                Cow::Borrowed("")
            }
            Lookup::Open if operator.tolerates_unset() => {
                self.unknown.push(expression.name.to_owned());
                Cow::Borrowed("")
            }
            Lookup::Unknown | Lookup::Open => {
                self.unknown.push(expression.name.to_owned());
                return Ok(None);
            }
        };
        if operator.tolerates_unset() && !value.is_empty() {
            return Ok(Some(value.into_owned()));
        }
        let Some(arguments) = arguments.into_iter().collect::<Option<Vec<String>>>() else {
            return Ok(None);
        };
        apply(operator, &value, &arguments).map(Some)
    }
}

fn apply(operator: Operator, value: &str, arguments: &[String]) -> Result<String, ErrorKind> {
    let argument = |index: usize| arguments.get(index).map(String::as_str);
    let first = argument(0).unwrap_or_default();
    Ok(match operator {
        Operator::Value | Operator::CaseKept => value.to_owned(),
        Operator::Default(_) if value.is_empty() => arguments.concat(),
        Operator::Default(_) => value.to_owned(),
        Operator::Length => value.len().to_string(),
        Operator::Upper => value.chars().map(upper).collect(),
        Operator::Lower => value.chars().map(lower).collect(),
        Operator::UpperFirst => first_by(value, upper),
        Operator::LowerFirst => first_by(value, lower),
        Operator::Substring => substring(value, first, argument(1))?,
        Operator::ShortestPrefix => trim(value, first, shortest)?,
        Operator::LongestPrefix => trim(value, first, longest)?,
        Operator::ShortestSuffix => reversed(&trim(&reversed(value), &reversed(first), shortest)?),
        Operator::LongestSuffix => reversed(&trim(&reversed(value), &reversed(first), longest)?),
        Operator::ReplaceFirst => value.replacen(first, argument(1).unwrap_or_default(), 1),
        Operator::ReplaceAll => value.replace(first, argument(1).unwrap_or_default()),
        Operator::ReplacePrefix => match (argument(1), value.starts_with(first)) {
            (Some(replacement), true) => value.replacen(first, replacement, 1),
            _ => value.to_owned(),
        },
        Operator::ReplaceSuffix => match (argument(1), value.strip_suffix(first)) {
            (Some(replacement), Some(rest)) => format!("{rest}{replacement}"),
            _ => value.to_owned(),
        },
    })
}

/// A substring by bytes (F-636). What is no number leaves the value whole; a position may be negative through a nested
/// variable, and counts from the end.
fn substring(value: &str, position: &str, length: Option<&str>) -> Result<String, ErrorKind> {
    let Ok(position) = position.parse::<i64>() else {
        return Ok(value.to_owned());
    };
    let bytes = value.as_bytes();
    let size = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
    let start = if position < 0 {
        size.saturating_add(position).max(0)
    } else {
        position
    };
    let end = match length.map(str::parse::<i64>) {
        None => size,
        Some(Err(_)) => return Ok(value.to_owned()),
        Some(Ok(length)) => start.checked_add(length).ok_or(ErrorKind::NegativeLength)?,
    };
    if end >= size && start >= size {
        return Ok(String::new());
    }
    let index = |at: i64| usize::try_from(at.min(size)).map_err(|_| ErrorKind::NegativeLength);
    let piece = bytes
        .get(index(start)?..index(end)?)
        .ok_or(ErrorKind::NegativeLength)?;
    String::from_utf8(piece.to_vec()).map_err(|_| ErrorKind::NotText)
}

/// Cuts off the prefix that `find` chooses.
fn trim(value: &str, pattern: &str, find: fn(&[u8], &[u8]) -> usize) -> Result<String, ErrorKind> {
    if value.len() > PATTERN_VALUE_BYTES_MAX {
        return Err(ErrorKind::TooLong);
    }
    let cut = find(value.as_bytes(), pattern.as_bytes());
    value.get(cut..).map(str::to_owned).ok_or(ErrorKind::NotText)
}

/// The length of the shortest prefix that matches; 0 if none does or the pattern is bad.
fn shortest(value: &[u8], pattern: &[u8]) -> usize {
    let mut found = 0;
    for length in (1..=value.len()).rev() {
        match glob::matches(pattern, &value[..length]) {
            Ok(true) => found = length,
            Ok(false) => {}
            Err(glob::BadPattern) => return 0,
        }
    }
    found
}

/// The length of the longest prefix that matches; 0 if none does or the pattern is bad.
fn longest(value: &[u8], pattern: &[u8]) -> usize {
    for length in (1..=value.len()).rev() {
        match glob::matches(pattern, &value[..length]) {
            Ok(true) => return length,
            Ok(false) => {}
            Err(glob::BadPattern) => return 0,
        }
    }
    0
}

fn reversed(text: &str) -> String {
    text.chars().rev().collect()
}

fn first_by(value: &str, change: fn(char) -> char) -> String {
    let mut characters = value.chars();
    let first = characters.next().map(change);
    first.into_iter().chain(characters).collect()
}

/// Upper case by one character, as in Go: what would become several characters stays.
fn upper(character: char) -> char {
    let mut changed = character.to_uppercase();
    match (changed.next(), changed.next()) {
        (Some(changed), None) => changed,
        _ => character,
    }
}

/// Lower case by one character, as in Go.
fn lower(character: char) -> char {
    character.to_lowercase().next().unwrap_or(character)
}
