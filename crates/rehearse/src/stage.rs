//! Setting the stage: an API server as it is before Flux's first pass.
//!
//! Kubernetes with its distribution, Flux's kinds, whatever a bootstrap installs, and what the repository takes for
//! granted. What the repository needs and nobody can be seen to bring is taken to exist: unknown is not bad.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use firstpass_apiserver::{ApiServer, Apply, CrdSketch, Delays as ServerDelays, Options, Request, Scope};
use firstpass_baseline::{Release, SeededRelease, Stage, StagedKind};
use firstpass_controllers::{Delays, made};
use firstpass_diagnostics::Assumption;
use firstpass_flux::{HelmRelease, names};
use firstpass_knowledge::Knowledge;
use firstpass_object::{GroupKind, ObjectExt, ObjectId};
use firstpass_order::{Answer, Need, Needed, OrderGraph};
use firstpass_render::{AssumedData, MadeBy, OPEN_KEY, RenderedCluster, RenderedObject};
use serde_json::{Value, json};

/// Who puts things on the stage.
pub(crate) const MANAGER: &str = "bootstrap";

/// What the stage is made of.
pub(crate) struct Setup<'a> {
    pub(crate) cluster: &'a RenderedCluster,
    pub(crate) stage: &'a Stage,
    pub(crate) graph: &'a OrderGraph,
    pub(crate) knowledge: &'a Knowledge,
}

