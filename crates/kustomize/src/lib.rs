//! What does `kustomize build` make of a directory? Pure: bytes in, objects out.
//!
//! `kustomization file ──► accumulated resources ──► transformed ──► names hashed, references and vars resolved ──► objects`
//!
//! Every directory is built depth first by the same steps; the steps after the last arrow but one happen once, at the
//! end. The output is that of kustomize 5.8.1, called either as its command line does or as Flux does (F-800 to F-816).
//!
//! Absent on purpose: whatever executes (plugins, Helm, starlark), the network, and Flux's rewriting of the root
//! kustomization file, which belongs to `render` and reaches the build as [`file::KustomizationFile`].

mod error;
pub mod fieldspec;
pub mod file;
pub mod patch;
pub mod resid;
pub mod scalar;
pub mod selector;
pub mod vars;

pub use error::Error;
