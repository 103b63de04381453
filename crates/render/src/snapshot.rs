//! A repository as it was when it was opened: its directories are listed once, its files are read once.
//!
//! Every tier of a cluster walks the same directories, and a file that changes halfway would make tiers disagree.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use firstpass_source::{EntryKind, ReadError, RepoPath, Tree};

type Listing = Result<Vec<(String, EntryKind)>, ReadError>;
type Content = Result<Arc<[u8]>, ReadError>;

/// A tree that asks another one once.
pub(crate) struct Snapshot {
    tree: Arc<dyn Tree>,
    listings: Mutex<BTreeMap<RepoPath, Arc<Listing>>>,
    contents: Mutex<BTreeMap<RepoPath, Content>>,
}

impl Snapshot {
    pub(crate) fn new(tree: Arc<dyn Tree>) -> Snapshot {
        Snapshot {
            tree,
            listings: Mutex::default(),
            contents: Mutex::default(),
        }
    }

    fn listing(&self, directory: &RepoPath) -> Arc<Listing> {
        let mut listings = self.listings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = listings.get(directory) {
            return known.clone();
        }
        let listing = Arc::new(self.tree.list(directory));
        listings.insert(directory.clone(), listing.clone());
        listing
    }
}

impl Tree for Snapshot {
    fn read(&self, path: &RepoPath) -> Content {
        let mut contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = contents.get(path) {
            return known.clone();
        }
        let content = self.tree.read(path);
        contents.insert(path.clone(), content.clone());
        content
    }

    fn entry(&self, path: &RepoPath) -> Option<EntryKind> {
        let Some(parent) = path.parent() else {
            return self.tree.entry(path);
        };
        match &*self.listing(&parent) {
            // Trees list in the order of the bytes of names.
            Ok(entries) => match entries.binary_search_by(|(name, _)| name.as_str().cmp(path.file_name())) {
                Ok(index) => Some(entries[index].1),
                Err(_) => None,
            },
            Err(_) => self.tree.entry(path),
        }
    }

    fn list(&self, directory: &RepoPath) -> Listing {
        (*self.listing(directory)).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_says_what_its_tree_says() {
        let tree = Arc::new(firstpass_testing::tree(
            "--- a/b.yaml\nb\n--- a-c/d.yaml\nd\n--- a/e/f\nf\n",
        ));
        let snapshot = Snapshot::new(tree.clone());
        for path in ["", "a", "a/b.yaml", "a/e", "a-c", "b", "a/x", "a/b.yaml/c"] {
            let path = RepoPath::clamped(path);
            assert_eq!(snapshot.entry(&path), tree.entry(&path), "{path}");
            assert_eq!(snapshot.list(&path), tree.list(&path), "{path}");
            assert_eq!(snapshot.read(&path), tree.read(&path), "{path}");
        }
    }
}
