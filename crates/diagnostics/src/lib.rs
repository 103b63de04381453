//! What is wrong, where, why, and what to do: the finding, and the report made of findings.
//!
//! `Finding`s ──► `ClusterReport` per cluster entry ──► `Report` ──► a renderer per format (crate `report`).
//!
//! The shape of [`Report`] is a contract: people's scripts read it. Its JSON Schema is `schemas/report.schema.json`.
//! Absent on purpose: how anything looks on a terminal.

mod duration;
mod finding;
mod gate;
mod report;
mod sampled;

pub use duration::duration_text;
pub use finding::{Finding, Location, ObjectRef, Severity, Side, Verdict};
pub use gate::{BlastRadius, Proof, ProofLevel};
pub use report::{
    Assumption, Baseline, ClusterReport, Coverage, Effect, Report, SCHEMA_VERSION, SuppressedBy,
    SuppressedFinding, Tier, TierState, Tool, WaitingFor, WaitingOn,
};
pub use sampled::{Frequency, Leg, Sampled, ScheduleDuration, ScheduleOutcome, Span};
