//! Rendering a cluster to the end: the example, and the largest repository of the corpus where it is at hand.

use std::path::Path;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use firstpass_render::{Options, Repository, render_cluster};
use firstpass_source::{RepoPath, WorkTree};

fn bench(criterion: &mut Criterion) {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/home-network");
    run(criterion, "home-network", &example, "clusters/prod");
    if let Some(corpus) = firstpass_testing::shared("corpus") {
        run(
            criterion,
            "161 tiers",
            &corpus.join("joryirving__home-ops"),
            "kubernetes/clusters/main",
        );
    }
}

fn run(criterion: &mut Criterion, name: &str, root: &Path, entry: &str) {
    let entry = RepoPath::clamped(entry);
    criterion.bench_function(&format!("open and render {name}"), |bencher| {
        bencher.iter(|| {
            let tree = WorkTree::open(root).unwrap();
            let repository = Repository::open(Arc::new(tree)).unwrap();
            let entry = repository.entry(&entry).unwrap();
            render_cluster(&repository, &entry, &Options::default())
                .tiers
                .len()
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = bench
}
criterion_main!(benches);
