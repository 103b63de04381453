//! The smallest set of objects that, applied by hand, un-wedges a cluster that is stuck at this revision.
//!
//! What the stalled tiers wait for tells which objects could help. Small sets of them are tried in the world as it is
//! when nothing moves any more, and the rehearsal goes on: a set counts only if it brings the tiers up. In the end each
//! object is left out once, and stays only if it is missed.

mod candidates;

use std::sync::Arc;

use firstpass_apiserver::{Apply, Duration, Request};
use firstpass_diagnostics::TierState;
use firstpass_object::{ObjectId, TierName};
use firstpass_render::{Encryption, RenderedObject};
use firstpass_sim::{HORIZON, World};

use crate::explain::Explainer;
use crate::{Rehearsal, Script};
use candidates::{Candidate, candidates};

/// Objects in one step of the search; more than this many at once have not been needed anywhere.
const STEP_MAX: usize = 3;

/// Rehearsals before the search gives up.
const PLAYS_MAX: usize = 200;

/// Steps: what is wedged behind something wedged.
const STEPS_MAX: usize = 6;

/// Who applies.
const MANAGER: &str = "kubectl";

/// How often, and how far apart, a refused object is applied again: a CRD takes a moment until it is served.
const AGAIN: (u32, Duration) = (12, Duration::from_secs(10));

/// What came of the search.
#[derive(Clone, Debug)]
pub struct PreApply {
    /// The tiers that are stuck without help.
    pub stuck: Vec<TierName>,
    /// The objects, in the order in which to apply them; empty if nothing is stuck, or nothing helps.
    pub objects: Vec<PreApplied>,
    /// The tiers that stay stuck all the same.
    pub still_stuck: Vec<TierName>,
    /// Virtual seconds from the application until the last tier is Ready.
    pub takes_s: Option<f64>,
    /// How many rehearsals it took.
    pub plays: usize,
}

/// An object to apply by hand.
#[derive(Clone, Debug)]
pub struct PreApplied {
    /// The object as Flux will apply it.
    pub object: RenderedObject,
    /// The tier that it belongs to.
    pub tier: TierName,
    /// What it is for, or how many tiers stay stuck without it.
    pub proof: Proof,
}

/// Why an object is in the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Left out, this many tiers stay stuck.
    Missed(usize),
    /// What runs the object needs it; a rehearsal has no permissions, so it cannot show that.
    Permissions,
}

impl PreApplied {
    /// Whether its values must not be printed.
    pub fn is_secret(&self) -> bool {
        let id = self.object.id();
        id.is("", "Secret") || self.object.encryption != Encryption::None
    }
}

/// The search: the stuck world, and what was found so far.
struct Search<'a> {
    script: &'a Script,
    stuck: &'a World,
    plays: usize,
}

/// What a set of objects comes to.
struct Played {
    world: World,
    stuck: Vec<TierName>,
}

impl Rehearsal {
    /// Looks for the smallest set of objects that brings the stuck tiers up.
    pub fn pre_apply(&self) -> PreApply {
        let script = self.script();
        let mut search = Search {
            script,
            stuck: &self.world,
            plays: 0,
        };
        let stuck = search.stuck_in(&self.world, self.end);
        let mut set: Vec<Candidate> = Vec::new();
        let mut best = Played {
            world: self.world.clone(),
            stuck: stuck.clone(),
        };
        for _ in 0..STEPS_MAX {
            if best.stuck.is_empty() {
                break;
            }
            let Some((more, played)) = search.step(&set, &best) else {
                break;
            };
            set.extend(more);
            best = played;
        }
        let mut found = PreApply {
            stuck,
            objects: Vec::new(),
            still_stuck: best.stuck.clone(),
            takes_s: None,
            plays: 0,
        };
        if best.stuck.len() < found.stuck.len() {
            let ids = search.flatten(&set);
            found.objects = search.minimal(ids, &best.stuck);
            let applied_at = self.world.now();
            let ready = best
                .world
                .kustomizations
                .tiers()
                .values()
                .filter_map(|record| record.ready_at);
            found.takes_s = ready
                .max()
                .filter(|at| *at > applied_at)
                .map(|at| at.since(applied_at).as_secs_f64());
        }
        found.plays = search.plays;
        found
    }
}

