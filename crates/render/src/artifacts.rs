//! Which files a source stands for: this repository, a directory at hand, a composition of these, or nothing that can be
//! seen.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use firstpass_flux::{ArtifactGenerator, Source, SourceKind, SourceName};
use firstpass_source::{RepoPath, Tree};

use crate::artifact::ArtifactTree;
use crate::compose;
use crate::ignore::IgnoreRules;
use crate::{ClusterConfig, TierSource, Unrendered, UnrenderedReason};

/// What a source comes to for one path.
#[derive(Clone)]
pub(crate) enum Artifact {
    /// Files.
    Files(Files),
    /// Nothing that can be seen.
    Opaque(TierSource, Unrendered),
}

/// The files of an artifact.
#[derive(Clone)]
pub(crate) struct Files {
    /// The same for the same files, so that builds can be remembered.
    pub(crate) identity: String,
    pub(crate) source: TierSource,
    pub(crate) tree: Arc<dyn Tree>,
    pub(crate) places: Places,
}

/// Where the files of an artifact are in the repository.
#[derive(Clone)]
pub(crate) enum Places {
    /// Below a directory.
    Below(RepoPath),
    /// Outside the repository, below a path as configured.
    Outside(String),
    /// Copied from these files, by their path in the artifact.
    Copied(Arc<BTreeMap<RepoPath, String>>),
}

/// Everything that is known about sources at one moment of rendering.
#[derive(Clone, Default)]
pub(crate) struct Sources {
    /// The sources that the entry is synced from: they are this repository. With the directory that is their root.
    pub(crate) roots: BTreeMap<SourceName, RepoPath>,
    /// The URL that this repository has, if an object says so.
    pub(crate) url: Option<String>,
    /// Source objects, as rendered or seeded.
    pub(crate) objects: BTreeMap<SourceName, Source>,
    /// Generators by the artifact that they make, with the generator's index in its list of artifacts.
    pub(crate) generators: BTreeMap<SourceName, (Arc<ArtifactGenerator>, usize)>,
}

/// Turns sources into files.
pub(crate) struct Artifacts {
    tree: Arc<dyn Tree>,
    ignore_files: Vec<RepoPath>,
    entry: RepoPath,
    configured: BTreeMap<SourceName, String>,
    outside: BTreeMap<String, Arc<dyn Tree>>,
    pub(crate) sources: Sources,
    /// Files by their identity.
    remembered: Mutex<BTreeMap<String, Files>>,
}

impl Artifacts {
    pub(crate) fn new(
        tree: Arc<dyn Tree>,
        ignore_files: Vec<RepoPath>,
        entry: RepoPath,
        config: &ClusterConfig,
        outside: BTreeMap<String, Arc<dyn Tree>>,
    ) -> Artifacts {
        let configured = config.sources.iter();
        Artifacts {
            tree,
            ignore_files,
            entry,
            configured: configured
                .filter_map(|(name, source)| Some((name.parse().ok()?, source.path.clone())))
                .collect(),
            outside,
            sources: Sources::default(),
            remembered: Mutex::default(),
        }
    }

    /// The whole repository.
    pub(crate) fn repository_tree(&self) -> &dyn Tree {
        &*self.tree
    }

    /// The files of a source, as seen by a tier that builds `path` in it.
    pub(crate) fn resolve(&self, name: &SourceName, path: &RepoPath) -> Artifact {
        self.resolve_within(name, path, 0)
    }

    fn resolve_within(&self, name: &SourceName, path: &RepoPath, depth: usize) -> Artifact {
        if let Some(configured) = self.configured.get(name) {
            return self.local(name, configured);
        }
        if let Some(root) = self.sources.roots.get(name) {
            return self.repository(name, root);
        }
        if let Some((generator, index)) = self.sources.generators.get(name) {
            return self.generated(name, generator, *index, depth);
        }
        if name.kind == SourceKind::ExternalArtifact {
            return opaque(
                TierSource::Foreign {
                    name: name.clone(),
                    url: None,
                },
                UnrenderedReason::GeneratedArtifact,
                format!("nothing in the repository makes its source {name}"),
            );
        }
        let object = self.sources.objects.get(name);
        let url = object.and_then(|object| object.url.clone());
        let same_url = match (&url, &self.sources.url) {
            (Some(theirs), Some(ours)) => Some(normal_url(theirs) == normal_url(ours)),
            _ => None,
        };
        if same_url == Some(true) && !self.is_same_revision(name) {
            let text = format!("its source {name} is another revision of this repository");
            return opaque(
                TierSource::Foreign {
                    name: name.clone(),
                    url,
                },
                UnrenderedReason::ForeignSource,
                text,
            );
        }
        // The root of a source is everywhere, so that a path there says nothing.
        let root = self
            .root_with(name, path)
            .filter(|_| !path.is_root() || same_url == Some(true));
        match (object, same_url, root) {
            (Some(_), Some(true), root) => self.repository(name, &root.unwrap_or_default()),
            (Some(_), Some(false), _) => self.foreign(name, url),
            // Nobody says which URL this repository has, or nobody defines the source: if the path is here, so is the source.
            (_, _, Some(root)) => self.repository(name, &root),
            (Some(_), None, None) => self.foreign(name, url),
            (None, _, None) => opaque(
                TierSource::Foreign {
                    name: name.clone(),
                    url: None,
                },
                UnrenderedReason::SourceNotFound,
                format!("no object in the repository defines its source {name}"),
            ),
        }
    }

