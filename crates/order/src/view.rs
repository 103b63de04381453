//! The graph as people and scripts see it: tiers in layers, and between them edges with what guarantees each.
//!
//! Nothing in it belongs to one cluster. An object whose name holds a variable goes by the text before substitution, and
//! there are no entries, versions or files, so clusters that share a graph give the same view.

mod layers;
mod names;

use std::collections::BTreeMap;

use firstpass_object::TierName;
use firstpass_render::RenderedCluster;
use serde::Serialize;

use crate::need::{Answer, Blocked, How, Need, Needed};
use crate::tiers::{Gate, TierIndex};
use crate::view::names::Names;
use crate::{OrderGraph, Provider};

/// The tiers in layers, and the edges between them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GraphView {
    /// The tiers, by layer and name.
    pub tiers: Vec<TierView>,
    /// The edges, by the places of their ends in `tiers`.
    pub edges: Vec<EdgeView>,
}

/// One tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TierView {
    /// `namespace/name`.
    pub name: TierName,
    /// How many tiers come before it at least, one after the other.
    pub layer: usize,
    /// What it checks before it calls itself Ready.
    pub waits_for: WaitsFor,
    /// Whether `spec.suspend` keeps it from ever running.
    pub suspended: bool,
    /// Whether its contents could be seen.
    pub rendered: bool,
    /// `dependsOn` entries that name no tier of this cluster.
    pub missing_dependencies: Vec<TierName>,
    /// Needs that no other tier meets: nobody brings it, or only this very pass could.
    pub unmet: Vec<NeedView>,
}

/// What a tier checks before it calls itself Ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitsFor {
    /// Nothing: Ready means "applied".
    Nothing,
    /// `wait: true`: everything that it applied.
    Everything,
    /// `healthChecks`: these objects.
    Objects(Vec<String>),
}

/// Two tiers of which the second has to do with the first: it depends on it, is created by it, or needs what it brings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EdgeView {
    /// The tier that comes first, or should.
    pub from: TierName,
    /// The tier that comes after it, or should.
    pub to: TierName,
    /// Whether `to` names `from` in `dependsOn`.
    pub depends_on: bool,
    /// Whether `from` applies the Flux Kustomization of `to`.
    pub parent: bool,
    /// What `to` needs of `from`.
    pub needs: Vec<NeedView>,
}

/// Something that a tier needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NeedView {
    /// What sort of thing.
    pub sort: NeedSort,
    /// The thing itself.
    pub what: String,
    /// The first object, in build order, that needs it.
    pub by: String,
    /// How many objects need it.
    pub objects: usize,
    /// The object that brings it, where one does.
    pub brought_by: Option<String>,
    /// In which way it comes.
    pub comes: Option<Comes>,
    /// What the files say about the order.
    pub order: Order,
    /// What guarantees the order, or why nothing does.
    pub because: Option<String>,
}

/// The sorts of needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NeedSort {
    /// A kind.
    Kind,
    /// A namespace.
    Namespace,
    /// A ConfigMap or Secret of variables.
    Variables,
    /// An object that a health check names.
    Health,
    /// A webhook that has to serve.
    Webhook,
    /// An object that a controller reads once.
    Value,
    /// A pod that uses a claim.
    Consumer,
}

/// The ways in which something comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Comes {
    /// It is among the objects of a tier.
    Manifest,
    /// A release of a chart brings it.
    Chart,
    /// An operator registers it when it starts.
    AtStart,
    /// An operator brings it after it has reconciled an object.
    AfterObject,
}

/// What the files say about the order of a need and what brings it. From good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Something guarantees it.
    Guaranteed,
    /// Nobody that can be seen brings it; somebody else may.
    Unknown,
    /// The tier that brings it comes first, but its Ready condition proves nothing about it.
    WithoutBarrier,
    /// Nothing orders the two.
    WithoutEdge,
    /// What brings it waits for the tier that needs it.
    Blocked,
    /// Nobody brings it.
    Missing,
}

impl EdgeView {
    /// The worst that the files say about its needs; none where it carries no need.
    pub fn order(&self) -> Option<Order> {
        self.needs.iter().map(|need| need.order).max()
    }

    /// Whether Flux itself keeps this order: by `dependsOn`, or because one tier creates the other.
    pub fn is_kept(&self) -> bool {
        self.depends_on || self.parent
    }
}

