//! What does Kubernetes know of a kind: is it namespaced, since when is it served, how do its lists merge?
//!
//! Two questions, two tables, both facts drawn from Kubernetes' own OpenAPI documents and embedded:
//!
//! - [`kinds`]: the built-in kinds of Kubernetes 1.25 to 1.37 with their scope, plural and the minors that serve
//!   them. The API server and the order graph ask it.
//! - [`Schema`]: which lists merge and by which keys. [`Schema::builtin_v1_21`] is what kustomize 5.8.1 merges by,
//!   [`Schema::current`] is for the API server, [`Schema::from_openapi`] reads the file of a kustomization's
//!   `openapi.path`.
//!
//! The tables are written by `data/generate.py`, whose head says where the documents come from. Only types from
//! which a list that merges can be reached are kept, which brings two megabytes down to fifty kilobytes.
//!
//! Absent on purpose: validation of fields; [`Schema`] knows the shape of lists, not what may stand in them.

pub mod kinds;
mod merge;
mod openapi;

pub use kinds::{KUBERNETES_MINORS, Kind, Scope, Served, kind, scope, served};
pub use merge::{ListType, Schema, TypeRef};
pub use openapi::OpenApiError;
