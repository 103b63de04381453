//! What the files of a repository say about how Flux is started, found in one walk.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use firstpass_flux::{FluxInstance, FluxVersion, HelmRelease, Kustomization, Source};
use firstpass_object::{ObjectExt, Origin};
use firstpass_source::{EntryKind, RepoPath, Tree};
use rayon::prelude::*;
use serde_json::Value;

use crate::ignore::IGNORE_FILE;
use crate::syncs::{self, SyncObject};

/// More files than this are not looked at; the largest repositories known have 50,000.
const FILES_MAX: usize = 500_000;
/// Directories below directories.
const DEPTH_MAX: usize = 100;
/// Larger files hold vendored manifests, not the start of a cluster.
const FILE_BYTES_MAX: usize = 256 * 1024;

/// A values file with templates in it, as helmfile reads them: lines with templates are passed over.
const TEMPLATE: &str = ".yaml.gotmpl";

/// What was found.
pub(crate) struct Survey {
    /// All files, by directory and name.
    pub(crate) files: Vec<RepoPath>,
    /// The `.sourceignore` files, in the order in which source-controller reads them.
    pub(crate) ignore_files: Vec<RepoPath>,
    /// Kustomizations whose path holds their own file.
    pub(crate) syncs: Vec<SyncObject>,
    /// The directories that a Kustomization outside of them builds, and that bring it themselves.
    pub(crate) synced_from_outside: BTreeSet<RepoPath>,
    /// The directories that Kustomizations build, each with the files that say so.
    pub(crate) paths: BTreeMap<RepoPath, BTreeSet<RepoPath>>,
    /// FluxInstances and values of the flux-instance chart.
    pub(crate) instances: Vec<Found<FluxInstance>>,
    /// Source objects.
    pub(crate) sources: Vec<Found<Source>>,
    /// API versions that some file switches on with `runtime-config`, as `group/version`.
    pub(crate) runtime_config: BTreeSet<String>,
    /// Files that install Flux from its published manifests, with the version that they name.
    pub(crate) installs: Vec<(RepoPath, FluxVersion)>,
}

/// An object in a file, without any rendering.
#[derive(Clone)]
pub(crate) struct Found<T> {
    /// What it says.
    pub(crate) what: T,
    /// The object (for chart values: the values).
    pub(crate) object: Arc<Value>,
    /// Where it is.
    pub(crate) origin: Origin,
}

impl Survey {
    pub(crate) fn of(tree: &dyn Tree) -> Survey {
        let mut survey = Survey {
            files: Vec::new(),
            ignore_files: Vec::new(),
            syncs: Vec::new(),
            synced_from_outside: BTreeSet::new(),
            paths: BTreeMap::new(),
            instances: Vec::new(),
            sources: Vec::new(),
            runtime_config: BTreeSet::new(),
            installs: Vec::new(),
        };
        survey.walk(tree, &RepoPath::root(), 0);
        let files: Vec<&RepoPath> = survey
            .files
            .iter()
            .filter(|file| may_hold_objects(file))
            .collect();
        let read: Vec<Contents> = files.par_iter().map(|file| contents_of(tree, file)).collect();
        let installs = files
            .iter()
            .zip(&read)
            .filter_map(|(file, read)| Some(((*file).clone(), read.installs?)));
        let installs: Vec<(RepoPath, FluxVersion)> = installs.collect();
        survey.installs = installs;
        survey.runtime_config = read.iter().flat_map(|read| read.runtime_config.clone()).collect();
        let mut kustomizations = Vec::new();
        for (object, origin) in read.into_iter().flat_map(|read| read.objects) {
            if Kustomization::is(&object) {
                let what = Kustomization::read(&object).value;
                let object = Arc::new(object);
                kustomizations.push(Found { what, object, origin });
            } else {
                survey.classify(object, origin);
            }
        }
        survey.syncs = syncs::inside(tree, &survey.files, &kustomizations);
        survey.paths = syncs::paths(&kustomizations);
        survey.synced_from_outside = syncs::outside(tree, &survey.paths);
        survey
    }

