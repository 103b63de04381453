//! The stage on which Flux's first pass plays.

mod bootstrap;
mod nodes;
mod present;
mod versions;

use std::collections::BTreeMap;
use std::sync::Arc;

use firstpass_diagnostics::{Assumption, Baseline};
use firstpass_knowledge::{KindDef, Knowledge, Scope, TemplateScope, VersionPoint};
use firstpass_object::{GroupKind, ObjectExt, ObjectId};
use firstpass_render::{RenderedCluster, Sync};
use firstpass_source::{RepoPath, Tree};
use firstpass_yaml::{decode, parse_all};
use serde_json::Value;

use crate::{Helmfile, Release};

/// Kinds that Flux Operator registers; it is there wherever a FluxInstance brings Flux.
const FLUX_OPERATOR_GROUP: &str = "fluxcd.controlplane.io";

/// What is there before Flux's first pass.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The distribution of Kubernetes.
    pub distribution: String,
    /// Minor version of Kubernetes, such as `1.36`.
    pub kubernetes: String,
    /// Version of Flux.
    pub flux: String,
    /// The network plugin, if pods get a network at all: the distribution's, or a seeded chart.
    pub network: Option<String>,
    /// Releases that a bootstrap stage installs, in order.
    pub releases: Vec<SeededRelease>,
    /// Objects that exist, with the file or the distribution that they come from.
    pub objects: Vec<(Arc<Value>, String)>,
    /// Further objects that exist, of which only the names are known, with who brings them; see [`Stage::brings`].
    present: BTreeMap<ObjectId, String>,
    /// Custom kinds that are served.
    pub kinds: BTreeMap<GroupKind, StagedKind>,
    /// Kinds that this Flux could serve, and the component of each that is not installed.
    pub left_out: BTreeMap<GroupKind, &'static str>,
    /// Files of the repository that seed something.
    pub seeded_by: Vec<String>,
    /// Whether a bootstrap stage holds something that cannot be seen: kinds may come from there.
    pub has_unknown_parts: bool,
    /// What had to be taken for granted.
    pub assumptions: Vec<Assumption>,
}

/// A release that a bootstrap stage installs.
#[derive(Clone, Debug)]
pub struct SeededRelease {
    /// The release.
    pub release: Release,
    /// The helmfile.
    pub file: String,
    /// The line of its entry.
    pub line: u32,
    /// Only its CRDs are applied.
    pub crds_only: bool,
}

/// A custom kind that is served from the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedKind {
    /// The name in URLs.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Served versions, the stored one first.
    pub versions: Vec<String>,
    /// Who brings it, for people.
    pub from: String,
}

/// What the command line says about the stage.
#[derive(Clone, Debug, Default)]
pub struct StageOptions {
    /// `--kubernetes-version`
    pub kubernetes: Option<String>,
    /// Names of CRDs (`plural.group`) that exist as well: "what if the cluster were warm?"
    pub kinds: Vec<GroupKind>,
}

impl Stage {
    /// Sets the stage of a cluster: configuration first, then what the repository holds, then defaults.
    pub fn set(
        cluster: &RenderedCluster,
        tree: &dyn Tree,
        helmfiles: &[RepoPath],
        knowledge: &Knowledge,
        options: &StageOptions,
    ) -> Stage {
        let mut stage = Stage {
            distribution: String::new(),
            kubernetes: String::new(),
            flux: cluster.settings.flux.to_string(),
            network: None,
            releases: Vec::new(),
            objects: Vec::new(),
            present: BTreeMap::new(),
            kinds: BTreeMap::new(),
            left_out: BTreeMap::new(),
            seeded_by: Vec::new(),
            has_unknown_parts: false,
            assumptions: Vec::new(),
        };
        stage.choose_kubernetes(cluster, tree, options);
        stage.choose_distribution(cluster, tree);
        stage.add_flux(cluster, knowledge);
        stage.add_controllers(cluster);
        stage.add_distribution(cluster, knowledge);
        for file in helmfiles {
            stage.add_helmfile(cluster, &Helmfile::read(tree, file), knowledge);
        }
        stage.add_network(cluster, knowledge);
        for (name, node) in &cluster.entry.config.baseline.nodes {
            stage
                .objects
                .push((Arc::new(nodes::object(name, node)), "firstpass.yaml".to_owned()));
        }
        for pattern in &cluster.entry.config.baseline.manifests {
            stage.add_manifests(tree, pattern);
        }
        for kind in &options.kinds {
            if let Some(def) = knowledge.custom_kind(&kind.group, &kind.kind) {
                stage.add_kind(def, VersionPoint::Newest, "the baseline that was asked for");
            }
        }
        stage
    }

