//! The tree that a tier builds: what of a directory a source packs.

use std::sync::Arc;

use firstpass_source::{EntryKind, ReadError, RepoPath, Tree};

use crate::ignore::IgnoreRules;

/// A directory of a tree as an artifact: ignored files, symbolic links and special files are not in it (F-905 to F-907).
pub(crate) struct ArtifactTree {
    tree: Arc<dyn Tree>,
    root: RepoPath,
    rules: IgnoreRules,
}

impl ArtifactTree {
    pub(crate) fn new(tree: Arc<dyn Tree>, root: RepoPath, rules: IgnoreRules) -> ArtifactTree {
        ArtifactTree { tree, root, rules }
    }

    fn below_root(&self, path: &RepoPath) -> RepoPath {
        self.root.join_clamped(path.as_str())
    }

    /// Whether an entry is packed; a directory that is left out is there if something below it is brought back.
    fn packs(&self, path: &RepoPath, kind: EntryKind) -> bool {
        match kind {
            EntryKind::Symlink | EntryKind::Special => false,
            EntryKind::File => !self.rules.excludes(path, false),
            EntryKind::Directory => {
                path.is_root()
                    || !self.rules.excludes(path, true)
                    || self.rules.brings_back() && self.packs_below(path)
            }
        }
    }

    fn packs_below(&self, directory: &RepoPath) -> bool {
        let entries = self.tree.list(&self.below_root(directory)).unwrap_or_default();
        entries
            .into_iter()
            .any(|(name, kind)| self.packs(&directory.join_clamped(&name), kind))
    }
}

impl Tree for ArtifactTree {
    fn read(&self, path: &RepoPath) -> Result<Arc<[u8]>, ReadError> {
        if self.rules.excludes(path, false) {
            return Err(ReadError::NotFound(path.clone()));
        }
        self.tree
            .read(&self.below_root(path))
            .map_err(|error| seen_from_root(error, path))
    }

    fn entry(&self, path: &RepoPath) -> Option<EntryKind> {
        let kind = self.tree.entry(&self.below_root(path))?;
        self.packs(path, kind).then_some(kind)
    }

    fn list(&self, directory: &RepoPath) -> Result<Vec<(String, EntryKind)>, ReadError> {
        let mut entries = self
            .tree
            .list(&self.below_root(directory))
            .map_err(|error| seen_from_root(error, directory))?;
        entries.retain(|(name, kind)| self.packs(&directory.join_clamped(name), *kind));
        Ok(entries)
    }
}

/// The same error about the path as the artifact spells it.
fn seen_from_root(error: ReadError, path: &RepoPath) -> ReadError {
    match error {
        ReadError::NotFound(_) => ReadError::NotFound(path.clone()),
        ReadError::IsDirectory(_) => ReadError::IsDirectory(path.clone()),
        ReadError::NotDirectory(_) => ReadError::NotDirectory(path.clone()),
        ReadError::Symlink(_) => ReadError::Symlink(path.clone()),
        ReadError::SymlinkEscapes(_) => ReadError::SymlinkEscapes(path.clone()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_artifact_holds_what_is_packed() {
        let tree = firstpass_testing::tree(
            "
--- kubernetes/main/a.yaml
a
--- kubernetes/other/b.yaml
b
--- README.md
c
",
        );
        let rules = IgnoreRules::of_source(&tree, &[], Some("/*\n!/kubernetes/main"));
        let artifact = ArtifactTree::new(Arc::new(tree), RepoPath::root(), rules);
        let names = |path: &str| -> Vec<String> {
            let entries = artifact.list(&RepoPath::clamped(path)).unwrap();
            entries.into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names(""), ["kubernetes"]);
        assert_eq!(names("kubernetes"), ["main"]);
        assert!(artifact.read(&RepoPath::clamped("README.md")).is_err());
        assert!(artifact.is_file(&RepoPath::clamped("kubernetes/main/a.yaml")));
    }

    #[test]
    fn an_artifact_may_start_at_a_directory() {
        let tree = firstpass_testing::tree("--- kubernetes/apps/a.yaml\na\n");
        let artifact = ArtifactTree::new(
            Arc::new(tree),
            RepoPath::clamped("kubernetes"),
            IgnoreRules::default(),
        );
        assert!(artifact.is_file(&RepoPath::clamped("apps/a.yaml")));
        assert!(artifact.is_directory(&RepoPath::root()));
        let missing = RepoPath::clamped("b");
        assert_eq!(artifact.read(&missing), Err(ReadError::NotFound(missing)));
    }
}
