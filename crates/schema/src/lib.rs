//! What does Kubernetes know of a kind: is it namespaced, since when is it served, how do its lists merge?
//!
//! Three questions, three tables, all facts drawn from Kubernetes' own OpenAPI documents and embedded:
//!
//! - [`kinds`]: the built-in kinds of Kubernetes 1.25 to 1.37 with their scope, plural and the minors that serve
//!   them. The API server and the order graph ask it.
//! - [`Schema`]: which lists merge and by which keys. [`Schema::builtin_v1_21`] is what kustomize 5.8.1 merges by,
//!   [`Schema::current`] is for the API server, [`Schema::from_openapi`] reads the file of a kustomization's
//!   `openapi.path`.
//! - [`fields`]: which fields a kind has and of which type, for the API server and for Flux's normalisation (F-248).
//!
//! The tables are written by `data/generate.py`, whose head says where the documents come from. [`Schema`]
//! keeps only types from which a list that merges can be reached, which brings two megabytes down to fifty kilobytes.
//!
//! Absent on purpose: validation of values beyond their type, which is the API server's.

pub mod fields;
pub mod kinds;
mod merge;
mod openapi;

pub use kinds::{KUBERNETES_MINORS, Kind, Scope, Served, kind, scope, served};
pub use merge::{ListType, Schema, TypeRef};
pub use openapi::OpenApiError;