    /// The stage as the report shows it.
    pub fn report(&self) -> Baseline {
        Baseline {
            distribution: self.distribution.clone(),
            kubernetes: self.kubernetes.clone(),
            flux: self.flux.clone(),
            seeded_by: self.seeded_by.clone(),
        }
    }

    /// Whose Kubernetes it is, for sentences: `k3s`, or that it is nobody's.
    pub fn distribution_text(&self) -> &str {
        match self.distribution.as_str() {
            "none" => "Kubernetes without a distribution",
            name => name,
        }
    }

    /// Kubernetes' minor version as a number: 36 for `1.36`.
    pub fn kubernetes_minor(&self) -> u16 {
        self.kubernetes
            .split('.')
            .nth(1)
            .and_then(|minor| minor.parse().ok())
            .unwrap_or_default()
    }

    /// Whether a seeded release or the distribution makes this namespace.
    pub fn has_namespace(&self, namespace: &str) -> bool {
        let seeded = |release: &SeededRelease| !release.crds_only && release.release.namespace == namespace;
        self.releases.iter().any(seeded)
            || self
                .objects
                .iter()
                .any(|(object, _)| object.id() == ObjectId::new("", "Namespace", None, namespace))
    }

    fn add_flux(&mut self, cluster: &RenderedCluster, knowledge: &Knowledge) {
        let from = format!("Flux {}", self.flux);
        if let Some(release) = knowledge.flux_release(&self.flux) {
            for (name, versions) in &release.serves {
                let Some((group, kind)) = name.split_once('/') else {
                    continue;
                };
                let components = cluster.settings.components.as_ref();
                if let Some(component) = components.and_then(|components| components.lacks(group, kind)) {
                    self.left_out.insert(GroupKind::new(group, kind), component);
                    continue;
                }
                let staged = StagedKind {
                    plural: plural_of(kind),
                    namespaced: true,
                    versions: versions.clone(),
                    from: from.clone(),
                };
                self.kinds.insert(GroupKind::new(group, kind), staged);
            }
        }
        if matches!(cluster.entry.sync, Sync::Instance { .. }) {
            for def in knowledge.kinds_of_group(FLUX_OPERATOR_GROUP) {
                self.add_kind(def, VersionPoint::Newest, "Flux Operator");
            }
        }
    }

    fn add_distribution(&mut self, cluster: &RenderedCluster, knowledge: &Knowledge) {
        let Some(distribution) = knowledge.distribution(&self.distribution) else {
            return;
        };
        self.network.clone_from(&distribution.cni);
        let kubernetes = self.kubernetes.clone();
        let mut brought = None;
        for part in distribution.at(Some(&kubernetes)) {
            if part.optional {
                let brought = brought.get_or_insert_with(|| brought_kinds(cluster, knowledge));
                let mut own = brought.iter().filter(|(kind, _)| {
                    part.kinds
                        .iter()
                        .any(|selector| selector.matches(&kind.group, &kind.kind))
                });
                if let Some((kind, id)) = own.next() {
                    let assumed = format!("without its own {}", kind.kind);
                    self.assume(
                        "distribution",
                        &distribution.name,
                        assumed,
                        &format!("{id} brings the kind"),
                    );
                    continue;
                }
            }
            for def in knowledge.select(&part.kinds) {
                self.add_kind(def, VersionPoint::Newest, &distribution.name);
            }
            self.add_workloads(part.workloads.iter(), &distribution.name);
            let objects = part
                .objects
                .iter()
                .filter_map(|object| object.render(&TemplateScope::default()));
            self.objects
                .extend(objects.map(|object| (Arc::new(object), distribution.name.clone())));
        }
    }

