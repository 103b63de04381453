//! Does an empty cluster come up? Sets the stage, plays the cold start, and explains what came of it.
//!
//! ```text
//! RenderedCluster ─┐
//! Stage            ├─► Script ── set_stage ──► World ── run ──► Explainer ──► ClusterReport
//! OrderGraph       │                             ▲
//! Knowledge        ┘              seeds, schedules, a new revision, an object applied by hand
//! ```
//!
//! What follows from the files alone comes in as findings; a rehearsal attaches what it saw, and adds what only playing
//! shows. Absent on purpose: reading repositories, rules, and how anything looks on a terminal.

mod contents;
mod critical;
mod durations;
mod explain;
mod faults;
mod findings;
mod gate;
mod owners;
mod pre_apply;
mod rehearsal;
mod report;
mod rules;
mod safety;
mod schedules;
mod stage;
mod transition;
mod waits;
mod why;

pub use contents::RepositoryContents;
pub use explain::Explainer;
pub use faults::{FAULTS, FaultError, Troubles};
pub use owners::{FieldManager, OwnedObject, Owner};
pub use pre_apply::{PreApplied, PreApply, Proof};
pub use rehearsal::{Options, Rehearsal, Script};
pub use rules::{RUN_RULES, RunRule, run_rule};
pub use safety::BrokenLaw;
pub use transition::{Gap, Transition};
