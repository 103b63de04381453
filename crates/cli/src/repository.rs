//! Finding the root of the repository, and reading paths that people type.

use std::path::{Path, PathBuf};

use firstpass_source::{OverlayTree, RepoPath, Tree, WorkTree};

use crate::exit::Failure;

/// What marks a directory as the root of a repository, where `--root` is not given.
const ROOT_MARKS: [&str; 2] = ["firstpass.yaml", ".git"];

/// The nearest ancestor of the current directory that is marked as a root.
pub(crate) fn find_root() -> Option<PathBuf> {
    root_above(&std::env::current_dir().ok()?).map(Path::to_path_buf)
}

/// The nearest directory that is marked as a root, from this one up.
pub(crate) fn root_above(directory: &Path) -> Option<&Path> {
    directory.ancestors().find(|directory| is_marked(directory))
}

/// The root that was given, else the one found.
///
/// # Errors
/// If there is neither.
pub(crate) fn root(given: Option<&Path>) -> Result<PathBuf, Failure> {
    match given {
        Some(root) if root.is_dir() => Ok(root.to_path_buf()),
        Some(root) => Err(Failure::input(format!("`--root {}` is no directory", root.display()))),
        None => find_root().ok_or_else(|| {
            Failure::input_with_help(
                "no repository here: neither this directory nor one above it holds `firstpass.yaml` or `.git`",
                "change into the repository, or name it with `--root DIR`",
            )
        }),
    }
}

/// The tree at a root, with an overlay on it if one was asked for.
///
/// # Errors
/// If a directory cannot be opened.
pub(crate) fn open(
    root: &Path,
    overlay: Option<&Path>,
    file_limit_bytes: Option<u64>,
) -> Result<Box<dyn Tree>, Failure> {
    let tree = work_tree(root, file_limit_bytes)?;
    Ok(match overlay {
        Some(directory) => Box::new(OverlayTree::new(tree, work_tree(directory, file_limit_bytes)?)),
        None => Box::new(tree),
    })
}

fn work_tree(directory: &Path, file_limit_bytes: Option<u64>) -> Result<WorkTree, Failure> {
    let tree = WorkTree::open(directory)
        .map_err(|error| Failure::input(format!("cannot open `{}`: {error}", directory.display())))?;
    Ok(match file_limit_bytes {
        Some(bytes) => tree.with_file_limit(bytes),
        None => tree,
    })
}

/// A path as typed: from the current directory if it exists there inside the root, otherwise from the root.
///
/// # Errors
/// If it is empty, or leads out of the root.
pub(crate) fn entry_path(root: &Path, typed: &str) -> Result<RepoPath, Failure> {
    if typed.is_empty() {
        return Err(Failure::input_with_help(
            "an entry is empty",
            "name the directory that Flux syncs; in a script, see that its variable is set",
        ));
    }
    let canonical_root = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    let from_here = Path::new(typed).canonicalize().ok();
    let inside = from_here
        .as_deref()
        .and_then(|path| path.strip_prefix(&canonical_root).ok());
    if let Some(path) = inside.and_then(Path::to_str) {
        return Ok(RepoPath::clamped(path));
    }
    let outside = || {
        Failure::input_with_help(
            format!(
                "the entry `{typed}` lies outside the repository `{}`",
                root.display()
            ),
            "entries are directories of the repository, from here or from its root; `--root DIR` names another one",
        )
    };
    if Path::new(typed).is_absolute() {
        return Err(outside());
    }
    RepoPath::root().join(typed).map_err(|_| outside())
}

/// The path of the root in the checkout that it lies in, such as `infra/flux`; empty if the root is the checkout, or
/// lies in none.
pub(crate) fn prefix_in_checkout(root: &Path) -> String {
    let Ok(root) = root.canonicalize() else {
        return String::new();
    };
    let checkout = root.ancestors().find(|directory| holds(directory, ".git"));
    let inside = checkout.and_then(|checkout| root.strip_prefix(checkout).ok());
    let parts = inside.into_iter().flat_map(Path::components);
    let parts: Vec<String> = parts
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    parts.join("/")
}

#[expect(
    clippy::disallowed_methods,
    reason = "the root is looked for on disk, before there is a tree"
)]
fn holds(directory: &Path, name: &str) -> bool {
    directory.join(name).exists()
}

fn is_marked(directory: &Path) -> bool {
    ROOT_MARKS.iter().any(|mark| holds(directory, mark))
}
