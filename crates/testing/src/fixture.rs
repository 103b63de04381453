//! A whole Flux repository in a string.

use firstpass_source::MemoryTree;

/// A fixture to begin with: what Flux's bootstrap leaves in the directory of a cluster, which is the source and the Flux
/// Kustomization that syncs `clusters/prod`.
pub const BOOTSTRAP: &str = "\
--- clusters/prod/flux-system.yaml
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, ref: {branch: main}, url: 'https://git.example.com/platform/fleet.git'}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec:
  interval: 10m
  path: ./clusters/prod
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
";

/// The files of a fixture: `--- path/of/file` starts a file, everything up to the next such line is its text.
///
/// A YAML document separator is `---` alone on its line, so it never starts a file.
///
/// # Panics
/// If there is text before the first file, which is a mistake in the test.
pub fn files(fixture: &str) -> Vec<(&str, String)> {
    let mut files: Vec<(&str, String)> = Vec::new();
    for line in fixture.lines() {
        if let Some(path) = line.strip_prefix("--- ") {
            files.push((path.trim(), String::new()));
            continue;
        }
        match files.last_mut() {
            Some((_, text)) => {
                text.push_str(line);
                text.push('\n');
            }
            None => assert!(
                line.trim().is_empty(),
                "text before the first `--- path` line: {line}"
            ),
        }
    }
    files
}

/// Those files as a tree in memory.
///
/// ```
/// let tree = firstpass_testing::tree("
/// --- apps/kustomization.yaml
/// resources: [web.yaml]
/// --- apps/web.yaml
/// kind: ConfigMap
/// ");
/// assert_eq!(tree.paths().count(), 2);
/// ```
///
/// # Panics
/// If there is text before the first file.
pub fn tree(fixture: &str) -> MemoryTree {
    let mut tree = MemoryTree::new();
    for (path, text) in files(fixture) {
        tree.insert(path, text);
    }
    tree
}
