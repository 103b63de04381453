//! A repository: its files, its configuration, and the cluster entries in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use firstpass_diagnostics::Location;
use firstpass_object::Origin;
use firstpass_source::{EntryKind, RepoPath, Tree};

use crate::locate::Locator;
use crate::snapshot::Snapshot;
use crate::survey::{Found, Survey};
use crate::syncs::{self, SyncObject};
use crate::{ClusterConfig, Config, ConfigError, Entry, Sync, locate, reads};

/// The file that `flux bootstrap` writes; empty in templates that bootstrap fills in.
const GOTK_SYNC: &str = "flux-system/gotk-sync.yaml";

/// Directories of what is applied by hand before Flux.
const BOOTSTRAPS: [&str; 2] = ["bootstrap", "setup"];

/// A repository of one or several clusters.
pub struct Repository {
    tree: Arc<dyn Tree>,
    config: Config,
    survey: Survey,
    /// The directories of the entries, found when they are asked for.
    directories: OnceLock<Vec<RepoPath>>,
    outside: BTreeMap<String, Arc<dyn Tree>>,
    locator: Locator,
}

/// Why a directory is no cluster entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// Nothing is there.
    #[error("`{path}` does not exist in the repository{}", near.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    NotFound {
        /// The path as asked for.
        path: String,
        /// An entry with a similar path.
        near: Option<String>,
    },
    /// A file is there.
    #[error("`{0}` is a file; a cluster entry is the directory that a cluster's Flux starts from")]
    IsFile(String),
}

impl Repository {
    /// Opens a repository and reads its configuration.
    ///
    /// # Errors
    /// If there is a configuration that cannot be used.
    pub fn open(tree: Arc<dyn Tree>) -> Result<Repository, ConfigError> {
        let config = Config::read(&*tree)?;
        Ok(Repository::with_config(tree, config))
    }

    /// Opens a repository with a configuration from elsewhere. Files are read once: what changes later is not seen.
    pub fn with_config(tree: Arc<dyn Tree>, config: Config) -> Repository {
        let tree: Arc<dyn Tree> = Arc::new(Snapshot::new(tree));
        let survey = Survey::of(&*tree);
        Repository {
            tree,
            config,
            survey,
            directories: OnceLock::new(),
            outside: BTreeMap::new(),
            locator: Locator::default(),
        }
    }

