//! Tiers and the edges between them: who comes after whom, and what is certain once a tier has begun.
//!
//! Two sorts of edges order tiers. `dependsOn` lets a tier begin only when another is Ready; a parent brings its child's
//! Flux Kustomization into being in the last stage of its pass, so everything that the parent applies earlier is there.

use std::collections::BTreeMap;

use firstpass_object::{ObjectId, TierName};

/// Index of a tier in [`TierGraph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TierIndex(pub(crate) usize);

impl TierIndex {
    /// The tier's place in `RenderedCluster::tiers`.
    pub fn position(self) -> usize {
        self.0
    }
}

/// One tier as the graph sees it.
#[derive(Clone, Debug)]
pub struct TierNode {
    /// `namespace/name`.
    pub name: TierName,
    /// The tiers that it waits for, resolved; names without a tier are in `missing`.
    pub depends_on: Vec<TierIndex>,
    /// `dependsOn` entries that name no tier of this cluster.
    pub missing: Vec<TierName>,
    /// The tier whose pass applies this tier's Flux Kustomization; `None` for a root.
    pub parent: Option<TierIndex>,
    /// What its Ready condition proves.
    pub gate: Gate,
    /// Whether `spec.suspend` keeps it from ever running.
    pub suspended: bool,
    /// Whether its contents could be seen.
    pub rendered: bool,
}

/// What a tier checks before it calls itself Ready (F-500).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Gate {
    /// Neither `wait` nor `healthChecks`: Ready means "applied".
    #[default]
    Nothing,
    /// `wait: true`: everything that it applied.
    Everything,
    /// `healthChecks`: the objects listed.
    Listed(Vec<ObjectId>),
}

/// The tiers of one cluster with the edges between them.
#[derive(Clone, Debug, Default)]
pub struct TierGraph {
    nodes: Vec<TierNode>,
    by_name: BTreeMap<TierName, TierIndex>,
    children: Vec<Vec<TierIndex>>,
    /// The tiers whose readiness each tier's gate includes.
    gated: Vec<Vec<TierIndex>>,
    /// Who has to be looked at again when a tier turns out never to apply or never to be Ready: its dependents, its
    /// children, and the tiers whose gate includes it.
    affected: Vec<Vec<TierIndex>>,
}

/// What has certainly happened before a tier's first stage is applied.
#[derive(Clone, Debug)]
pub struct Before {
    reached: Vec<Option<Certainty>>,
}

/// What is certain about another tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// It has applied everything up to the Flux Kustomizations of its last stage: a parent.
    Applied,
    /// It was Ready.
    Ready,
}

impl TierGraph {
    /// Builds the graph. Edges of the nodes must lie within `nodes`.
    pub fn new(nodes: Vec<TierNode>) -> TierGraph {
        let by_name = nodes
            .iter()
            .enumerate()
            .map(|(index, node)| (node.name.clone(), TierIndex(index)))
            .collect();
        let mut children = vec![Vec::new(); nodes.len()];
        for (index, node) in nodes.iter().enumerate() {
            if let Some(parent) = node.parent {
                children[parent.0].push(TierIndex(index));
            }
        }
        let gated: Vec<Vec<TierIndex>> = nodes
            .iter()
            .zip(&children)
            .map(|(node, children)| gated_by(&node.gate, children, &by_name))
            .collect();
        let mut affected = children.clone();
        for (index, node) in nodes.iter().enumerate() {
            for cause in node.depends_on.iter().chain(&gated[index]) {
                affected[cause.0].push(TierIndex(index));
            }
        }
        TierGraph {
            nodes,
            by_name,
            children,
            gated,
            affected,
        }
    }

    /// All tiers in the order in which rendering met them.
    pub fn indices(&self) -> impl Iterator<Item = TierIndex> + use<> {
        (0..self.nodes.len()).map(TierIndex)
    }

    /// One tier.
    pub fn node(&self, tier: TierIndex) -> &TierNode {
        &self.nodes[tier.0]
    }

