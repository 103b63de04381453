//! Looking things up by their identity, in clusters of any size.
//!
//! A search in an ordered map compares some twenty identities among 100,000, and each lies elsewhere in memory. A hash
//! finds the place at once. Entries keep the order in which they came, so iterating is as repeatable as with an ordered
//! map; whoever needs them sorted takes one of those.

use std::hash::{BuildHasherDefault, DefaultHasher};

use indexmap::{IndexMap, IndexSet};

use crate::ObjectId;

/// A hash without a random seed: the same in every run.
pub type FixedState = BuildHasherDefault<DefaultHasher>;

/// A map by object.
pub type ObjectMap<V> = IndexMap<ObjectId, V, FixedState>;

/// A set of whatever says which object it is.
pub type FixedSet<T> = IndexSet<T, FixedState>;
