//! Which Kustomizations sync a cluster, as its bootstrap puts them there.
//!
//! `flux bootstrap` applies the directory of the sync with kustomize, so its patches hold from the start:
//! <https://github.com/fluxcd/flux2/pull/1300>.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use firstpass_flux::{Kustomization, Source, names};
use firstpass_kustomize::Options;
use firstpass_kustomize::file;
use firstpass_source::{RepoPath, Tree};
use rayon::prelude::*;

use crate::survey::Found;
use crate::{generate, reads};

/// A Kustomization that syncs a cluster.
#[derive(Clone)]
pub(crate) struct SyncObject {
    /// The Kustomization.
    pub(crate) found: Found<Kustomization>,
    /// The sources that the same build brings.
    pub(crate) sources: Vec<Found<Source>>,
    /// Whether what it builds holds it, or its name says that a bootstrap wrote it. Else it may be left over.
    pub(crate) is_certain: bool,
}

/// Those whose path holds their own file, as their own directory builds them.
pub(crate) fn inside(
    tree: &dyn Tree,
    files: &[RepoPath],
    kustomizations: &[Found<Kustomization>],
) -> Vec<SyncObject> {
    let candidates: Vec<&Found<Kustomization>> = kustomizations
        .iter()
        .filter(|found| holds_its_own_file(found))
        .collect();
    let is_applied = applied_by_others(tree, files, kustomizations, &candidates);
    let syncs = candidates.into_iter().zip(is_applied);
    syncs
        .filter(|(_, applied)| !applied)
        .map(|(found, _)| as_bootstrapped(tree, found))
        .collect()
}

/// The directories whose build brings the Kustomization that builds them from a file that lies elsewhere.
pub(crate) fn outside(tree: &dyn Tree, paths: &BTreeMap<RepoPath, BTreeSet<RepoPath>>) -> BTreeSet<RepoPath> {
    let reads_one = |(path, files): &(&RepoPath, &BTreeSet<RepoPath>)| {
        let mut elsewhere = files.iter().filter(|file| !file.is_within(path)).peekable();
        if path.is_root() || elsewhere.peek().is_none() {
            return false;
        }
        let read = reads::files_of(tree, path);
        elsewhere.any(|file| read.contains(file)) && !of_build(tree, path).is_empty()
    };
    let found = paths.par_iter().filter(reads_one).map(|(path, _)| path.clone());
    found.collect()
}

/// The directories that Kustomizations build, each with the files that say so.
pub(crate) fn paths(kustomizations: &[Found<Kustomization>]) -> BTreeMap<RepoPath, BTreeSet<RepoPath>> {
    let mut by_path: BTreeMap<RepoPath, BTreeSet<RepoPath>> = BTreeMap::new();
    for found in kustomizations.iter().filter(|found| !is_open(found)) {
        by_path.entry(path_of(found)).or_default().insert(file_of(found));
    }
    by_path
}

/// The Kustomizations that the build of a directory brings and that build it.
pub(crate) fn of_build(tree: &dyn Tree, directory: &RepoPath) -> Vec<SyncObject> {
    let (kustomizations, sources) = built(tree, directory);
    let own = kustomizations
        .into_iter()
        .filter(|found| !is_open(found) && found.what.spec.source_ref.is_some())
        .filter(|found| path_of(found) == *directory);
    own.map(|found| SyncObject {
        found,
        sources: sources.clone(),
        is_certain: true,
    })
    .collect()
}

/// Whether what a Kustomization builds has the Kustomization in it: then it syncs its cluster. A path that is the whole
/// repository says nothing, and neither does one with variables.
fn holds_its_own_file(found: &Found<Kustomization>) -> bool {
    let path = path_of(found);
    !is_open(found)
        && found.what.spec.source_ref.is_some()
        && file_of(found).is_within(&path)
        && (!path.is_root() || is_flux_system(found))
}