impl Setup<'_> {
    /// The API server before Flux starts. Workloads of seeded releases are stored, and become ready when the world runs.
    pub(crate) fn server(&self, delays: &dyn Delays) -> (ApiServer, Vec<Assumption>) {
        let mut server = ApiServer::new(Options {
            minor: self.stage.kubernetes_minor(),
            delays: ServerDelays {
                crd_established: delays.delay("crd-establish", "cluster", 0),
                discovery_lag: delays.delay("discovery-lag", "cluster", 0),
                namespace_deletion: delays.delay("namespace-terminate", "cluster", 0),
                ..ServerDelays::default()
            },
        });
        let mut assumptions = Vec::new();
        for (kind, staged) in &self.stage.kinds {
            apply(&mut server, self.staged_crd(kind, staged));
        }
        for need in &self.graph.needs {
            self.assume_kind(need, &mut server, &mut assumptions);
        }
        settle(&mut server);
        let mut objects: Vec<&Arc<Value>> = self.stage.objects.iter().map(|(object, _)| object).collect();
        objects.sort_by_key(|object| {
            (
                object.kind() != "CustomResourceDefinition",
                object.kind() != "Namespace",
            )
        });
        for object in objects {
            if let Some(namespace) = object.namespace() {
                ensure_namespace(&mut server, namespace);
            }
            apply(&mut server, (**object).clone());
        }
        settle(&mut server);
        for release in &self.stage.releases {
            self.seed_release(release, &mut server);
        }
        // What a controller makes of an object comes with that object, and a slip of the pen from nobody.
        let given = |data: &&AssumedData| match data.made_by {
            MadeBy::Controller { .. } => false,
            MadeBy::Configuration => true,
            MadeBy::Nobody => {
                let id = data.object().id();
                firstpass_order::misnamed_data(self.cluster, &self.graph.unknowns, &id).is_none()
            }
        };
        for data in self.cluster.assumed.iter().filter(given) {
            ensure_namespace(&mut server, &data.namespace);
            apply(&mut server, stored_data(data));
        }
        for need in &self.graph.needs {
            self.assume_object(need, &mut server, &mut assumptions);
        }
        self.assume_release_namespaces(&mut server, &mut assumptions);
        self.assume_sources(&mut server, &mut assumptions);
        settle(&mut server);
        (server, assumptions)
    }

    /// Sources that nothing in the repository defines: those of tiers are taken to exist, those of charts only where
    /// something unseen may bring them.
    fn assume_sources(&self, server: &mut ApiServer, assumptions: &mut Vec<Assumption>) {
        let objects: Vec<&RenderedObject> = self
            .cluster
            .seeds
            .iter()
            .chain(self.cluster.tiers.iter().flat_map(|tier| tier.objects()))
            .collect();
        let defined: BTreeSet<ObjectId> = objects.iter().map(|object| object.id()).collect();
        let of_tiers = self
            .cluster
            .tiers
            .iter()
            .filter_map(|tier| tier.source.name().map(|name| (name.id(), tier.name.to_string())));
        let unknowns = &self.graph.unknowns;
        let unseen = !unknowns.tiers.is_empty() || !unknowns.makers.is_empty() || unknowns.bootstrap;
        let releases = objects
            .iter()
            .filter(|object| unseen && HelmRelease::is(&object.object));
        let of_releases = releases.filter_map(|object| {
            let source = HelmRelease::read(&object.object).value.source()?.id();
            Some((source, object.id().to_string()))
        });
        let wanted: BTreeMap<ObjectId, String> = of_releases.chain(of_tiers).collect();
        for (source, user) in wanted {
            // An ExternalArtifact comes from its generator, and a slip of the pen from nobody.
            let is_slip = firstpass_order::misnamed_source(self.cluster, &source).is_some();
            if defined.contains(&source) || source.kind == "ExternalArtifact" || is_slip {
                continue;
            }
            stand_in(&source, server);
            assumptions.push(Assumption {
                about: "source".to_owned(),
                subject: source.to_string(),
                assumed: format!(
                    "exists and can be fetched; `{user}` uses it and nothing in the repository defines it"
                ),
                source: "default".to_owned(),
            });
        }
    }

    fn staged_crd(&self, kind: &GroupKind, staged: &StagedKind) -> Value {
        let sketch = CrdSketch {
            group: kind.group.to_string(),
            kind: kind.kind.to_string(),
            plural: Some(staged.plural.clone()),
            scope: if staged.namespaced {
                Scope::Namespaced
            } else {
                Scope::Cluster
            },
            versions: self.versions(kind, staged),
        };
        let mut crd = sketch.to_crd();
        firstpass_apiserver::declare_flux_fields(&mut crd, self.cluster.settings.flux);
        let known = self
            .knowledge
            .custom_kind(&kind.group, &kind.kind)
            .map(|def| &def.initial_status);
        let initial = known
            .filter(|status| !status.is_null())
            .cloned()
            .or_else(|| initial_flux_status(kind));
        if let Some(status) = initial {
            made::set_initial_status(&mut crd, &status);
        }
        crd
    }

    /// The versions of a kind on the stage. Of a kind that a chart or a distribution brings, versions that the repository
    /// writes and of which nothing is known are taken to be served; Flux's own kinds are known for certain.
    fn versions(&self, kind: &GroupKind, staged: &StagedKind) -> Vec<String> {
        let mut versions = staged.versions.clone();
        if kind.group.ends_with(".toolkit.fluxcd.io") {
            return versions;
        }
        let known = self.knowledge.custom_kind(&kind.group, &kind.kind);
        let is_known = |version: &String| {
            known.is_some_and(|def| def.versions.iter().any(|known| known.name == *version))
        };
        let written = self.written_versions(kind);
        let new: Vec<String> = written
            .into_iter()
            .filter(|version| !versions.contains(version) && !is_known(version))
            .collect();
        versions.extend(new);
        versions
    }

    fn written_versions(&self, kind: &GroupKind) -> Vec<String> {
        let needs = self.graph.needs.iter().filter_map(|need| match &need.needed {
            Needed::Kind {
                kind: needed,
                version,
            } if needed == kind => Some(version.clone()),
            _ => None,
        });
        let versions: BTreeSet<String> = needs.collect();
        versions.into_iter().collect()
    }

    /// A kind that somebody unseen may bring is taken to be served from the start.
    fn assume_kind(&self, need: &Need, server: &mut ApiServer, assumptions: &mut Vec<Assumption>) {
        let (Needed::Kind { kind, version }, Answer::Nobody { provable: false, .. }) =
            (&need.needed, &need.answer)
        else {
            return;
        };
        let namespaced =
            need.by.namespace.is_some() || need.also.iter().any(|object| object.namespace.is_some());
        let sketch = CrdSketch {
            group: kind.group.to_string(),
            kind: kind.kind.to_string(),
            plural: None,
            scope: if namespaced {
                Scope::Namespaced
            } else {
                Scope::Cluster
            },
            versions: vec![version.clone()],
        };
        apply(server, sketch.to_crd());
        assumptions.push(Assumption {
            about: "kind".to_owned(),
            subject: kind.to_string(),
            assumed: format!(
                "is served from the start; {} needs it and nothing that can be seen brings it",
                need.by
            ),
            source: need.origin.file.clone(),
        });
    }

    /// A namespace or health-checked object that somebody unseen may bring is taken to exist.
    fn assume_object(&self, need: &Need, server: &mut ApiServer, assumptions: &mut Vec<Assumption>) {
        if let (Needed::HealthTarget(object), Answer::There { .. }) = (&need.needed, &need.answer) {
            let is_crd = object.is("apiextensions.k8s.io", "CustomResourceDefinition");
            if !is_crd && server.object(object).is_none() {
                stand_in(object, server);
            }
            return;
        }
        if !matches!(need.answer, Answer::Nobody { provable: false, .. }) {
            return;
        }
        let (about, subject) = match &need.needed {
            Needed::Namespace(namespace) => {
                ensure_namespace(server, namespace);
                ("namespace", format!("Namespace/{namespace}"))
            }
            // Workloads come up with the chart that is installed beside them.
            Needed::HealthTarget(object) if object.group == "apps" && self.is_chart_namespace(object) => {
                return;
            }
            Needed::HealthTarget(object) => {
                stand_in(object, server);
                ("object", object.to_string())
            }
            _ => return,
        };
        assumptions.push(Assumption {
            about: about.to_owned(),
            subject,
            assumed: format!(
                "exists; {} needs it and nothing that can be seen brings it",
                need.by
            ),
            source: need.origin.file.clone(),
        });
    }

    /// The namespace that a release goes into is taken to exist where something unseen may make it.
    fn assume_release_namespaces(&self, server: &mut ApiServer, assumptions: &mut Vec<Assumption>) {
        let objects: BTreeMap<ObjectId, &Arc<Value>> = self
            .cluster
            .objects()
            .map(|(_, object)| (object.id(), &object.object))
            .collect();
        let found = |id: &ObjectId| objects.get(id).map(|object| Arc::clone(object));
        let releases: Vec<(&ObjectId, Release)> = objects
            .iter()
            .filter(|(_, object)| HelmRelease::is(object))
            .map(|(id, object)| (id, Release::of_object(object, &found)))
            .collect();
        let makes_namespaces = |release: &Release| {
            let facts = release.facts(self.knowledge);
            facts.is_none_or(|facts| facts.chart.makes_namespaces)
        };
        if self.graph.unknowns.is_empty() && !releases.iter().any(|(_, release)| makes_namespaces(release)) {
            return;
        }
        for (id, release) in &releases {
            let namespace = &release.namespace;
            let comes = objects.contains_key(&ObjectId::new("", "Namespace", None, namespace))
                || releases
                    .iter()
                    .any(|(_, other)| other.creates_namespace && other.namespace == *namespace);
            let is_there = server
                .object(&ObjectId::new("", "Namespace", None, namespace))
                .is_some();
            if comes || is_there || id.namespace.as_deref() == Some(namespace) {
                continue;
            }
            ensure_namespace(server, namespace);
            assumptions.push(Assumption {
                about: "namespace".to_owned(),
                subject: format!("Namespace/{namespace}"),
                assumed: format!("exists; {id} installs into it and nothing that can be seen brings it"),
                source: "default".to_owned(),
            });
        }
    }

    fn is_chart_namespace(&self, object: &ObjectId) -> bool {
        let mut objects = self.cluster.objects();
        objects.any(|(_, rendered)| {
            HelmRelease::is(&rendered.object) && {
                let release = HelmRelease::read(&rendered.object).value;
                Some(release.release_namespace()) == object.namespace.as_deref()
            }
        })
    }

    fn seed_release(&self, seeded: &SeededRelease, server: &mut ApiServer) {
        let release = &seeded.release;
        ensure_namespace(server, &release.namespace);
        if seeded.crds_only {
            return;
        }
        let Some(facts) = release.facts(self.knowledge) else {
            return;
        };
        for kind in &facts.kinds {
            let written = self.written_versions(&GroupKind::new(&kind.def.group, &kind.def.kind));
            let crd = made::crd(kind.def, &kind.versions, &written);
            if server.object(&crd.id()).is_none() {
                apply(server, crd);
            }
        }
        for placed in &facts.workloads {
            ensure_namespace(server, &placed.namespace);
            let version = release
                .chart
                .version
                .as_deref()
                .filter(|_| facts.chart.version_is_app);
            apply(server, made::workload(placed, version, &release.values));
        }
        for placed in &facts.webhooks {
            let place = (placed.namespace.as_str(), placed.served_by.as_str());
            if let Some(webhook) = made::webhook(placed.webhook, &placed.name, place, self.knowledge) {
                server.register_webhook(webhook);
            }
        }
    }
}

