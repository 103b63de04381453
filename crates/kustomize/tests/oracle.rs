//! Every kustomization directory of a corpus, built by us and by a real `kubectl kustomize`.
//!
//! Not part of the usual run, since it takes a kubectl whose kustomize is 5.8.1 and some minutes:
//!
//! ```text
//! KUSTOMIZE_ORACLE=path/to/kubectl cargo test -p firstpass-kustomize --test oracle -- --ignored --nocapture
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;

use firstpass_kustomize::file::NAMES;
use firstpass_kustomize::{Options, build};
use firstpass_source::{RepoPath, WorkTree};

#[test]
#[ignore = "takes a kubectl in KUSTOMIZE_ORACLE"]
#[expect(clippy::disallowed_methods, reason = "the oracle is named by the environment")]
fn the_corpus_builds_as_kubectl_builds_it() {
    let oracle = std::env::var("KUSTOMIZE_ORACLE").expect("KUSTOMIZE_ORACLE names a kubectl");
    let Some(corpus) = firstpass_testing::shared("corpus") else {
        return;
    };
    let (mut same, mut both_fail, mut wrong) = (0, 0, Vec::new());
    for repository in entries(&corpus).into_iter().filter(|path| path.is_dir()) {
        let mut directories = Vec::new();
        collect(&repository, &mut directories);
        for directory in directories {
            let theirs = Command::new(&oracle)
                .arg("kustomize")
                .arg(&directory)
                .output()
                .expect("the oracle runs");
            let below = directory.strip_prefix(&repository).expect("it was found there");
            let tree = WorkTree::open(&repository)
                .expect("it is a directory")
                .following_links();
            let path = RepoPath::clamped(&below.to_string_lossy());
            match build(&tree, &path, &Options::command_line()) {
                Ok(built) if theirs.status.success() => {
                    if built.to_yaml().as_bytes() == theirs.stdout {
                        same += 1;
                    } else {
                        wrong.push(format!("{}: another output", directory.display()));
                    }
                }
                Err(_) if !theirs.status.success() => both_fail += 1,
                Ok(_) => wrong.push(format!("{}: kubectl has an error", directory.display())),
                Err(error) => wrong.push(format!("{}: {error}", directory.display())),
            }
        }
    }
    println!("{same} the same, {both_fail} fail for both");
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Finds the directories that hold a kustomization file.
fn collect(directory: &Path, found: &mut Vec<PathBuf>) {
    if NAMES.iter().any(|name| directory.join(name).is_file()) {
        found.push(directory.to_owned());
    }
    for path in entries(directory) {
        let is_link = path.is_symlink();
        if path.is_dir() && !is_link {
            collect(&path, found);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the corpus lies on disk")]
fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory)
        .expect("the directory can be read")
        .map(|entry| entry.expect("the directory can be read").path())
        .collect();
    paths.sort();
    paths
}
