//! What does a YAML text say, and where; and how do Kubernetes tools write it?
//!
//! `text ──parse──► Document(Node) ──to_json──► serde_json::Value ──emit──► text`
//!
//! [`Node`] is faithful to the text: a scalar keeps its raw spelling beside the tag that go-yaml gives it, because
//! kustomize moves spellings around (`1.10` stays `1.10` inside a replaced string). [`serde_json::Value`] is what the
//! text means; everything past `kustomize build` works on it.
//!
//! Absent on purpose: comments (they never reach the output of a build), and any knowledge of Kubernetes.

mod config;
mod decode;
mod emit;
mod encoding;
mod error;
mod events;
mod json;
mod locate;
mod node;
mod parse;
mod refold;
mod resolve;
mod timestamp;
mod tree;

pub use decode::{DecodeError, distance, from_node, nearest};
pub use emit::{Writer, emit, emit_all, go_float};
pub use encoding::decode;
pub use error::ParseError;
pub use locate::{Documents, Found, PathSegment, Span, locate, locate_nearest};
pub use node::{Map, Mark, Node, NodeKind, Scalar, Style, Tag};
pub use parse::{Document, parse_all, parse_one};
