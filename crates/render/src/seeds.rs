//! What a bootstrap puts into the cluster before Flux's first pass: the namespace, the source of the entry, and the
//! Kustomization that builds it.

use std::collections::BTreeMap;
use std::sync::Arc;

use firstpass_diagnostics::Assumption;
use firstpass_flux::{FluxInstance, InstanceSync, Kustomization, Source, SourceKind, SourceName, names};
use firstpass_kustomize::Options;
use firstpass_kustomize::file::{Located, Patch, Selector};
use firstpass_kustomize::resid::{Gvk, ResId};
use firstpass_object::{ObjectExt, Origin, TierName};
use firstpass_source::{MemoryTree, RepoPath};
use serde_json::{Value, json};

use crate::repository::named;
use crate::survey::Found;
use crate::syncs::SyncObject;
use crate::{Entry, RenderedObject, Repository, sops};

/// What is there at the start.
pub(crate) struct Seeds {
    /// The objects.
    pub(crate) objects: Vec<RenderedObject>,
    /// The root tiers among them.
    pub(crate) roots: Vec<TierName>,
    /// The sources that are this repository, with the directory that is their root.
    pub(crate) sources: BTreeMap<SourceName, RepoPath>,
    /// The URL of this repository, if it is known.
    pub(crate) url: Option<String>,
    /// What had to be assumed.
    pub(crate) assumptions: Vec<Assumption>,
}

impl Seeds {
    /// The seeds of an entry.
    pub(crate) fn of(repository: &Repository, entry: &Entry) -> Seeds {
        let mut seeds = Seeds {
            objects: vec![RenderedObject::seed(
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": names::FLUX_SYSTEM}}),
                Origin::default(),
            )],
            roots: Vec::new(),
            sources: BTreeMap::new(),
            url: None,
            assumptions: Vec::new(),
        };
        for sync in repository.syncs_of(&entry.directory) {
            seeds.add_sync(repository, entry, &sync);
        }
        if seeds.roots.is_empty() {
            let instance = repository
                .instances()
                .find(|(directory, _, _)| *directory == entry.directory);
            match instance {
                Some((_, root, found)) => seeds.add_instance(found, &root),
                None => seeds.assume(entry),
            }
        }
        seeds
    }

    /// A Kustomization in a file, with its source if a file nearby has it.
    fn add_sync(&mut self, repository: &Repository, entry: &Entry, of: &SyncObject) {
        let sync = &of.found;
        let name = named(&sync.what);
        if self.roots.contains(&name) {
            return;
        }
        let mut object = (*sync.object).clone();
        set_namespace(&mut object, &name.namespace);
        let Some(source) = Kustomization::read(&object).value.source() else {
            return;
        };
        if !self.sources.contains_key(&source) {
            let beside = of.sources.iter().find(|found| is_source(found, &source));
            let found = beside.or_else(|| nearest_source(repository, entry, sync, &source));
            let (mut source_object, origin) = match found {
                Some(found) => ((*found.object).clone(), found.origin.clone()),
                None => (assumed_source(&source), Origin::default()),
            };
            set_namespace(&mut source_object, &source.namespace);
            self.url = self.url.take().or_else(|| url_of(&source_object));
            self.objects.push(RenderedObject::seed(source_object, origin));
            self.sources.insert(source, RepoPath::root());
        }
        self.objects
            .push(RenderedObject::seed(object, sync.origin.clone()));
        self.roots.push(name);
        self.add_hand_applied(repository, sync);
    }

    /// The older home templates keep the Kustomization that syncs `flux` in `flux/config` and the variables in
    /// `flux/vars`, and their readme says to apply both by hand: the root then finds its own variables there.
    fn add_hand_applied(&mut self, repository: &Repository, sync: &Found<Kustomization>) {
        let file = RepoPath::clamped(&sync.origin.file);
        let config = file.parent().unwrap_or_default();
        if config.file_name() != "config" {
            return;
        }
        self.add_beside(repository, &config, sync);
        let vars = config.parent().unwrap_or_default().join_clamped("vars");
        for (object, origin) in crate::survey::data_below(&**repository.tree(), &vars) {
            let mut object = object;
            let is_data = matches!(object.kind(), "ConfigMap" | "Secret") && object.api_version() == "v1";
            if !is_data {
                continue;
            }
            set_namespace(&mut object, &named(&sync.what).namespace);
            sops::decrypt_object(&mut object);
            self.assumptions.push(Assumption {
                about: "bootstrap".to_owned(),
                subject: object.id().to_string(),
                assumed: "applied by hand before Flux starts, with the Kustomization beside it".to_owned(),
                source: origin.file.clone(),
            });
            self.objects.push(RenderedObject::seed(object, origin));
        }
    }

