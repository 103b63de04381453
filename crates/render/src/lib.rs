//! What would Flux apply: repository and cluster entry to [`RenderedCluster`].
//!
//! ```text
//! Repository ── entry ──► seeds ──► Tier ── build ──► substitute ──► RenderedObjects ──► child Tiers, variables ─┐
//!                                    ▲                                                                          │
//!                                    └──────────────── until nothing changes ◄──────────────────────────────────┘
//! ```
//!
//! The static rendering takes variables from everything that is rendered anywhere. A simulator runs the same two steps
//! of an attempt itself and answers variables from what its cluster holds at that moment ([`Variables`]).
//!
//! Broken input is normal input: one tier that cannot be built is a [`TierFailure`], and the others still render.
//!
//! Absent on purpose: Helm charts, ResourceSet templates, real decryption, the network.

mod cluster;
mod config;
mod entry;
mod failure;
mod rendered;
mod variables;

pub use cluster::{AssumedData, MadeBy, Outcome, RemotePart, RenderedCluster, Tier};
pub use config::{
    BaselineConfig, CONFIG_FILE, ClusterConfig, Config, ConfigError, Distribution, Invariant, LocalSource,
    Overlays, RuleLevel,
};
pub use entry::{Entry, Sync, TierSource};
pub use failure::{TierFailure, Unrendered, UnrenderedReason};
pub use rendered::{Encryption, RenderedObject, UnknownVariable};
pub use variables::{Data, DataKind, Datum, OPEN_KEY, UNKNOWN_VALUE, Variables};