    /// The name of a tier.
    pub fn name(&self, tier: TierIndex) -> &TierName {
        &self.nodes[tier.0].name
    }

    /// The tier with this name.
    pub fn find(&self, name: &TierName) -> Option<TierIndex> {
        self.by_name.get(name).copied()
    }

    /// The tiers whose Flux Kustomization this tier applies.
    pub fn children(&self, tier: TierIndex) -> &[TierIndex] {
        &self.children[tier.0]
    }

    /// The tiers whose readiness is part of this tier's readiness.
    pub fn gated(&self, tier: TierIndex) -> &[TierIndex] {
        &self.gated[tier.0]
    }

    /// What has certainly happened before `tier` applies anything.
    pub fn before(&self, tier: TierIndex) -> Before {
        let mut reached: Vec<Option<Certainty>> = vec![None; self.nodes.len()];
        let mut open = vec![(tier, None)];
        while let Some((current, certainty)) = open.pop() {
            if current != tier || certainty.is_some() {
                if reached[current.0] >= certainty {
                    continue;
                }
                reached[current.0] = certainty;
            }
            let node = self.node(current);
            open.extend(
                node.depends_on
                    .iter()
                    .map(|dependency| (*dependency, Some(Certainty::Ready))),
            );
            open.extend(node.parent.map(|parent| (parent, Some(Certainty::Applied))));
            if certainty == Some(Certainty::Ready) {
                // A Ready tier that waits for other tiers has seen these Ready as well.
                open.extend(
                    self.gated(current)
                        .iter()
                        .map(|child| (*child, Some(Certainty::Ready))),
                );
            }
        }
        Before { reached }
    }

    /// The tiers that never apply, and those that never become Ready, once `start` is never Ready.
    ///
    /// `start_applies` tells whether `start` applies its last stage all the same, so that its children exist.
    pub fn never_apply(&self, start: &[TierIndex], start_applies: bool) -> Vec<TierIndex> {
        let mut never_ready = vec![false; self.nodes.len()];
        let mut never_applies = vec![false; self.nodes.len()];
        for tier in start {
            never_ready[tier.0] = true;
            never_applies[tier.0] = !start_applies;
        }
        let mut open = start.to_vec();
        while let Some(cause) = open.pop() {
            for tier in &self.affected[cause.0] {
                let node = self.node(*tier);
                let applies = never_applies[tier.0]
                    || node.depends_on.iter().any(|dependency| never_ready[dependency.0])
                    || node.parent.is_some_and(|parent| never_applies[parent.0]);
                let ready = applies
                    || never_ready[tier.0]
                    || self.gated(*tier).iter().any(|gated| never_ready[gated.0]);
                if applies != never_applies[tier.0] || ready != never_ready[tier.0] {
                    never_applies[tier.0] = applies;
                    never_ready[tier.0] = ready;
                    open.push(*tier);
                }
            }
        }
        self.indices().filter(|tier| never_applies[tier.0]).collect()
    }

    /// The cycles among `dependsOn` edges, each once, as the tiers on it in order of index. A tier that depends on
    /// itself is a cycle of one.
    pub fn dependency_cycles(&self) -> Vec<Vec<TierIndex>> {
        let edges: Vec<Vec<usize>> = self
            .nodes
            .iter()
            .map(|node| node.depends_on.iter().map(|tier| tier.0).collect())
            .collect();
        let cycles = crate::scc::cycles(&edges).into_iter();
        cycles
            .map(|cycle| cycle.into_iter().map(TierIndex).collect())
            .collect()
    }
}