impl Search<'_> {
    /// The tiers that are expected and not up.
    fn stuck_in(&self, world: &World, end: firstpass_sim::End) -> Vec<TierName> {
        let explainer = Explainer::new(self.script, world, end);
        let expected = explainer
            .tiers
            .iter()
            .filter(|tier| tier.state != TierState::Suspended);
        expected
            .filter(|tier| !tier.is_done())
            .map(|tier| tier.name.clone())
            .collect()
    }

    /// The smallest step from here that brings more tiers up.
    fn step(&mut self, set: &[Candidate], from: &Played) -> Option<(Vec<Candidate>, Played)> {
        let mut open = candidates(self.script, &from.world);
        open.retain(|candidate| set.iter().all(|known| known.id != candidate.id));
        for size in 1..=STEP_MAX.min(open.len()) {
            let mut best: Option<(Vec<Candidate>, Played)> = None;
            for chosen in combinations(open.len(), size) {
                if self.plays >= PLAYS_MAX {
                    return best;
                }
                let more: Vec<Candidate> = chosen.iter().map(|index| open[*index].clone()).collect();
                let whole: Vec<Candidate> = set.iter().chain(&more).cloned().collect();
                let played = self.play(&self.flatten(&whole));
                let needed = best
                    .as_ref()
                    .map_or(from.stuck.len(), |(_, best)| best.stuck.len());
                if played.stuck.len() < needed {
                    best = Some((more, played));
                }
            }
            if best.is_some() {
                return best;
            }
        }
        None
    }

    /// The objects of candidates, each once, in the order in which they can be applied.
    fn flatten(&self, set: &[Candidate]) -> Vec<ObjectId> {
        let mut ids: Vec<ObjectId> = Vec::new();
        for id in set
            .iter()
            .flat_map(|candidate| candidate.with.iter().chain([&candidate.id]))
        {
            if !ids.contains(id) {
                ids.push(id.clone());
            }
        }
        ids.sort_by_key(|id| match id.kind.as_str() {
            "CustomResourceDefinition" => 0,
            "Namespace" => 1,
            "ServiceAccount" | "ConfigMap" | "Secret" => 2,
            _ if id.group == "rbac.authorization.k8s.io" => 2,
            _ => 3,
        });
        ids
    }

    /// Applies a set in the stuck world and lets it go on.
    fn play(&mut self, ids: &[ObjectId]) -> Played {
        self.plays += 1;
        let mut world = self.stuck.clone();
        let objects = ids.iter().filter_map(|id| candidates::rendered(self.script, id));
        for (_, object) in objects {
            for _ in 0..AGAIN.0 {
                let request = Request::Apply(Apply::forced(Arc::clone(&object.object), MANAGER));
                if world.intervene(|server| server.call(&request)).is_ok() {
                    break;
                }
                world.run_for(AGAIN.1);
            }
        }
        let limit = world.now() + HORIZON;
        let end = world.run_until_quiet(limit);
        let stuck = self.stuck_in(&world, end);
        Played { world, stuck }
    }

    /// Leaves out each object in turn, the last one first, and keeps those that are missed.
    fn minimal(&mut self, mut ids: Vec<ObjectId>, goal: &[TierName]) -> Vec<PreApplied> {
        let mut proofs: Vec<(ObjectId, Proof)> = Vec::new();
        for place in (0..ids.len()).rev() {
            let id = ids[place].clone();
            if candidates::is_permission(&id) {
                proofs.push((id, Proof::Permissions));
                continue;
            }
            let mut without = ids.clone();
            without.remove(place);
            let stuck = self.play(&without).stuck.len();
            if stuck > goal.len() {
                proofs.push((id, Proof::Missed(stuck)));
            } else {
                ids.remove(place);
            }
        }
        // Permissions are for workloads; without one left nobody needs them.
        let has_workload = ids.iter().any(|id| matches!(id.group.as_str(), "apps" | "batch"));
        proofs.retain(|(_, proof)| *proof != Proof::Permissions || has_workload);
        proofs.reverse();
        let applied = proofs.into_iter().filter_map(|(id, proof)| {
            let (tier, object) = candidates::rendered(self.script, &id)?;
            Some(PreApplied {
                object: object.clone(),
                tier: tier.clone(),
                proof,
            })
        });
        applied.collect()
    }
}

/// All ways to choose `size` of `count` places, in order.
fn combinations(count: usize, size: usize) -> Vec<Vec<usize>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let mut ways = Vec::new();
    for shorter in combinations(count, size - 1) {
        let first = shorter.last().map_or(0, |last| last + 1);
        ways.extend((first..count).map(|next| [shorter.as_slice(), &[next]].concat()));
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_once() {
        assert_eq!(combinations(3, 2), [vec![0, 1], vec![0, 2], vec![1, 2]]);
        assert_eq!(combinations(2, 3), Vec::<Vec<usize>>::new());
    }
}
