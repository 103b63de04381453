//! "What if I changed this?": one tree laid over another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::{EntryKind, ReadError, RepoPath, Tree};

/// The file in an overlay that lists, one path a line, what is gone from the tree below. `#` starts a comment.
const REMOVED_LIST: &str = ".removed";

/// A tree over another: files of the upper hide those of the lower, and paths listed in the upper's `.removed` are gone.
pub struct OverlayTree<L, U> {
    lower: L,
    upper: U,
    removed: BTreeSet<RepoPath>,
}

impl<L: Tree, U: Tree> OverlayTree<L, U> {
    /// Lays `upper` over `lower` and reads the list of removed paths.
    pub fn new(lower: L, upper: U) -> OverlayTree<L, U> {
        let list = upper
            .read(&RepoPath::clamped(REMOVED_LIST))
            .unwrap_or_else(|_| Arc::from([]));
        let removed = String::from_utf8_lossy(&list)
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(RepoPath::clamped)
            .collect();
        OverlayTree {
            lower,
            upper,
            removed,
        }
    }

    fn is_removed(&self, path: &RepoPath) -> bool {
        std::iter::successors(Some(path.clone()), RepoPath::parent).any(|path| self.removed.contains(&path))
    }

    fn is_list(path: &RepoPath) -> bool {
        path.as_str() == REMOVED_LIST
    }
}

impl<L: Tree, U: Tree> Tree for OverlayTree<L, U> {
    fn read(&self, path: &RepoPath) -> Result<Arc<[u8]>, ReadError> {
        if Self::is_list(path) {
            return Err(ReadError::NotFound(path.clone()));
        }
        match self.upper.read(path) {
            Err(ReadError::NotFound(_)) if self.is_removed(path) => Err(ReadError::NotFound(path.clone())),
            Err(ReadError::NotFound(_)) => self.lower.read(path),
            answer => answer,
        }
    }

    fn entry(&self, path: &RepoPath) -> Option<EntryKind> {
        if Self::is_list(path) {
            return None;
        }
        self.upper.entry(path).or_else(|| {
            if self.is_removed(path) {
                None
            } else {
                self.lower.entry(path)
            }
        })
    }

    fn list(&self, directory: &RepoPath) -> Result<Vec<(String, EntryKind)>, ReadError> {
        let upper = self.upper.list(directory);
        let lower = if self.is_removed(directory) {
            Err(ReadError::NotFound(directory.clone()))
        } else {
            self.lower.list(directory)
        };
        let mut entries = BTreeMap::new();
        match (upper, lower) {
            (Err(_), Err(error)) => return Err(error),
            (upper, lower) => {
                let below = lower.unwrap_or_default().into_iter();
                entries.extend(below.filter(|(name, _)| !self.is_removed(&directory.join_clamped(name))));
                entries.extend(upper.unwrap_or_default());
            }
        }
        entries.retain(|name, _| !Self::is_list(&directory.join_clamped(name)));
        Ok(entries.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryTree;

    #[test]
    fn upper_hides_and_removes() {
        let mut lower = MemoryTree::new();
        lower.insert("a/one.yaml", "1");
        lower.insert("a/two.yaml", "2");
        lower.insert("b/three.yaml", "3");
        let mut upper = MemoryTree::new();
        upper.insert("a/one.yaml", "uno");
        upper.insert("c.yaml", "4");
        upper.insert(".removed", "# gone\na/two.yaml\nb\n");
        let tree = OverlayTree::new(lower, upper);

        assert_eq!(&*tree.read(&RepoPath::clamped("a/one.yaml")).unwrap(), b"uno");
        assert!(tree.read(&RepoPath::clamped("a/two.yaml")).is_err());
        assert!(tree.read(&RepoPath::clamped("b/three.yaml")).is_err());
        let names: Vec<_> = tree
            .list(&RepoPath::root())
            .unwrap()
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["a", "c.yaml"]);
    }
}
