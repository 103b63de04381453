//! Where do the repository's bytes come from?
//!
//! Everything that renders asks a [`Tree`] and never opens a file: `WorkTree`, `MemoryTree` and `OverlayTree` all fit.
//! Places are [`RepoPath`]s, which cannot leave the root by construction.
//!
//! Absent on purpose: git (the rim brings it), ignore rules (they belong to what Flux packs, see `render`), writing.

mod glob;
mod memory;
mod overlay;
mod path;
mod work_tree;

use std::sync::Arc;

pub use glob::glob;
pub use memory::MemoryTree;
pub use overlay::OverlayTree;
pub use path::{EscapesRoot, RepoPath};
pub use work_tree::{FILE_LIMIT_BYTES, WorkTree};

/// A tree of files below one root.
///
/// Answers are the same however often they are asked and never depend on the order of a directory on disk.
pub trait Tree: Send + Sync {
    /// The bytes of a file.
    ///
    /// # Errors
    /// See [`ReadError`]. A symbolic link is followed only by trees that say so and only inside the root.
    fn read(&self, path: &RepoPath) -> Result<Arc<[u8]>, ReadError>;

    /// What is at a path, if anything is.
    fn entry(&self, path: &RepoPath) -> Option<EntryKind>;

    /// The entries of a directory, sorted by the bytes of their names.
    ///
    /// # Errors
    /// See [`ReadError`].
    fn list(&self, directory: &RepoPath) -> Result<Vec<(String, EntryKind)>, ReadError>;

    /// Whether a file is at the path.
    fn is_file(&self, path: &RepoPath) -> bool {
        self.entry(path) == Some(EntryKind::File)
    }

    /// Whether a directory is at the path.
    fn is_directory(&self, path: &RepoPath) -> bool {
        self.entry(path) == Some(EntryKind::Directory)
    }
}

/// What a directory entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link. Flux does not pack these (F-907); trees that follow links report their target instead.
    Symlink,
    /// A socket, a device, a pipe: nothing to read.
    Special,
}

/// Why a path cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// Nothing is there.
    #[error("no such file or directory: `{0}`")]
    NotFound(RepoPath),
    /// A directory where a file is needed.
    #[error("`{0}` is a directory")]
    IsDirectory(RepoPath),
    /// A file where a directory is needed.
    #[error("`{0}` is not a directory")]
    NotDirectory(RepoPath),
    /// A symbolic link that is not followed.
    #[error("`{0}` is a symbolic link, which Flux does not pack into its artifact")]
    Symlink(RepoPath),
    /// A symbolic link whose target lies outside the root.
    #[error("`{0}` is a symbolic link that leaves the repository")]
    SymlinkEscapes(RepoPath),
    /// Larger than the limit of the tree.
    #[error("`{path}` has {bytes} bytes, more than the limit of {limit}")]
    TooLarge {
        /// The file.
        path: RepoPath,
        /// Its size in bytes.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The operating system refused.
    #[error("cannot read `{path}`: {reason}")]
    Refused {
        /// The file or directory.
        path: RepoPath,
        /// What the operating system said.
        reason: String,
    },
}