/// The tiers that a gate includes: with `wait` the children, with `healthChecks` the Flux Kustomizations listed.
fn gated_by(gate: &Gate, children: &[TierIndex], by_name: &BTreeMap<TierName, TierIndex>) -> Vec<TierIndex> {
    match gate {
        Gate::Nothing => Vec::new(),
        Gate::Everything => children.to_vec(),
        Gate::Listed(objects) => objects
            .iter()
            .filter(|object| object.is("kustomize.toolkit.fluxcd.io", "Kustomization"))
            .filter_map(|object| {
                by_name
                    .get(&TierName::new(object.namespace.clone()?, &object.name))
                    .copied()
            })
            .collect(),
    }
}

impl Before {
    /// What is certain about a tier; `None` if it may not have run at all.
    pub fn certainty(&self, tier: TierIndex) -> Option<Certainty> {
        self.reached[tier.0]
    }

    /// The tiers about which something is certain, in order of index.
    pub fn iter(&self) -> impl Iterator<Item = (TierIndex, Certainty)> {
        self.reached
            .iter()
            .enumerate()
            .filter_map(|(index, certainty)| Some((TierIndex(index), (*certainty)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `name: dependency dependency` per line; `name <parent:` gives a parent, `!` after a name makes it wait.
    fn graph(text: &str) -> TierGraph {
        let lines: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        let head = |line: &str| line.split(':').next().unwrap().to_owned();
        let names: Vec<String> = lines
            .iter()
            .map(|line| {
                head(line)
                    .split('<')
                    .next()
                    .unwrap()
                    .trim()
                    .trim_end_matches('!')
                    .to_owned()
            })
            .collect();
        let find = |name: &str| TierIndex(names.iter().position(|candidate| candidate == name).unwrap());
        let nodes = lines.iter().zip(&names).map(|(line, name)| TierNode {
            name: TierName::new("flux-system", name),
            depends_on: line
                .split(':')
                .nth(1)
                .unwrap()
                .split_whitespace()
                .map(find)
                .collect(),
            missing: Vec::new(),
            parent: head(line).split_once('<').map(|(_, parent)| find(parent.trim())),
            gate: if head(line).contains('!') {
                Gate::Everything
            } else {
                Gate::Nothing
            },
            suspended: false,
            rendered: true,
        });
        TierGraph::new(nodes.collect())
    }

    fn names(graph: &TierGraph, tiers: &[TierIndex]) -> Vec<String> {
        tiers
            .iter()
            .map(|tier| graph.name(*tier).name.to_string())
            .collect()
    }

    #[test]
    fn a_child_knows_its_parent_applied_and_its_dependencies_ready() {
        let graph = graph("root:\n platform <root:\n apps <root: platform");
        let before = graph.before(TierIndex(2));
        assert_eq!(before.certainty(TierIndex(0)), Some(Certainty::Applied));
        assert_eq!(before.certainty(TierIndex(1)), Some(Certainty::Ready));
        assert_eq!(before.certainty(TierIndex(2)), None);
    }

    #[test]
    fn a_waiting_parent_vouches_for_its_children() {
        let graph = graph("root:\n infra! <root:\n crds <infra:\n apps <root: infra");
        assert_eq!(
            graph.before(TierIndex(3)).certainty(TierIndex(2)),
            Some(Certainty::Ready)
        );
    }

    #[test]
    fn cycles_are_found_once() {
        let graph = graph("a: b\n b: c\n c: b\n d: d\n e: a");
        let cycles: Vec<_> = graph
            .dependency_cycles()
            .iter()
            .map(|cycle| names(&graph, cycle))
            .collect();
        assert_eq!(cycles, [vec!["b", "c"], vec!["d"]]);
    }

    #[test]
    fn what_never_applies_follows_edges_children_and_waits() {
        let graph = graph(
            "root:\n platform <root:\n config! <root: platform\n child <config:\n apps <root: config\n other <root:\n",
        );
        let never = graph.never_apply(&[TierIndex(2)], false);
        assert_eq!(names(&graph, &never), ["config", "child", "apps"]);
        let never = graph.never_apply(&[TierIndex(3)], true);
        assert_eq!(
            names(&graph, &never),
            ["apps"],
            "config waits for its child, so apps never begins"
        );
    }
}
