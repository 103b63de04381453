//! Why a directory cannot be built: where, what, why, and what to do.

use std::fmt;

use firstpass_source::RepoPath;
use firstpass_yaml::{Mark, ParseError};

/// Why a directory cannot be built. One error ends a build, as it does in kustomize.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Error {
    /// The file at fault, if it is known.
    pub file: Option<RepoPath>,
    /// The line at fault, from 1; 0 if there is none to point at.
    pub line: u32,
    /// The column, from 1; 0 if there is none to point at.
    pub column: u32,
    /// What is wrong, in one sentence that makes sense alone.
    pub what: String,
    /// How the build came to the place: the kustomization files that led there, outermost last.
    pub why: Option<String>,
    /// What to do about it.
    pub help: Option<String>,
    /// What kustomize itself says, where that is known to be something else. It names files by the directory that the build
    /// runs in, which is `…` here.
    pub upstream: Option<Box<str>>,
}

impl Error {
    /// An error without a place yet.
    pub fn new(what: impl Into<String>) -> Error {
        Error {
            what: what.into(),
            ..Error::default()
        }
    }

    /// What a text that is no YAML amounts to.
    pub(crate) fn unreadable(file: &RepoPath, error: &ParseError) -> Error {
        let message = &error.message;
        let help = if message.contains("alias") {
            "write the values out, or use fewer aliases of aliases: the API server would not take an object of this size"
        } else if message.contains("levels deep") {
            "no Kubernetes object is nested this deeply; look for brackets or indentation that never end"
        } else if message.contains("UTF-8") {
            "save the file as UTF-8; binary content belongs into a generator's `files`"
        } else {
            "correct the text at this place; what comes before it was read"
        };
        Error::new(format!("`{file}` is not valid YAML: {message}"))
            .at(file, error.mark)
            .help(help)
    }

    /// Points at a place, unless the error already points at one.
    pub(crate) fn at(mut self, file: &RepoPath, mark: Mark) -> Error {
        if self.file.is_none() {
            self.file = Some(file.clone());
            self.line = mark.line;
            self.column = mark.column;
        }
        self
    }

    /// Says how the build got here. The innermost reason comes first.
    pub(crate) fn because(mut self, why: impl Into<String>) -> Error {
        let why = why.into();
        self.why = Some(match self.why {
            Some(inner) => format!("{inner}; {why}"),
            None => why,
        });
        self
    }

    /// What kustomize says: [`Error::upstream`], or else what we say.
    pub fn upstream_text(&self) -> &str {
        self.upstream.as_deref().unwrap_or(&self.what)
    }

    /// Puts what kustomize says into what it says at the level above.
    pub(crate) fn said(mut self, outer: impl FnOnce(&str) -> String) -> Error {
        self.upstream = Some(outer(self.upstream_text()).into());
        self
    }

    /// Says what to do, unless the place that knew more has said so.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Error {
        self.help.get_or_insert_with(|| help.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}")?;
            if self.line > 0 {
                write!(f, ":{}", self.line)?;
            }
            if self.line > 0 && self.column > 0 {
                write!(f, ":{}", self.column)?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.what)?;
        if let Some(why) = &self.why {
            write!(f, "\n  why: {why}")?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
