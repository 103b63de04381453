//! What the sources of a cluster hold: the repository at hand, and what nobody can see.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ecow::EcoString;
use firstpass_apiserver::ApiServer;
use firstpass_baseline::{Release, Stage};
use firstpass_controllers::kustomization::Obstacle;
use firstpass_controllers::{Artifact, BuildFailure, Built, Contents, made};
use firstpass_flux::{HelmRelease, Kustomization, names};
use firstpass_knowledge::Knowledge;
use firstpass_object::{GroupKind, ObjectExt, ObjectId, TierName};
use firstpass_order::{Answer, Needed, OrderGraph, hashed_twin, misnamed_data, server_of};
use firstpass_render::{
    Data, DataKind, MadeBy, Outcome, RenderedCluster, RenderedObject, TierFailure, TierSource, Variables,
};

/// The contents at one revision of the repository.
pub struct RepositoryContents {
    cluster: Arc<RenderedCluster>,
    /// Revisions of the sources whose files are at hand.
    revisions: BTreeMap<ObjectId, String>,
    /// What the bootstrap applies.
    seeds: BTreeSet<ObjectId>,
    /// What health checks name and nothing in the repository brings, by namespace.
    expected_of_charts: BTreeMap<EcoString, Vec<ObjectId>>,
    /// The operators that something in the repository or the bootstrap starts.
    operators: BTreeSet<String>,
    /// The versions in which the repository writes objects of each kind.
    written: BTreeMap<GroupKind, BTreeSet<String>>,
    /// The service accounts that some binding names.
    granted: BTreeSet<TierName>,
    /// Whether the distribution, as far as somebody said which it is, has nodes that run Linux only.
    linux_only: bool,
    /// Whether some manifest is a default storage class.
    brings_default_class: bool,
    /// Data that HelmReleases and Flux Kustomizations name and that is not there under that name.
    misnamed: BTreeSet<ObjectId>,
    /// What serves sources from inside the cluster.
    servers: BTreeMap<ObjectId, ObjectId>,
    /// Whether manifests that can all be seen are all there is: no chart, no operator's objects, nothing unseen.
    only_manifests: bool,
}

impl RepositoryContents {
    /// The contents of a rendered cluster, as the how-many-th revision of its repository.
    pub fn new(
        cluster: Arc<RenderedCluster>,
        stage: &Stage,
        graph: &OrderGraph,
        knowledge: &Knowledge,
        number: u64,
    ) -> RepositoryContents {
        let at_hand = cluster.tiers.iter().filter_map(|tier| match &tier.source {
            TierSource::Repository { name, .. }
            | TierSource::Local { name, .. }
            | TierSource::Generated { name, .. } => Some((name.id(), revision(&name.id(), number))),
            TierSource::Foreign { .. } | TierSource::Missing => None,
        });
        let revisions = at_hand.collect();
        let mut expected_of_charts: BTreeMap<EcoString, Vec<ObjectId>> = BTreeMap::new();
        for need in &graph.needs {
            if let (Needed::HealthTarget(object), Answer::Nobody { provable: false, .. }) =
                (&need.needed, &need.answer)
                && let Some(namespace) = &object.namespace
            {
                expected_of_charts
                    .entry(namespace.clone())
                    .or_default()
                    .push(object.clone());
            }
        }
        let operators = operators(&cluster, stage, knowledge);
        let granted = granted_accounts(&cluster);
        let misnamed = misnamed(&cluster, graph);
        let servers = servers(&cluster, stage);
        let mut written: BTreeMap<GroupKind, BTreeSet<String>> = BTreeMap::new();
        for need in &graph.needs {
            if let Needed::Kind { kind, version } = &need.needed {
                written.entry(kind.clone()).or_default().insert(version.clone());
            }
        }
        let known = cluster.tiers.iter().flat_map(|tier| tier.known_objects());
        let has_releases = cluster
            .seeds
            .iter()
            .chain(known)
            .any(|object| HelmRelease::is(&object.object));
        let seeds = cluster.seeds.iter().map(RenderedObject::id).collect();
        let brings_default_class = cluster
            .objects()
            .filter(|(_, object)| object.is("storage.k8s.io", "StorageClass"))
            .any(|(_, class)| firstpass_controllers::is_default_class(&class.object));
        let is_said = !stage
            .assumptions
            .iter()
            .any(|assumption| assumption.about == "distribution");
        RepositoryContents {
            linux_only: is_said && matches!(stage.distribution.as_str(), "k3s" | "talos" | "kind"),
            brings_default_class,
            cluster,
            revisions,
            seeds,
            expected_of_charts,
            operators,
            written,
            granted,
            misnamed,
            servers,
            only_manifests: graph.unknowns.is_empty() && stage.releases.is_empty() && !has_releases,
        }
    }
}

