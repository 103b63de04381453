//! What came of a run: the state of each tier, what it waits for, and who waits for whom in a circle.

use std::collections::{BTreeMap, BTreeSet};

use firstpass_apiserver::Time;
use firstpass_controllers::kustomization::{Obstacle, OutcomeResult, TierRecord};
use firstpass_diagnostics::{TierState, WaitingFor, WaitingOn};
use firstpass_object::{ObjectId, TierName};
use firstpass_render::RenderedObject;
use firstpass_sim::{End, World};

use crate::rehearsal::Script;
use crate::waits::{self, Bringers, Wait};

/// A run, explained.
pub struct Explainer<'a> {
    pub(crate) script: &'a Script,
    pub(crate) world: &'a World,
    pub(crate) end: End,
    /// The tiers in the order in which rendering met them.
    pub(crate) tiers: Vec<TierView>,
    /// Where each tier is in `tiers`.
    index: BTreeMap<TierName, usize>,
    /// The tiers that wait for each tier, by index.
    waiting_for: BTreeMap<TierName, Vec<usize>>,
    /// The tiers that wait for themselves, each with everybody in its circle.
    pub(crate) circles: BTreeMap<TierName, BTreeSet<TierName>>,
}

/// One tier at the end of a run.
#[derive(Clone, Debug)]
pub(crate) struct TierView {
    pub(crate) name: TierName,
    pub(crate) state: TierState,
    pub(crate) record: TierRecord,
    /// What it waits for now; for one that is Ready, what it waited for on the way.
    pub(crate) waits: Vec<Wait>,
}

impl TierView {
    /// Whether the tier has what it wants, as far as anybody can see.
    pub(crate) fn is_done(&self) -> bool {
        self.record.ready_at.is_some() && matches!(self.state, TierState::Ready | TierState::Unrendered)
    }

    /// Whether its objects were ever applied in full.
    pub(crate) fn has_applied(&self) -> bool {
        self.record.applied_at.is_some()
    }
}

impl<'a> Explainer<'a> {
    /// Whether every tier that is expected has come up.
    pub(crate) fn all_done(&self) -> bool {
        let expected = self
            .tiers
            .iter()
            .filter(|tier| tier.state != TierState::Suspended);
        expected.into_iter().all(TierView::is_done)
    }

