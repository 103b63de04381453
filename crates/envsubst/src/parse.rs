//! From text to pieces (F-620 to F-643).
//!
//! Behaves as `parse/parse.go` of fluxcd/pkg/envsubst 1.7.0, its oddities included:
//! <https://github.com/fluxcd/pkg/blob/envsubst/v1.7.0/envsubst/parse/parse.go>

use std::borrow::Cow;

use crate::scan::{Expect, Scanner, Token};
use crate::{DefaultSign, Error, ErrorKind, Expression, Node, Operator};

/// Expressions inside expressions; real texts nest two or three deep.
const DEPTH_MAX: usize = 200;

/// Takes a whole text apart.
pub(crate) fn parse(text: &str) -> Result<Vec<Node<'_>>, Error> {
    let mut scanner = Scanner::new(text);
    let mut nodes = Vec::new();
    let expect = Expect {
        dollar_escape: true,
        ..Expect::PARAMETER
    };
    loop {
        let start = scanner.position();
        match scanner.token(expect, |_, _| true) {
            Token::End => return Ok(nodes),
            Token::Text(text) => nodes.push(Node::Text(text)),
            Token::Open => {
                let mut parser = Parser {
                    text,
                    scanner: &mut scanner,
                };
                let expression = parser
                    .expression(start, 0)
                    .map_err(|kind| Error::new(kind, start))?;
                nodes.push(Node::Expression(expression));
            }
            Token::Close | Token::Other => return Err(Error::new(ErrorKind::BadSubstitution, start)),
        }
    }
}

/// Parses one expression; the scanner stands after `${`.
struct Parser<'s, 't> {
    text: &'t str,
    scanner: &'s mut Scanner<'t>,
}

