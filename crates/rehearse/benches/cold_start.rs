//! How long do build and rehearsal take: the bundled example, and the largest cluster of the shared corpus where it is at
//! hand.

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use firstpass_baseline::{Stage, StageOptions};
use firstpass_knowledge::Knowledge;
use firstpass_order::OrderGraph;
use firstpass_rehearse::{Options, Script};
use firstpass_render::{RenderedCluster, Repository, render_cluster};
use firstpass_source::{RepoPath, WorkTree};

fn clusters() -> Vec<(&'static str, PathBuf, &'static str)> {
    let example = PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/home-network"
    ));
    let mut clusters = vec![("home-network", example, "clusters/prod")];
    if let Some(corpus) = firstpass_testing::shared("corpus") {
        clusters.push((
            "largest",
            corpus.join("joryirving__home-ops"),
            "kubernetes/clusters/main",
        ));
    }
    clusters
}

/// Opens and renders: what `firstpass build` does, without printing.
fn build(root: &PathBuf, entry: &str) -> (Repository, RenderedCluster) {
    let tree = Arc::new(WorkTree::open(root).expect("the repository is there"));
    let repository = Repository::open(tree).expect("its configuration can be read");
    let entry = repository
        .entry(&RepoPath::clamped(entry))
        .expect("the entry is there");
    let cluster = render_cluster(&repository, &entry, &firstpass_render::Options::default());
    (repository, cluster)
}

fn script(repository: &Repository, cluster: RenderedCluster) -> Script {
    let knowledge = Knowledge::builtin();
    let helmfiles = repository.helmfiles(&cluster.entry);
    let stage = Stage::set(
        &cluster,
        &**repository.tree(),
        &helmfiles,
        &knowledge,
        &StageOptions::default(),
    );
    let graph = OrderGraph::build(&cluster, &stage, &knowledge);
    Script {
        cluster: Arc::new(cluster),
        stage: Arc::new(stage),
        graph: Arc::new(graph),
        knowledge,
        findings: Vec::new().into(),
    }
}

fn cold_start(criterion: &mut Criterion) {
    for (name, root, entry) in clusters() {
        criterion.bench_function(&format!("build/{name}"), |bencher| {
            bencher.iter(|| black_box(build(&root, entry)));
        });
        let (repository, cluster) = build(&root, entry);
        let script = script(&repository, cluster);
        criterion.bench_function(&format!("rehearse/{name}"), |bencher| {
            bencher.iter(|| black_box(script.rehearse(&Options::default())));
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = cold_start
}
criterion_main!(benches);
