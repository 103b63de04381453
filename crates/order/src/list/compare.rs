//! A list and the graph: what is missing, what stands at the wrong place, what is no tier.

use std::collections::BTreeMap;

use firstpass_object::TierName;

use super::find::named;
use super::{HandList, ListProblem, Reason};
use crate::tiers::{TierGraph, TierIndex};
use crate::{Needed, OrderGraph};

impl HandList {
    /// In what the list and the graph differ: first what is missing, then the rest by line.
    ///
    /// Tiers that a bootstrap brings and suspended ones may be left out. Two tiers that nothing orders may stand in
    /// any order.
    pub fn problems(&self, graph: &OrderGraph) -> Vec<ListProblem> {
        let mut problems = Vec::new();
        let mut places: BTreeMap<TierIndex, (usize, u32)> = BTreeMap::new();
        for (place, entry) in self.entries.iter().enumerate() {
            let found = named(&entry.text, &graph.tiers);
            let (entry, line) = (entry.text.clone(), entry.line);
            match found.as_slice() {
                [] => problems.push(ListProblem::Unknown {
                    nearest: nearest(&entry, &graph.tiers),
                    entry,
                    line,
                }),
                [tier] => {
                    let Some(index) = graph.tiers.find(tier) else {
                        continue;
                    };
                    match places.get(&index) {
                        Some((_, first_line)) => {
                            problems.push(ListProblem::Twice {
                                tier: tier.clone(),
                                line,
                                first_line: *first_line,
                            });
                        }
                        None => {
                            places.insert(index, (place, line));
                        }
                    }
                }
                _ => problems.push(ListProblem::Ambiguous {
                    entry,
                    line,
                    tiers: found,
                }),
            }
        }
        let after = After::of(graph);
        problems.extend(after.misplaced(graph, &places));
        problems.sort_by_key(line_of);
        let missing = graph.tiers.indices().filter(|tier| {
            let node = graph.tiers.node(*tier);
            let is_misspelt = || {
                problems.iter().any(|problem| {
                    matches!(problem, ListProblem::Unknown { nearest: Some(nearest), .. } if *nearest == node.name)
                })
            };
            let is_ambiguous = || {
                problems.iter().any(|problem| {
                    matches!(problem, ListProblem::Ambiguous { tiers, .. } if tiers.contains(&node.name))
                })
            };
            node.parent.is_some() && !node.suspended && !places.contains_key(tier) && !is_ambiguous() && !is_misspelt()
        });
        let missing: Vec<ListProblem> = missing.map(|tier| after.missing(graph, tier, &places)).collect();
        missing.into_iter().chain(problems).collect()
    }
}

fn line_of(problem: &ListProblem) -> u32 {
    match problem {
        ListProblem::Missing { .. } => 0,
        ListProblem::TooEarly { line, .. }
        | ListProblem::TooLate { line, .. }
        | ListProblem::Unknown { line, .. }
        | ListProblem::Ambiguous { line, .. }
        | ListProblem::Twice { line, .. } => *line,
    }
}

fn nearest(entry: &str, tiers: &TierGraph) -> Option<TierName> {
    let bare = entry.rsplit('/').next().unwrap_or(entry);
    let names = || tiers.indices().map(|tier| tiers.name(tier));
    let near = firstpass_yaml::nearest(bare, names().map(|name| name.name.as_str()))?;
    names().find(|name| name.name == near).cloned()
}

/// Who comes after whom, with the reason.
struct After {
    /// For each tier, those that it directly comes after.
    direct: Vec<BTreeMap<TierIndex, String>>,
    /// For each tier, all that it comes after, through any chain.
    all: Vec<Vec<bool>>,
}

impl After {
    fn of(graph: &OrderGraph) -> After {
        let mut direct: Vec<BTreeMap<TierIndex, String>> =
            graph.tiers.indices().map(|_| BTreeMap::new()).collect();
        for tier in graph.tiers.indices() {
            let node = graph.tiers.node(tier);
            for from in &node.depends_on {
                direct[tier.0].insert(*from, "dependsOn".to_owned());
            }
            // A parent that waits for its children is Ready after them, and applied before: either place is right.
            if let Some(parent) = node
                .parent
                .filter(|parent| !graph.tiers.gated(*parent).contains(&tier))
            {
                direct[tier.0]
                    .entry(parent)
                    .or_insert_with(|| "creates it".to_owned());
            }
        }
        for need in &graph.needs {
            let from = need.answer.provider().and_then(|provider| provider.tier);
            let Some(from) = from.filter(|from| *from != need.tier) else {
                continue;
            };
            // What the parent's pass waits for is not its own order.
            if graph.tiers.gated(need.tier).contains(&from) {
                continue;
            }
            let what = match &need.needed {
                Needed::Kind { kind, .. } => format!("kind {kind}"),
                Needed::Namespace(namespace) => format!("namespace {namespace}"),
                Needed::Data { object, .. }
                | Needed::HealthTarget(object)
                | Needed::ReadOnce { object, .. } => object.to_string(),
                Needed::Webhook { name, .. } => format!("webhook {name}"),
                Needed::Consumer { claim } => format!("a consumer of {claim}"),
            };
            direct[need.tier.0]
                .entry(from)
                .or_insert_with(|| format!("brings {what}"));
        }
        let reach = |start: usize| {
            let mut seen = vec![false; direct.len()];
            let mut open: Vec<TierIndex> = direct[start].keys().copied().collect();
            while let Some(tier) = open.pop() {
                if !std::mem::replace(&mut seen[tier.0], true) {
                    open.extend(direct[tier.0].keys());
                }
            }
            seen
        };
        let all = (0..direct.len()).map(reach).collect();
        After { direct, all }
    }

