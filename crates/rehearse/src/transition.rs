//! A running cluster whose repository moves to another revision: does it take it, and what is missing on the way?

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use firstpass_apiserver::{Duration, Time};
use firstpass_controllers::Line;
use firstpass_diagnostics::ClusterReport;
use firstpass_render::RenderedObject;
use firstpass_sim::{End, HORIZON, World};

use crate::rehearsal::Script;

/// What a move from one revision to another came to.
#[derive(Clone, Debug)]
pub struct Transition {
    /// The cluster at the revision before, when it had come to rest.
    pub before: ClusterReport,
    /// The same cluster at the new revision: what running showed, without what the files alone say. Its duration counts
    /// from the move.
    pub after: ClusterReport,
    /// Objects that both revisions declare and that were gone for a while, in the order in which they went.
    pub gaps: Vec<Gap>,
    /// Objects that went because the new revision no longer declares them.
    pub pruned: Vec<String>,
}

/// An object that should have been there all the time, and was not.
#[derive(Clone, Debug, PartialEq)]
pub struct Gap {
    /// The object, written as reports write it.
    pub object: String,
    /// For how long it was gone, in seconds; `None` if it never came back.
    pub window_s: Option<f64>,
}

impl Script {
    /// Plays this revision until it is quiet, lets the repository move to another, and watches until it is quiet again.
    /// Both are played on the nominal schedule, and what is there before Flux is that of this revision.
    pub fn transition(&self, to: &Script) -> Transition {
        let (mut world, assumptions) = self.set_stage(0);
        let end = self.rest(&mut world);
        let before = self
            .without_findings()
            .conclude(world.clone(), end, 0, assumptions.clone());
        let (moved_at, told) = (world.now(), world.journal().len());
        world.move_to(Arc::new(to.contents(2)));
        let end = self.rest(&mut world);
        let lines = world.journal()[told..].to_vec();
        let moved_s = (moved_at - world.epoch()).as_secs_f64();
        let mut after = to.without_findings().conclude(world, end, 0, assumptions).report;
        after.duration_s = after.duration_s.map(|seconds| (seconds - moved_s).max(0.0));
        let (gaps, pruned) = missed(&lines, &self.declared(), &to.declared());
        Transition {
            before: before.report,
            after,
            gaps,
            pruned,
        }
    }

    fn rest(&self, world: &mut World) -> End {
        if self.starts() {
            world.run_until_quiet(world.now() + HORIZON)
        } else {
            End::Quiet
        }
    }

    /// The same without what follows from the files alone, which is somebody else's to say.
    fn without_findings(&self) -> Script {
        Script {
            findings: Arc::from([]),
            ..self.clone()
        }
    }

    /// What the tiers of this revision declare, written as the journal writes it.
    fn declared(&self) -> BTreeSet<String> {
        let tiers = self.cluster.objects().map(|(_, object)| object);
        let objects = tiers.chain(&self.cluster.seeds).map(RenderedObject::id);
        objects.map(|id| id.to_string()).collect()
    }
}

/// What was gone for a while, and what went for good because nobody declares it any more.
fn missed(lines: &[Line], before: &BTreeSet<String>, after: &BTreeSet<String>) -> (Vec<Gap>, Vec<String>) {
    let mut gaps: Vec<(Time, Gap)> = Vec::new();
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    let mut pruned = Vec::new();
    for line in lines {
        let subject = line.subject.as_str();
        match line.what.as_str() {
            "gone" if before.contains(subject) && after.contains(subject) => {
                open.insert(subject, gaps.len());
                let gap = Gap {
                    object: line.subject.clone(),
                    window_s: None,
                };
                gaps.push((line.at, gap));
            }
            "gone" if before.contains(subject) => pruned.push(line.subject.clone()),
            "created" => {
                if let Some(index) = open.remove(subject) {
                    let (gone_at, gap) = &mut gaps[index];
                    let window: Duration = line.at - *gone_at;
                    gap.window_s = Some(window.as_secs_f64());
                }
            }
            _ => {}
        }
    }
    (gaps.into_iter().map(|(_, gap)| gap).collect(), pruned)
}
