//! Laws that no run may break, whatever goes wrong in it: safety first, and only then the question whether it converges.
//!
//! [`Laws`] stand outside the controllers. They see what a watcher of the API server sees, remember all of it, and compare it
//! with what Flux promises. A broken law is a fault of the models, never of a repository. Each law also counts the cases that
//! it looked at: one that never had a case holds for no reason.
//!
//! ```text
//! World ── step ──► events ──► Laws::look ──► Broken (an error of ours), Deletion (for others to judge)
//! ```

mod dependencies;
mod history;
mod prune;
mod stages;
mod tiers;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use firstpass_apiserver::{Cursor, Event, EventType, Time};
use firstpass_controllers::kustomization::StageRules;
use firstpass_flux::names;
use firstpass_object::{ObjectExt, ObjectId, TierName};
use serde_json::Value;

use crate::world::World;
pub use history::{Deletion, Written};
pub use tiers::FollowedTier;

/// More broken laws than this say nothing new.
const BROKEN_MAX: usize = 20;

/// One law.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Law {
    /// Resource versions only grow, generations never shrink, a deletion is never taken back.
    VersionsGrow,
    /// What is pruned belongs to the Flux Kustomization that prunes, and neither asks to be left alone (F-412, F-430).
    PruneOwned,
    /// Nothing is pruned that its Flux Kustomization still builds (F-402).
    PruneStale,
    /// At a dry-run that fails nothing of the same stage, or of a later one, is written (F-212).
    StageHolds,
    /// Ready only after every dependency was, at that revision where they share a source (F-121, F-122).
    DependenciesFirst,
    /// A Flux Kustomization that is Ready remembers exactly what it applied (F-401).
    InventoryTrue,
    /// A Flux Kustomization that waits is Ready only when everything that it checks is (F-500).
    ReadyMeansHealthy,
    /// No more attempts at once than there are workers (F-160).
    WorkersBound,
    /// A run whose faults have healed ends like one without faults.
    HealsAlike,
}

impl Law {
    /// All laws.
    pub const ALL: [Law; 9] = [
        Law::VersionsGrow,
        Law::PruneOwned,
        Law::PruneStale,
        Law::StageHolds,
        Law::DependenciesFirst,
        Law::InventoryTrue,
        Law::ReadyMeansHealthy,
        Law::WorkersBound,
        Law::HealsAlike,
    ];

    /// What it says.
    pub const fn text(self) -> &'static str {
        match self {
            Law::VersionsGrow => "resource versions only grow",
            Law::PruneOwned => "what is pruned belongs to who prunes it",
            Law::PruneStale => "nothing is pruned that is still built",
            Law::StageHolds => "nothing is applied past a failed dry-run of its stage",
            Law::DependenciesFirst => "Ready only after the dependencies",
            Law::InventoryTrue => "an inventory is what was applied",
            Law::ReadyMeansHealthy => "Ready only when what is checked is healthy",
            Law::WorkersBound => "no more attempts at once than workers",
            Law::HealsAlike => "what has healed ends like a run without faults",
        }
    }
}

/// A law that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which.
    pub law: Law,
    /// When.
    pub at: Time,
    /// How.
    pub what: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.at.as_micros() as f64 / 1e6;
        write!(formatter, "{}: at {seconds:.3} s {}", self.law.text(), self.what)
    }
}

/// Somebody who watches a world from one moment on.
#[derive(Clone, Debug, Default)]
pub struct Laws {
    cursor: Cursor,
    rules: StageRules,
    /// The newest resource version seen.
    newest: u64,
    /// The moment that is looked at, and the newest resource version before it.
    moment: (Time, u64),
    /// Flux Kustomizations as they were last seen.
    tiers: BTreeMap<TierName, FollowedTier>,
    /// Deletions so far that kustomize-controller asked for.
    deletions: Vec<Deletion>,
    /// Lines of the journal that were read.
    lines: usize,
    /// What was deleted to be created again (F-242), at this moment.
    forced: BTreeSet<(Time, String)>,
    cases: BTreeMap<Law, u64>,
    broken: Vec<Broken>,
}

