//! Reading a text token by token.
//!
//! What a token is depends on what the parser expects: [`Scanner::token`] is told which characters a text token may
//! hold and which special tokens count. A NUL character ends the text (F-624).

use std::borrow::Cow;

/// Where the scanner is in a text.
pub(crate) struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Token<'t> {
    /// The end of the text.
    End,
    /// `${`
    Open,
    /// `}`
    Close,
    /// Characters that were asked for.
    Text(Cow<'t, str>),
    /// Something else.
    Other,
}

/// Which tokens count besides [`Token::End`].
#[derive(Clone, Copy, Default)]
pub(crate) struct Expect {
    /// [`Token::Text`].
    pub(crate) text: bool,
    /// [`Token::Open`], which also ends a text token.
    pub(crate) open: bool,
    /// [`Token::Close`].
    pub(crate) close: bool,
    /// `$$` is a `$`.
    pub(crate) dollar_escape: bool,
    /// `\/` is a `/` and `\\` is a `\`.
    pub(crate) backslash_escape: bool,
}

impl Expect {
    /// A text token and nothing else.
    pub(crate) const TEXT: Expect = Expect {
        text: true,
        open: false,
        close: false,
        dollar_escape: false,
        backslash_escape: false,
    };
    /// A closing brace and nothing else.
    pub(crate) const CLOSE: Expect = Expect {
        text: false,
        close: true,
        ..Expect::TEXT
    };
    /// A text token or an expression.
    pub(crate) const PARAMETER: Expect = Expect {
        open: true,
        ..Expect::TEXT
    };
}

impl<'t> Scanner<'t> {
    pub(crate) fn new(text: &'t str) -> Scanner<'t> {
        Scanner { text, at: 0 }
    }

    /// The byte position of what comes next.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// The next character, if the text does not end here.
    pub(crate) fn peek(&self) -> Option<char> {
        self.peek_at(self.at)
    }

    /// The character after the next one.
    pub(crate) fn peek_second(&self) -> Option<char> {
        self.peek_at(self.at + self.peek()?.len_utf8())
    }

    /// Reads a token. `accept` gets a character and how many bytes the text token has with it.
    pub(crate) fn token(&mut self, expect: Expect, accept: impl Fn(char, usize) -> bool) -> Token<'t> {
        let Some(first) = self.peek() else {
            return Token::End;
        };
        if expect.open && self.at_open() {
            self.at += 2;
            return Token::Open;
        }
        if expect.close && first == '}' {
            self.at += 1;
            return Token::Close;
        }
        if !expect.text {
            return Token::Other;
        }
        let mut token = Cow::Borrowed("");
        while let Some(next) = self.peek() {
            if expect.open && self.at_open() {
                break;
            }
            if self.at_escape(expect) {
                // The first of the two characters is dropped, the second stands for itself.
                token.to_mut().push_str(&self.text[self.at + 1..self.at + 2]);
                self.at += 2;
                continue;
            }
            if !accept(next, token.len() + next.len_utf8()) {
                break;
            }
            let end = self.at + next.len_utf8();
            match &mut token {
                Cow::Borrowed(text) => *text = &self.text[self.at - text.len()..end],
                Cow::Owned(text) => text.push(next),
            }
            self.at = end;
        }
        if token.is_empty() {
            Token::Other
        } else {
            Token::Text(token)
        }
    }

    fn peek_at(&self, at: usize) -> Option<char> {
        self.text.get(at..)?.chars().next().filter(|next| *next != '\0')
    }

    fn at_open(&self) -> bool {
        self.text[self.at..].starts_with("${")
    }

    fn at_escape(&self, expect: Expect) -> bool {
        let rest = &self.text[self.at..];
        expect.dollar_escape && rest.starts_with("$$")
            || expect.backslash_escape && (rest.starts_with("\\/") || rest.starts_with("\\\\"))
    }
}