    fn comes_after(&self, tier: TierIndex, other: TierIndex) -> bool {
        // In a circle nobody comes first.
        self.all[tier.0][other.0] && !self.all[other.0][tier.0]
    }

    /// The fewest tiers, nearly, that have to move: again and again the one that stands wrong with the most others.
    fn misplaced(&self, graph: &OrderGraph, places: &BTreeMap<TierIndex, (usize, u32)>) -> Vec<ListProblem> {
        let mut pairs: Vec<(TierIndex, TierIndex)> = Vec::new();
        for (early, (place, _)) in places {
            for (late, (other, _)) in places {
                if place < other && self.comes_after(*early, *late) {
                    pairs.push((*early, *late));
                }
            }
        }
        let mut problems = Vec::new();
        while !pairs.is_empty() {
            let mut counts: BTreeMap<TierIndex, (usize, usize)> = BTreeMap::new();
            for (early, late) in &pairs {
                counts.entry(*early).or_default().0 += 1;
                counts.entry(*late).or_default().1 += 1;
            }
            // Of equals the one that has to follow the other, then the one that stands first.
            let worst = counts.iter().max_by_key(|(tier, (as_early, as_late))| {
                (as_early + as_late, *as_early, std::cmp::Reverse(places[tier].0))
            });
            let Some((moved, (as_early, as_late))) = worst.map(|(tier, counts)| (*tier, *counts)) else {
                break;
            };
            let line = places[&moved].1;
            let tier = graph.tiers.name(moved).clone();
            problems.push(if as_early >= as_late {
                let others = pairs
                    .iter()
                    .filter(|(early, _)| *early == moved)
                    .map(|(_, late)| *late);
                ListProblem::TooEarly {
                    tier,
                    line,
                    follows: self.reasons(graph, others, |late| (moved, late)),
                }
            } else {
                let others = pairs
                    .iter()
                    .filter(|(_, late)| *late == moved)
                    .map(|(early, _)| *early);
                ListProblem::TooLate {
                    tier,
                    line,
                    precedes: self.reasons(graph, others, |early| (early, moved)),
                }
            });
            pairs.retain(|(early, late)| *early != moved && *late != moved);
        }
        problems
    }

    /// Each of the others with the reason; only those with a direct one, if there are any.
    fn reasons(
        &self,
        graph: &OrderGraph,
        others: impl Iterator<Item = TierIndex>,
        ends: impl Fn(TierIndex) -> (TierIndex, TierIndex),
    ) -> Vec<Reason> {
        let (mut direct, mut indirect) = (Vec::new(), Vec::new());
        for other in others {
            let (tier, before) = ends(other);
            let name = graph.tiers.name(other).clone();
            match self.direct[tier.0].get(&before) {
                Some(why) => direct.push(Reason {
                    tier: name,
                    why: why.clone(),
                }),
                None => indirect.push(Reason {
                    tier: name,
                    why: "through other tiers".to_owned(),
                }),
            }
        }
        if direct.is_empty() { indirect } else { direct }
    }

    fn missing(
        &self,
        graph: &OrderGraph,
        tier: TierIndex,
        places: &BTreeMap<TierIndex, (usize, u32)>,
    ) -> ListProblem {
        let name = |found: Option<(&TierIndex, &(usize, u32))>| {
            found.map(|(tier, _)| graph.tiers.name(*tier).clone())
        };
        let after = places.iter().filter(|(other, _)| self.comes_after(tier, **other));
        let before = places.iter().filter(|(other, _)| self.comes_after(**other, tier));
        ListProblem::Missing {
            tier: graph.tiers.name(tier).clone(),
            after: name(after.max_by_key(|(_, place)| place.0)),
            before: name(before.min_by_key(|(_, place)| place.0)),
        }
    }
}
