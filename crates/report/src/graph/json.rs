//! The graph for scripts. Stable: same graph, same bytes, whichever cluster it was read from.

use firstpass_diagnostics::{TierState, Verdict, WaitingOn};
use firstpass_object::TierName;
use firstpass_order::{EdgeView, TierView};
use serde::Serialize;

use super::ShownGraph;

/// Version of the document.
const SCHEMA_VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    graphs: Vec<Graph<'a>>,
}

#[derive(Serialize)]
struct Graph<'a> {
    /// Only where there are several graphs: which clusters have this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    clusters: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
    tiers: &'a [TierView],
    edges: &'a [EdgeView],
    #[serde(skip_serializing_if = "Option::is_none")]
    rehearsal: Option<Vec<Rehearsed<'a>>>,
}

#[derive(Serialize)]
struct Rehearsed<'a> {
    tier: &'a TierName,
    state: TierState,
    ready_at_s: Option<f64>,
    waiting_on: &'a [WaitingOn],
}

/// The graphs as one JSON document. A graph carries no names of clusters unless there are several.
pub fn graph_to_json(graphs: &[ShownGraph]) -> String {
    let document = Document {
        schema_version: SCHEMA_VERSION,
        graphs: graphs
            .iter()
            .map(|shown| graph(shown, graphs.len() > 1))
            .collect(),
    };
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

fn graph(shown: &ShownGraph, is_named: bool) -> Graph<'_> {
    let rehearsal = shown.rehearsal.as_ref().map(|rehearsed| {
        let tiers = shown
            .view
            .tiers
            .iter()
            .filter_map(|tier| rehearsed.tiers.get(&tier.name));
        let seen = tiers.map(|tier| Rehearsed {
            tier: &tier.name,
            state: tier.state,
            ready_at_s: tier.ready_at_s,
            waiting_on: &tier.waiting_on,
        });
        seen.collect()
    });
    Graph {
        clusters: is_named.then_some(&*shown.entries),
        verdict: shown.rehearsal.as_ref().map(|rehearsed| rehearsed.verdict),
        tiers: &shown.view.tiers,
        edges: &shown.view.edges,
        rehearsal,
    }
}
