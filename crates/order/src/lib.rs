//! Who needs what, who provides it, and which barrier guarantees the order?

mod tiers;

pub use tiers::{Before, Certainty, Gate, TierGraph, TierIndex, TierNode};
