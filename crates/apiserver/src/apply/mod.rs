//! Server-side apply: which fields does each manager own, and what does an object become when one of them applies?
//!
//! ```text
//! live + config ──► merged ──► minus what the manager owned before and no longer states, unless another owns it
//! ```
//!
//! The model is structured-merge-diff's: a [`FieldSet`] is a set of paths; lists are atomic, sets, or keyed by some of
//! their items' fields, and the [`Shape`] of the kind says which.

mod compare;
mod fieldset;
mod managers;
mod merge;
mod shape;

pub(crate) use compare::compare;
pub use fieldset::{FieldSet, PathElement};
pub use managers::{Manager, Managers, Operation};
pub(crate) use merge::{holds, merge, remove_owned};
pub(crate) use shape::{Key, ListShape, Shape};
