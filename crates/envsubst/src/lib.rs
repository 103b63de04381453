//! What does Flux's variable substitution make of a text? Pure.
//!
//! `text ── parse ──► Template(Text | Expression)* ── expand(lookup) ──► Expansion`
//!
//! The dialect is that of fluxcd/pkg/envsubst, which looks like a shell's and is not (F-620 to F-643): all default
//! operators act alike, `$$` collapses everywhere, substrings count bytes. A value can be unknown: then its expression
//! stays as it is written, and the expansion says so.
//!
//! Absent on purpose: YAML, and where variables come from. See `render` for both.

mod error;
mod expand;
pub mod glob;
mod parse;
mod scan;

use std::borrow::Cow;
use std::ops::Range;

pub use error::{Error, ErrorKind};
pub use expand::{Expansion, Lookup, Mode};

/// A text, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template<'t> {
    text: &'t str,
    nodes: Vec<Node<'t>>,
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node<'t> {
    /// Text that stands for itself, `$$` already collapsed.
    Text(Cow<'t, str>),
    /// `${…}`.
    Expression(Expression<'t>),
}

/// One `${…}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression<'t> {
    /// The variable.
    pub name: &'t str,
    /// What is done with it.
    pub operator: Operator,
    /// What the operator works with: a default in pieces, a pattern, a position, …
    pub arguments: Vec<Node<'t>>,
    /// Where the expression is in the text, in bytes, from `$` to `}`.
    pub span: Range<usize>,
}

/// What an expression does with its variable (F-630 to F-639).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `${v}`
    Value,
    /// `${v:=d}`, `${v:-d}`, `${v=d}`, and with the very same effect `${v:+d}` and `${v:?d}`.
    Default(DefaultSign),
    /// `${#v}`: length in bytes.
    Length,
    /// `${v^}`
    UpperFirst,
    /// `${v^^}`
    Upper,
    /// `${v,}`
    LowerFirst,
    /// `${v,,}`
    Lower,
    /// `${v^,}` and `${v,^}`, which change nothing.
    CaseKept,
    /// `${v:n}`, `${v:n:l}`: in bytes.
    Substring,
    /// `${v#p}`
    ShortestPrefix,
    /// `${v##p}`
    LongestPrefix,
    /// `${v%p}`
    ShortestSuffix,
    /// `${v%%p}`
    LongestSuffix,
    /// `${v/p/r}`
    ReplaceFirst,
    /// `${v//p/r}`
    ReplaceAll,
    /// `${v/#p/r}`
    ReplacePrefix,
    /// `${v/%p/r}`
    ReplaceSuffix,
}

/// How a default operator is spelled. A shell tells them apart; Flux does not (F-632).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultSign {
    /// `=`
    Equal,
    /// `:=`
    ColonEqual,
    /// `:-`
    ColonMinus,
    /// `:+`, which a shell reads as "the alternative if it is set".
    ColonPlus,
    /// `:?`, which a shell reads as "fail if it is unset".
    ColonQuestion,
}

impl<'t> Template<'t> {
    /// Takes a text apart.
    ///
    /// ```
    /// use firstpass_envsubst::{Lookup, Mode, Template};
    /// let template = Template::parse("host: ${NAME:=web}.${DOMAIN}")?;
    /// let expansion = template.expand(Mode::Strict, |name| match name {
    ///     "DOMAIN" => Lookup::Known("example.com".into()),
    ///     _ => Lookup::Unset,
    /// })?;
    /// assert_eq!(expansion.text, "host: web.example.com");
    /// # Ok::<(), firstpass_envsubst::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first expression that Flux cannot parse; the build stops there in every mode (F-643).
    pub fn parse(text: &'t str) -> Result<Template<'t>, Error> {
        Ok(Template {
            text,
            nodes: parse::parse(text)?,
        })
    }

    /// Whether a text comes out of substitution as it is: it has nothing that is special.
    pub fn is_plain(text: &str) -> bool {
        !text.contains("${") && !text.contains("$$") && !text.contains('\0')
    }

    /// The pieces in order.
    pub fn nodes(&self) -> &[Node<'t>] {
        &self.nodes
    }

    /// The text that was parsed.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// All expressions in the order of the text, nested ones after the one that holds them.
    pub fn expressions(&self) -> Vec<&Expression<'t>> {
        let mut found = Vec::new();
        collect(&self.nodes, &mut found);
        found
    }

    /// Puts values in.
    ///
    /// # Errors
    /// In a strict mode a variable that is not set; in any mode an operation that Flux fails on.
    pub fn expand<'v>(&self, mode: Mode, lookup: impl FnMut(&str) -> Lookup<'v>) -> Result<Expansion, Error> {
        expand::expand(self, mode, lookup)
    }
}

impl Operator {
    /// Whether the operator has an answer for a variable that is not set (F-650).
    pub fn tolerates_unset(self) -> bool {
        matches!(self, Operator::Default(_))
    }
}

fn collect<'n, 't>(nodes: &'n [Node<'t>], found: &mut Vec<&'n Expression<'t>>) {
    for node in nodes {
        if let Node::Expression(expression) = node {
            found.push(expression);
            collect(&expression.arguments, found);
        }
    }
}