/// Which of the candidates come from another tier: a kustomization file that they do not build lists their file, or the
/// build of a directory above reads it. The Kustomization of a bootstrap is there before all of them.
fn applied_by_others(
    tree: &dyn Tree,
    files: &[RepoPath],
    kustomizations: &[Found<Kustomization>],
    candidates: &[&Found<Kustomization>],
) -> Vec<bool> {
    if candidates.iter().all(|found| is_flux_system(found)) {
        return vec![false; candidates.len()];
    }
    let mut listed: BTreeMap<RepoPath, Vec<&RepoPath>> = BTreeMap::new();
    let kustomization_files = files
        .iter()
        .filter(|file| file::NAMES.contains(&file.file_name()));
    for by in kustomization_files {
        for file in reads::named_by(tree, by) {
            listed.entry(file).or_default().push(by);
        }
    }
    let paths: BTreeSet<RepoPath> = kustomizations
        .iter()
        .filter(|found| !is_open(found))
        .map(path_of)
        .collect();
    let mut builds: BTreeMap<RepoPath, BTreeSet<RepoPath>> = BTreeMap::new();
    let mut reads = |directory: &RepoPath, file: &RepoPath| {
        builds
            .entry(directory.clone())
            .or_insert_with(|| reads::files_of(tree, directory))
            .contains(file)
    };
    let mut is_applied = |found: &Found<Kustomization>| {
        let (path, file) = (path_of(found), file_of(found));
        let lists = listed.get(&file).map_or(&[][..], Vec::as_slice);
        let by_file = lists.iter().any(|by| !reads(&path, by));
        let mut above = std::iter::successors(path.parent(), RepoPath::parent)
            .filter(|above| !above.is_root() && paths.contains(above));
        !is_flux_system(found) && (by_file || above.any(|above| reads(&above, &file)))
    };
    candidates.iter().map(|found| is_applied(found)).collect()
}

/// A Kustomization as the build of its directory makes it; as its file has it where nothing shapes it.
fn as_bootstrapped(tree: &dyn Tree, found: &Found<Kustomization>) -> SyncObject {
    let is_certain =
        is_flux_system(found) || reads::files_of(tree, &path_of(found)).contains(&file_of(found));
    let as_written = || SyncObject {
        found: found.clone(),
        sources: Vec::new(),
        is_certain,
    };
    let directory = file_of(found).parent().unwrap_or_default();
    if !shapes_objects(tree, &directory) {
        return as_written();
    }
    let (kustomizations, sources) = built(tree, &directory);
    let own = kustomizations
        .into_iter()
        .find(|built| built.what.name.name == found.what.name.name);
    own.map_or_else(as_written, |found| SyncObject {
        found,
        sources,
        is_certain,
    })
}

/// Whether a directory has a kustomization file that does more than list files.
fn shapes_objects(tree: &dyn Tree, directory: &RepoPath) -> bool {
    let names = file::find(tree, directory);
    let Some(root) = names.first().and_then(|path| generate::existing(tree, path).ok()) else {
        return false;
    };
    !(root.patches.is_empty()
        && root.patches_strategic_merge.is_empty()
        && root.patches_json6902.is_empty()
        && root.components.is_empty()
        && root.transformers.is_empty()
        && root.replacements.is_empty())
}

fn built(tree: &dyn Tree, directory: &RepoPath) -> (Vec<Found<Kustomization>>, Vec<Found<Source>>) {
    let root = match file::find(tree, directory).first() {
        Some(path) => generate::existing(tree, path),
        None => generate::generated(tree, directory),
    };
    let build =
        root.and_then(|root| firstpass_kustomize::build(tree, directory, &Options::flux_with_root(root)));
    let (mut kustomizations, mut sources) = (Vec::new(), Vec::new());
    for resource in build.map(|build| build.resources).unwrap_or_default() {
        let (object, origin) = (Arc::new(resource.value), resource.origin);
        if Kustomization::is(&object) {
            let what = Kustomization::read(&object).value;
            kustomizations.push(Found { what, object, origin });
        } else if let Some(source) = Source::read(&object) {
            let what = source.value;
            sources.push(Found { what, object, origin });
        }
    }
    (kustomizations, sources)
}

/// Whether the path has variables: nobody knows where it leads before they are replaced.
fn is_open(found: &Found<Kustomization>) -> bool {
    found.what.spec.path.contains('$')
}

fn is_flux_system(found: &Found<Kustomization>) -> bool {
    found.what.name.name == names::FLUX_SYSTEM
}

fn path_of(found: &Found<Kustomization>) -> RepoPath {
    RepoPath::clamped(&found.what.spec.path)
}

fn file_of(found: &Found<Kustomization>) -> RepoPath {
    RepoPath::clamped(&found.origin.file)
}