    /// A directory's own `.sourceignore` comes before those of its directories.
    fn walk(&mut self, tree: &dyn Tree, directory: &RepoPath, depth: usize) {
        if depth > DEPTH_MAX || self.files.len() > FILES_MAX {
            return;
        }
        let ignore = directory.join_clamped(IGNORE_FILE);
        if tree.is_file(&ignore) {
            self.ignore_files.push(ignore);
        }
        for (name, kind) in tree.list(directory).unwrap_or_default() {
            let path = directory.join_clamped(&name);
            match kind {
                EntryKind::File => self.files.push(path),
                EntryKind::Directory if name != ".git" => self.walk(tree, &path, depth + 1),
                EntryKind::Directory | EntryKind::Symlink | EntryKind::Special => {}
            }
        }
    }

    fn classify(&mut self, object: Value, origin: Origin) {
        if let Some(source) = Source::read(&object) {
            self.sources.push(Found {
                what: source.value,
                object: Arc::new(object),
                origin,
            });
        } else if FluxInstance::is(&object) {
            let instance = FluxInstance::read(&object).value;
            self.instances.push(Found {
                what: instance,
                object: Arc::new(object),
                origin,
            });
        } else {
            let is_release = HelmRelease::is(&object);
            let values = if is_release {
                object.at(&["spec", "values"])
            } else {
                Some(&object)
            };
            let Some(values) = values.filter(|values| is_instance_chart(values)) else {
                return;
            };
            let namespace = object
                .namespace()
                .filter(|_| is_release)
                .unwrap_or(firstpass_flux::names::FLUX_SYSTEM);
            let instance = FluxInstance::read_chart_values(values, namespace).value;
            let object = Arc::new(values.clone());
            self.instances.push(Found {
                what: instance,
                object,
                origin,
            });
        }
    }
}

/// What one file says about how Flux is started.
#[derive(Default)]
struct Contents {
    objects: Vec<(Value, Origin)>,
    installs: Option<FluxVersion>,
    runtime_config: Vec<String>,
}

/// Reads a file; nothing of one that cannot be read.
fn contents_of(tree: &dyn Tree, file: &RepoPath) -> Contents {
    let bytes = tree.read(file).unwrap_or_default();
    if bytes.len() > FILE_BYTES_MAX {
        return Contents::default();
    }
    let text = String::from_utf8_lossy(&bytes);
    Contents {
        objects: objects_of(&bytes, file),
        installs: installed_version(&text),
        runtime_config: switched_on(&text),
    }
}

/// What `--runtime-config` of an API server switches on, in a machine configuration of Talos or an argument of k3s:
/// `admissionregistration.k8s.io/v1beta1=true,api/alpha=true`.
fn switched_on(text: &str) -> Vec<String> {
    if !text.contains("runtime-config") {
        return Vec::new();
    }
    let is_separator =
        |letter: char| letter.is_whitespace() || matches!(letter, ',' | '"' | '\'' | '{' | '}' | '[' | ']');
    let words = text
        .split(is_separator)
        .filter_map(|word| word.strip_suffix("=true"));
    let words = words.map(|word| word.rsplit("runtime-config=").next().unwrap_or(word));
    words
        .filter(|word| word.contains('/'))
        .map(str::to_owned)
        .collect()
}

/// The version in a reference to Flux's published manifests: `fluxcd/flux2/manifests/install?ref=v2.9.4`, or
/// `fluxcd/flux2/releases/download/v2.9.4/install.yaml`. A reference in a comment is none.
fn installed_version(text: &str) -> Option<FluxVersion> {
    if !text.contains("fluxcd/flux2/") {
        return None;
    }
    text.lines().find_map(|line| {
        let line = line.split(" #").next().unwrap_or_default();
        let (before, reference) = line.split_once("fluxcd/flux2/")?;
        let is_install = reference.contains("manifests/install") || reference.contains("install.yaml");
        let word = reference.split_whitespace().next()?.trim_matches(['"', '\'']);
        let version = word
            .split(['=', '/', '&', '?', '@'])
            .find_map(|part| part.strip_prefix('v')?.parse::<FluxVersion>().ok());
        version.filter(|_| is_install && !before.trim_start().starts_with('#'))
    })
}

