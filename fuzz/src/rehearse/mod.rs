//! What must hold for the rehearsal of any repository, as somebody sees it who only watches the API server.

mod laws;
mod repository;

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
use firstpass_source::{MemoryTree, RepoPath};

use laws::Laws;
use repository::Plan;

/// How long a revision may take. Whatever a small repository does, it has done by then.
const LIMIT: Duration = Duration::from_secs(4 * 60 * 60);

/// Rehearsing never panics, gives the same trace twice, and breaks none of [`Laws`], be it on the first pass or when
/// another revision follows.
///
/// The bytes decide how a small repository looks and what changes in it.
pub fn rehearse(data: &[u8]) {
    let mut bytes = Unstructured::new(data);
    let Ok((first, second, seed)) = Plan::draw(&mut bytes) else {
        return;
    };
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

    let (mut world, _) = script.set_stage(seed);
    let mut watch = Watch::default();
    watch.follow(&mut world, &first);
    let after = self::script(second.files());
    world.move_to(Arc::new(after.contents(2)));
    watch.follow(&mut world, &second);
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
#[derive(Default)]
struct Watch {
    witness: Witness,
    laws: Laws,
}

impl Watch {
    /// Plays until it is quiet, and looks after every step.
    fn follow(&mut self, world: &mut World, plan: &Plan) {
        let limit = world.now() + LIMIT;
        self.laws.look(world, plan);
        while world.now() < limit && world.step(limit) {
            self.laws.look(world, plan);
            if world.is_quiet() {
                break;
            }
        }
        self.witness.look(&world.server);
    }
}