impl<'t> Parser<'_, 't> {
    fn expression(&mut self, start: usize, depth: usize) -> Result<Expression<'t>, ErrorKind> {
        if depth > DEPTH_MAX {
            return Err(ErrorKind::TooDeep);
        }
        let (name, operator, arguments) = if self.scanner.peek() == Some('#') {
            self.length()?
        } else {
            let name = self.name().ok_or(ErrorKind::VariableName)?;
            let (operator, arguments) = self.operation(depth)?;
            (name, operator, arguments)
        };
        Ok(Expression {
            name,
            operator,
            arguments,
            span: start..self.scanner.position(),
        })
    }

    fn length(&mut self) -> Result<(&'t str, Operator, Vec<Node<'t>>), ErrorKind> {
        self.sign(|c, bytes| c == '#' && bytes == 1)?;
        let name = self.name().ok_or(ErrorKind::BadSubstitution)?;
        self.close()?;
        Ok((name, Operator::Length, Vec::new()))
    }

    /// What follows the name, up to and with the closing brace.
    fn operation(&mut self, depth: usize) -> Result<(Operator, Vec<Node<'t>>), ErrorKind> {
        match self.scanner.peek() {
            Some(':') => match self.scanner.peek_second() {
                Some('=' | '-' | '?' | '+') => self.default(depth),
                // Upstream steps back by the width of the next character instead of the colon's: only if that is one
                // byte wide does it find the colon again.
                Some(next) if next.len_utf8() == 1 => self.substring(depth),
                _ => Err(ErrorKind::BadSubstitution),
            },
            Some('=') => self.default(depth),
            Some(',' | '^') => self.casing(),
            Some('/') => self.replacing(depth),
            Some(mark @ ('#' | '%')) => self.trimming(mark, depth),
            _ => match self.scanner.token(Expect::CLOSE, |_, _| false) {
                Token::Close => Ok((Operator::Value, Vec::new())),
                _ => Err(ErrorKind::MissingClosingBrace),
            },
        }
    }

    fn default(&mut self, depth: usize) -> Result<(Operator, Vec<Node<'t>>), ErrorKind> {
        let sign = if self.scanner.peek() == Some('=') {
            self.sign(|c, bytes| c == '=' && bytes == 1)?
        } else {
            self.sign(|c, bytes| bytes == 1 && c == ':' || bytes == 2 && matches!(c, '=' | '-' | '?' | '+'))?
        };
        let sign = match &*sign {
            "=" => DefaultSign::Equal,
            ":=" => DefaultSign::ColonEqual,
            ":-" => DefaultSign::ColonMinus,
            ":+" => DefaultSign::ColonPlus,
            _ => DefaultSign::ColonQuestion,
        };
        let mut arguments = Vec::new();
        while self.scanner.peek() != Some('}') {
            arguments.push(self.parameter(Expect::PARAMETER, not_closing, depth)?);
        }
        self.close()?;
        Ok((Operator::Default(sign), arguments))
    }

    fn substring(&mut self, depth: usize) -> Result<(Operator, Vec<Node<'t>>), ErrorKind> {
        self.sign(|c, bytes| c == ':' && bytes == 1)?;
        let mut arguments = vec![self.parameter(Expect::PARAMETER, |c| c != ':' && c != '}', depth)?];
        match self.scanner.token(
            Expect {
                close: true,
                ..Expect::TEXT
            },
            |c, _| c == ':',
        ) {
            Token::Close => return Ok((Operator::Substring, arguments)),
            Token::Text(_) => {}
            _ => return Err(ErrorKind::BadSubstitution),
        }
        arguments.push(self.parameter(Expect::PARAMETER, not_closing, depth)?);
        self.close()?;
        Ok((Operator::Substring, arguments))
    }

    fn trimming(&mut self, mark: char, depth: usize) -> Result<(Operator, Vec<Node<'t>>), ErrorKind> {
        let sign = self.sign(|c, bytes| c == mark && bytes < 3)?;
        let operator = match &*sign {
            "#" => Operator::ShortestPrefix,
            "##" => Operator::LongestPrefix,
            "%" => Operator::ShortestSuffix,
            _ => Operator::LongestSuffix,
        };
        let pattern = self.parameter(Expect::PARAMETER, not_closing, depth)?;
        self.close()?;
        Ok((operator, vec![pattern]))
    }

    fn replacing(&mut self, depth: usize) -> Result<(Operator, Vec<Node<'t>>), ErrorKind> {
        let escaped = Expect {
            dollar_escape: true,
            backslash_escape: true,
            ..Expect::PARAMETER
        };
        let sign =
            self.sign(|c, bytes| bytes == 1 && c == '/' || bytes == 2 && matches!(c, '/' | '#' | '%'))?;
        let operator = match &*sign {
            "/" => Operator::ReplaceFirst,
            "//" => Operator::ReplaceAll,
            "/#" => Operator::ReplacePrefix,
            _ => Operator::ReplaceSuffix,
        };
        let mut arguments = vec![self.parameter(escaped, |c| c != '/', depth)?];
        self.sign(|c, _| c == '/')?;
        if self.scanner.peek() != Some('}') {
            arguments.push(self.parameter(escaped, not_closing, depth)?);
        }
        self.close()?;
        Ok((operator, arguments))
    }

    fn casing(&mut self) -> Result<(Operator, Vec<Node<'t>>), ErrorKind> {
        let sign = self.sign(|c, bytes| matches!(c, ',' | '^') && bytes < 3)?;
        let operator = match &*sign {
            "," => Operator::LowerFirst,
            ",," => Operator::Lower,
            "^" => Operator::UpperFirst,
            "^^" => Operator::Upper,
            _ => Operator::CaseKept,
        };
        self.close()?;
        Ok((operator, Vec::new()))
    }

    fn parameter(
        &mut self,
        expect: Expect,
        accept: impl Fn(char) -> bool,
        depth: usize,
    ) -> Result<Node<'t>, ErrorKind> {
        let start = self.scanner.position();
        match self.scanner.token(expect, |c, _| accept(c)) {
            Token::Open => Ok(Node::Expression(self.expression(start, depth + 1)?)),
            Token::Text(text) => Ok(Node::Text(text)),
            Token::End | Token::Close | Token::Other => Err(ErrorKind::Argument),
        }
    }

    /// The characters of an operator.
    fn sign(&mut self, accept: impl Fn(char, usize) -> bool) -> Result<Cow<'t, str>, ErrorKind> {
        match self.scanner.token(Expect::TEXT, accept) {
            Token::Text(sign) => Ok(sign),
            _ => Err(ErrorKind::BadSubstitution),
        }
    }

    /// A name: letters, digits and underscores of any script (F-622).
    fn name(&mut self) -> Option<&'t str> {
        let start = self.scanner.position();
        match self
            .scanner
            .token(Expect::TEXT, |c, _| c.is_alphanumeric() || c == '_')
        {
            Token::Text(_) => Some(&self.text[start..self.scanner.position()]),
            _ => None,
        }
    }

    fn close(&mut self) -> Result<(), ErrorKind> {
        match self.scanner.token(Expect::CLOSE, |_, _| false) {
            Token::Close => Ok(()),
            _ => Err(ErrorKind::BadSubstitution),
        }
    }
}

fn not_closing(c: char) -> bool {
    c != '}'
}
