//! Which files of the repository does the build of a directory read?

use std::collections::BTreeSet;

use firstpass_kustomize::file::{self, KustomizationFile};
use firstpass_source::{EntryKind, RepoPath, Tree};

/// Directories below directories.
const DEPTH_MAX: usize = 100;

/// The files that a build of a directory reads: its kustomization file and those of its bases and components, their
/// resources, patches, and what their generators take in. Without a kustomization file these are the manifests below.
pub(crate) fn files_of(tree: &dyn Tree, directory: &RepoPath) -> BTreeSet<RepoPath> {
    let mut reading = Reading {
        tree,
        files: BTreeSet::new(),
        seen: BTreeSet::new(),
    };
    reading.directory(directory, 0, true);
    reading.files
}

/// The files that one kustomization file names itself, without what lies behind the directories that it names.
pub(crate) fn named_by(tree: &dyn Tree, kustomization: &RepoPath) -> BTreeSet<RepoPath> {
    let mut reading = Reading {
        tree,
        files: BTreeSet::new(),
        seen: BTreeSet::new(),
    };
    let directory = kustomization.parent().unwrap_or_default();
    reading.kustomization(&directory, kustomization, DEPTH_MAX);
    reading.files.remove(kustomization);
    reading.files
}

struct Reading<'t> {
    tree: &'t dyn Tree,
    files: BTreeSet<RepoPath>,
    seen: BTreeSet<RepoPath>,
}

impl Reading<'_> {
    fn directory(&mut self, directory: &RepoPath, depth: usize, is_root: bool) {
        if depth > DEPTH_MAX || !self.seen.insert(directory.clone()) {
            return;
        }
        match file::find(self.tree, directory).first() {
            Some(path) => self.kustomization(directory, path, depth),
            None if is_root => self.manifests(directory, depth),
            None => {}
        }
    }

    fn kustomization(&mut self, directory: &RepoPath, path: &RepoPath, depth: usize) {
        self.files.insert(path.clone());
        let Ok(bytes) = self.tree.read(path) else { return };
        let Ok(text) = firstpass_yaml::decode(&bytes) else {
            return;
        };
        let Ok(read) = KustomizationFile::read_leniently(&text, path) else {
            return;
        };
        let lists = [
            &read.resources,
            &read.components,
            &read.crds,
            &read.configurations,
            &read.generators,
            &read.transformers,
            &read.validators,
            &read.patches_strategic_merge,
        ];
        for entry in lists.into_iter().flatten() {
            self.entry(directory, &entry.value, depth);
        }
        let patches = read.patches.iter().map(|patch| &patch.value.path);
        let replacements = read
            .replacements
            .iter()
            .map(|replacement| &replacement.value.path);
        for path in patches.chain(replacements) {
            self.entry(directory, path, depth);
        }
        for generator in read.config_map_generator.iter().chain(&read.secret_generator) {
            let of_file = |entry: &String| {
                entry
                    .split_once('=')
                    .map_or(entry.clone(), |(_, path)| path.to_owned())
            };
            let paths: Vec<String> = generator
                .value
                .files
                .iter()
                .map(of_file)
                .chain(generator.value.envs.iter().cloned())
                .collect();
            for path in paths {
                self.entry(directory, &path, depth);
            }
        }
    }

    /// A file or directory that a kustomization names; an inline text or a URL is neither.
    fn entry(&mut self, directory: &RepoPath, text: &str, depth: usize) {
        if text.is_empty() || text.contains('\n') {
            return;
        }
        let Ok(path) = directory.join(text) else { return };
        if self.tree.is_file(&path) {
            self.files.insert(path);
        } else if self.tree.is_directory(&path) {
            self.directory(&path, depth + 1, false);
        }
    }

    /// What Flux lists where there is no kustomization file (F-802).
    fn manifests(&mut self, directory: &RepoPath, depth: usize) {
        if depth > DEPTH_MAX {
            return;
        }
        for (name, kind) in self.tree.list(directory).unwrap_or_default() {
            let path = directory.join_clamped(&name);
            match kind {
                EntryKind::Directory if !file::find(self.tree, &path).is_empty() => {
                    self.directory(&path, depth + 1, false);
                }
                EntryKind::Directory => self.manifests(&path, depth + 1),
                EntryKind::File if name.ends_with(".yaml") || name.ends_with(".yml") => {
                    self.files.insert(path);
                }
                EntryKind::File | EntryKind::Symlink | EntryKind::Special => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_counts_once() {
        let tree = firstpass_testing::tree(
            "
--- a/kustomization.yaml
resources: [../b, deployment.yaml, 'https://git.example.com/x.yaml']
patches: [{path: patch.yaml}, {patch: \"kind: X\\nmetadata: {name: y}\"}]
configMapGenerator: [{name: c, files: [k=conf.ini]}]
--- a/deployment.yaml
kind: X
--- a/patch.yaml
kind: X
--- a/conf.ini
x
--- a/stray.yaml
kind: X
--- b/kustomization.yaml
resources: [c.yaml]
--- b/c.yaml
kind: X
--- d/e.yaml
kind: X
--- d/readme.txt
x
",
        );
        let count = |path: &str| files_of(&tree, &RepoPath::clamped(path)).len();
        assert_eq!(count("a"), 6);
        assert_eq!(count("d"), 1);
        assert_eq!(count("missing"), 0);
    }
}
