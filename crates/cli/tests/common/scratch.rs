//! A repository on disk for one test, gone afterwards.

use std::path::{Path, PathBuf};

/// What every small repository starts from.
pub(crate) const BOOTSTRAP: &str = "
--- clusters/prod/flux-system.yaml
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: https://git.example.com/home.git}
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

/// A directory of files.
pub(crate) struct Scratch {
    pub(crate) root: PathBuf,
}

impl Scratch {
    /// Writes a fixture as `firstpass_testing::tree` reads them, below a directory of this name.
    pub(crate) fn new(name: &str, fixture: &str) -> Scratch {
        let root = std::env::temp_dir().join(format!("firstpass-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        std::fs::create_dir_all(&root).unwrap();
        let scratch = Scratch { root };
        // Marks the root; a fixture may bring its own.
        scratch.write("firstpass.yaml", "");
        let mut current: Option<(String, String)> = None;
        for line in fixture.lines().chain(["--- end"]) {
            if let Some(path) = line.strip_prefix("--- ") {
                if let Some((path, text)) = current.replace((path.trim().to_owned(), String::new())) {
                    scratch.write(&path, text);
                }
            } else if let Some((_, text)) = &mut current {
                text.push_str(line);
                text.push('\n');
            }
        }
        scratch
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}