fn servers(cluster: &RenderedCluster, stage: &Stage) -> BTreeMap<ObjectId, ObjectId> {
    let seeds = cluster.seeds.iter().map(RenderedObject::id);
    let applied = cluster.objects().map(|(_, object)| object.id());
    let sources = seeds.chain(applied).filter(|id| id.group == names::SOURCE_GROUP);
    let served = sources.filter_map(|source| {
        let server = server_of(cluster, stage, &source)?.object.id();
        Some((source, server))
    });
    served.collect()
}

/// What HelmReleases take values from under a name that a generator has put a hash behind, and what Flux Kustomizations take
/// variables from by a slip of the pen.
fn misnamed(cluster: &RenderedCluster, graph: &OrderGraph) -> BTreeSet<ObjectId> {
    let releases = cluster
        .objects()
        .filter(|(_, object)| HelmRelease::is(&object.object));
    let wanted = releases.flat_map(|(_, object)| {
        let release = HelmRelease::read(&object.object).value;
        let namespace = release.name.namespace.clone();
        let values = release.spec.values_from.into_iter();
        values.map(move |from| ObjectId::new("", &from.kind, Some(&namespace), &from.name))
    });
    let wanted: BTreeSet<ObjectId> = wanted.collect();
    let values = wanted.into_iter().filter(|id| hashed_twin(cluster, id).is_some());
    let nobodys = cluster
        .assumed
        .iter()
        .filter(|data| data.made_by == MadeBy::Nobody);
    let variables = nobodys
        .map(|data| data.object().id())
        .filter(|id| misnamed_data(cluster, &graph.unknowns, id).is_some());
    values.chain(variables).collect()
}

/// The operators that something starts: charts, manifests, and other operators.
fn operators(cluster: &RenderedCluster, stage: &Stage, knowledge: &Knowledge) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = BTreeSet::new();
    let mut of_release = |release: &Release| {
        let workloads = release
            .facts(knowledge)
            .map(|facts| facts.workloads)
            .unwrap_or_default();
        found.extend(
            workloads
                .iter()
                .filter_map(|placed| placed.workload.operator.clone()),
        );
    };
    for seeded in &stage.releases {
        of_release(&seeded.release);
    }
    let found_by = |id: &ObjectId| cluster.find(id).map(|(_, object)| Arc::clone(&object.object));
    let objects = || cluster.objects().map(|(_, object)| &object.object);
    for object in objects().filter(|object| HelmRelease::is(object)) {
        of_release(&Release::of_object(object, &found_by));
    }
    let staged = stage.objects.iter().map(|(object, _)| object);
    for object in objects().chain(staged) {
        if let Some(images) = made::workload_images(object) {
            let operators = knowledge.operators_of_workload(object.name(), images);
            found.extend(operators.into_iter().map(|operator| operator.name.clone()));
        }
    }
    // Operators start others.
    loop {
        let before = found.len();
        let started: Vec<String> = found
            .iter()
            .filter_map(|name| knowledge.operator(name))
            .flat_map(|operator| {
                let on_object = operator.on_object.iter().flat_map(|rule| &rule.effects);
                operator.at_start.iter().chain(on_object)
            })
            .flat_map(|effect| {
                effect
                    .workloads
                    .iter()
                    .filter_map(|workload| workload.operator.clone())
            })
            .collect();
        found.extend(started);
        if found.len() == before {
            return found;
        }
    }
}

