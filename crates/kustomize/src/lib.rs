//! What does `kustomize build` make of a directory? Pure: bytes in, objects out.
//!
//! `kustomization file ──► accumulated resources ──► transformed ──► names hashed, references and vars resolved ──► objects`
//!
//! Every directory is built depth first by the same steps; the steps after the last arrow but one happen once, at the
//! end. The output is that of kustomize 5.8.1, called either as its command line does or as Flux does (F-800 to F-816).
//!
//! Absent on purpose: whatever executes (plugins, Helm, starlark), the network, and Flux's rewriting of the root
//! kustomization file, which belongs to `render` and reaches the build as [`file::KustomizationFile`].

mod accumulator;
mod ahead;
mod build;
mod config;
mod error;
pub mod fieldspec;
pub mod file;
mod first;
mod generator;
mod hash;
mod loader;
mod objects;
mod order;
pub mod patch;
mod plugin;
mod provenance;
mod remote;
pub mod replacement;
pub mod resid;
mod resmap;
mod resource;
pub mod scalar;
mod schemas;
pub mod selector;
mod session;
mod shared;
mod side_by_side;
mod target;
mod transformer;
pub mod vars;

pub use build::{Build, Mode, Options, Remote, Resource, Warning, build};
pub use error::Error;
pub use remote::RemoteRef;