    /// What is applied by hand together with the Kustomization that syncs the entry: others that lie beside it, such as the
    /// one that keeps Flux itself up to date, and their sources.
    fn add_beside(&mut self, repository: &Repository, config: &RepoPath, sync: &Found<Kustomization>) {
        for (mut object, origin) in crate::survey::data_below(&**repository.tree(), config) {
            let is_kustomization = Kustomization::is(&object);
            if !is_kustomization && Source::read(&object).is_none() {
                continue;
            }
            set_namespace(&mut object, &named(&sync.what).namespace);
            let id = object.id();
            if self.objects.iter().any(|known| known.id() == id) {
                continue;
            }
            if is_kustomization {
                self.roots.push(Kustomization::read(&object).value.name);
                self.assumptions.push(Assumption {
                    about: "bootstrap".to_owned(),
                    subject: id.to_string(),
                    assumed: "applied by hand before Flux starts, with the Kustomization beside it"
                        .to_owned(),
                    source: origin.file.clone(),
                });
            }
            self.objects.push(RenderedObject::seed(object, origin));
        }
    }

    /// The source and the Kustomization that flux-operator makes for a FluxInstance, its patches applied.
    fn add_instance(&mut self, found: &Found<FluxInstance>, root: &RepoPath) {
        let instance = &found.what;
        let Some(sync) = &instance.sync else {
            return;
        };
        let objects = match patched(instance, &sync_objects(instance, sync)) {
            Ok(objects) => objects,
            Err(why) => {
                self.assumptions.push(Assumption {
                    about: "flux-instance".to_owned(),
                    subject: found.origin.file.clone(),
                    assumed: format!("its patches leave the sync alone, since they cannot be applied: {why}"),
                    source: "default".to_owned(),
                });
                sync_objects(instance, sync)
            }
        };
        for object in objects {
            if let Some(source) = Source::read(&object) {
                self.url = self.url.take().or(source.value.url.filter(|url| !url.is_empty()));
                self.sources.insert(source.value.name, root.clone());
            } else {
                self.roots.push(Kustomization::read(&object).value.name);
            }
            self.objects
                .push(RenderedObject::seed(object, found.origin.clone()));
        }
    }

    fn assume(&mut self, entry: &Entry) {
        let (namespace, name) = (names::FLUX_SYSTEM, names::FLUX_SYSTEM);
        let source = SourceName {
            kind: firstpass_flux::SourceKind::GitRepository,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        self.objects
            .push(RenderedObject::seed(assumed_source(&source), Origin::default()));
        self.objects.push(RenderedObject::seed(
            root_kustomization(namespace, name, &entry.directory, &source),
            Origin::default(),
        ));
        self.roots.push(TierName::new(namespace, name));
        self.assumptions.push(Assumption {
            about: "sync".to_owned(),
            subject: entry.directory.to_string(),
            assumed: format!("Kustomization {namespace}/{name} builds it every 10m from this repository"),
            source: "default: nothing in the repository syncs the directory".to_owned(),
        });
        self.sources.insert(source, RepoPath::root());
    }
}

/// The source object that a Kustomization in a file means: in the same file, else below the entry, else in the nearest
/// directory.
fn nearest_source<'r>(
    repository: &'r Repository,
    entry: &Entry,
    sync: &Found<Kustomization>,
    name: &SourceName,
) -> Option<&'r Found<Source>> {
    let distance = |found: &&Found<Source>| {
        let file = RepoPath::clamped(&found.origin.file);
        (
            found.origin.file != sync.origin.file,
            !file.is_within(&entry.directory),
        )
    };
    let candidates = repository
        .survey()
        .sources
        .iter()
        .filter(|found| is_source(found, name))
        .filter(|found| !distance(found).1 || !distance(found).0);
    candidates.min_by_key(distance)
}

/// Whether a source object is the one that is meant; a file may leave the namespace to the kustomization around it.
fn is_source(found: &Found<Source>, name: &SourceName) -> bool {
    let source = &found.what.name;
    source.kind == name.kind
        && source.name == name.name
        && (source.namespace.is_empty() || source.namespace == name.namespace)
}

fn set_namespace(object: &mut Value, namespace: &str) {
    if object.namespace().is_none()
        && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.insert("namespace".to_owned(), Value::from(namespace));
    }
}

fn url_of(object: &Value) -> Option<String> {
    object
        .text_at(&["spec", "url"])
        .filter(|url| !url.is_empty())
        .map(str::to_owned)
}

