//! Playing a cold start, once or in many schedules, and what came of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use firstpass_apiserver::{Duration, Time};
use firstpass_baseline::Stage;
use firstpass_controllers::kustomization::TierRecord;
use firstpass_diagnostics::{Assumption, ClusterReport, Finding, Verdict};
use firstpass_knowledge::Knowledge;
use firstpass_object::TierName;
use firstpass_order::OrderGraph;
use firstpass_render::RenderedCluster;
use firstpass_sim::faults::{Fault, FaultKind};
use firstpass_sim::laws::{Law, Laws};
use firstpass_sim::{End, HORIZON, SeededDelays, Setting, World, trace};
use rayon::prelude::*;

use crate::contents::RepositoryContents;
use crate::explain::Explainer;
use crate::faults::Troubles;
use crate::safety::{self, BrokenLaw, FinalState};
use crate::stage::{self, Setup};
use crate::{durations, gate, report, schedules, why};

/// How long the stage may take to come to rest before Flux starts.
const STAGE_LIMIT: Time = Time::from_secs(2 * 60 * 60);

/// What is rehearsed: a cluster as it was rendered, the stage before it, and what follows from the files alone.
#[derive(Clone)]
pub struct Script {
    /// The rendered cluster.
    pub cluster: Arc<RenderedCluster>,
    /// What is there before Flux's first pass.
    pub stage: Arc<Stage>,
    /// Who needs what.
    pub graph: Arc<OrderGraph>,
    /// What is known of charts, operators and kinds.
    pub knowledge: Arc<Knowledge>,
    /// Findings that follow from the files alone: of rendering and of the rules. The rehearsal adds its evidence to them
    /// and its own findings beside them.
    pub findings: Arc<[Finding]>,
}

/// How it is rehearsed.
#[derive(Clone, Debug)]
pub struct Options {
    /// The first seed; 0 is the nominal schedule.
    pub seed: u64,
    /// How many schedules are played, with ascending seeds.
    pub schedules: u32,
    /// How long it may take.
    pub until: Duration,
    /// What is made to go wrong.
    pub troubles: Troubles,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 0,
            schedules: 1,
            until: HORIZON,
            troubles: Troubles::default(),
        }
    }
}

/// A rehearsal that was played.
pub struct Rehearsal {
    /// The report.
    pub report: ClusterReport,
    /// The world as it is at the end of the schedule shown.
    pub world: World,
    /// How that schedule ended.
    pub end: End,
    /// Laws that some schedule broke: a fault of firstpass itself.
    pub broken: Vec<BrokenLaw>,
    /// How many cases the laws had in all schedules.
    pub cases: BTreeMap<Law, u64>,
    script: Script,
}

/// One schedule that was played.
struct Run {
    world: World,
    end: End,
    /// Whoever watched it.
    laws: Option<Laws>,
}

/// What the watchers of several schedules saw.
#[derive(Default)]
struct Watched {
    broken: Vec<BrokenLaw>,
    cases: BTreeMap<Law, u64>,
}

impl Watched {
    fn add(&mut self, laws: &Option<Laws>, seed: u64) {
        let Some(laws) = laws else { return };
        let broken = laws.broken().iter().cloned();
        self.broken
            .extend(broken.map(|broken| BrokenLaw { broken, seed }));
        self.count(laws.cases());
    }

    fn join(&mut self, other: Watched) {
        self.broken.extend(other.broken);
        self.count(&other.cases);
    }

    fn count(&mut self, cases: &BTreeMap<Law, u64>) {
        for (law, count) in cases {
            *self.cases.entry(*law).or_default() += count;
        }
    }
}

/// Whether there were faults and each of them is over in the end.
fn has_healed(faults: &[Fault]) -> bool {
    let heals =
        |fault: &Fault| fault.lasts.is_some() || matches!(fault.kind, FaultKind::RestartController(_));
    !faults.is_empty() && faults.iter().all(heals)
}

/// The cluster just before Flux starts: every schedule branches from it.
#[derive(Clone)]
struct Start {
    world: World,
    assumptions: Vec<Assumption>,
}

impl Script {
    /// A world with the stage set and Flux about to start.
    pub fn set_stage(&self, seed: u64) -> (World, Vec<Assumption>) {
        let Start { world, assumptions } = self.start();
        (self.branch(world, self.delays(seed)), assumptions)
    }

    /// The stage, as it is in the nominal schedule: what is there before Flux is the same for everybody.
    fn start(&self) -> Start {
        let delays = self.delays(0);
        let setup = Setup {
            cluster: &self.cluster,
            stage: &self.stage,
            graph: &self.graph,
            knowledge: &self.knowledge,
        };
        let (server, assumptions) = setup.server(&delays);
        let setting = Setting {
            settings: Arc::new(self.cluster.settings.clone()),
            knowledge: Arc::clone(&self.knowledge),
            delays: Arc::new(delays),
        };
        let mut world = World::new(server, setting, Arc::new(self.contents(1)));
        world.run_until_quiet(STAGE_LIMIT);
        world.begin_record();
        Start { world, assumptions }
    }

    fn delays(&self, seed: u64) -> SeededDelays {
        let jitter = self.cluster.settings.interval_jitter_percent;
        SeededDelays::new(Arc::clone(&self.knowledge), seed, jitter)
    }

    /// The world of one schedule, with Flux's own objects applied.
    fn branch(&self, mut world: World, delays: SeededDelays) -> World {
        world.follow(Arc::new(delays));
        for seed in &self.cluster.seeds {
            world.intervene(|server| stage::apply(server, (*seed.object).clone()));
        }
        world
    }

