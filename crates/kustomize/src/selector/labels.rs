//! Label selectors: `app=web, tier in (a, b), !canary`.
//!
//! Upstream: `k8s.io/apimachinery/pkg/labels/selector.go`, whose grammar has odd corners that are kept: `a in (,b)`
//! allows the empty value, and `a=` asks for it.

use std::collections::BTreeSet;
use std::iter::Peekable;
use std::vec::IntoIter;

use firstpass_yaml::{Map, Node};

use crate::Error;
use crate::scalar::text_of;

const LABEL_LENGTH_MAX: usize = 63;
const PREFIX_LENGTH_MAX: usize = 253;

/// Whether labels, or annotations, match a selector. The empty selector matches everything.
///
/// # Errors
/// A selector that is none.
pub fn matches_labels(selector: &str, labels: Option<&Node>) -> Result<bool, Error> {
    let labels = labels.and_then(Node::as_map);
    let requirements = Parser::new(selector).parse().map_err(|mut error| {
        error.what = format!("unable to parse selector `{selector}`: {}", error.what);
        error
    })?;
    Ok(requirements.iter().all(|requirement| requirement.matches(labels)))
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Exists,
    Missing,
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Above(i64),
    Below(i64),
}

impl Requirement {
    fn matches(&self, labels: Option<&Map>) -> bool {
        let value = labels.and_then(|labels| labels.get(&self.key)).map(text_of);
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.test {
            Test::Exists => value.is_some(),
            Test::Missing => value.is_none(),
            Test::In(values) => value.is_some_and(|value| values.contains(value)),
            Test::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Test::Above(bound) => number().is_some_and(|number| number > *bound),
            Test::Below(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Symbol(&'static str),
}

/// The longer ones first, so that `==` is not two `=`.
const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

struct Parser {
    tokens: Peekable<IntoIter<Token>>,
}

impl Parser {
    fn new(text: &str) -> Parser {
        let is_special = |c: char| "=!(),><".contains(c);
        let is_blank = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
        let mut tokens = Vec::new();
        let mut rest = text.trim_start_matches(is_blank);
        while !rest.is_empty() {
            if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) {
                tokens.push(Token::Symbol(symbol));
                rest = &rest[symbol.len()..];
            } else {
                let end = rest.find(|c| is_special(c) || is_blank(c)).unwrap_or(rest.len());
                tokens.push(Token::Word(rest[..end].to_owned()));
                rest = &rest[end..];
            }
            rest = rest.trim_start_matches(is_blank);
        }
        Parser {
            tokens: tokens.into_iter().peekable(),
        }
    }

    fn parse(mut self) -> Result<Vec<Requirement>, Error> {
        let mut requirements = Vec::new();
        while self.tokens.peek().is_some() {
            requirements.push(self.requirement()?);
            match self.tokens.next() {
                None => break,
                Some(Token::Symbol(",")) if self.tokens.peek().is_some() => {}
                Some(Token::Symbol(",")) => return Err(expected(None, "identifier after ','")),
                other => return Err(expected(other, "',' or 'end of string'")),
            }
        }
        Ok(requirements)
    }

    fn requirement(&mut self) -> Result<Requirement, Error> {
        let is_negated = self.tokens.next_if_eq(&Token::Symbol("!")).is_some();
        let key = match self.tokens.next() {
            Some(Token::Word(key)) => key,
            other => return Err(expected(other, "identifier")),
        };
        check_key(&key)?;
        let test = if is_negated {
            Test::Missing
        } else if matches!(self.tokens.peek(), None | Some(Token::Symbol(","))) {
            Test::Exists
        } else {
            self.test()?
        };
        Ok(Requirement { key, test })
    }

    fn test(&mut self) -> Result<Test, Error> {
        let operator = match self.tokens.next() {
            Some(Token::Word(word)) => word,
            Some(Token::Symbol(symbol)) => symbol.to_owned(),
            None => String::new(),
        };
        match operator.as_str() {
            "in" => self.values().map(Test::In),
            "notin" => self.values().map(Test::NotIn),
            "=" | "==" => self.value().map(|value| Test::In([value].into())),
            "!=" => self.value().map(|value| Test::NotIn([value].into())),
            ">" => self.number().map(Test::Above),
            "<" => self.number().map(Test::Below),
            _ => Err(Error::new(format!(
                "found '{operator}', expected: in, notin, =, ==, !=, gt, lt"
            ))),
        }
    }

    /// One value; nothing at all is the empty one.
    fn value(&mut self) -> Result<String, Error> {
        match self.tokens.peek() {
            None | Some(Token::Symbol(",")) => Ok(String::new()),
            Some(_) => match self.tokens.next() {
                Some(Token::Word(value)) => check_value(value),
                other => Err(expected(other, "identifier")),
            },
        }
    }

    fn number(&mut self) -> Result<i64, Error> {
        let value = self.value()?;
        value
            .parse()
            .map_err(|_| Error::new("for 'Gt', 'Lt' operators, the value must be an integer"))
    }

    /// Values in brackets. Where a comma has nothing beside it stands the empty value.
    fn values(&mut self) -> Result<BTreeSet<String>, Error> {
        match self.tokens.next() {
            Some(Token::Symbol("(")) => {}
            other => return Err(expected(other, "'('")),
        }
        let mut values = BTreeSet::new();
        let mut after_comma = true;
        loop {
            match self.tokens.next() {
                Some(Token::Word(value)) if after_comma => {
                    values.insert(check_value(value)?);
                    after_comma = false;
                }
                Some(Token::Symbol(",")) => {
                    if after_comma {
                        values.insert(String::new());
                    }
                    after_comma = true;
                }
                Some(Token::Symbol(")")) => {
                    if after_comma && !values.is_empty() {
                        values.insert(String::new());
                    }
                    break;
                }
                other => return Err(expected(other, "',', ')' or identifier")),
            }
        }
        if values.is_empty() {
            return Err(Error::new(
                "for 'in', 'notin' operators, values set can't be empty",
            ));
        }
        Ok(values)
    }
}

fn expected(found: Option<Token>, what: &str) -> Error {
    let found = match found {
        None => String::new(),
        Some(Token::Word(word)) => word,
        Some(Token::Symbol(symbol)) => symbol.to_owned(),
    };
    Error::new(format!("found '{found}', expected: {what}"))
}

/// A key is a name of at most 63 characters, behind the domain of its owner and a slash if it has one.
fn check_key(key: &str) -> Result<(), Error> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let is_domain = |prefix: &str| {
        prefix.len() <= PREFIX_LENGTH_MAX
            && prefix.split('.').all(|label| {
                is_word(
                    label,
                    |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit(),
                    |byte| byte == b'-',
                )
            })
    };
    if prefix.is_none_or(is_domain) && is_label(name) {
        return Ok(());
    }
    Err(Error::new(format!("`{key}` is no label key")))
}

fn check_value(value: String) -> Result<String, Error> {
    if value.is_empty() || is_label(&value) {
        return Ok(value);
    }
    Err(Error::new(format!("`{value}` is no label value")))
}

fn is_label(text: &str) -> bool {
    text.len() <= LABEL_LENGTH_MAX
        && is_word(
            text,
            |byte| byte.is_ascii_alphanumeric(),
            |byte| matches!(byte, b'-' | b'_' | b'.'),
        )
}

/// Whether a text begins and ends with one sort of characters and has only these and another sort between.
fn is_word(text: &str, outer: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    outer(first) && outer(last) && bytes.iter().all(|&byte| outer(byte) || inner(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABELS: &str = "{app: web, tier: '2', example.com/part: x, empty: ''}";

    #[track_caller]
    fn check(selector: &str, expected: bool) {
        let labels = firstpass_yaml::parse_one(LABELS).unwrap();
        assert_eq!(
            matches_labels(selector, Some(&labels)).unwrap(),
            expected,
            "{selector}"
        );
    }

    #[test]
    fn selectors_that_match() {
        for selector in [
            "",
            "  ",
            "app",
            "!other",
            "app=web",
            "app==web",
            "app = web , tier in (1, 2)",
            "app!=db",
            "other!=x",
            "other notin (a)",
            "tier>1,tier<3",
            "example.com/part=x",
            "empty=",
            "empty in (,a)",
            "empty in (a,)",
            "app in (in,web)",
        ] {
            check(selector, true);
        }
    }

    #[test]
    fn selectors_that_do_not_match() {
        for selector in [
            "other",
            "!app",
            "app=db",
            "app,other",
            "app!=web",
            "tier>2",
            "app>1",
            "app notin (web)",
        ] {
            check(selector, false);
        }
        assert!(!matches_labels("app", None).unwrap());
        assert!(matches_labels("!app", None).unwrap());
    }

    #[test]
    fn selectors_that_are_none() {
        for selector in [
            "app web",
            "=",
            "app=web,",
            "app in",
            "app in (",
            "app in ()",
            "app in (a b)",
            "!app=web",
            "tier>x",
            "app=a=b",
            "-app",
            "app=web!",
            "a/b/c",
            "app in web",
            ",app",
            "app=ä",
        ] {
            assert!(matches_labels(selector, None).is_err(), "{selector}");
        }
    }
}