/// The objects of a file that may say how Flux is started.
fn objects_of(bytes: &[u8], file: &RepoPath) -> Vec<(Value, Origin)> {
    let mut text = String::from_utf8_lossy(bytes);
    let flux_objects =
        text.contains("toolkit.fluxcd.io/") && (text.contains("path:") || text.contains("url:"));
    let instance = text.contains("FluxInstance") || text.contains("instance:");
    if !flux_objects && !instance {
        return Vec::new();
    }
    if file.file_name().ends_with(TEMPLATE) {
        let lines = text
            .lines()
            .map(|line| if line.contains("{{") { "" } else { line });
        text = lines.collect::<Vec<_>>().join("\n").into();
    }
    let documents = firstpass_yaml::parse_all(&text).unwrap_or_default();
    let objects = documents.into_iter().filter_map(|document| {
        let origin = Origin {
            file: file.as_str().to_owned(),
            document: document.index,
            line: document.root.mark.line,
            steps: Vec::new(),
        };
        Some((document.root.to_json().ok()?, origin))
    });
    objects
        .flat_map(|(object, origin)| with_inline_values(object, origin))
        .collect()
}

/// The objects in the files of a directory, unrendered.
pub(crate) fn data_below(tree: &dyn Tree, directory: &RepoPath) -> Vec<(Value, Origin)> {
    let files = tree.list(directory).unwrap_or_default();
    let files = files
        .into_iter()
        .filter(|(name, kind)| {
            *kind == EntryKind::File && (name.ends_with(".yaml") || name.ends_with(".yml"))
        })
        .map(|(name, _)| directory.join_clamped(&name));
    let read = |file: RepoPath| {
        let bytes = tree.read(&file).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let documents = firstpass_yaml::parse_all(&text).unwrap_or_default();
        let object = move |document: firstpass_yaml::Document| {
            let origin = Origin {
                file: file.as_str().to_owned(),
                document: document.index,
                line: document.root.mark.line,
                steps: Vec::new(),
            };
            Some((document.root.to_json().ok()?, origin))
        };
        documents.into_iter().filter_map(object).collect::<Vec<_>>()
    };
    files.flat_map(read).collect()
}

/// A helmfile may hold the values of its releases: these are looked at as if they were files.
fn with_inline_values(object: Value, origin: Origin) -> Vec<(Value, Origin)> {
    let releases = object.items_at(&["releases"]).iter();
    let values = releases
        .flat_map(|release| release.items_at(&["values"]))
        .filter(|values| is_instance_chart(values));
    let mut found: Vec<(Value, Origin)> = values.map(|values| (values.clone(), origin.clone())).collect();
    found.push((object, origin));
    found
}

/// Values of the flux-instance chart have the spec of a FluxInstance below `instance`.
fn is_instance_chart(values: &Value) -> bool {
    let words = ["sync", "distribution", "components", "kustomize"];
    values
        .get("instance")
        .and_then(Value::as_object)
        .is_some_and(|instance| words.iter().filter(|word| instance.contains_key(**word)).count() > 0)
}

fn may_hold_objects(file: &RepoPath) -> bool {
    let name = file.file_name();
    let yaml = [".yaml", ".yml", TEMPLATE]
        .iter()
        .any(|ending| name.ends_with(ending));
    yaml && name != "gotk-components.yaml"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_versions_are_switched_on() {
        let talos = "apiServer:\n  extraArgs:\n    runtime-config: admissionregistration.k8s.io/v1beta1=true,api/alpha=true\n";
        assert_eq!(
            switched_on(talos),
            ["admissionregistration.k8s.io/v1beta1", "api/alpha"]
        );
        let k3s = "kube-apiserver-arg:\n  - \"runtime-config=resource.k8s.io/v1beta1=true\"\n";
        assert_eq!(switched_on(k3s), ["resource.k8s.io/v1beta1"]);
        assert!(switched_on("a/b=true").is_empty());
    }

    #[test]
    fn published_manifests_name_a_version() {
        let version = |text: &str| installed_version(text).map(|version| version.to_string());
        let found = Some("2.8.3".to_owned());
        assert_eq!(
            version("resources:\n  - github.com/fluxcd/flux2/manifests/install?ref=v2.8.3\n"),
            found
        );
        assert_eq!(
            version("- https://github.com/fluxcd/flux2//manifests/install?timeout=90s&ref=v2.8.3"),
            found
        );
        assert_eq!(
            version("- 'https://github.com/fluxcd/flux2/releases/download/v2.8.3/install.yaml'"),
            found
        );
        assert_eq!(
            version("# - github.com/fluxcd/flux2/manifests/install?ref=v2.8.3"),
            None
        );
        assert_eq!(
            version("- github.com/fluxcd/flux2/manifests/install?ref=main"),
            None
        );
        assert_eq!(version("- github.com/fluxcd/flux2/rfcs?ref=v2.8.3"), None);
    }
}
