//! What is there before Flux's first pass, and what does a release of a chart bring?
//!
//! ```text
//! helmfiles ─┐
//! firstpass.yaml ─┼─► Stage: distribution, seeded releases and objects, known kinds
//! distribution ─┘
//! HelmRelease ──► Release ──facts──► kinds, workloads, operators, webhooks, objects
//! ```
//!
//! Two of five public home repositories run a helmfile before Flux; what it seeds is as much a part of a cold start as
//! Kubernetes itself. Both the order graph and the simulator start from the same [`Stage`].
//!
//! Absent on purpose: time. When a chart is ready and when an operator acts is for the simulator.

mod helmfile;
mod release;
mod stage;
mod values;

pub use helmfile::{Helmfile, HelmfileRelease};
pub use release::{ChartName, Found, PlacedWebhook, Release, ReleaseFacts};
pub use stage::{SeededRelease, Stage, StageOptions, StagedKind};
