//! The reconciliation graph: as text, for scripts, and drawn.
//!
//! ```text
//! GraphView (+ what a rehearsal saw) ─┬─► text, JSON
//!                                     └─► Drawing: which edges are worth a line ─► DOT, Mermaid, SVG
//! ```

mod dot;
mod drawing;
mod json;
mod mermaid;
mod svg;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeMap;

use firstpass_diagnostics::{Tier, TierState, Verdict};
use firstpass_object::TierName;
use firstpass_order::GraphView;

pub use dot::graph_to_dot;
pub use json::graph_to_json;
pub use mermaid::graph_to_mermaid;
pub use svg::graph_to_svg;
pub use text::graph_to_text;

/// A graph to be shown, with the clusters that share it.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownGraph {
    /// The cluster entries that have this very graph.
    pub entries: Vec<String>,
    /// The graph.
    pub view: GraphView,
    /// What a rehearsal saw, if one was played.
    pub rehearsal: Option<Rehearsed>,
    /// Whether all tiers live in one namespace, so that names do without it.
    has_one_namespace: bool,
}

/// What a rehearsal saw of the tiers.
#[derive(Clone, Debug, PartialEq)]
pub struct Rehearsed {
    /// The verdict.
    pub verdict: Verdict,
    /// The tiers.
    pub tiers: BTreeMap<TierName, Tier>,
}

impl ShownGraph {
    /// A graph of one cluster.
    pub fn new(entry: String, view: GraphView, rehearsal: Option<Rehearsed>) -> ShownGraph {
        let mut namespaces = view.tiers.iter().map(|tier| &tier.name.namespace);
        let first = namespaces.next();
        ShownGraph {
            has_one_namespace: namespaces.all(|namespace| Some(namespace) == first),
            entries: vec![entry],
            view,
            rehearsal,
        }
    }

    /// What the rehearsal saw of a tier.
    fn seen(&self, tier: &TierName) -> Option<&Tier> {
        self.rehearsal.as_ref()?.tiers.get(tier)
    }

    /// Names as they are shown: without their namespace where all tiers share one.
    fn short<'n>(&self, name: &'n TierName) -> std::borrow::Cow<'n, str> {
        if self.has_one_namespace {
            (&*name.name).into()
        } else {
            name.to_string().into()
        }
    }
}

/// A state in one word.
fn state_word(state: TierState) -> &'static str {
    match state {
        TierState::Ready => "ready",
        TierState::Waiting => "waiting",
        TierState::Failed => "failed",
        TierState::Suspended => "suspended",
        TierState::Unrendered => "unseen",
        TierState::Removed => "removed",
    }
}

/// How many of what, for lists that are too long to be read: `3 kinds`.
fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}
