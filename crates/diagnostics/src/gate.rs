//! What a tier's being Ready proves, and what its not being Ready holds up.

use firstpass_object::TierName;
use serde::{Deserialize, Serialize};

/// What a tier's being Ready proves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// How much.
    pub level: ProofLevel,
    /// The same in words.
    pub text: String,
    /// Objects that the tier waits for and that say nothing about themselves: Current the moment they are stored.
    #[serde(default)]
    pub silent: Vec<String>,
}

/// How much a tier's being Ready proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProofLevel {
    /// Its objects were applied, and nothing more.
    Applied,
    /// Some of its objects are healthy.
    Partly,
    /// Everything of it that can tell is healthy.
    Healthy,
    /// Its contents cannot be seen.
    Unseen,
}

/// What stays blocked for as long as a tier is not Ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlastRadius {
    /// The tiers that cannot apply before it is Ready.
    pub blocks: Vec<TierName>,
    /// The tiers whose workers wait with it: itself, if it waits for health, and those that wait for its readiness.
    pub holds_workers: Vec<TierName>,
    /// The tiers that find no free worker then, since those hold all of them; they go on only when a wait times out.
    pub starves: Vec<TierName>,
}
