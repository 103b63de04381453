//! Where objects live: by kind, namespace and name, and the log of everything that happened to them.
//!
//! Roads not taken: one big map cloned whole makes a fork of 100,000 objects cost milliseconds; a general persistent map
//! costs a dependency and slower reads. Sharing whole kinds and whole namespaces with `Arc`, copied on the first write
//! after a fork, keeps forks at the price of the number of kinds and reads at the price of three ordered lookups.

mod log;
mod objects;

pub use log::{Cursor, Event, EventType, Log};
pub(crate) use objects::{Objects, Stored};