    /// The files.
    pub fn tree(&self) -> &Arc<dyn Tree> {
        &self.tree
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// All files, by directory and name.
    pub fn files(&self) -> &[RepoPath] {
        &self.survey.files
    }

    pub(crate) fn survey(&self) -> &Survey {
        &self.survey
    }

    /// The configured sources that lie outside the root, as configured: whoever can open them does, and hands them to
    /// [`Repository::add_outside_source`].
    pub fn outside_sources(&self) -> BTreeSet<&str> {
        let clusters = self.config.clusters.values();
        clusters
            .flat_map(|cluster| cluster.sources.values())
            .map(|source| source.path.as_str())
            .filter(|path| path.starts_with('/') || RepoPath::root().join(path).is_err())
            .collect()
    }

    /// Gives the files of a source outside the root.
    pub fn add_outside_source(&mut self, path: &str, tree: Arc<dyn Tree>) {
        self.outside
            .insert(path.to_owned(), Arc::new(Snapshot::new(tree)));
    }

    pub(crate) fn outside(&self) -> &BTreeMap<String, Arc<dyn Tree>> {
        &self.outside
    }

    /// The cluster entries: those of the configuration, else those that are found.
    pub fn entries(&self) -> Vec<Entry> {
        if !self.config.clusters.is_empty() {
            let clusters = self.config.clusters.iter();
            return clusters
                .map(|(name, cluster)| self.configured(name, cluster))
                .collect();
        }
        let directories = self.directories.get_or_init(|| self.find_directories());
        directories
            .iter()
            .map(|directory| self.at(directory.clone()))
            .collect()
    }

    /// The directories of the entries that nothing but the files of the repository names.
    fn find_directories(&self) -> Vec<RepoPath> {
        let mut found: BTreeSet<RepoPath> = self.survey.synced_from_outside.clone();
        let synced = |certain: bool| {
            let syncs = self
                .survey
                .syncs
                .iter()
                .filter(move |sync| sync.is_certain == certain);
            syncs.map(|sync| RepoPath::clamped(&sync.found.what.spec.path))
        };
        found.extend(synced(true));
        found.extend(self.instances().map(|(directory, _, _)| directory));
        let bootstrapped = self.survey.files.iter().filter_map(|file| {
            let directory = file.as_str().strip_suffix(GOTK_SYNC)?;
            (directory.is_empty() || directory.ends_with('/')).then(|| RepoPath::clamped(directory))
        });
        found.extend(bootstrapped);
        found.retain(|directory| self.tree.is_directory(directory));
        if found.is_empty() {
            found.extend(synced(false).filter(|directory| self.tree.is_directory(directory)));
        }
        if found.is_empty() {
            found.extend(self.cluster_directories());
        }
        let outermost = found
            .iter()
            .filter(|directory| {
                !found
                    .iter()
                    .any(|other| other != *directory && directory.is_within(other))
            })
            .cloned();
        outermost.collect()
    }

    /// The entry that a directory is. A directory that nothing in the repository syncs is taken for one all the same.
    ///
    /// # Errors
    /// If no directory is there.
    pub fn entry(&self, directory: &RepoPath) -> Result<Entry, EntryError> {
        match self.tree.entry(directory) {
            Some(EntryKind::Directory) => Ok(self.at(directory.clone())),
            Some(_) => Err(EntryError::IsFile(directory.to_string())),
            None => {
                let named = self.config.clusters.get_key_value(directory.as_str());
                if let Some((name, cluster)) = named {
                    return Ok(self.configured(name, cluster));
                }
                let entries: Vec<String> = self
                    .entries()
                    .iter()
                    .map(|entry| entry.directory.to_string())
                    .collect();
                let near = firstpass_yaml::nearest(directory.as_str(), entries.iter().map(String::as_str));
                Err(EntryError::NotFound {
                    path: directory.to_string(),
                    near: near.map(str::to_owned),
                })
            }
        }
    }

    /// Files that may say what is seeded before Flux: those that the configuration names, else helmfiles in the usual
    /// places and kustomization files of the bootstrap that inflate charts, those nearest to the entry first.
    pub fn helmfiles(&self, entry: &Entry) -> Vec<RepoPath> {
        let configured = &entry.config.baseline.bootstrap;
        if !configured.is_empty() {
            return configured.iter().map(|path| RepoPath::clamped(path)).collect();
        }
        let mut found: Vec<RepoPath> = self
            .survey
            .files
            .iter()
            .filter(|file| is_helmfile(file) || self.is_bootstrap_of_charts(file, entry))
            .cloned()
            .collect();
        let shared = |file: &RepoPath, directory: &RepoPath| {
            file.parts()
                .zip(directory.parts())
                .take_while(|(a, b)| a == b)
                .count()
        };
        // A bootstrap that lies nearer to another cluster is that cluster's.
        let others: Vec<RepoPath> = self.entries().into_iter().map(|other| other.directory).collect();
        found.retain(|file| {
            let ours = shared(file, &entry.directory);
            others.iter().all(|other| shared(file, other) <= ours)
        });
        found.sort_by_key(|file| (std::cmp::Reverse(shared(file, &entry.directory)), file.clone()));
        found
    }

    /// Whether a kustomization file of the entry's own bootstrap inflates charts; Flux itself never does that (F-813).
    fn is_bootstrap_of_charts(&self, file: &RepoPath, entry: &Entry) -> bool {
        let is_kustomization = firstpass_kustomize::file::NAMES.contains(&file.file_name());
        let mut above = std::iter::successors(file.parent(), RepoPath::parent);
        let bootstrap = above.find(|directory| BOOTSTRAPS.contains(&directory.file_name()));
        let home = bootstrap.and_then(|directory| directory.parent());
        let is_own = home.is_some_and(|home| entry.directory.is_within(&home));
        is_kustomization
            && is_own
            && self
                .tree
                .read(file)
                .is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains("helmCharts:"))
    }

