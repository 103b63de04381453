//! How long a directory of 1,000 objects takes, and a small overlay.

use std::fmt::Write as _;
use std::path::Path;

use criterion::{Criterion, criterion_group, criterion_main};
use firstpass_kustomize::{Options, build};
use firstpass_source::{MemoryTree, RepoPath, Tree, WorkTree};

/// Half ConfigMaps, half Deployments that refer to them, all of them renamed, labelled and moved to a namespace.
fn thousand_objects() -> MemoryTree {
    let mut tree = MemoryTree::new();
    let mut list =
        "namespace: big\nnamePrefix: p-\ncommonLabels: {team: x}\nimages: [{name: nginx, newTag: '9'}]\nresources:\n"
            .to_owned();
    for number in 0..500 {
        let _ = write!(list, "- settings-{number}.yaml\n- web-{number}.yaml\n");
        tree.insert(
            &format!("big/settings-{number}.yaml"),
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings-{number}\ndata:\n  key: value\n"
            ),
        );
        tree.insert(
            &format!("big/web-{number}.yaml"),
            format!(
                "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web-{number}\nspec:\n  template:\n    spec:\n\
                 \x20     containers:\n      - name: main\n        image: nginx:1\n        envFrom:\n\
                 \x20       - configMapRef:\n            name: settings-{number}\n"
            ),
        );
    }
    tree.insert("big/kustomization.yaml", list);
    tree.insert(
        "overlay/kustomization.yaml",
        "resources: [../small]\nnameSuffix: -x\nconfigMapGenerator:\n- name: made\n  literals: [a=b]\n"
            .to_owned(),
    );
    tree.insert(
        "small/kustomization.yaml",
        "resources: [../big/web-1.yaml]\n".to_owned(),
    );
    tree
}

fn builds(criterion: &mut Criterion) {
    let tree = thousand_objects();
    for (name, directory) in [("1,000 objects", "big"), ("small overlay", "overlay")] {
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| {
                build(&tree, &RepoPath::clamped(directory), &Options::flux()).map(|built| built.to_yaml())
            });
        });
    }
}

/// The same directory on disk, where opening the files counts too.
fn builds_from_disk(criterion: &mut Criterion) {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("thousand-objects");
    let memory = thousand_objects();
    for path in memory.paths() {
        let target = root.join(path.as_str());
        let directory = target.parent().expect("files lie in directories");
        std::fs::create_dir_all(directory).expect("the target directory is writable");
        let content = memory.read(path).expect("it was listed");
        std::fs::write(&target, content).expect("the target directory is writable");
    }
    criterion.bench_function("1,000 objects on disk", |bencher| {
        bencher.iter(|| {
            let tree = WorkTree::open(&root).expect("it was just made");
            let built = build(&tree, &RepoPath::clamped("big"), &Options::command_line());
            built.map(|built| built.to_yaml())
        });
    });
}

criterion_group!(benches, builds, builds_from_disk);
criterion_main!(benches);