impl Laws {
    /// Watches from now on; what there is was there before.
    pub fn of(world: &World) -> Laws {
        let mut laws = Laws {
            cursor: world.server.log().head(),
            rules: StageRules::of(world.settings()),
            lines: world.journal().len(),
            ..Laws::default()
        };
        for (id, object) in world.server.all_objects() {
            laws.newest = laws.newest.max(history::resource_version(object));
            if is_tier(id) {
                laws.follow(&history::tier_name(object), object, None);
            }
        }
        for (name, tier) in &mut laws.tiers {
            let record = world.kustomizations.tiers().get(name);
            tier.failures = record.map_or(0, |record| record.failures.len());
        }
        laws
    }

    /// Looks at what happened since the last look. Has to be called after every step.
    pub fn look(&mut self, world: &World) {
        self.read_journal(world);
        if self.moment.0 != world.now() {
            self.moment = (world.now(), self.newest);
        }
        let events: Vec<Event> = world.server.events_since(self.cursor).cloned().collect();
        self.cursor = world.server.log().head();
        let mut touched: BTreeSet<TierName> = BTreeSet::new();
        for event in &events {
            self.check_versions(event);
            self.check_deletion(event, world);
            self.note_written(event);
            if is_tier(&event.id) {
                let tier = history::tier_name(&event.object);
                if event.event_type == EventType::Deleted {
                    self.tiers.remove(&tier);
                } else {
                    let before = event.previous.as_ref();
                    self.follow(&tier, &event.object, before);
                    self.check_ready(&tier, event, world);
                }
                touched.insert(tier);
            }
        }
        // Every attempt that ends writes so.
        self.check_failures(&touched, world);
        self.check_workers(world);
    }

    /// How far it has looked: what happened before may be forgotten.
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// The laws that were broken.
    pub fn broken(&self) -> &[Broken] {
        &self.broken
    }

    /// How many cases each law had.
    pub fn cases(&self) -> &BTreeMap<Law, u64> {
        &self.cases
    }

    /// What kustomize-controller deleted.
    pub fn deletions(&self) -> &[Deletion] {
        &self.deletions
    }

    /// A case of a law, and whether it holds.
    pub fn judge(&mut self, law: Law, at: Time, holds: bool, what: impl FnOnce() -> String) {
        *self.cases.entry(law).or_default() += 1;
        if !holds && self.broken.len() < BROKEN_MAX {
            self.broken.push(Broken {
                law,
                at,
                what: what(),
            });
        }
    }

    fn check_workers(&mut self, world: &World) {
        let (running, most) = (
            world.kustomizations.running().len(),
            world.kustomizations.workers_max(),
        );
        if running > 0 {
            self.judge(Law::WorkersBound, world.now(), running <= most, || {
                format!("{running} attempts run, and there are {most} workers")
            });
        }
    }
}

fn is_tier(id: &ObjectId) -> bool {
    id.is(names::KUSTOMIZE_GROUP, names::KUSTOMIZATION)
}

/// The Flux Kustomization that an object's labels name.
fn owner(object: &Value) -> Option<TierName> {
    let namespace = object.label(names::OWNER_NAMESPACE_LABEL)?;
    Some(TierName::new(namespace, object.label(names::OWNER_NAME_LABEL)?))
}

/// Whether an event is a deletion that somebody asked for, and not the end of an older one.
fn is_deletion(event: &Event) -> bool {
    let stamp = |object: &Arc<Value>| object.at(&["metadata", "deletionTimestamp"]).is_some();
    match event.event_type {
        EventType::Added => false,
        EventType::Deleted => !stamp(&event.object),
        EventType::Modified => stamp(&event.object) && event.previous.as_ref().is_some_and(|old| !stamp(old)),
    }
}