    /// Explains a run.
    pub fn new(script: &'a Script, world: &'a World, end: End) -> Explainer<'a> {
        let mut explainer = Explainer {
            script,
            world,
            end,
            tiers: Vec::new(),
            index: BTreeMap::new(),
            waiting_for: BTreeMap::new(),
            circles: BTreeMap::new(),
        };
        explainer.tiers = script
            .cluster
            .tiers
            .iter()
            .map(|tier| explainer.view(tier))
            .collect();
        explainer.index = explainer
            .tiers
            .iter()
            .enumerate()
            .map(|(index, tier)| (tier.name.clone(), index))
            .collect();
        for (index, view) in explainer.tiers.iter().enumerate() {
            for other in view.waits.iter().flat_map(|wait| &wait.tiers) {
                explainer
                    .waiting_for
                    .entry(other.clone())
                    .or_default()
                    .push(index);
            }
        }
        let stuck: BTreeMap<TierName, Vec<Wait>> = explainer
            .tiers
            .iter()
            .filter(|tier| !tier.is_done())
            .map(|tier| (tier.name.clone(), tier.waits.clone()))
            .collect();
        explainer.circles = waits::circles(&stuck);
        explainer
    }

    pub(crate) fn bringers(&self) -> Bringers<'_> {
        Bringers {
            world: self.world,
            graph: &self.script.graph,
            cluster: &self.script.cluster,
        }
    }

    /// One tier at the end of the run.
    pub(crate) fn tier(&self, name: &TierName) -> Option<&TierView> {
        self.index.get(name).map(|index| &self.tiers[*index])
    }

    /// Seconds since Flux started.
    pub(crate) fn seconds(&self, at: Time) -> f64 {
        at.since(self.world.epoch()).as_secs_f64()
    }

    /// A rendered object, with where it came from.
    pub(crate) fn rendered(&self, id: &ObjectId) -> Option<&RenderedObject> {
        self.script.cluster.places(id).next().map(|(_, object)| object)
    }

    /// The tier that applies an object, the first one where several do.
    pub(crate) fn bringer(&self, id: &ObjectId) -> Option<&TierName> {
        self.script.cluster.places(id).next().map(|(tier, _)| &tier.name)
    }

    /// The tiers that never applied and that wait, through any chain, for this one.
    pub(crate) fn blocked_by(&self, tier: &TierName) -> Vec<TierName> {
        let mut behind: BTreeSet<&TierName> = BTreeSet::from([tier]);
        let mut open = vec![tier];
        while let Some(cause) = open.pop() {
            for index in self.waiting_for.get(cause).into_iter().flatten() {
                let view = &self.tiers[*index];
                if !view.is_done() && !view.has_applied() && behind.insert(&view.name) {
                    open.push(&view.name);
                }
            }
        }
        let never_applied = self
            .tiers
            .iter()
            .filter(|view| !view.has_applied() && view.name != *tier);
        never_applied
            .filter(|view| behind.contains(&view.name))
            .map(|view| view.name.clone())
            .collect()
    }

    fn view(&self, tier: &firstpass_render::Tier) -> TierView {
        let record = self.world.kustomizations.tiers().get(&tier.name).cloned();
        let Some(record) = record.filter(|record| record.last.is_some() || record.attempts > 0) else {
            return self.absent(tier);
        };
        let result = record.last.as_ref().map(|outcome| &outcome.result);
        let running = self.world.kustomizations.running().get(&tier.name);
        let state = match result {
            Some(OutcomeResult::Suspended) => TierState::Suspended,
            Some(OutcomeResult::Succeeded) if record.unrendered => TierState::Unrendered,
            Some(OutcomeResult::Succeeded) if record.ready_at.is_some() => TierState::Ready,
            Some(OutcomeResult::Failed(failure)) if is_waiting(&failure.obstacles) => TierState::Waiting,
            Some(OutcomeResult::Failed(_)) => TierState::Failed,
            _ => TierState::Waiting,
        };
        let obstacles: Vec<Obstacle> = match (result, running) {
            (_, Some(attempt)) if !attempt.waiting_for().is_empty() => attempt.waiting_for().to_vec(),
            (Some(OutcomeResult::Failed(failure)), _) => failure.obstacles.clone(),
            _ => record.waited_for.clone(),
        };
        let bringers = self.bringers();
        let mut waits: Vec<Wait> = Vec::new();
        let is_ready = matches!(state, TierState::Ready | TierState::Unrendered);
        // Everybody waits for the first artifact; that is nothing to tell of a tier that came up.
        let is_news = |obstacle: &&Obstacle| !(is_ready && matches!(obstacle, Obstacle::Source { .. }));
        for obstacle in obstacles.iter().filter(is_news) {
            let wait = bringers.wait(&tier.name, obstacle);
            if !waits.iter().any(|known| known.on == wait.on) {
                waits.push(wait);
            }
        }
        TierView {
            name: tier.name.clone(),
            state,
            record,
            waits,
        }
    }

    /// A tier whose Flux Kustomization never came into being, or was never looked at.
    fn absent(&self, tier: &firstpass_render::Tier) -> TierView {
        let exists = self.world.kustomizations.tiers().contains_key(&tier.name);
        let waits = tier.parent.iter().filter(|_| !exists).map(|parent| Wait {
            on: WaitingOn {
                waiting_for: WaitingFor::Object,
                what: format!("Kustomization/{}", tier.name),
                tier: Some(parent.clone()),
            },
            obstacle: None,
            tiers: BTreeSet::from([parent.clone()]),
        });
        TierView {
            name: tier.name.clone(),
            state: if tier.kustomization.spec.suspend {
                TierState::Suspended
            } else {
                TierState::Waiting
            },
            record: TierRecord::default(),
            waits: waits.collect(),
        }
    }
}

/// Whether a failure only means "not yet": nothing of the tier itself is wrong.
fn is_waiting(obstacles: &[Obstacle]) -> bool {
    let waits =
        |obstacle: &Obstacle| matches!(obstacle, Obstacle::Dependency { .. } | Obstacle::Source { .. });
    !obstacles.is_empty() && obstacles.iter().all(waits)
}