    /// Whether a source with the URL of this repository also asks for the same branch or tag.
    fn is_same_revision(&self, name: &SourceName) -> bool {
        let reference = |name: &SourceName| {
            self.sources
                .objects
                .get(name)
                .map(|object| object.reference.as_slice())
        };
        let theirs = reference(name).unwrap_or_default();
        let mut ours = self.sources.roots.keys().filter_map(reference).peekable();
        theirs.is_empty() || ours.peek().is_none() || ours.any(|ours| branch_of(ours) == branch_of(theirs))
    }

    /// The directory that has to be the source's root for `path` to be in it. Git artifacts are whole repositories; OCI
    /// artifacts and buckets often hold a part of one.
    fn root_with(&self, name: &SourceName, path: &RepoPath) -> Option<RepoPath> {
        let is_there = |root: &RepoPath| self.tree.entry(&root.join_clamped(path.as_str())).is_some();
        let root = RepoPath::root();
        if is_there(&root) {
            return Some(root);
        }
        if name.kind == SourceKind::GitRepository {
            return None;
        }
        let mut ancestors: Vec<RepoPath> =
            std::iter::successors(self.entry.parent(), RepoPath::parent).collect();
        ancestors.reverse();
        ancestors.into_iter().find(is_there)
    }

    fn repository(&self, name: &SourceName, root: &RepoPath) -> Artifact {
        let ignore = self
            .sources
            .objects
            .get(name)
            .and_then(|object| object.ignore.as_deref());
        let identity = format!("{name} in {root} without {ignore:?}");
        Artifact::Files(self.remembered(identity, |identity| Files {
            identity,
            source: TierSource::Repository {
                name: name.clone(),
                root: root.clone(),
            },
            tree: self.packed(&self.tree, root, &self.ignore_files, ignore),
            places: Places::Below(root.clone()),
        }))
    }

    fn local(&self, name: &SourceName, path: &str) -> Artifact {
        let source = TierSource::Local {
            name: name.clone(),
            path: path.to_owned(),
        };
        let ignore = self
            .sources
            .objects
            .get(name)
            .and_then(|object| object.ignore.as_deref());
        if let Some(tree) = self.outside.get(path) {
            return Artifact::Files(Files {
                identity: format!("{name} at {path} without {ignore:?}"),
                source,
                tree: self.packed(tree, &RepoPath::root(), &[], ignore),
                places: Places::Outside(path.trim_end_matches('/').to_owned()),
            });
        }
        match RepoPath::root().join(path) {
            Ok(root) if self.tree.is_directory(&root) => Artifact::Files(Files {
                identity: format!("{name} at {root} without {ignore:?}"),
                source,
                tree: self.packed(&self.tree, &root, &self.ignore_files, ignore),
                places: Places::Below(root),
            }),
            _ => opaque(
                source,
                UnrenderedReason::ForeignSource,
                format!("the configuration says that {name} is at `{path}`, where no directory is"),
            ),
        }
    }

    fn foreign(&self, name: &SourceName, url: Option<String>) -> Artifact {
        let at = url.as_ref().map(|url| format!(" ({url})")).unwrap_or_default();
        let text = format!("its source {name} is somewhere else{at}");
        opaque(
            TierSource::Foreign {
                name: name.clone(),
                url,
            },
            UnrenderedReason::ForeignSource,
            text,
        )
    }

