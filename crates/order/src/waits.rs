//! Who waits for whom: the graph in which every deadlock is a cycle.
//!
//! Each tier is three events: it has *begun*, it has *applied*, and it is *Ready*. An event waits for others: beginning
//! waits for the dependencies to be Ready and for the parent to have applied; applying waits for that, and for the tiers
//! that bring what is needed; Ready waits for the tier's own apply, for the children that its gate includes, and for the
//! objects that it checks. A cycle can never begin. CRDs and Namespaces in git are there once their tier has begun: the
//! first stage is applied whatever becomes of the last (F-201, F-212).

use crate::need::{Answer, Blocked, How, Need, Needed};
use crate::tiers::{TierGraph, TierIndex};
use crate::{OrderGraph, scc};

/// A circle of tiers that wait for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// All tiers that take part in it, in order of index.
    pub members: Vec<TierIndex>,
    /// One way around, as short as can be.
    pub steps: Vec<WaitStep>,
}

/// One step of a circle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitStep {
    /// Who waits.
    pub tier: TierIndex,
    /// What for.
    pub wait: Wait,
    /// The tier that this leads to.
    pub leads_to: TierIndex,
}

/// What a tier waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    /// `dependsOn`: the other tier has to be Ready.
    Dependency,
    /// The other tier applies this tier's Flux Kustomization.
    Parent,
    /// Its readiness includes that of the other tier: `wait` or `healthChecks`.
    Gate,
    /// It needs something that the other tier brings; index into `needs`.
    Need(usize),
    /// It cannot apply before it has begun, nor be Ready before it has applied.
    OwnApply,
}

impl OrderGraph {
    /// The circles of tiers that wait for each other, each once.
    pub fn deadlocks(&self) -> Vec<Deadlock> {
        let graph = WaitGraph::new(&self.tiers, &self.needs);
        scc::cycles(&graph.edges)
            .into_iter()
            .map(|part| graph.deadlock(&part))
            .collect()
    }
}

/// Node `3 * tier` is "begun", the next one "applied", the one after that "Ready".
struct WaitGraph {
    edges: Vec<Vec<usize>>,
    reasons: Vec<Vec<Wait>>,
}

impl WaitGraph {
    fn new(tiers: &TierGraph, needs: &[Need]) -> WaitGraph {
        let size = tiers.indices().count() * 3;
        let mut graph = WaitGraph {
            edges: vec![Vec::new(); size],
            reasons: vec![Vec::new(); size],
        };
        for tier in tiers.indices() {
            let node = tiers.node(tier);
            for dependency in &node.depends_on {
                graph.add(begun(tier), ready(*dependency), Wait::Dependency);
            }
            if let Some(parent) = node.parent {
                graph.add(begun(tier), applied(parent), Wait::Parent);
            }
            graph.add(applied(tier), begun(tier), Wait::OwnApply);
            graph.add(ready(tier), applied(tier), Wait::OwnApply);
            for gated in tiers.gated(tier).iter().filter(|gated| **gated != tier) {
                graph.add(ready(tier), ready(*gated), Wait::Gate);
            }
        }
        for (index, need) in needs.iter().enumerate() {
            let Some(provider) = provider_tier(&need.answer) else {
                continue;
            };
            let from = match need.needed {
                Needed::HealthTarget(_) | Needed::Consumer { .. } => ready(need.tier),
                Needed::Kind { .. } | Needed::Namespace(_) | Needed::Data { optional: false, .. } => {
                    applied(need.tier)
                }
                // These refuse or mislead, but they do not keep anybody waiting for ever.
                Needed::Data { optional: true, .. } | Needed::Webhook { .. } | Needed::ReadOnce { .. } => {
                    continue;
                }
            };
            let there = if comes_first(&need.answer) {
                begun(provider)
            } else {
                applied(provider)
            };
            graph.add(from, there, Wait::Need(index));
        }
        graph
    }

    fn add(&mut self, from: usize, to: usize, wait: Wait) {
        self.edges[from].push(to);
        self.reasons[from].push(wait);
    }

    fn deadlock(&self, part: &[usize]) -> Deadlock {
        let mut members: Vec<TierIndex> = part.iter().map(|node| TierIndex(node / 3)).collect();
        members.dedup();
        let way = scc::shortest_cycle(&self.edges, part[0], part);
        let steps = (0..way.len()).filter_map(|at| {
            let (from, to) = (way[at], way[(at + 1) % way.len()]);
            let edge = self.edges[from].iter().position(|target| *target == to)?;
            let wait = self.reasons[from][edge].clone();
            Some(WaitStep {
                tier: TierIndex(from / 3),
                wait,
                leads_to: TierIndex(to / 3),
            })
        });
        Deadlock {
            members,
            steps: steps.filter(|step| step.wait != Wait::OwnApply).collect(),
        }
    }
}

fn begun(tier: TierIndex) -> usize {
    tier.0 * 3
}

fn applied(tier: TierIndex) -> usize {
    tier.0 * 3 + 1
}

fn ready(tier: TierIndex) -> usize {
    tier.0 * 3 + 2
}

/// Whether the provider's first stage brings it: a CRD or a Namespace in git.
fn comes_first(answer: &Answer) -> bool {
    let object = answer.provider().and_then(|provider| {
        let in_git = provider.how == How::Manifest;
        provider.object.as_ref().filter(|_| in_git)
    });
    object.is_some_and(|object| {
        object.is("apiextensions.k8s.io", "CustomResourceDefinition") || object.is("", "Namespace")
    })
}

/// The tier that has to apply before a need is met, if it is not met within the same pass.
fn provider_tier(answer: &Answer) -> Option<TierIndex> {
    match answer {
        Answer::There { .. } | Answer::SamePass | Answer::Nobody { .. } => None,
        Answer::Blocked {
            how: Blocked::Child(tier) | Blocked::BehindUs(tier),
            ..
        } => Some(*tier),
        Answer::Blocked {
            how: Blocked::SamePass,
            provider,
        }
        | Answer::Guaranteed { provider, .. }
        | Answer::WithoutBarrier { provider, .. }
        | Answer::WithoutEdge { provider } => provider.tier,
    }
}
