//! What must hold for the rehearsal of any repository, as somebody sees it who only watches the API server.

mod repository;

use std::collections::BTreeMap;
use std::sync::Arc;

use arbitrary::Unstructured;
use firstpass_apiserver::Duration;
use firstpass_apiserver::invariants::Witness;
use firstpass_baseline::{Stage, StageOptions};
use firstpass_knowledge::Knowledge;
use firstpass_order::OrderGraph;
use firstpass_rehearse::{Options, Script};
use firstpass_render::{Repository, render_cluster};
use firstpass_sim::World;
use firstpass_sim::laws::{Law, Laws};
use firstpass_source::{MemoryTree, RepoPath};

use repository::Plan;

/// How long a revision may take. Whatever a small repository does, it has done by then.
const LIMIT: Duration = Duration::from_secs(4 * 60 * 60);

/// Rehearsing never panics, gives the same trace twice, and breaks none of [`Laws`], be it on the first pass, when another
/// revision follows, or while things go wrong.
///
/// The bytes decide how a small repository looks and what changes in it.
pub fn rehearse(data: &[u8]) {
    let mut bytes = Unstructured::new(data);
    let Ok((first, second, seed)) = Plan::draw(&mut bytes) else {
        return;
    };
    play(&first, &second, seed);
}

/// Plays, and says how many cases each law had.
fn play(first: &Plan, second: &Plan, seed: u64) -> BTreeMap<Law, u64> {
    let script = script(first.files());
    let options = Options {
        seed,
        until: LIMIT,
        ..Options::default()
    };
    let once = script.rehearse(&options).trace();
    assert_eq!(
        once,
        script.rehearse(&options).trace(),
        "the same seed gives the same trace"
    );

    let troubles = script.faults(&["random=3".to_owned()]).expect("there is always something to strike");
    let troubled = script.rehearse(&Options {
        troubles,
        ..options
    });
    assert_eq!(troubled.broken, [], "with faults");

    let (mut world, _) = script.set_stage(seed);
    let mut watch = Watch {
        witness: Witness::default(),
        laws: Laws::of(&world),
    };
    watch.follow(&mut world);
    let after = self::script(second.files());
    world.move_to(Arc::new(after.contents(2)));
    watch.follow(&mut world);
    let mut cases = watch.laws.cases().clone();
    for (law, count) in troubled.cases {
        *cases.entry(law).or_default() += count;
    }
    cases
}

fn script(tree: MemoryTree) -> Script {
    let repository = Repository::open(Arc::new(tree)).expect("there is no configuration to misread");
    let entry = repository
        .entry(&RepoPath::clamped(repository::ENTRY))
        .expect("the entry is always written");
    let cluster = render_cluster(&repository, &entry, &firstpass_render::Options::default());
    let knowledge = Knowledge::builtin();
    let helmfiles = repository.helmfiles(&cluster.entry);
    let tree = &**repository.tree();
    let stage = Stage::set(&cluster, tree, &helmfiles, &knowledge, &StageOptions::default());
    let graph = OrderGraph::build(&cluster, &stage, &knowledge);
    Script {
        cluster: Arc::new(cluster),
        stage: Arc::new(stage),
        graph: Arc::new(graph),
        knowledge,
        findings: Vec::new().into(),
    }
}

/// Somebody who watches a world step by step.
struct Watch {
    witness: Witness,
    laws: Laws,
}

impl Watch {
    /// Plays until it is quiet, and looks after every step.
    fn follow(&mut self, world: &mut World) {
        let limit = world.now() + LIMIT;
        self.laws.look(world);
        world.run_watched(limit, |world| self.laws.look(world));
        assert_eq!(self.laws.broken(), []);
        self.witness.look(&world.server);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Laws that never have anything to look at hold for no reason.
    #[test]
    fn every_law_has_cases() {
        let mut cases: BTreeMap<Law, u64> = BTreeMap::new();
        for start in 0..60_u8 {
            let bytes: Vec<u8> = (0..160_u8)
                .map(|at| at.wrapping_mul(start.wrapping_mul(2).wrapping_add(37)) ^ start)
                .collect();
            let Ok((first, second, seed)) = Plan::draw(&mut Unstructured::new(&bytes)) else {
                continue;
            };
            for (law, count) in play(&first, &second, seed) {
                *cases.entry(law).or_default() += count;
            }
        }
        for law in Law::ALL {
            assert!(cases.contains_key(&law), "{} never had a case: {cases:?}", law.text());
        }
    }
}