    fn generated(
        &self,
        name: &SourceName,
        generator: &ArtifactGenerator,
        index: usize,
        depth: usize,
    ) -> Artifact {
        let by = format!("ArtifactGenerator/{}/{}", generator.namespace, generator.name);
        let source = TierSource::Generated {
            name: name.clone(),
            by: by.clone(),
        };
        let refuse = |why: String| opaque(source.clone(), UnrenderedReason::GeneratedArtifact, why);
        if depth > compose::DEPTH_MAX {
            return refuse(format!(
                "{by} takes from artifacts that take from others, too deep to follow"
            ));
        }
        let mut inputs = BTreeMap::new();
        for input in &generator.sources {
            let Some(input_name) = &input.source else {
                return refuse(format!("{by} names a source of an unknown kind"));
            };
            match self.resolve_within(input_name, &RepoPath::root(), depth + 1) {
                Artifact::Files(files) => inputs.insert(input.alias.clone(), files),
                Artifact::Opaque(_, unrendered) => {
                    return refuse(format!("{by} takes from {input_name}: {}", unrendered.text));
                }
            };
        }
        let identity = {
            let inputs: Vec<&str> = inputs.values().map(|files| files.identity.as_str()).collect();
            format!("{name} by {:?} from {inputs:?}", generator.artifacts[index])
        };
        if let Some(known) = lock(&self.remembered).get(&identity) {
            return Artifact::Files(known.clone());
        }
        match compose::compose(&generator.artifacts[index], &inputs) {
            Ok((tree, places)) => Artifact::Files(self.remembered(identity, |identity| Files {
                identity,
                source,
                tree: Arc::new(tree),
                places: Places::Copied(Arc::new(places)),
            })),
            Err(why) => refuse(format!("{by}: {why}")),
        }
    }

    fn remembered(&self, identity: String, make: impl FnOnce(String) -> Files) -> Files {
        if let Some(known) = lock(&self.remembered).get(&identity) {
            return known.clone();
        }
        let files = make(identity.clone());
        lock(&self.remembered).insert(identity, files.clone());
        files
    }

    fn packed(
        &self,
        tree: &Arc<dyn Tree>,
        root: &RepoPath,
        ignore_files: &[RepoPath],
        ignore: Option<&str>,
    ) -> Arc<dyn Tree> {
        let below = ignore_files.iter().filter(|file| file.is_within(root));
        let below: Vec<RepoPath> = below
            .map(|file| RepoPath::clamped(&file.relative_to(root)))
            .collect();
        let unfiltered = ArtifactTree::new(tree.clone(), root.clone(), IgnoreRules::default());
        let rules = IgnoreRules::of_source(&unfiltered, &below, ignore);
        Arc::new(ArtifactTree::new(tree.clone(), root.clone(), rules))
    }
}

impl Places {
    /// The file of the repository behind a file of the artifact.
    pub(crate) fn file(&self, path: &str) -> String {
        match self {
            Places::Below(root) if root.is_root() => path.to_owned(),
            Places::Below(root) => root.join_clamped(path).as_str().to_owned(),
            Places::Outside(base) => format!("{base}/{path}"),
            Places::Copied(files) => files
                .get(&RepoPath::clamped(path))
                .cloned()
                .unwrap_or_else(|| path.to_owned()),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is remembered is whole at any time, whoever panicked while holding the lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn opaque(source: TierSource, reason: UnrenderedReason, text: String) -> Artifact {
    let help = match source.name() {
        Some(name) => format!(
            "if its files are at hand, say where: `sources: {{{name}: {{path: …}}}}` in firstpass.yaml"
        ),
        None => "name a source in `spec.sourceRef`".to_owned(),
    };
    Artifact::Opaque(source, Unrendered { reason, text, help })
}

/// A branch or tag however it is written: `branch: main` and `name: refs/heads/main` are the same.
fn branch_of(reference: &[(String, String)]) -> Option<&str> {
    let (_, value) = reference.first()?;
    let short = value
        .strip_prefix("refs/heads/")
        .or_else(|| value.strip_prefix("refs/tags/"));
    Some(short.unwrap_or(value))
}

/// The parts of a URL that tell repositories apart: host and path.
pub(crate) fn normal_url(url: &str) -> String {
    let without_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    let without_user = match without_scheme.split_once('@') {
        Some((user, rest)) if !user.contains('/') => rest,
        _ => without_scheme,
    };
    let path = without_user.replacen(':', "/", 1);
    let path = path.trim_end_matches('/').trim_end_matches(".git");
    path.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_one_repository_are_the_same() {
        let ours = normal_url("ssh://git@github.com/team/fleet.git");
        for url in [
            "https://github.com/team/fleet",
            "git@github.com:team/fleet.git",
            "https://GitHub.com/team/fleet/",
        ] {
            assert_eq!(normal_url(url), ours, "{url}");
        }
        assert_ne!(normal_url("https://github.com/team/fleet-infra"), ours);
    }
}
