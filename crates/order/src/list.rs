//! Lists of tiers that people keep by hand, in a script or a document, and how they compare with the graph.

mod compare;
mod find;
mod shell;
#[cfg(test)]
mod tests;

use firstpass_object::TierName;
use serde::Serialize;

pub use find::find_list;

/// A list of tiers that somebody wrote down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandList {
    /// How it is written.
    pub form: ListForm,
    /// The line on which it begins, from 1.
    pub line: u32,
    /// What it holds, in order.
    pub entries: Vec<ListEntry>,
}

/// How a list is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListForm {
    /// A shell array, the words of a `for`, or words in a quoted string.
    Shell,
    /// A YAML or Markdown list, or a list in brackets.
    List,
    /// One name per line.
    Lines,
    /// Commands that name one Flux Kustomization each.
    Commands,
}

/// One entry of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListEntry {
    /// As written: `platform`, or `flux-system/platform`.
    pub text: String,
    /// Its line, from 1.
    pub line: u32,
}

/// Something in which a list and the graph differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "problem", rename_all = "kebab-case")]
pub enum ListProblem {
    /// A tier that the list lacks.
    Missing {
        /// The tier.
        tier: TierName,
        /// The last tier of the list that it comes after.
        after: Option<TierName>,
        /// The first tier of the list that comes after it.
        before: Option<TierName>,
    },
    /// A tier that stands before one that it comes after.
    TooEarly {
        /// The tier.
        tier: TierName,
        /// Its line.
        line: u32,
        /// Those that it has to follow and that stand behind it, each with the reason.
        follows: Vec<Reason>,
    },
    /// A tier that stands behind those that come after it.
    TooLate {
        /// The tier.
        tier: TierName,
        /// Its line.
        line: u32,
        /// Those that have to follow it and that stand before it, each with the reason.
        precedes: Vec<Reason>,
    },
    /// An entry that names no tier.
    Unknown {
        /// The entry.
        entry: String,
        /// Its line.
        line: u32,
        /// A tier of a similar name.
        nearest: Option<TierName>,
    },
    /// A name that several tiers have.
    Ambiguous {
        /// The entry.
        entry: String,
        /// Its line.
        line: u32,
        /// Those that have it.
        tiers: Vec<TierName>,
    },
    /// A tier that is listed a second time.
    Twice {
        /// The tier.
        tier: TierName,
        /// The line of the second time.
        line: u32,
        /// The line of the first.
        first_line: u32,
    },
}

/// Why one tier comes after another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Reason {
    /// The other tier.
    pub tier: TierName,
    /// What orders the two: `dependsOn`, `creates it`, `brings kind …`.
    pub why: String,
}
