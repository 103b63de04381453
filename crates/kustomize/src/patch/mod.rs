//! The two kinds of patches: strategic merge ([`strategic`]) and JSON Patch ([`json6902`]).

pub mod json6902;
pub mod strategic;