/// A source of which nothing but the name is known; where it reads from is made up.
fn assumed_source(name: &SourceName) -> Value {
    let mut object = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": name.kind.as_str(),
        "metadata": {"name": name.name, "namespace": name.namespace},
        "spec": {"interval": "1m"},
    });
    let place = match name.kind {
        SourceKind::GitRepository | SourceKind::HelmRepository => json!({"url": "https://source.invalid"}),
        SourceKind::OciRepository => json!({"url": "oci://source.invalid"}),
        SourceKind::Bucket => json!({"endpoint": "source.invalid", "bucketName": name.name}),
        _ => json!({}),
    };
    if let (Some(spec), Value::Object(place)) = (object["spec"].as_object_mut(), place) {
        spec.extend(place);
    }
    object
}

fn root_kustomization(namespace: &str, name: &str, path: &RepoPath, source: &SourceName) -> Value {
    json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": names::KUSTOMIZATION,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "interval": "10m",
            "path": format!("./{}", path.as_str()),
            "prune": true,
            "sourceRef": {"kind": source.kind.as_str(), "name": source.name},
        },
    })
}

fn sync_objects(instance: &FluxInstance, sync: &InstanceSync) -> Vec<Value> {
    let source = SourceName {
        kind: sync.kind,
        namespace: instance.namespace.clone(),
        name: sync.name.clone(),
    };
    let mut object = assumed_source(&source);
    let spec = object["spec"].as_object_mut();
    if let Some(spec) = spec {
        let interval = sync
            .interval
            .map_or_else(|| "1m".to_owned(), |interval| interval.to_string());
        spec.insert("interval".to_owned(), Value::from(interval));
        // The operator's words for a bucket: the URL is its endpoint, the reference its name.
        let place = match sync.kind {
            SourceKind::GitRepository => json!({"url": sync.url, "ref": {"name": sync.reference}}),
            SourceKind::Bucket => json!({"endpoint": sync.url, "bucketName": sync.reference}),
            _ => json!({"url": sync.url, "ref": {"tag": sync.reference}}),
        };
        if let Value::Object(place) = place {
            spec.extend(place);
        }
        if let Some(secret) = &sync.pull_secret {
            spec.insert("secretRef".to_owned(), json!({"name": secret}));
        }
    }
    let path = RepoPath::clamped(&sync.path);
    vec![
        object,
        root_kustomization(&instance.namespace, &sync.name, &path, &source),
    ]
}

/// Applies the patches of the instance that aim at the kinds of the sync objects.
fn patched(instance: &FluxInstance, objects: &[Value]) -> Result<Vec<Value>, String> {
    let kinds: Vec<&str> = objects.iter().map(ObjectExt::kind).collect();
    let aimed = instance.patches.iter().filter(|patch| {
        match patch.target.as_ref().and_then(|target| target.kind.as_deref()) {
            Some(kind) => kinds.contains(&kind),
            None => false,
        }
    });
    let mut root = firstpass_kustomize::file::KustomizationFile::default();
    root.resources.push(Located::from("sync.yaml".to_owned()));
    for patch in aimed {
        let target = patch.target.clone().unwrap_or_default();
        let part = |part: Option<String>| part.unwrap_or_default();
        root.patches.push(Located::from(Patch {
            patch: patch.patch.clone(),
            target: Some(Selector {
                id: ResId {
                    gvk: Gvk {
                        group: part(target.group),
                        version: part(target.version),
                        kind: part(target.kind),
                    },
                    name: part(target.name),
                    namespace: part(target.namespace),
                },
                label_selector: part(target.label_selector),
                annotation_selector: part(target.annotation_selector),
            }),
            ..Patch::default()
        }));
    }
    let mut tree = MemoryTree::new();
    tree.insert("sync.yaml", firstpass_yaml::emit_all(objects));
    let build = firstpass_kustomize::build(&tree, &RepoPath::root(), &Options::flux_with_root(root))
        .map_err(|error| error.what)?;
    Ok(build
        .resources
        .into_iter()
        .map(|resource| resource.value)
        .collect())
}

/// Seeds are shared with what is rendered; this gives one by its identity.
pub(crate) fn object_of(seeds: &[RenderedObject], name: &TierName) -> Option<(Arc<Value>, Arc<Origin>)> {
    let found = seeds.iter().find(|seed| {
        Kustomization::is(&seed.object)
            && seed.object.name() == name.name
            && seed.object.namespace() == Some(name.namespace.as_str())
    })?;
    Some((found.object.clone(), found.origin.clone()))
}