    /// What the repository holds, as the how-many-th revision.
    pub fn contents(&self, number: u64) -> RepositoryContents {
        RepositoryContents::new(
            Arc::clone(&self.cluster),
            &self.stage,
            &self.graph,
            &self.knowledge,
            number,
        )
    }

    /// Plays the cold start.
    pub fn rehearse(&self, options: &Options) -> Rehearsal {
        let start = self.start();
        let (Run { world, end, laws }, mut report) = self.play(&start, options.seed, options);
        let mut watched = Watched::default();
        watched.add(&laws, options.seed);
        if options.schedules > 1 {
            let seeds = (1..u64::from(options.schedules)).map(|offset| options.seed.wrapping_add(offset));
            let played: Vec<(Watched, ClusterReport)> = seeds
                .collect::<Vec<u64>>()
                .into_par_iter()
                .map(|seed| {
                    let (run, report) = self.play(&start, seed, options);
                    let mut watched = Watched::default();
                    watched.add(&run.laws, seed);
                    (watched, report)
                })
                .collect();
            let mut others = Vec::with_capacity(played.len());
            for (seen, report) in played {
                watched.join(seen);
                others.push(report);
            }
            schedules::merge(&mut report, &others);
        } else {
            schedules::unmark(&mut report);
        }
        gate::describe(self, &mut report);
        Rehearsal {
            report,
            end,
            broken: watched.broken,
            cases: watched.cases,
            script: self.clone(),
            world,
        }
    }

    /// Plays one schedule.
    fn play(&self, start: &Start, seed: u64, options: &Options) -> (Run, ClusterReport) {
        let faults = options.troubles.of_seed(seed);
        let watched = !faults.is_empty() || options.schedules > 1;
        let run = |delays, faults: &[Fault], watched| self.run(start, delays, faults, options.until, watched);
        let mut played = run(self.delays(seed), &faults, watched);
        let mut report = self.report(&played.world, played.end, seed, start.assumptions.clone());
        durations::forgive(&mut report, &self.findings);
        durations::judge(&mut report, &self.findings, || {
            let Run { world, end, .. } = run(self.delays(seed).swift(), &faults, false);
            self.report(&world, end, seed, Vec::new())
        });
        if let Some(laws) = &mut played.laws {
            let explainer = Explainer::new(self, &played.world, played.end);
            report
                .findings
                .extend(safety::losses(&explainer, laws.deletions()));
            if has_healed(&faults) && explainer.all_done() {
                let calm = run(self.delays(seed), &[], false);
                if Explainer::new(self, &calm.world, calm.end).all_done() {
                    let states = [&played.world, &calm.world].map(FinalState::of);
                    safety::compare(laws, played.world.now(), &states[0], &states[1]);
                }
            }
        }
        report.conclude();
        (played, report)
    }

    fn run(
        &self,
        start: &Start,
        delays: SeededDelays,
        faults: &[Fault],
        until: Duration,
        watched: bool,
    ) -> Run {
        let mut world = start.world.clone();
        if !watched {
            world.forget_history();
        }
        world.suffer(faults.to_vec());
        let mut laws = watched.then(|| Laws::of(&world));
        let mut world = self.branch(world, delays);
        let limit = world.epoch() + until;
        let end = match &mut laws {
            _ if !self.starts() => End::Quiet,
            None => world.run_until_quiet(limit),
            Some(laws) => world.run_watched(limit, |world| {
                laws.look(world);
                world.server.compact(laws.cursor());
            }),
        };
        Run { world, end, laws }
    }

    /// The world at the end of the nominal schedule, without faults.
    pub(crate) fn nominal_end(&self) -> World {
        self.run(&self.start(), self.delays(0), &[], HORIZON, false).world
    }

    /// The report of a run, without its verdict.
    fn report(&self, world: &World, end: End, seed: u64, assumptions: Vec<Assumption>) -> ClusterReport {
        let explainer = Explainer::new(self, world, end);
        report::of_run(self, &explainer, seed, assumptions)
    }

    /// Explains what came of a world that was run.
    pub fn conclude(&self, world: World, end: End, seed: u64, assumptions: Vec<Assumption>) -> Rehearsal {
        let mut report = self.report(&world, end, seed, assumptions);
        report.conclude();
        schedules::unmark(&mut report);
        gate::describe(self, &mut report);
        Rehearsal {
            report,
            end,
            broken: Vec::new(),
            cases: BTreeMap::new(),
            script: self.clone(),
            world,
        }
    }

    /// Whether Flux's own pods get a network. Only what the configuration itself says counts.
    pub(crate) fn starts(&self) -> bool {
        self.stage.network.is_some()
            || self.stage.has_unknown_parts
            || self.cluster.entry.config.baseline.distribution.is_none()
    }
}

impl Rehearsal {
    /// The record of the schedule shown, as text.
    pub fn trace(&self) -> String {
        let mut text = format!("# seed {}\n", self.report.seed);
        text.push_str(&trace::text(self.world.journal(), self.world.epoch()));
        text
    }

    /// The chain from a tier to what it waits for in the end, in words; `None` if there is no such tier.
    pub fn why(&self, tier: &TierName) -> Option<String> {
        why::chain(
            &Explainer::new(&self.script, &self.world, self.end),
            &self.report.findings,
            tier,
        )
    }

    /// What was rehearsed.
    pub fn script(&self) -> &Script {
        &self.script
    }

    /// What became of a tier.
    pub fn tier(&self, tier: &TierName) -> Option<&TierRecord> {
        self.world.kustomizations.tiers().get(tier)
    }

    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        self.report.verdict
    }
}
