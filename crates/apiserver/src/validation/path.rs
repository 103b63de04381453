//! Where in an object: a path that costs nothing until it is printed.

use std::fmt;

/// A place in an object, as a chain of steps on the stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Root,
    Field(&'a str),
    Index(usize),
    /// The key of a map with free keys.
    Key(&'a str),
}

impl<'a> Path<'a> {
    pub(crate) const ROOT: Path<'static> = Path {
        parent: None,
        step: Step::Root,
    };

    pub(crate) fn field<'b>(&'b self, name: &'b str) -> Path<'b> {
        Path {
            parent: Some(self),
            step: Step::Field(name),
        }
    }

    pub(crate) fn index<'b>(&'b self, index: usize) -> Path<'b> {
        Path {
            parent: Some(self),
            step: Step::Index(index),
        }
    }

    pub(crate) fn key<'b>(&'b self, key: &'b str) -> Path<'b> {
        Path {
            parent: Some(self),
            step: Step::Key(key),
        }
    }
}

/// `spec.ports[0].name`, `data[key]`.
impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(formatter)?;
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Field(name) => {
                let is_first = self.parent.is_none_or(|parent| matches!(parent.step, Step::Root));
                write!(formatter, "{}{name}", if is_first { "" } else { "." })
            }
            Step::Index(index) => write!(formatter, "[{index}]"),
            Step::Key(key) => write!(formatter, "[{key}]"),
        }
    }
}