/// The service accounts that bindings in the repository name.
fn granted_accounts(cluster: &RenderedCluster) -> BTreeSet<TierName> {
    let bindings = cluster
        .objects()
        .map(|(_, object)| &object.object)
        .filter(|object| matches!(object.kind(), "RoleBinding" | "ClusterRoleBinding"));
    bindings
        .flat_map(|binding| binding.items_at(&["subjects"]))
        .filter(|subject| subject.text_at(&["kind"]) == Some("ServiceAccount"))
        .filter_map(|subject| {
            Some(TierName::new(
                subject.text_at(&["namespace"])?,
                subject.text_at(&["name"])?,
            ))
        })
        .collect()
}

/// How a source calls the how-many-th revision of its contents (F-901 to F-903).
fn revision(source: &ObjectId, number: u64) -> String {
    match source.kind.as_str() {
        "GitRepository" => format!("main@sha1:{number:040x}"),
        _ => format!("latest@sha256:{number:064x}"),
    }
}

impl Contents for RepositoryContents {
    fn artifact(&self, source: &ObjectId) -> Option<Artifact> {
        let revision = self.revisions.get(source)?.clone();
        let digest = format!("sha256:{}", revision.rsplit(':').next().unwrap_or_default());
        Some(Artifact { revision, digest })
    }

    fn build(
        &self,
        tier: &Kustomization,
        _revision: &str,
        server: &ApiServer,
    ) -> Result<Built, BuildFailure> {
        let live = Live {
            server,
            cluster: &self.cluster,
            misnamed: &self.misnamed,
        };
        if tier.spec.kube_config.is_some() {
            // It applies to another cluster, which is taken to accept it.
            return Ok(Built {
                unrendered: true,
                ..Built::default()
            });
        }
        match self.cluster.builder.render(tier, &live) {
            Outcome::Rendered(objects) | Outcome::Suspended(objects) => Ok(built(&objects)),
            Outcome::Unrendered(_) => Ok(Built {
                unrendered: true,
                ..Built::default()
            }),
            Outcome::Failed(failures) => Err(failure(&failures, tier, &live)),
        }
    }

    fn brings(&self, id: &ObjectId) -> bool {
        self.cluster.places(id).next().is_some() || self.seeds.contains(id)
    }

    fn written_versions(&self, group: &str, kind: &str) -> Vec<String> {
        let written = self.written.get(&GroupKind::new(group, kind));
        written
            .map(|versions| versions.iter().cloned().collect())
            .unwrap_or_default()
    }

    fn grants(&self, account: &TierName) -> bool {
        self.granted.contains(account)
    }

    fn runs_unseen(&self, operator: &str) -> bool {
        !self.operators.contains(operator)
    }

    fn server_of(&self, source: &ObjectId) -> Option<ObjectId> {
        self.servers.get(source).cloned()
    }

    /// Storage classes, volumes, accounts and priority classes are brought by manifests and by charts; without charts, all that
    /// there are can be seen. Values that a generator has given another name are not there under this one.
    fn rules_out(&self, id: &ObjectId) -> bool {
        if self.misnamed.contains(id) {
            return true;
        }
        let is_seen = id.is("storage.k8s.io", "StorageClass")
            || id.is("", "ServiceAccount")
            || id.is("", "PersistentVolume")
            || id.is("scheduling.k8s.io", "PriorityClass");
        is_seen && self.only_manifests && !self.brings(id)
    }

    fn has_linux_nodes_only(&self) -> bool {
        self.linux_only
    }

    fn brings_default_class(&self) -> bool {
        self.brings_default_class
    }

    fn expected_of_charts(&self, namespace: &str) -> Vec<ObjectId> {
        self.expected_of_charts
            .get(namespace)
            .cloned()
            .unwrap_or_default()
    }
}

