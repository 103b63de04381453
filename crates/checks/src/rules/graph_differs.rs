//! Clusters of one base whose graphs are not the same.

use std::collections::BTreeMap;

use firstpass_diagnostics::{Finding, Severity};
use firstpass_object::TierName;
use firstpass_order::{EdgeView, GraphView};
use firstpass_render::{RenderedCluster, Tier};

use crate::fleet::{graph_of, is_allowed, others};
use crate::{Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "graph-differs",
    summary: "a cluster whose tiers, edges or barriers are not those of the other clusters",
    severity: Severity::Error,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/graph-differs.md"),
    check,
};

/// So many differences are printed; the first ones explain the others.
const SHOWN_MAX: usize = 8;

fn check(input: &Context<'_>) -> Vec<Finding> {
    let Some(overlays) = &input.repository.config().overlays else {
        return Vec::new();
    };
    let own = graph(input.cluster, &overlays.may_patch);
    others(input)
        .filter_map(|other| finding(input, &own, other, &overlays.may_patch))
        .collect()
}

/// The part of a tier that is the graph: what it builds, what it waits for, and what its Ready proves.
type Node = BTreeMap<&'static str, String>;

fn graph(cluster: &RenderedCluster, may_patch: &[String]) -> BTreeMap<TierName, Node> {
    let entry = cluster.entry.path();
    cluster
        .tiers
        .iter()
        .map(|tier| (tier.name.clone(), node(tier, entry, may_patch)))
        .collect()
}

fn node(tier: &Tier, entry: &str, may_patch: &[String]) -> Node {
    let mut node = Node::new();
    let spec = tier.object.get("spec");
    for field in [
        "dependsOn",
        "healthCheckExprs",
        "healthChecks",
        "path",
        "sourceRef",
        "suspend",
        "wait",
    ] {
        let path = ["spec".to_owned(), field.to_owned()];
        let value = spec.and_then(|spec| spec.get(field));
        if let Some(value) = value.filter(|_| !is_allowed(&path, may_patch)) {
            // The root of a cluster builds the cluster's own directory.
            let text = match value.as_str() {
                Some(text) if text.trim_start_matches("./").trim_end_matches('/') == entry => {
                    "the entry".to_owned()
                }
                Some(text) => text.to_owned(),
                None => value.to_string(),
            };
            node.insert(field, text);
        }
    }
    let parent = tier
        .parent
        .as_ref()
        .map_or_else(|| "the bootstrap".to_owned(), ToString::to_string);
    node.insert("applied by", parent);
    node
}

fn finding(
    input: &Context<'_>,
    own: &BTreeMap<TierName, Node>,
    other: &RenderedCluster,
    may_patch: &[String],
) -> Option<Finding> {
    let theirs = graph(other, may_patch);
    let mut differences: Vec<(TierName, String)> = Vec::new();
    let gone = theirs.keys().filter(|name| !own.contains_key(*name));
    for name in own.keys().chain(gone) {
        match (own.get(name), theirs.get(name)) {
            (Some(here), Some(there)) => {
                let fields = here
                    .keys()
                    .chain(there.keys().filter(|field| !here.contains_key(*field)));
                for field in fields.filter(|field| here.get(*field) != there.get(*field)) {
                    let text = |node: &Node| node.get(field).cloned().unwrap_or_else(|| "unset".to_owned());
                    let text = format!("`{name}` {field}: {} here, {} there", text(here), text(there));
                    differences.push((name.clone(), text));
                }
            }
            (Some(_), None) => differences.push((name.clone(), format!("`{name}` only here"))),
            (None, _) => differences.push((name.clone(), format!("`{name}` only there"))),
        }
    }
    if differences.is_empty() {
        // The files of the tiers agree; what guarantees the edges between them may still differ.
        let here = GraphView::new(input.cluster, input.graph);
        differences = edges_that_differ(&here, graph_of(input, other)?);
    }
    let (first, _) = differences.first()?;
    let shown: Vec<&str> = differences
        .iter()
        .take(SHOWN_MAX)
        .map(|(_, text)| text.as_str())
        .collect();
    let more = match differences.len().saturating_sub(SHOWN_MAX) {
        0 => String::new(),
        more => format!("\nand {more} more"),
    };
    let named = input.cluster.tier(first).or_else(|| {
        input
            .cluster
            .roots
            .first()
            .and_then(|root| input.cluster.tier(root))
    })?;
    let count = match differences.len() {
        1 => "1 difference".to_owned(),
        many => format!("{many} differences"),
    };
    let mut finding = RULE
        .finding(format!(
            "the graph of `{}` is not that of `{}`: {count}",
            input.cluster.entry.path(),
            other.entry.path()
        ))
        .with_tier(&named.name)
        .with_why(format!(
            "`overlays` in firstpass.yaml says that the clusters share one graph, so that what comes up on one comes up on all in \
             the same order. It differs:\n{}{more}",
            shown.join("\n")
        ))
        .with_help("move what differs into the base; a field that may differ belongs under `may_patch`");
    finding.location.clone_from(&named.location);
    Some(finding)
}

/// Edges between tiers that only one of two graphs has, or that something else guarantees.
fn edges_that_differ(here: &GraphView, there: &GraphView) -> Vec<(TierName, String)> {
    if here == there {
        return Vec::new();
    }
    let find = |graph: &GraphView, edge: &EdgeView| {
        let same = |other: &&EdgeView| other.from == edge.from && other.to == edge.to;
        graph.edges.iter().find(same).cloned()
    };
    let mut found = Vec::new();
    for edge in &here.edges {
        let text = match find(there, edge) {
            None => format!("edge from `{}` to `{}` only here", edge.from, edge.to),
            Some(other) if other != *edge => {
                let order = |edge: &EdgeView| {
                    let needs = edge.needs.iter().map(|need| {
                        let because = need.because.as_deref().unwrap_or("nothing guarantees it");
                        format!("{} ({because})", need.what)
                    });
                    needs.collect::<Vec<_>>().join(", ")
                };
                format!(
                    "edge from `{}` to `{}`: {} here, {} there",
                    edge.from,
                    edge.to,
                    order(edge),
                    order(&other)
                )
            }
            Some(_) => continue,
        };
        found.push((edge.to.clone(), text));
    }
    let gone = there.edges.iter().filter(|edge| find(here, edge).is_none());
    found.extend(gone.map(|edge| {
        (
            edge.to.clone(),
            format!("edge from `{}` to `{}` only there", edge.from, edge.to),
        )
    }));
    for tier in &here.tiers {
        let other = there.tiers.iter().find(|other| other.name == tier.name);
        if other.is_some_and(|other| other.unmet != tier.unmet) {
            let text = format!("what nobody brings to `{}` is not the same", tier.name);
            found.push((tier.name.clone(), text));
        }
    }
    found
}