/// A ConfigMap or Secret as a server takes it: the mark for "and further keys" is no key.
fn stored_data(data: &AssumedData) -> Value {
    let mut object = data.object();
    for field in ["data", "stringData"] {
        if let Some(values) = object.get_mut(field).and_then(Value::as_object_mut) {
            values.remove(OPEN_KEY);
        }
    }
    object
}

/// F-005: Flux's own kinds start with an observed generation of -1, all but ExternalArtifact.
fn initial_flux_status(kind: &GroupKind) -> Option<Value> {
    let is_flux = matches!(
        kind.group.as_str(),
        names::KUSTOMIZE_GROUP | names::HELM_GROUP | names::SOURCE_GROUP
    );
    (is_flux && kind.kind != "ExternalArtifact").then(|| json!({"observedGeneration": -1}))
}

/// An object of which only the name is known, healthy as far as anybody can see.
fn stand_in(id: &ObjectId, server: &mut ApiServer) {
    if id.is("apiextensions.k8s.io", "CustomResourceDefinition") {
        let Some((plural, group)) = id.name.split_once('.') else {
            return;
        };
        let sketch = CrdSketch {
            group: group.to_owned(),
            kind: plural.to_owned(),
            plural: Some(plural.to_owned()),
            scope: Scope::Namespaced,
            versions: vec!["v1".to_owned()],
        };
        apply(server, sketch.to_crd());
        return;
    }
    let Some(resource) = server.resource(&id.group_kind()).cloned() else {
        return;
    };
    let Some(version) = resource.versions.first() else {
        return;
    };
    if let Some(namespace) = &id.namespace {
        ensure_namespace(server, namespace);
    }
    let api_version = if id.group.is_empty() {
        version.clone()
    } else {
        format!("{}/{version}", id.group)
    };
    apply(server, made::stand_in(&api_version, id));
}

/// Lets happen whatever the server does by itself.
fn settle(server: &mut ApiServer) {
    while let Some(at) = server.next_wakeup() {
        server.advance(at);
    }
}

fn ensure_namespace(server: &mut ApiServer, namespace: &str) {
    if server
        .object(&ObjectId::new("", "Namespace", None, namespace))
        .is_none()
    {
        apply(
            server,
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}),
        );
    }
}

/// Puts an object on the stage. What the server refuses is not there, as in a real bootstrap that ignores its errors.
pub(crate) fn apply(server: &mut ApiServer, object: Value) {
    let mut apply = Apply::forced(object.into(), MANAGER);
    // What a variable would be is not known before Flux runs.
    apply.unknown_tokens = vec!["${".to_owned()].into();
    let _refused = server.call(&Request::Apply(apply));
}
