//! Who needs what, who provides it, and which barrier guarantees the order?
//!
//! ```text
//! RenderedCluster ─┐
//! Stage            ├─► World: who brings what ──► for each tier: Need ──answer──► Answer
//! Knowledge        ┘   TierGraph: who comes after whom
//! ```
//!
//! Everything here follows from the files alone. The simulator plays the same cluster; what one of them finds and the
//! other does not is a bug.
//!
//! Absent on purpose: time, and what to tell people (crate `checks`).

mod answer;
mod audit;
mod claims;
mod data;
mod health;
mod kinds;
mod list;
mod misnamed;
mod namespaces;
mod need;
mod reads;
mod scc;
mod served;
mod tiers;
mod view;
mod waits;
mod webhooks;
mod world;

use firstpass_baseline::Stage;
use firstpass_knowledge::Knowledge;
use firstpass_render::RenderedCluster;

pub use audit::{Audit, Bringer, KindAudit, KindUse, ProviderClass};
pub use list::{HandList, ListEntry, ListForm, ListProblem, Reason, find_list};
pub use misnamed::{MeantData, hashed_twin, misnamed_data, misnamed_source};
pub use need::{Answer, Blocked, Hint, How, Need, Needed, Provider};
pub use scc::cycles;
pub use served::{Server, server_of};
pub use tiers::{Before, Certainty, Gate, TierGraph, TierIndex, TierNode};
pub use view::{Comes, EdgeView, GraphView, NeedSort, NeedView, Order, TierView, WaitsFor};
pub use waits::{Deadlock, Wait, WaitStep};
pub use world::Unknowns;

use crate::world::World;

/// The tiers of a cluster, what they need, and what is known about each need.
#[derive(Clone, Debug)]
pub struct OrderGraph {
    /// The tiers and the edges between them.
    pub tiers: TierGraph,
    /// What the tiers need: by tier, then in the order of the sorts of needs, then in build order.
    pub needs: Vec<Need>,
    /// What could not be seen: things may come from there.
    pub unknowns: Unknowns,
}

impl OrderGraph {
    /// Builds the graph of a cluster.
    pub fn build(cluster: &RenderedCluster, stage: &Stage, knowledge: &Knowledge) -> OrderGraph {
        let tiers = world::tier_graph(cluster);
        let world = World::new(cluster, stage, knowledge, tiers);
        let mut needs = Vec::new();
        for tier in world.tiers.indices() {
            let before = world.tiers.before(tier);
            let kinds = kinds::needs(&world, tier, &before);
            let webhooks = webhooks::needs(&world, tier, &before, &kinds);
            needs.extend(kinds);
            needs.extend(namespaces::needs(&world, tier, &before));
            needs.extend(data::needs(&world, tier, &before));
            needs.extend(webhooks);
            needs.extend(reads::needs(&world, tier, &before));
            needs.extend(health::needs(&world, tier, &before));
            needs.extend(claims::needs(&world, tier, &before));
        }
        let unknowns = world.unknowns.clone();
        OrderGraph {
            tiers: world.tiers,
            needs,
            unknowns,
        }
    }
}
