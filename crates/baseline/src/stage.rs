//! The stage on which Flux's first pass plays.

use std::collections::BTreeMap;
use std::sync::Arc;

use firstpass_diagnostics::{Assumption, Baseline};
use firstpass_flux::HelmRelease;
use firstpass_knowledge::{
    CrdsPolicy, Effect, KindDef, Knowledge, Operator, Scope, TemplateScope, VersionPoint,
};
use firstpass_object::{GroupKind, GroupVersionKind, ObjectExt, ObjectId};
use firstpass_render::{Distribution, RenderedCluster, Sync};
use firstpass_schema::Served;
use firstpass_source::{RepoPath, Tree};
use firstpass_yaml::{decode, parse_all};
use serde_json::Value;

use crate::{ChartName, Found, Helmfile, HelmfileRelease, Release};

/// The Kubernetes minors among which one is chosen where nothing says which: those that a current Flux supports.
const KUBERNETES_MINORS: std::ops::RangeInclusive<u16> = 33..=37;

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
    /// Custom kinds that are served.
    pub kinds: BTreeMap<GroupKind, StagedKind>,
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
            kinds: BTreeMap::new(),
            seeded_by: Vec::new(),
            has_unknown_parts: false,
            assumptions: Vec::new(),
        };
        stage.choose_kubernetes(cluster, options);
        stage.choose_distribution(cluster, tree);
        stage.add_flux(cluster, knowledge);
        stage.add_distribution(cluster, knowledge);
        for file in helmfiles {
            stage.add_helmfile(cluster, &Helmfile::read(tree, file), knowledge);
        }
        stage.add_network(cluster, knowledge);
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

    fn choose_kubernetes(&mut self, cluster: &RenderedCluster, options: &StageOptions) {
        let configured = options
            .kubernetes
            .as_ref()
            .or(cluster.entry.config.kubernetes.as_ref());
        if let Some(version) = configured {
            minor_of(version).clone_into(&mut self.kubernetes);
            return;
        }
        let (minor, why) = newest_that_serves(cluster);
        self.kubernetes = format!("1.{minor}");
        self.assume("kubernetes", "cluster", format!("Kubernetes 1.{minor}"), &why);
    }

    fn choose_distribution(&mut self, cluster: &RenderedCluster, tree: &dyn Tree) {
        if let Some(distribution) = cluster.entry.config.baseline.distribution {
            self.distribution = name_of(distribution).to_owned();
            return;
        }
        let (name, why) = match on_talos(cluster, tree) {
            Some(why) => ("talos", why),
            None => ("k3s", "default; `baseline.distribution` says another".to_owned()),
        };
        self.distribution = name.to_owned();
        self.assume("distribution", "cluster", name.to_owned(), &why);
    }

    fn add_flux(&mut self, cluster: &RenderedCluster, knowledge: &Knowledge) {
        let from = format!("Flux {}", self.flux);
        if let Some(release) = knowledge.flux_release(&self.flux) {
            for (name, versions) in &release.serves {
                let Some((group, kind)) = name.split_once('/') else {
                    continue;
                };
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
            let objects = part
                .objects
                .iter()
                .filter_map(|object| object.render(&TemplateScope::default()));
            self.objects
                .extend(objects.map(|object| (Arc::new(object), distribution.name.clone())));
        }
    }

    fn add_helmfile(&mut self, cluster: &RenderedCluster, helmfile: &Helmfile, knowledge: &Knowledge) {
        if helmfile.releases.is_empty() {
            return;
        }
        self.seeded_by.push(helmfile.file.clone());
        for entry in &helmfile.releases {
            let release = self.seeded_release(cluster, &helmfile.file, entry);
            self.add_release(&release, entry, &helmfile.file, knowledge);
            self.releases.push(SeededRelease {
                release,
                file: helmfile.file.clone(),
                line: entry.line,
                crds_only: entry.crds_only,
            });
        }
    }

    /// A helmfile's release; what only a template says is taken from the HelmRelease of the same name.
    fn seeded_release(&mut self, cluster: &RenderedCluster, file: &str, entry: &HelmfileRelease) -> Release {
        let found = |id: &ObjectId| {
            cluster
                .objects()
                .find(|(_, object)| object.id() == *id)
                .map(|(_, o)| o.object.clone())
        };
        let twin = twin_of(cluster, entry).map(|object| Release::of_object(object, &found as Found<'_>));
        let chart = match (&entry.chart, &twin) {
            (Some(chart), _) => ChartName {
                name: chart.clone(),
                version: entry.version.clone(),
                repository: Some(chart.clone()),
                files_in: None,
            },
            (None, Some(twin)) => {
                let subject = format!("release {}/{}", entry.namespace, entry.name);
                let assumed = format!("the chart of the HelmRelease of that name, {}", twin.chart_text());
                self.assume("bootstrap", &subject, assumed, file);
                twin.chart.clone()
            }
            (None, None) => ChartName {
                name: entry.name.clone(),
                version: entry.version.clone(),
                ..ChartName::default()
            },
        };
        let values = match (&twin, entry.values_complete) {
            (Some(twin), false) => twin.values.clone(),
            _ => entry.values.clone(),
        };
        Release {
            id: None,
            name: entry.name.clone(),
            namespace: entry.namespace.clone(),
            chart,
            values,
            values_complete: entry.values_complete || twin.is_some_and(|twin| twin.values_complete),
            crds: CrdsPolicy::Install,
            waits: true,
            creates_namespace: true,
        }
    }

    fn add_release(&mut self, release: &Release, entry: &HelmfileRelease, file: &str, knowledge: &Knowledge) {
        let from = format!("{} seeded by {file}", release.chart_text());
        let Some(facts) = release.facts(knowledge) else {
            self.has_unknown_parts = true;
            let subject = format!("release {}/{}", entry.namespace, entry.name);
            let assumed = format!(
                "{} installs, and what it brings is not known",
                release.chart_text()
            );
            self.assume("bootstrap", &subject, assumed, file);
            return;
        };
        for brought in &facts.kinds {
            self.insert_kind(brought.def, &brought.versions, &from);
        }
        // A CRD stage takes whatever CRDs the chart can render, also those that its defaults leave out.
        if entry.crds_only {
            for kinds in &facts.chart.kinds {
                for def in knowledge.select(&kinds.include) {
                    self.add_kind(def, facts.version, &from);
                }
            }
            return;
        }
        for (operator, _) in &facts.operators {
            self.add_started(operator, &release.values, facts.version, knowledge, &from);
        }
        self.objects.extend(
            facts
                .objects
                .into_iter()
                .map(|object| (Arc::new(object), from.clone())),
        );
        if facts.chart.name == "cilium" || facts.chart.name == "tigera-operator" {
            self.network = Some(facts.chart.name.clone());
        }
    }

    /// What an operator has registered by the time that it runs.
    fn add_started(
        &mut self,
        operator: &Operator,
        values: &Value,
        version: VersionPoint,
        knowledge: &Knowledge,
        from: &str,
    ) {
        let happens = |effect: &&Effect| {
            effect.range().contains(version) && effect.when.as_ref().is_none_or(|when| when.holds(values))
        };
        for effect in operator.at_start.iter().filter(happens) {
            for def in knowledge.effect_kinds(effect, None) {
                self.add_kind(&def, version, from);
            }
        }
    }

    /// Where Cilium stands in for kube-proxy and is told the API server's address, no Service works without it: Flux could
    /// not even reach the API server. So it is there before Flux, even if no file of the repository says who installed it.
    fn add_network(&mut self, cluster: &RenderedCluster, knowledge: &Knowledge) {
        let found = |id: &ObjectId| {
            cluster
                .objects()
                .find(|(_, object)| object.id() == *id)
                .map(|(_, o)| o.object.clone())
        };
        let releases = cluster
            .objects()
            .filter(|(_, object)| HelmRelease::is(&object.object));
        for (_, object) in releases {
            let release = Release::of_object(&object.object, &found);
            let stands_in = firstpass_knowledge::chart_name(&release.chart.name) == "cilium"
                && release.values["kubeProxyReplacement"] == true
                && release.values.get("k8sServiceHost").is_some();
            let is_seeded = self
                .releases
                .iter()
                .any(|seeded| seeded.release.name == release.name && !seeded.crds_only);
            let Some(facts) = release.facts(knowledge).filter(|_| stands_in && !is_seeded) else {
                continue;
            };
            let id = object.id();
            let from = format!("{}, which Flux cannot start without", release.chart_text());
            for (operator, _) in &facts.operators {
                self.add_started(operator, &release.values, facts.version, knowledge, &from);
            }
            self.network = Some("cilium".to_owned());
            self.assume(
                "bootstrap",
                &id.to_string(),
                "installed before Flux: it stands in for kube-proxy".to_owned(),
                "kubeProxyReplacement and k8sServiceHost in its values",
            );
            self.releases.push(SeededRelease {
                release: Release { id: None, ..release },
                file: object.origin.file.clone(),
                line: object.origin.line,
                crds_only: false,
            });
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

/// The HelmRelease with the name and namespace of a helmfile's release: Flux adopts what the bootstrap installed.
fn twin_of<'c>(cluster: &'c RenderedCluster, entry: &HelmfileRelease) -> Option<&'c Value> {
    let mut releases = cluster
        .objects()
        .map(|(_, object)| &*object.object)
        .filter(|object| HelmRelease::is(object));
    releases.find(|object| {
        let release = HelmRelease::read(object).value;
        release.release_name() == entry.name && release.release_namespace() == entry.namespace
            || object.name() == entry.name && object.namespace() == Some(&entry.namespace)
    })
}

/// What says that the cluster runs on Talos, if anything does: an object of the group that Talos alone serves, or its
/// machine configuration beside the manifests.
fn on_talos(cluster: &RenderedCluster, tree: &dyn Tree) -> Option<String> {
    if let Some((_, object)) = cluster
        .objects()
        .find(|(_, object)| object.object.gvk().group == "talos.dev")
    {
        return Some(format!("{} uses it", object.id()));
    }
    let directories = std::iter::successors(Some(cluster.entry.directory.clone()), RepoPath::parent);
    let places = directories
        .flat_map(|directory| ["talos", "talconfig.yaml"].map(|name| directory.join_clamped(name)));
    let found = places.into_iter().find(|place| tree.entry(place).is_some())?;
    Some(format!("`{found}` configures it"))
}

/// The newest minor that serves every built-in kind in the version that the repository writes it in, and why it is that
/// one. Where none does, the newest: then the version is the fault.
fn newest_that_serves(cluster: &RenderedCluster) -> (u16, String) {
    let newest = *KUBERNETES_MINORS.end();
    let used: std::collections::BTreeSet<GroupVersionKind> =
        cluster.objects().map(|(_, object)| object.object.gvk()).collect();
    let refuses = |gvk: &GroupVersionKind, minor: u16| {
        let served = firstpass_schema::served(&gvk.group, &gvk.version, &gvk.kind, minor);
        matches!(served, Served::Removed(_) | Served::NotYet(_))
    };
    // A version that no minor serves says nothing about which one the cluster runs.
    let telling = |gvk: &&GroupVersionKind| !KUBERNETES_MINORS.into_iter().all(|minor| refuses(gvk, minor));
    let used: Vec<&GroupVersionKind> = used.iter().filter(telling).collect();
    let fits = |minor: &u16| used.iter().all(|gvk| !refuses(gvk, *minor));
    let chosen = KUBERNETES_MINORS.rev().find(fits).unwrap_or(newest);
    let why = match used.iter().find(|gvk| refuses(gvk, newest)) {
        Some(gvk) if chosen != newest => {
            format!(
                "the newest that serves `{}` as {}, which the repository uses",
                gvk.kind, gvk.version
            )
        }
        _ => "the newest known".to_owned(),
    };
    (chosen, why)
}

/// `v1.36.2` as `1.36`.
fn minor_of(version: &str) -> &str {
    let version = version.trim_start_matches('v');
    match version.match_indices('.').nth(1) {
        Some((end, _)) => &version[..end],
        None => version,
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

fn name_of(distribution: Distribution) -> &'static str {
    match distribution {
        Distribution::K3s => "k3s",
        Distribution::Talos => "talos",
        Distribution::Kind => "kind",
        Distribution::Kubeadm => "kubeadm",
        Distribution::Eks => "eks",
        Distribution::Gke => "gke",
        Distribution::Aks => "aks",
        Distribution::None => "none",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_shrink_to_their_minor() {
        assert_eq!(minor_of("v1.36.2"), "1.36");
        assert_eq!(minor_of("1.36"), "1.36");
    }
}
