//! How does a report look to a person on a terminal, and to a program?
//!
//! One renderer per format, all of the same [`firstpass_diagnostics::Report`]. A renderer gets the tree as well, because
//! the line behind a finding is read when it is shown.
//!
//! Absent on purpose: deciding anything. What is in the report was found elsewhere; what is shown is all of it.

mod clean;
mod duration;
mod findings;
mod json;
mod text;
mod timeline;
mod wrap;

pub use json::to_json;
pub use text::{Style, finding_to_text, to_text};
