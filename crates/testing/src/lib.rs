//! A whole Flux repository in a string, and where the shared test inputs are. For tests only.

pub mod synthetic;

use std::path::PathBuf;

use firstpass_source::MemoryTree;

/// Reads a fixture: `--- path/of/file` starts a file, everything up to the next such line is its text.
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
/// A YAML document separator is `---` alone on its line, so it never starts a file.
///
/// # Panics
/// If there is text before the first file, which is a mistake in the test.
pub fn tree(fixture: &str) -> MemoryTree {
    let mut tree = MemoryTree::new();
    let mut current: Option<(String, String)> = None;
    for line in fixture.lines() {
        if let Some(path) = line.strip_prefix("--- ") {
            if let Some((path, text)) = current.replace((path.trim().to_owned(), String::new())) {
                tree.insert(&path, text);
            }
            continue;
        }
        match &mut current {
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
    if let Some((path, text)) = current {
        tree.insert(&path, text);
    }
    tree
}

/// A directory of the shared test inputs, such as `cases` or `corpus`; `None` where they are not at hand.
///
/// They are looked for at `FIRSTPASS_SHARED`, else at `../shared` beside the workspace. A test that gets `None` says so
/// and returns.
///
/// # Panics
/// Under `CI=true` if they are missing: there a skipped test would be a false green.
#[expect(
    clippy::disallowed_methods,
    reason = "tests find their inputs through the environment"
)]
pub fn shared(name: &str) -> Option<PathBuf> {
    let root = std::env::var("FIRSTPASS_SHARED").map_or_else(
        |_| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let directory = root.join(name);
    if directory.is_dir() {
        return directory.canonicalize().ok();
    }
    assert!(
        std::env::var("CI").as_deref() != Ok("true"),
        "the shared inputs are missing at {}: set FIRSTPASS_SHARED",
        directory.display()
    );
    eprintln!(
        "SKIPPED: the shared inputs are missing at {}",
        directory.display()
    );
    None
}
