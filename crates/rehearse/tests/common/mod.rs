//! From a directory, or a repository in a string, to a rehearsal.

use std::path::Path;
use std::sync::Arc;

use firstpass_baseline::{Stage, StageOptions};
use firstpass_flux::FluxVersion;
use firstpass_knowledge::Knowledge;
use firstpass_order::OrderGraph;
use firstpass_rehearse::{Options, Rehearsal, Script};
use firstpass_render::{Repository, render_cluster};
use firstpass_source::{OverlayTree, RepoPath, Tree, WorkTree};

/// What differs between rehearsals of one repository.
#[derive(Clone, Debug, Default)]
pub(crate) struct How {
    pub(crate) flux: Option<FluxVersion>,
    pub(crate) stage: StageOptions,
    pub(crate) options: Options,
    /// Without the findings of the rules: only what the run itself finds.
    pub(crate) without_rules: bool,
}

pub(crate) fn script(tree: Arc<dyn Tree>, entry: &str, how: &How) -> Script {
    let repository = Repository::open(tree).unwrap();
    let entry = repository.entry(&RepoPath::clamped(entry)).unwrap();
    let options = firstpass_render::Options { flux: how.flux };
    let cluster = Arc::new(render_cluster(&repository, &entry, &options));
    let knowledge = Knowledge::builtin();
    let helmfiles = repository.helmfiles(&cluster.entry);
    let stage = Arc::new(Stage::set(
        &cluster,
        &**repository.tree(),
        &helmfiles,
        &knowledge,
        &how.stage,
    ));
    let graph = Arc::new(OrderGraph::build(&cluster, &stage, &knowledge));
    let findings = if how.without_rules {
        Vec::new()
    } else {
        firstpass_checks::check(&firstpass_checks::CheckInput {
            repository: &repository,
            cluster: &cluster,
            stage: &stage,
            graph: &graph,
            knowledge: &knowledge,
            fleet: firstpass_checks::Fleet::of(&repository, &firstpass_render::Options::default()).as_ref(),
        })
    };
    Script {
        cluster,
        stage,
        graph,
        knowledge,
        findings: findings.into(),
    }
}

pub(crate) fn rehearse(tree: Arc<dyn Tree>, entry: &str, how: &How) -> Rehearsal {
    script(tree, entry, how).rehearse(&how.options)
}

pub(crate) fn directory(path: &Path) -> Arc<dyn Tree> {
    Arc::new(WorkTree::open(path).unwrap())
}

/// A directory with another laid over it.
pub(crate) fn overlaid(lower: &Path, upper: &Path) -> Arc<dyn Tree> {
    Arc::new(OverlayTree::new(
        WorkTree::open(lower).unwrap(),
        WorkTree::open(upper).unwrap(),
    ))
}
