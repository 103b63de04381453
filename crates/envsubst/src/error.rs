//! What Flux refuses, in Flux's words.

use std::fmt;

/// A text that cannot be substituted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// Where the outermost expression at fault starts, in bytes.
    pub offset: usize,
}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// An expression is not complete, or has something after its operator.
    BadSubstitution,
    /// Something follows the name that is no operator.
    MissingClosingBrace,
    /// There is no name.
    VariableName,
    /// An operator lacks its argument.
    Argument,
    /// A variable is not set, in a strict mode (F-650).
    NotSet {
        /// The variable.
        name: String,
    },
    /// A negative length: the controller panics and recovers (F-636).
    NegativeLength,
    /// A substring cuts a character in two, and what remains is no text.
    NotText,
    /// Expressions are nested deeper than firstpass follows.
    TooDeep,
    /// A value is too long to match a pattern against.
    TooLong,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, offset: usize) -> Error {
        Error { kind, offset }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::BadSubstitution => formatter.write_str("bad substitution"),
            ErrorKind::MissingClosingBrace => formatter.write_str("missing closing brace"),
            ErrorKind::VariableName => formatter.write_str("unable to parse variable name"),
            ErrorKind::Argument => formatter.write_str("unable to parse substitution within function"),
            ErrorKind::NotSet { name } => write!(formatter, "variable not set (strict mode): \"{name}\""),
            ErrorKind::NegativeLength => {
                formatter.write_str("slice bounds out of range (negative substring length)")
            }
            ErrorKind::NotText => formatter.write_str("a substring cuts a character in two"),
            ErrorKind::TooDeep => formatter.write_str("expressions are nested too deep"),
            ErrorKind::TooLong => formatter.write_str("the value is too long to match a pattern against"),
        }
    }
}

impl std::error::Error for Error {}
