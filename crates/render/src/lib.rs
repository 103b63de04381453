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

mod artifact;
mod artifacts;
mod assumptions;
mod builder;
mod cluster;
mod compose;
mod config;
mod decrypt_sources;
mod detect;
mod entry;
mod explain;
mod failure;
mod generate;
mod ignore;
mod locate;
mod made;
mod metadata;
mod reads;
mod render;
mod rendered;
mod repository;
mod retype;
mod seeds;
mod snapshot;
mod sops;
mod substitute;
mod survey;
mod syncs;
mod variables;

pub use builder::{BuildOutcome, Built, BuiltObject, TierBuilder};
pub use cluster::{AssumedData, MadeBy, Outcome, RemotePart, RenderedCluster, Tier};
pub use config::{
    BaselineConfig, CONFIG_FILE, ClusterConfig, Config, ConfigError, Distribution, Invariant, LocalSource,
    NodeConfig, Overlays, Pin, PinPlace, RuleLevel, SuppressConfig, Taint,
};
pub use entry::{Entry, Sync, TierSource};
pub use failure::{TierFailure, Unrendered, UnrenderedReason};
pub use render::{Options, render_cluster};
pub use rendered::{Encryption, RenderedObject, UnknownVariable};
pub use repository::{EntryError, Repository};
pub use variables::{Data, DataKind, Datum, OPEN_KEY, UNKNOWN_VALUE, Variables};
