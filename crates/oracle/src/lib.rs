//! Does the simulator do what the real controllers do, and the embedded API server answer as the real one ([`requests`])?
//!
//! ```text
//! oracle/scenarios/NAME.txt ─┬─► real world (Go, oracle/) ─► changes ─┬─► narrate ─► recording ─┬─► compare
//!                            └─► World (crate sim) ────────► changes ─┘            (committed)  └─►
//! ```
//!
//! Both worlds yield the same thing, every change of every object in order, and one narrator makes lines of them. A
//! recording is those lines; comparing is done per tier and per object, since what several of them do at once has no
//! order of its own.
//!
//! For tests only, and for `cargo xtask oracle`. Absent on purpose: everything that starts a process.

mod change;
mod compare;
mod narrate;
mod play;
mod recording;
pub mod requests;
mod scenario;
mod wording;

pub use change::{Change, Item, read_changes};
pub use compare::{Difference, Waits, compare};
pub use narrate::narrate;
pub use play::play;
pub use recording::{Entry, Recording};
pub use scenario::{Scenario, ScenarioError, Step};
