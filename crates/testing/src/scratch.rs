//! A repository on disk for one test, gone afterwards.

use std::path::{Path, PathBuf};

use crate::files;

/// A directory of files that is removed when this is dropped.
pub struct Scratch {
    /// Where it is.
    pub root: PathBuf,
}

impl Scratch {
    /// Writes a fixture, as [`files`] reads them, below a temporary directory with this name in its own. An empty
    /// `firstpass.yaml` marks the root, unless the fixture brings one.
    ///
    /// # Panics
    /// If the disk refuses.
    pub fn new(name: &str, fixture: &str) -> Scratch {
        let root = std::env::temp_dir().join(format!("firstpass-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        let scratch = Scratch { root };
        scratch.write("firstpass.yaml", "");
        for (path, text) in files(fixture) {
            scratch.write(path, text);
        }
        scratch
    }

    /// Writes a file, its directories included, and says where, for a command line.
    ///
    /// # Panics
    /// If the disk refuses.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).expect("a directory for the test");
        std::fs::write(&path, content).expect("a file for the test");
        path.display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}
