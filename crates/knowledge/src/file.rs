//! One data file: its sections as they are written, and what is wrong with it.

use std::collections::BTreeMap;

use firstpass_yaml::{Mark, from_node};
use serde::Deserialize;

use crate::chart::Chart;
use crate::distribution::{Distribution, FluxRelease, Manifest};
use crate::kind::KindGroup;
use crate::lifecycle::{Deprecation, Support};
use crate::operator::Operator;
use crate::storage::StorageInference;
use crate::timing::TimingEntry;

/// A knowledge file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The file as its reader was told.
    pub file: String,
    /// Line, from 1; 0 if the whole file is meant.
    pub line: u32,
    /// Column, from 1; 0 if the whole file is meant.
    pub column: u32,
    /// What is wrong.
    pub message: String,
}

impl Error {
    pub(crate) fn new(file: &str, mark: Mark, message: impl Into<String>) -> Error {
        Error {
            file: file.to_owned(),
            line: mark.line,
            column: mark.column,
            message: message.into(),
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.message),
            line => write!(f, "{}:{line}:{}: {}", self.file, self.column, self.message),
        }
    }
}

impl std::error::Error for Error {}

/// The sections of a file, each optional.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct File {
    pub(crate) charts: Vec<Chart>,
    pub(crate) operators: Vec<Operator>,
    pub(crate) kinds: Vec<KindGroup>,
    pub(crate) manifests: Vec<Manifest>,
    pub(crate) distributions: Vec<Distribution>,
    pub(crate) flux: Vec<FluxRelease>,
    pub(crate) storage: Vec<StorageInference>,
    pub(crate) timing: BTreeMap<String, TimingEntry>,
    pub(crate) deprecations: Vec<Deprecation>,
    pub(crate) support: Vec<Support>,
}

impl File {
    /// Reads a file; more documents in one text are more sections.
    pub(crate) fn parse(text: &str, name: &str) -> Result<Vec<File>, Error> {
        let documents =
            firstpass_yaml::parse_all(text).map_err(|error| Error::new(name, error.mark, error.message))?;
        let nodes = documents
            .iter()
            .map(|document| &document.root)
            .filter(|node| !node.is_null());
        nodes
            .map(|node| {
                from_node::<File>(node).map_err(|error| {
                    let path = if error.path.is_empty() {
                        String::new()
                    } else {
                        format!("in `{}`: ", error.path)
                    };
                    Error::new(name, error.mark, format!("{path}{}", error.message))
                })
            })
            .collect()
    }
}
