//! The one error of this crate: what is wrong with a text, and where.

use crate::Mark;

/// Why a text could not be read, or why a value could not be made of it.
///
/// The wording follows go-yaml where its wording is clear, so that a search for the message finds what people know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", Prefix(self.mark))]
pub struct ParseError {
    /// What is wrong, in one line.
    pub message: String,
    /// Where; [`Mark::NONE`] if no text stands behind the node in question.
    pub mark: Mark,
}

impl ParseError {
    /// An error at a place.
    pub fn new(message: impl Into<String>, mark: Mark) -> ParseError {
        ParseError {
            message: message.into(),
            mark,
        }
    }
}

/// Writes `line N: `, or nothing where there is no line.
struct Prefix(Mark);

impl std::fmt::Display for Prefix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Mark::NONE => Ok(()),
            mark => write!(f, "line {}: ", mark.line),
        }
    }
}