    fn add_manifests(&mut self, tree: &dyn Tree, pattern: &str) {
        for path in firstpass_source::glob(tree, pattern) {
            let Ok(bytes) = tree.read(&path) else { continue };
            let documents = decode(&bytes)
                .ok()
                .and_then(|text| parse_all(&text).ok())
                .unwrap_or_default();
            let objects = documents
                .iter()
                .filter_map(|document| document.root.to_json().ok());
            let mut seeded = false;
            for object in objects.filter(|object| !object.kind().is_empty()) {
                self.add_crd(&object, path.as_str());
                self.objects.push((Arc::new(object), path.as_str().to_owned()));
                seeded = true;
            }
            if seeded {
                self.seeded_by.push(path.as_str().to_owned());
            }
        }
    }

    /// A CRD among the manifests makes its kind known.
    fn add_crd(&mut self, object: &Value, from: &str) {
        if object.kind() != "CustomResourceDefinition" {
            return;
        }
        let text = |path: &[&str]| object.text_at(path).unwrap_or_default().to_owned();
        let served = object
            .items_at(&["spec", "versions"])
            .iter()
            .filter(|version| version["served"] != false);
        let staged = StagedKind {
            plural: text(&["spec", "names", "plural"]),
            namespaced: object.text_at(&["spec", "scope"]) != Some("Cluster"),
            versions: served
                .filter_map(|version| Some(version.text_at(&["name"])?.to_owned()))
                .collect(),
            from: from.to_owned(),
        };
        self.kinds.insert(
            GroupKind::new(text(&["spec", "group"]), text(&["spec", "names", "kind"])),
            staged,
        );
    }

    fn add_kind(&mut self, def: &KindDef, version: VersionPoint, from: &str) {
        self.insert_kind(def, &def.served(version), from);
    }

    fn insert_kind(&mut self, def: &KindDef, versions: &[&str], from: &str) {
        self.kinds
            .entry(GroupKind::new(&def.group, &def.kind))
            .or_insert_with(|| StagedKind {
                plural: def.plural.clone(),
                namespaced: def.scope == Scope::Namespaced,
                versions: versions.iter().map(|version| (*version).to_owned()).collect(),
                from: from.to_owned(),
            });
    }

    fn assume(&mut self, about: &str, subject: &str, assumed: String, source: &str) {
        self.assumptions.push(Assumption {
            about: about.to_owned(),
            subject: subject.to_owned(),
            assumed,
            source: source.to_owned(),
        });
    }
}

/// Flux's kinds form their plurals regularly.
fn plural_of(kind: &str) -> String {
    let name = kind.to_lowercase();
    match name.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{name}s"),
    }
}

/// The kinds that the repository itself brings, by a CRD or by a release, each with the first object that does.
fn brought_kinds(cluster: &RenderedCluster, knowledge: &Knowledge) -> BTreeMap<GroupKind, ObjectId> {
    let objects: BTreeMap<ObjectId, &Arc<Value>> = cluster
        .objects()
        .map(|(_, object)| (object.object.id(), &object.object))
        .collect();
    let found = |id: &ObjectId| objects.get(id).map(|object| Arc::clone(object));
    let mut brought = BTreeMap::new();
    for (id, object) in &objects {
        if id.is("apiextensions.k8s.io", "CustomResourceDefinition") {
            let text = |path: &[&str]| object.text_at(path).unwrap_or_default();
            let kind = GroupKind::new(text(&["spec", "group"]), text(&["spec", "names", "kind"]));
            brought.entry(kind).or_insert_with(|| id.clone());
        } else if id.is("helm.toolkit.fluxcd.io", "HelmRelease") {
            let release = Release::of_object(object, &found);
            for kind in release.facts(knowledge).into_iter().flat_map(|facts| facts.kinds) {
                let kind = GroupKind::new(&kind.def.group, &kind.def.kind);
                brought.entry(kind).or_insert_with(|| id.clone());
            }
        }
    }
    brought
}
