//! The embedded Kubernetes API server: what does the cluster hold, and what does it answer to a request?
//!
//! ```text
//! Request ──► resolve kind ──► merge, default ──► admission ──► validate ──► store ──► Event log ──► watches
//! ```
//!
//! A plain state machine over virtual time: no sockets, no threads, no clock. The harness hands in the time with
//! [`ApiServer::advance`] and asks for the next moment at which something happens by itself (a CRD becomes
//! Established, a namespace finishes terminating) with [`ApiServer::next_wakeup`]. Same requests at the same times: same
//! states, same log. A server is cheap to clone, so "what if" is a branch.
//!
//! Absent on purpose: authentication, RBAC checks of requests (who asks for one calls [`ApiServer::authorize`]), quotas, priorities and fairness, pod disruption budgets, and the
//! `managedFields` inside objects (see [`ApiServer::managers`]).

mod apply;
pub mod cel;
mod crd;
mod defaults;
mod discovery;
mod error;
pub mod invariants;
mod rbac;
mod request;
mod server;
mod store;
mod time;
mod validation;

pub use apply::{FieldSet, Manager, Managers, Operation, PathElement};
pub use crd::{CrdSketch, Definition, Structural, declare_flux_fields};
pub use discovery::{Resource, Scope};
pub use error::{ApiError, Cause, Reason};
pub use rbac::Account;
pub use request::{Apply, Outcome, Propagation, Request, Response, Target};
pub use server::{ApiServer, Delays, Options, Webhook};
pub use store::{Cursor, Event, EventType, Log};
pub use time::{Duration, Time};
pub use validation::{ErrorClass, FieldError, misfits, validate, validate_custom};
