//! What happens in a cluster, in which order and when, and does it come to rest?
//!
//! ```text
//! Setting (Flux, delays) ─┐
//! ApiServer with a stage ─┼─► World ── run_until_quiet ──► End, journal, records of tiers, objects
//! Contents of sources ────┘
//! ```
//!
//! Time is virtual and jumps from one happening to the next; chance is a pure function of the seed and of what is drawn.
//! A [`World`] can be cloned at any time to ask "what if". Absent on purpose: verdicts and words for people, which are for
//! crate `rehearse`.

mod delays;
pub mod faults;
pub mod laws;
mod progress;
mod random;
mod run;
pub mod trace;
mod world;

pub use delays::SeededDelays;
pub use progress::Progress;
pub use random::Random;
pub use run::{End, HORIZON};
pub use world::{Setting, World};
