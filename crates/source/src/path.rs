//! Paths below the root of a tree.

use std::fmt;

/// A path below the root: parts joined by `/`, none of them `.`, `..` or empty. The root itself is the empty path.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoPath(String);

/// A path that would leave the root.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` leaves the repository when read from `{from}`")]
pub struct EscapesRoot {
    /// The directory that the path was read from.
    pub from: RepoPath,
    /// The path as written.
    pub path: String,
}

impl RepoPath {
    /// The root of the tree.
    pub fn root() -> RepoPath {
        RepoPath::default()
    }

    /// Reads a path as seen from the root; `..` at the root stays at the root, as Flux's secure join does (F-815).
    pub fn clamped(path: &str) -> RepoPath {
        RepoPath::root().join_clamped(path)
    }

    /// Whether this is the root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path as text; empty for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last part; empty for the root.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The directory that holds this entry; `None` for the root.
    pub fn parent(&self) -> Option<RepoPath> {
        if self.is_root() {
            return None;
        }
        Some(RepoPath(
            self.0
                .rsplit_once('/')
                .map(|(parent, _)| parent.to_owned())
                .unwrap_or_default(),
        ))
    }

    /// The parts from the root down.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|part| !part.is_empty())
    }

    /// Whether this path is `directory` or lies below it.
    pub fn is_within(&self, directory: &RepoPath) -> bool {
        directory.is_root()
            || self.0 == directory.0
            || (self.0.starts_with(&directory.0) && self.0.as_bytes().get(directory.0.len()) == Some(&b'/'))
    }

    /// Reads `path` from this directory. A leading `/` means the root.
    ///
    /// # Errors
    /// [`EscapesRoot`] if a `..` would leave the root.
    pub fn join(&self, path: &str) -> Result<RepoPath, EscapesRoot> {
        self.walk(path, false).ok_or_else(|| EscapesRoot {
            from: self.clone(),
            path: path.to_owned(),
        })
    }

    /// Reads `path` from this directory; a `..` at the root stays at the root.
    pub fn join_clamped(&self, path: &str) -> RepoPath {
        self.walk(path, true).unwrap_or_default()
    }

    /// This path as seen from `directory`, with `..` where needed; `.` if both are the same.
    pub fn relative_to(&self, directory: &RepoPath) -> String {
        let ours: Vec<&str> = self.parts().collect();
        let theirs: Vec<&str> = directory.parts().collect();
        let shared = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
        let mut parts = vec![".."; theirs.len() - shared];
        parts.extend(&ours[shared..]);
        if parts.is_empty() {
            ".".to_owned()
        } else {
            parts.join("/")
        }
    }

    fn walk(&self, path: &str, clamp: bool) -> Option<RepoPath> {
        let start = if path.starts_with('/') { "" } else { &self.0 };
        let mut parts: Vec<&str> = start.split('/').filter(|part| !part.is_empty()).collect();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    if parts.pop().is_none() && !clamp {
                        return None;
                    }
                }
                name => parts.push(name),
            }
        }
        Some(RepoPath(parts.join("/")))
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.is_root() { "." } else { &self.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn join_reads_relative_paths() {
        let apps = RepoPath::clamped("./clusters/prod/");
        assert_eq!(apps.as_str(), "clusters/prod");
        assert_eq!(apps.join("../../apps/./web").unwrap().as_str(), "apps/web");
        assert_eq!(apps.join("/apps").unwrap().as_str(), "apps");
        assert!(apps.join("../../../apps").is_err());
        assert_eq!(apps.join_clamped("../../../apps").as_str(), "apps");
    }

    #[test]
    fn relative_to_walks_up_and_down() {
        let from = RepoPath::clamped("a/b");
        assert_eq!(RepoPath::clamped("a/c/d").relative_to(&from), "../c/d");
        assert_eq!(from.relative_to(&from), ".");
        assert_eq!(RepoPath::clamped("a/b/x").relative_to(&from), "x");
    }

    #[test]
    fn within_compares_whole_parts() {
        assert!(RepoPath::clamped("a/b").is_within(&RepoPath::clamped("a")));
        assert!(!RepoPath::clamped("ab").is_within(&RepoPath::clamped("a")));
        assert!(RepoPath::clamped("ab").is_within(&RepoPath::root()));
    }
}