fn built(objects: &[RenderedObject]) -> Built {
    let tokens: BTreeSet<String> = objects
        .iter()
        .flat_map(|object| &object.unknown_variables)
        .map(|variable| format!("${{{}", variable.name))
        .collect();
    let tokens: Vec<String> = tokens
        .into_iter()
        .chain([firstpass_render::UNKNOWN_VALUE.to_owned()])
        .collect();
    Built {
        objects: objects.iter().map(|object| Arc::clone(&object.object)).collect(),
        unknown_tokens: tokens.into(),
        unrendered: false,
    }
}

fn failure(failures: &[TierFailure], tier: &Kustomization, live: &Live<'_>) -> BuildFailure {
    let message = failures
        .first()
        .map(|failure| failure.flux_message.clone())
        .unwrap_or_default();
    if failures
        .first()
        .is_some_and(|failure| failure.reason == names::reason::ARTIFACT_FAILED)
    {
        return BuildFailure::PathMissing { message };
    }
    let missing = missing_data(tier, live);
    let obstacles = if missing.is_empty() {
        failures.iter().map(obstacle).collect()
    } else {
        missing
            .into_iter()
            .map(|object| Obstacle::VariableSource { object })
            .collect()
    };
    let is_refused = failures
        .first()
        .is_some_and(|failure| failure.reason == names::reason::RECONCILIATION_FAILED);
    if is_refused {
        return BuildFailure::Refused { message, obstacles };
    }
    BuildFailure::Failed { message, obstacles }
}

/// What `substituteFrom` names and the cluster does not have at this moment (F-605).
fn missing_data(tier: &Kustomization, live: &Live<'_>) -> Vec<ObjectId> {
    let references = tier
        .spec
        .post_build
        .iter()
        .flat_map(|build| &build.substitute_from);
    let namespace = &tier.name.namespace;
    references
        .filter(|reference| !reference.optional)
        .filter(|reference| {
            DataKind::of(&reference.kind)
                .is_some_and(|kind| live.data(kind, namespace, &reference.name).is_none())
        })
        .map(|reference| ObjectId::new("", &reference.kind, Some(namespace), &reference.name))
        .collect()
}

/// What stands in the way of a build: a variable that the cluster may get later, or something that never changes.
fn obstacle(failure: &TierFailure) -> Obstacle {
    if failure.rule == "undefined-variable" {
        let name = failure
            .flux_message
            .rsplit('"')
            .nth(1)
            .unwrap_or_default()
            .to_owned();
        return Obstacle::UndefinedVariable {
            name,
            object: failure.object.clone(),
        };
    }
    Obstacle::Build {
        message: failure.flux_message.clone(),
    }
}

/// Variables as the simulated cluster has them at this moment.
struct Live<'a> {
    server: &'a ApiServer,
    cluster: &'a RenderedCluster,
    /// What is named and not there under that name.
    misnamed: &'a BTreeSet<ObjectId>,
}

impl Variables for Live<'_> {
    fn data(&self, kind: DataKind, namespace: &str, name: &str) -> Option<Data> {
        let assumed = self
            .cluster
            .assumed
            .iter()
            .find(|data| data.kind == kind && data.namespace == namespace && data.name == name);
        let Some(assumed) = assumed else {
            let id = ObjectId::new("", kind.as_str(), Some(namespace), name);
            return self.server.object(&id).map(|object| Data::of(object));
        };
        let is_there = match &assumed.made_by {
            MadeBy::Controller { object, tier } => self.is_stored(object, tier),
            MadeBy::Configuration => true,
            MadeBy::Nobody => !self.misnamed.contains(&assumed.object().id()),
        };
        is_there.then(|| assumed.data.clone())
    }
}

impl Live<'_> {
    /// Whether the object that a controller makes the data of is stored. When exactly its controller acts is not played.
    fn is_stored(&self, object: &str, tier: &TierName) -> bool {
        let mut objects = self
            .cluster
            .tier(tier)
            .into_iter()
            .flat_map(|tier| tier.objects());
        let maker = objects.find(|rendered| rendered.id().to_string() == object);
        maker.is_none_or(|maker| self.server.object(&maker.id()).is_some())
    }
}
