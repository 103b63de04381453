//! What do charts and operators bring and do, and how long does it take?
//!
//! ```text
//! knowledge/**/*.yaml ─┐
//! a user's own files  ─┴─► File ─► Knowledge ─► chart(…) ─► Chart ─► kinds, workloads, webhooks, objects
//!                                            ├─► operator(…) ─► Operator ─► at_start, on_object: Effect
//!                                            ├─► custom_kind(…) ─► KindDef: names, scope, what its status says
//!                                            ├─► providers_of(…) ─► every known way in which a kind comes
//!                                            └─► timing, distribution, flux_release, manifest, storage_inference
//! ```
//!
//! Facts only: nothing here looks at a repository or runs anything. `docs/knowledge.md` documents the files.
//! An unknown chart or operator is None, never a guess; what the caller makes of that is an assumption of its own.

mod chart;
mod check;
mod condition;
mod distribution;
mod file;
mod kind;
mod lifecycle;
mod operator;
mod parts;
mod provider;
mod selector;
mod storage;
mod tables;
mod template;
mod timing;
mod version;

pub use chart::{Chart, ChartKinds, CrdMode, CrdsPolicy, chart_name};
pub use condition::{Condition, lookup};
pub use distribution::{Brings, Distribution, FluxRelease, Manifest};
pub use file::Error;
pub use kind::{KindDef, KindNeed, Scope, ServedVersion, StatusWrite, WaitProof};
pub use lifecycle::{Deprecation, Support, SupportedRelease};
pub use operator::{Effect, IfEmpty, KindTemplate, OnObject, Operator, ReadsOnce};
pub use parts::{FailurePolicy, ObjectTemplate, Webhook, WebhookKind, Workload, WorkloadKind};
pub use provider::Provider;
pub use selector::KindSelector;
pub use storage::{ClaimPropertySet, StorageInference, clone_strategy};
pub use tables::{BroughtKind, ChartRef, Knowledge, PlacedWorkload, place};
pub use template::Scope as TemplateScope;
pub use timing::Timing;
pub use version::{Version, VersionPoint, VersionRange};
