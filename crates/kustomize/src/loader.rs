//! Reading what a kustomization file names: files beside it, and directories to build.

use std::sync::Arc;

use firstpass_source::{EntryKind, ReadError, RepoPath, Tree};

use crate::Error;
use crate::file;
use crate::remote;

/// The directory that is being built, those that led there, and what may be read from it.
#[derive(Clone)]
pub(crate) struct Loader<'tree> {
    tree: &'tree dyn Tree,
    root: RepoPath,
    /// The directories whose kustomization files led here, outermost first.
    referrers: Vec<RepoPath>,
    /// Whether files must lie in the directory of the kustomization file that names them.
    restricted: bool,
}

/// How deep kustomization files may name each other; each level costs stack. No repository comes near it.
const DEPTH_MAX: usize = 64;

/// A file, or the fact that it lies elsewhere.
pub(crate) enum Loaded {
    /// Its bytes.
    Bytes { path: RepoPath, bytes: Arc<[u8]> },
    /// It is the URL of a file.
    Remote,
}

/// A directory to build, or the fact that it lies elsewhere.
pub(crate) enum Entered<'tree> {
    /// It is there.
    Directory(Loader<'tree>),
    /// It is a git repository.
    Remote,
}

impl<'tree> Loader<'tree> {
    /// Starts at the directory that a build is asked for.
    pub(crate) fn start(
        tree: &'tree dyn Tree,
        directory: &RepoPath,
        restricted: bool,
    ) -> Result<Loader<'tree>, Error> {
        confirm_directory(tree, directory)?;
        Ok(Loader {
            tree,
            root: directory.clone(),
            referrers: Vec::new(),
            restricted,
        })
    }

    /// The directory.
    pub(crate) fn root(&self) -> &RepoPath {
        &self.root
    }

    /// The one kustomization file of the directory, and its text.
    pub(crate) fn kustomization(&self) -> Result<(RepoPath, Arc<[u8]>), Error> {
        let mut found = file::find(self.tree, &self.root);
        if found.len() > 1 {
            return Err(self.several_files(&found));
        }
        let Some(path) = found.pop() else {
            return Err(Error::new(format!(
                "unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory '{}'",
                self.root
            ))
            .at(&self.root, firstpass_yaml::Mark::NONE)
            .help("add a kustomization.yaml that lists the resources of the directory"));
        };
        let bytes = self.tree.read(&path).map_err(|error| unreadable(&error))?;
        Ok((path, bytes))
    }

    /// The path of the kustomization file when its content comes from elsewhere.
    pub(crate) fn kustomization_path(&self) -> Result<RepoPath, Error> {
        let mut found = file::find(self.tree, &self.root);
        match found.len() {
            0 => self
                .root
                .join(file::NAMES[0])
                .map_err(|error| Error::new(error.to_string())),
            1 => Ok(found.remove(0)),
            _ => Err(self.several_files(&found)),
        }
    }

    fn several_files(&self, found: &[RepoPath]) -> Error {
        let names: Vec<_> = found.iter().map(RepoPath::file_name).collect();
        Error::new(format!("Found multiple kustomization files under: {}", self.root))
            .at(&found[0], firstpass_yaml::Mark::NONE)
            .help(format!("keep one of {}", names.join(", ")))
    }

    /// Reads a file that the kustomization file names.
    pub(crate) fn load(&self, path: &str) -> Result<Loaded, Error> {
        if remote::is_url(path) {
            return Ok(Loaded::Remote);
        }
        if path.starts_with('/') {
            return Err(Error::new(format!("'{path}' is an absolute path"))
                .help("name the file relative to the kustomization file"));
        }
        let full = self
            .root
            .join(path)
            .map_err(|_| Error::new(format!("file '{path}' lies outside of the repository")))?;
        if self.restricted && !full.is_within(&self.root) && self.tree.entry(&full).is_some() {
            return Err(Error::new(format!(
                "security; file '{full}' is not in or below '{}'",
                self.root
            ))
            .help(
                "move the file below the directory, or make a kustomization of its directory and list that",
            ));
        }
        let bytes = self.tree.read(&full).map_err(|error| unreadable(&error))?;
        Ok(Loaded::Bytes { path: full, bytes })
    }

    /// Goes to a directory that the kustomization file names.
    pub(crate) fn enter(&self, path: &str) -> Result<Entered<'tree>, Error> {
        if path.is_empty() {
            return Err(Error::new("new root cannot be empty").help("name a file or a directory"));
        }
        if remote::is_repository(path) {
            return Ok(Entered::Remote);
        }
        if path.starts_with('/') {
            return Err(Error::new(format!("new root '{path}' cannot be absolute"))
                .help("name the directory relative to the kustomization file"));
        }
        let root = self
            .root
            .join(path)
            .map_err(|_| Error::new(format!("directory '{path}' lies outside of the repository")))?;
        confirm_directory(self.tree, &root)?;
        for visited in self.referrers.iter().chain([&self.root]) {
            if visited.is_within(&root) {
                return Err(Error::new(format!(
                    "cycle detected: candidate root '{root}' contains visited root '{visited}'"
                ))
                .help("a kustomization cannot build itself or a directory that contains it"));
            }
        }
        if self.referrers.len() >= DEPTH_MAX {
            return Err(Error::new(format!(
                "kustomizations name each other more than {DEPTH_MAX} levels deep"
            )));
        }
        let mut referrers = self.referrers.clone();
        referrers.push(self.root.clone());
        Ok(Entered::Directory(Loader {
            tree: self.tree,
            root,
            referrers,
            restricted: self.restricted,
        }))
    }
}

fn confirm_directory(tree: &dyn Tree, path: &RepoPath) -> Result<(), Error> {
    match tree.entry(path) {
        Some(EntryKind::Directory) => Ok(()),
        None => Err(Error::new(format!("no such file or directory: '{path}'"))),
        Some(EntryKind::Symlink) => Err(unreadable(&ReadError::Symlink(path.clone()))),
        Some(_) => Err(Error::new(format!("must build at directory: '{path}' is a file"))),
    }
}

fn unreadable(error: &ReadError) -> Error {
    match error {
        ReadError::NotFound(path) => Error::new(format!("no such file or directory: '{path}'")),
        ReadError::IsDirectory(path) => Error::new(format!("'{path}' must resolve to a file")),
        error => Error::new(error.to_string()),
    }
}
