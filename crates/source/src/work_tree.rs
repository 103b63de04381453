//! The files on disk below one directory.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::{EntryKind, ReadError, RepoPath, Tree};

/// Larger files are refused unless the caller sets another limit: a cluster cannot hold an object of this size, and a
/// repository that nobody vetted should not decide how much memory a check takes.
pub const FILE_LIMIT_BYTES: u64 = 64 * 1024 * 1024;

/// A directory on disk, read as it is now.
#[derive(Clone, Debug)]
pub struct WorkTree {
    root: PathBuf,
    canonical_root: PathBuf,
    follow_links: bool,
    file_limit_bytes: u64,
    /// Directories that no link leads to: what lies in them needs one look instead of one per part of its path.
    plain_directories: Arc<Mutex<BTreeSet<RepoPath>>>,
}

impl WorkTree {
    /// Opens a directory. Symbolic links are reported, not followed, as in a Flux artifact (F-907).
    ///
    /// # Errors
    /// If the directory is not there or cannot be entered.
    pub fn open(root: impl Into<PathBuf>) -> io::Result<WorkTree> {
        let root = root.into();
        let canonical_root = root.canonicalize()?;
        if !canonical_root.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "not a directory"));
        }
        Ok(WorkTree {
            root,
            canonical_root,
            follow_links: false,
            file_limit_bytes: FILE_LIMIT_BYTES,
            plain_directories: Arc::default(),
        })
    }

    /// Follows symbolic links whose target lies below the root, as `kustomize build` on a checkout does.
    pub fn following_links(mut self) -> WorkTree {
        self.follow_links = true;
        self
    }

    /// Refuses files of more than this many bytes.
    pub fn with_file_limit(mut self, bytes: u64) -> WorkTree {
        self.file_limit_bytes = bytes;
        self
    }

    /// The directory that was opened.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where a path is on disk, once every link on the way was judged, and what is there.
    fn resolve(&self, path: &RepoPath) -> Result<(PathBuf, Metadata), ReadError> {
        let full = self.canonical_root.join(path.as_str());
        if self.is_in_plain_directory(path) {
            let metadata = fs::symlink_metadata(&full).map_err(|error| self.refusal(path, &error))?;
            if !metadata.is_symlink() {
                return Ok((full, metadata));
            }
        }
        let canonical = full.canonicalize().map_err(|error| self.refusal(path, &error))?;
        if canonical == full {
            if let (Some(parent), Ok(mut plain)) = (path.parent(), self.plain_directories.lock()) {
                plain.insert(parent);
            }
        } else if !canonical.starts_with(&self.canonical_root) {
            return Err(ReadError::SymlinkEscapes(path.clone()));
        } else if !self.follow_links {
            return Err(ReadError::Symlink(path.clone()));
        }
        let metadata = fs::metadata(&canonical).map_err(|error| self.refusal(path, &error))?;
        Ok((canonical, metadata))
    }

    fn is_in_plain_directory(&self, path: &RepoPath) -> bool {
        let parent = path.parent();
        parent.is_some_and(|parent| {
            self.plain_directories
                .lock()
                .is_ok_and(|plain| plain.contains(&parent))
        })
    }

    fn refusal(&self, path: &RepoPath, error: &io::Error) -> ReadError {
        match error.kind() {
            // A link that points nowhere is there, and its target is not.
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ReadError::NotFound(path.clone()),
            _ => ReadError::Refused {
                path: path.clone(),
                reason: error.to_string(),
            },
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that opens the repository's files"
)]
impl Tree for WorkTree {
    fn read(&self, path: &RepoPath) -> Result<Arc<[u8]>, ReadError> {
        let (full, metadata) = self.resolve(path)?;
        if metadata.is_dir() {
            return Err(ReadError::IsDirectory(path.clone()));
        }
        if !metadata.is_file() {
            return Err(ReadError::Refused {
                path: path.clone(),
                reason: "not a regular file".to_owned(),
            });
        }
        if metadata.len() > self.file_limit_bytes {
            let limit = self.file_limit_bytes;
            return Err(ReadError::TooLarge {
                path: path.clone(),
                bytes: metadata.len(),
                limit,
            });
        }
        read_all(&full, metadata.len())
            .map(Arc::from)
            .map_err(|error| self.refusal(path, &error))
    }

    fn entry(&self, path: &RepoPath) -> Option<EntryKind> {
        match self.resolve(path) {
            Ok((_, metadata)) => Some(kind_of(metadata.file_type())),
            Err(ReadError::Symlink(_) | ReadError::SymlinkEscapes(_)) => Some(EntryKind::Symlink),
            Err(_) => None,
        }
    }

    fn list(&self, directory: &RepoPath) -> Result<Vec<(String, EntryKind)>, ReadError> {
        let (full, _) = self.resolve(directory)?;
        let mut entries = Vec::new();
        for entry in fs::read_dir(&full).map_err(|error| match error.kind() {
            io::ErrorKind::NotADirectory => ReadError::NotDirectory(directory.clone()),
            _ => self.refusal(directory, &error),
        })? {
            let entry = entry.map_err(|error| self.refusal(directory, &error))?;
            // A name that is no UTF-8 cannot be written in a kustomization file either.
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let file_type = entry
                .file_type()
                .map_err(|error| self.refusal(directory, &error))?;
            let kind = if file_type.is_symlink() {
                self.entry(&directory.join_clamped(&name))
                    .unwrap_or(EntryKind::Symlink)
            } else {
                kind_of(file_type)
            };
            entries.push((name, kind));
        }
        entries.sort();
        Ok(entries)
    }
}

/// Reads a file whose size is known: one system call for the content instead of the three that find out where it ends.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that opens the repository's files"
)]
fn read_all(path: &Path, size_bytes: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let mut file = fs::File::open(path)?;
    if let Ok(size) = usize::try_from(size_bytes)
        && size > 0
    {
        content.reserve_exact(size);
        file.by_ref().take(size_bytes).read_to_end(&mut content)?;
    } else {
        // Files that are made as they are read have no size.
        file.read_to_end(&mut content)?;
    }
    Ok(content)
}

fn kind_of(file_type: fs::FileType) -> EntryKind {
    if file_type.is_dir() {
        EntryKind::Directory
    } else if file_type.is_file() {
        EntryKind::File
    } else if file_type.is_symlink() {
        EntryKind::Symlink
    } else {
        EntryKind::Special
    }
}