    /// API versions that a file of the repository switches on with `runtime-config`, as `group/version` or `api/beta`.
    pub fn runtime_config(&self) -> &BTreeSet<String> {
        &self.survey.runtime_config
    }

    /// The files that a build of a directory reads, each once. Nothing that comes from elsewhere is among them.
    pub fn files_of_build(&self, directory: &RepoPath) -> BTreeSet<RepoPath> {
        reads::files_of(&*self.tree, directory)
    }

    /// The place of a field of an object: its value, the nearest field above it, or where its document starts.
    pub fn locate(&self, origin: &Origin, field: &[&str]) -> Option<Location> {
        self.locator.field(&*self.tree, origin, field)
    }

    /// The place of a text in the document that an object came from, or in the files that its generator read.
    pub fn locate_text(&self, origin: &Origin, text: &str) -> Option<Location> {
        locate::text(&*self.tree, origin, text)
    }

    fn configured(&self, name: &str, cluster: &ClusterConfig) -> Entry {
        let mut entry = self.at(RepoPath::clamped(&cluster.path));
        entry.cluster = Some(name.to_owned());
        entry.config = cluster.clone();
        entry
    }

    fn at(&self, directory: RepoPath) -> Entry {
        let cluster = self
            .config
            .clusters
            .iter()
            .find(|(_, cluster)| RepoPath::clamped(&cluster.path) == directory);
        Entry {
            cluster: cluster.map(|(name, _)| name.clone()),
            config: cluster.map(|(_, config)| config.clone()).unwrap_or_default(),
            sync: self.sync_of(&directory),
            directory,
        }
    }

    fn sync_of(&self, directory: &RepoPath) -> Sync {
        if let Some(sync) = self.syncs_of(directory).into_iter().next().map(|sync| sync.found) {
            return Sync::Kustomization {
                name: named(&sync.what),
                source: sync.what.source().map(|mut source| {
                    if source.namespace.is_empty() {
                        source.namespace = firstpass_flux::names::FLUX_SYSTEM.to_owned();
                    }
                    source
                }),
                location: Location::new(&sync.origin.file, sync.origin.line.max(1), 1),
            };
        }
        let instance = self.instances().find(|(synced, _, _)| synced == directory);
        match instance {
            Some((_, _, found)) => Sync::Instance {
                instance: Box::new(found.what.clone()),
                location: Location::new(&found.origin.file, found.origin.line.max(1), 1),
            },
            None => Sync::Assumed,
        }
    }

    /// Kustomizations that sync a directory, the bootstrap's own first: those that lie in it, else those that it builds.
    pub(crate) fn syncs_of(&self, directory: &RepoPath) -> Vec<SyncObject> {
        let inside = self.survey.syncs.iter();
        let mut syncs: Vec<SyncObject> = inside
            .filter(|sync| RepoPath::clamped(&sync.found.what.spec.path) == *directory)
            .cloned()
            .collect();
        let has_instance = || self.instances().any(|(synced, _, _)| synced == *directory);
        if syncs.is_empty() && !has_instance() {
            syncs = syncs::of_build(&*self.tree, directory);
        }
        syncs.sort_by_key(|sync| sync.found.what.name.name != firstpass_flux::names::FLUX_SYSTEM);
        syncs
    }

