//! Decrypting files before the build: generator inputs and patches that kustomization files name (F-700 to F-703).

use std::collections::BTreeSet;

use firstpass_flux::ControllerVersion;
use firstpass_kustomize::file::{self, GeneratorArgs, KustomizationFile};
use firstpass_source::{MemoryTree, RepoPath, Tree};

use crate::sops::{self, FileKind};

/// Flux leaves larger files alone.
const FILE_BYTES_MAX: usize = 5 * 1024 * 1024;

/// Since this version patches are decrypted and components are followed (F-1765).
const PATCHES_SINCE: ControllerVersion = ControllerVersion::new(5, 0);

/// The files that Flux decrypts on disk before it builds the directory, as they are known to read afterwards.
pub(crate) fn decrypted_sources(
    tree: &dyn Tree,
    directory: &RepoPath,
    controller: ControllerVersion,
) -> MemoryTree {
    let mut walk = Walk {
        tree,
        all: controller >= PATCHES_SINCE,
        seen: BTreeSet::new(),
        decrypted: MemoryTree::new(),
    };
    walk.directory(directory);
    walk.decrypted
}

struct Walk<'t> {
    tree: &'t dyn Tree,
    all: bool,
    seen: BTreeSet<RepoPath>,
    decrypted: MemoryTree,
}

impl Walk<'_> {
    fn directory(&mut self, start: &RepoPath) {
        let mut queue = vec![start.clone()];
        while let Some(directory) = queue.pop() {
            if !self.seen.insert(directory.clone()) {
                continue;
            }
            let Some(kustomization) = self.kustomization(&directory) else {
                continue;
            };
            for generator in &kustomization.secret_generator {
                self.generator(&directory, generator);
            }
            if self.all {
                for patch in kustomization
                    .patches
                    .iter()
                    .filter(|patch| !patch.path.is_empty())
                {
                    self.file(&directory, &patch.path, &patch.path, None);
                }
            }
            let components = kustomization.components.iter().filter(|_| self.all);
            let below = kustomization.resources.iter().chain(components);
            queue.extend(
                below
                    .filter_map(|path| directory.join(path).ok())
                    .filter(|path| self.tree.is_directory(path)),
            );
        }
    }

    fn kustomization(&self, directory: &RepoPath) -> Option<KustomizationFile> {
        let path = file::find(self.tree, directory).into_iter().next()?;
        let bytes = self.tree.read(&path).ok()?;
        KustomizationFile::read_leniently(&firstpass_yaml::decode(&bytes).ok()?, &path).ok()
    }

    fn generator(&mut self, directory: &RepoPath, generator: &GeneratorArgs) {
        for entry in &generator.files {
            let (name, path) = entry.split_once('=').unwrap_or((entry, entry));
            self.file(directory, path, name, None);
        }
        for path in &generator.envs {
            self.file(directory, path, path, Some(FileKind::Dotenv));
        }
    }

    /// `name` tells the format by its extension; an env file is read as such unless it says otherwise (F-702).
    fn file(&mut self, directory: &RepoPath, path: &str, name: &str, default: Option<FileKind>) {
        let Ok(path) = directory.join(path) else {
            return;
        };
        let Ok(bytes) = self.tree.read(&path) else {
            return;
        };
        let Ok(text) = std::str::from_utf8(&bytes) else {
            return;
        };
        if bytes.len() > FILE_BYTES_MAX || !sops::is_encrypted_file(text) {
            return;
        }
        let kind = match name.rsplit_once('.').map(|(_, extension)| extension) {
            Some("yaml" | "yml" | "json" | "dockerconfigjson") => FileKind::Yaml,
            Some("env") => FileKind::Dotenv,
            _ => default.unwrap_or(FileKind::Other),
        };
        self.decrypted
            .insert(path.as_str(), sops::decrypted_file(text, kind));
    }
}
