//! A tree that lives in memory: tests, fuzzing, and revisions that were read as a whole.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use crate::{EntryKind, ReadError, RepoPath, Tree};

/// Files by path. Directories exist because files lie below them.
#[derive(Clone, Debug, Default)]
pub struct MemoryTree {
    files: BTreeMap<RepoPath, Arc<[u8]>>,
}

impl MemoryTree {
    /// An empty tree.
    pub fn new() -> MemoryTree {
        MemoryTree::default()
    }

    /// Puts a file, replacing what was there.
    pub fn insert(&mut self, path: &str, content: impl Into<Vec<u8>>) {
        self.files
            .insert(RepoPath::clamped(path), Arc::from(content.into()));
    }

    /// The paths of all files, in order.
    pub fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        self.files.keys()
    }

    fn below<'a>(&'a self, directory: &'a RepoPath) -> impl Iterator<Item = &'a RepoPath> {
        // Paths below `a` start with `a/`; siblings such as `a-b` sort between, so they are passed over, not an end.
        self.files
            .range((Bound::Included(directory.clone()), Bound::Unbounded))
            .map(|(path, _)| path)
            .take_while(move |path| path.as_str().starts_with(directory.as_str()))
            .filter(move |path| *path != directory && path.is_within(directory))
    }
}

impl Tree for MemoryTree {
    fn read(&self, path: &RepoPath) -> Result<Arc<[u8]>, ReadError> {
        match self.files.get(path) {
            Some(content) => Ok(content.clone()),
            None if self.below(path).next().is_some() => Err(ReadError::IsDirectory(path.clone())),
            None => Err(ReadError::NotFound(path.clone())),
        }
    }

    fn entry(&self, path: &RepoPath) -> Option<EntryKind> {
        if self.files.contains_key(path) {
            return Some(EntryKind::File);
        }
        (path.is_root() || self.below(path).next().is_some()).then_some(EntryKind::Directory)
    }

    fn list(&self, directory: &RepoPath) -> Result<Vec<(String, EntryKind)>, ReadError> {
        match self.entry(directory) {
            None => return Err(ReadError::NotFound(directory.clone())),
            Some(EntryKind::Directory) => {}
            Some(_) => return Err(ReadError::NotDirectory(directory.clone())),
        }
        let skip = if directory.is_root() {
            0
        } else {
            directory.as_str().len() + 1
        };
        let mut entries = BTreeMap::new();
        for path in self.below(directory) {
            let rest = &path.as_str()[skip..];
            match rest.split_once('/') {
                Some((name, _)) => entries.insert(name.to_owned(), EntryKind::Directory),
                None => entries.insert(rest.to_owned(), EntryKind::File),
            };
        }
        Ok(entries.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_follow_from_files() {
        let mut tree = MemoryTree::new();
        tree.insert("a/x.yaml", "x");
        tree.insert("a-b/y.yaml", "y");
        tree.insert("a/c/z.yaml", "z");
        let names = |dir: &str| {
            let entries = tree.list(&RepoPath::clamped(dir)).unwrap();
            entries.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(names(""), ["a", "a-b"]);
        assert_eq!(names("a"), ["c", "x.yaml"]);
        assert!(tree.is_directory(&RepoPath::clamped("a/c")));
        assert_eq!(
            tree.read(&RepoPath::clamped("a")),
            Err(ReadError::IsDirectory(RepoPath::clamped("a")))
        );
        assert!(tree.list(&RepoPath::clamped("b")).is_err());
    }
}
