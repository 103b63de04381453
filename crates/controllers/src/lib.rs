//! What do the controllers of a cluster do when something changes, and when?
//!
//! Each controller is a state machine: it is told of changes and of the time, asks the API server for what it needs, and
//! says when it wants to be woken next.
//!
//! ```text
//! API server ── changes ──► Controller::observe ──► its queue and timers
//! clock ───────── now ────► Controller::wake ────► requests to the API server, lines of the journal
//!                           Controller::next_wake ──► clock
//! ```
//!
//! Absent on purpose: clocks, threads, sockets, and chance. How long things take comes through [`Delays`], what sources
//! hold through [`Contents`]. The one who drives the controllers is crate `sim`.

mod addresses;
mod context;
mod disks;
mod flux_api;
mod flux_rest;
mod helm;
mod journal;
pub mod kustomization;
pub mod made;
mod marks;
mod operator;
mod queue;
pub mod readiness;
mod source;
mod status;
mod storage;
mod time;
mod timers;
mod trouble;
mod workers;
mod workload;

pub use addresses::{AddressClaim, AddressController, Pool, pools_of};
pub use context::{Artifact, BuildFailure, Built, Contents, Context, Controller, Delays};
pub use disks::{DiskController, Stamp};
pub use flux_rest::FluxRestController;
pub use helm::{HelmController, ReleaseRecord};
pub use journal::{Journal, Line};
pub use kustomization::KustomizationController;
pub use operator::{Deed, OperatorController};
pub use source::{SourceController, SourceRecord};
pub use storage::classes::is_default as is_default_class;
pub use storage::{ClaimRecord, ClaimWait, StorageController};
pub use trouble::{NoTroubles, Trouble, Troubles};
pub use workload::{Record as WorkloadRecord, WorkloadController};