    /// The directories that FluxInstances sync, with the directory that is the root of the source.
    pub(crate) fn instances(
        &self,
    ) -> impl Iterator<Item = (RepoPath, RepoPath, &Found<firstpass_flux::FluxInstance>)> {
        self.survey.instances.iter().filter_map(|found| {
            let path = RepoPath::clamped(&found.what.sync.as_ref()?.path);
            let file = RepoPath::clamped(&found.origin.file);
            let mut roots: Vec<RepoPath> = std::iter::successors(file.parent(), RepoPath::parent).collect();
            roots.reverse();
            let root = roots
                .into_iter()
                .find(|root| self.tree.is_directory(&root.join_clamped(path.as_str())))?;
            let directory = root.join_clamped(path.as_str());
            (!directory.is_root()).then_some((directory, root, found))
        })
    }

    /// `clusters/*`, at the root or one directory below it.
    fn cluster_directories(&self) -> Vec<RepoPath> {
        let list = |directory: &RepoPath| -> Vec<RepoPath> {
            let entries = self.tree.list(directory).unwrap_or_default();
            let directories = entries
                .into_iter()
                .filter(|(_, kind)| *kind == EntryKind::Directory);
            directories
                .map(|(name, _)| directory.join_clamped(&name))
                .collect()
        };
        let mut parents = vec![RepoPath::clamped("clusters")];
        parents.extend(
            list(&RepoPath::root())
                .iter()
                .map(|directory| directory.join_clamped("clusters")),
        );
        let clusters: Vec<RepoPath> = parents.iter().flat_map(list).collect();
        // What a tier of another cluster builds is no cluster.
        let is_tier = |directory: &RepoPath| {
            let files = self.survey.paths.get(directory).into_iter().flatten();
            let mut elsewhere = files.filter(|file| !file.is_within(directory));
            elsewhere.any(|file| clusters.iter().any(|cluster| file.is_within(cluster)))
        };
        clusters
            .iter()
            .filter(|directory| !is_tier(directory))
            .cloned()
            .flat_map(|directory| {
                let members = self.members(&list(&directory));
                let is_group = !self.has_manifests(&directory) && !members.is_empty();
                if is_group { members } else { vec![directory] }
            })
            .collect()
    }

    /// The clusters among directories that share a base beside them, as `prod/00` builds on `prod/base`; none if no
    /// directory builds on another.
    fn members(&self, directories: &[RepoPath]) -> Vec<RepoPath> {
        let read: Vec<(&RepoPath, BTreeSet<RepoPath>)> = directories
            .iter()
            .map(|directory| (directory, self.files_of_build(directory)))
            .collect();
        let builds_on =
            |files: &BTreeSet<RepoPath>, base: &RepoPath| files.iter().any(|file| file.is_within(base));
        let is_base = |base: &RepoPath| {
            let mut others = read.iter().filter(|(directory, _)| *directory != base);
            others.any(|(_, files)| builds_on(files, base))
        };
        if !directories.iter().any(is_base) {
            return Vec::new();
        }
        let members = directories.iter().filter(|directory| !is_base(directory));
        members.cloned().collect()
    }

    fn has_manifests(&self, directory: &RepoPath) -> bool {
        let entries = self.tree.list(directory).unwrap_or_default();
        entries.iter().any(|(name, kind)| {
            *kind == EntryKind::File && [".yaml", ".yml"].iter().any(|ending| name.ends_with(ending))
        })
    }
}

/// The name of a Kustomization in a file that may leave the namespace to an enclosing kustomization.
pub(crate) fn named(kustomization: &firstpass_flux::Kustomization) -> firstpass_object::TierName {
    let mut name = kustomization.name.clone();
    if name.namespace.is_empty() {
        name.namespace = firstpass_flux::names::FLUX_SYSTEM.into();
    }
    name
}

fn is_helmfile(file: &RepoPath) -> bool {
    let name = file.file_name();
    let yaml = [".yaml", ".yml", ".yaml.gotmpl"]
        .iter()
        .any(|ending| name.ends_with(ending));
    let in_directory = file.parent().is_some_and(|directory| {
        let name = directory.file_name();
        name == "helmfile.d" || name == "helmfile"
    });
    yaml && (name.starts_with("helmfile") || in_directory)
}
