//! What is this object: identity, field access, origin, and how healthy does its status say it is?
//!
//! Content is a `serde_json::Value`; this crate only knows how to look into it.

mod fields;
mod identity;
mod index;
pub mod kstatus;
mod origin;
pub mod quantity;
mod selector;
mod timestamp;

pub use fields::{ObjectExt, annotation, label_or_annotation};
pub use identity::{GroupKind, GroupVersionKind, ObjectId, TierName, group_of, version_of};
pub use index::{FixedSet, FixedState, ObjectMap};
pub use origin::{Origin, Step};
pub use selector::{selects, selects_text};
pub use timestamp::{format_timestamp, parse_timestamp};