impl GraphView {
    /// The view of a cluster's graph.
    pub fn new(cluster: &RenderedCluster, graph: &OrderGraph) -> GraphView {
        let names = Names::of(cluster);
        let mut unmet: Vec<Vec<NeedView>> = graph.tiers.indices().map(|_| Vec::new()).collect();
        let mut edges: BTreeMap<(TierIndex, TierIndex), EdgeView> = BTreeMap::new();
        let blank = |from: TierIndex, to: TierIndex| EdgeView {
            from: graph.tiers.name(from).clone(),
            to: graph.tiers.name(to).clone(),
            depends_on: false,
            parent: false,
            needs: Vec::new(),
        };
        for to in graph.tiers.indices() {
            let node = graph.tiers.node(to);
            for from in &node.depends_on {
                edges
                    .entry((*from, to))
                    .or_insert_with(|| blank(*from, to))
                    .depends_on = true;
            }
            if let Some(from) = node.parent {
                edges.entry((from, to)).or_insert_with(|| blank(from, to)).parent = true;
            }
        }
        for need in &graph.needs {
            let Some((from, order)) = order_of(need) else {
                continue;
            };
            let view = names.need(need, order);
            match from.filter(|from| *from != need.tier) {
                Some(from) => {
                    let edge = edges.entry((from, need.tier));
                    edge.or_insert_with(|| blank(from, need.tier)).needs.push(view);
                }
                None if order == Order::Guaranteed => {}
                None => unmet[need.tier.position()].push(view),
            }
        }
        let layers = layers::of(&graph.tiers, edges.keys().copied());
        let mut order: Vec<TierIndex> = graph.tiers.indices().collect();
        order.sort_by_key(|tier| (layers[tier.position()], graph.tiers.name(*tier)));
        let place: BTreeMap<TierIndex, usize> = order
            .iter()
            .enumerate()
            .map(|(place, tier)| (*tier, place))
            .collect();
        let tier = |index: &TierIndex| {
            let node = graph.tiers.node(*index);
            TierView {
                name: node.name.clone(),
                layer: layers[index.position()],
                waits_for: waits_for(&node.gate),
                suspended: node.suspended,
                rendered: node.rendered,
                missing_dependencies: node.missing.clone(),
                unmet: unmet[index.position()].clone(),
            }
        };
        let mut edges: Vec<((usize, usize), EdgeView)> = edges
            .into_iter()
            .map(|((from, to), edge)| ((place[&from], place[&to]), edge))
            .collect();
        edges.sort_by_key(|(ends, _)| *ends);
        GraphView {
            tiers: order.iter().map(tier).collect(),
            edges: edges.into_iter().map(|(_, edge)| edge).collect(),
        }
    }

    /// The place of a tier in `tiers`.
    pub fn place(&self, name: &TierName) -> Option<usize> {
        self.tiers.iter().position(|tier| tier.name == *name)
    }
}

/// The tier that meets a need, if one does, and what the files say about the order. A need that is met from the start or
/// by an earlier stage of the same pass is no news.
fn order_of(need: &Need) -> Option<(Option<TierIndex>, Order)> {
    let tier = |provider: &Provider| provider.tier;
    Some(match &need.answer {
        Answer::There { .. } | Answer::SamePass => return None,
        Answer::Guaranteed { provider, .. } => (tier(provider), Order::Guaranteed),
        Answer::WithoutBarrier { provider, .. } => (tier(provider), Order::WithoutBarrier),
        Answer::WithoutEdge { provider } => (tier(provider), Order::WithoutEdge),
        Answer::Blocked { provider, .. } => (tier(provider), Order::Blocked),
        Answer::Nobody { provable: true, .. } => (None, Order::Missing),
        Answer::Nobody { provable: false, .. } => (None, Order::Unknown),
    })
}

fn waits_for(gate: &Gate) -> WaitsFor {
    match gate {
        Gate::Nothing => WaitsFor::Nothing,
        Gate::Everything => WaitsFor::Everything,
        Gate::Listed(objects) => WaitsFor::Objects(objects.iter().map(ToString::to_string).collect()),
    }
}

/// What guarantees the order of a need, or why nothing does.
fn because(answer: &Answer) -> Option<String> {
    match answer {
        Answer::There { .. } | Answer::SamePass | Answer::WithoutEdge { .. } => None,
        Answer::Guaranteed { barrier, .. } => Some(barrier.clone()),
        Answer::WithoutBarrier { why, .. } => Some(why.clone()),
        Answer::Blocked { how, .. } => Some(
            match how {
                Blocked::SamePass => "the same pass would bring it, and fails before it applies anything",
                Blocked::Child(_) => "this pass would create the tier that brings it",
                Blocked::BehindUs(_) => "the tier that brings it waits for this one",
            }
            .to_owned(),
        ),
        Answer::Nobody { hint, .. } => hint.as_ref().map(|hint| hint.says.clone()),
    }
}

fn comes(how: &How) -> Comes {
    match how {
        How::Manifest => Comes::Manifest,
        How::Chart { .. } => Comes::Chart,
        How::OperatorStart { .. } => Comes::AtStart,
        How::OperatorObject { .. } => Comes::AfterObject,
    }
}

fn sort(needed: &Needed) -> NeedSort {
    match needed {
        Needed::Kind { .. } => NeedSort::Kind,
        Needed::Namespace(_) => NeedSort::Namespace,
        Needed::Data { .. } => NeedSort::Variables,
        Needed::HealthTarget(_) => NeedSort::Health,
        Needed::Webhook { .. } => NeedSort::Webhook,
        Needed::ReadOnce { .. } => NeedSort::Value,
        Needed::Consumer { .. } => NeedSort::Consumer,
    }
}
