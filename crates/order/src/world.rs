//! Who brings what: an index over everything that the tiers apply, built once and asked many times.

use std::collections::BTreeMap;
use std::sync::Arc;

use firstpass_baseline::{Release, ReleaseFacts, Stage};
use firstpass_flux::HelmRelease;
use firstpass_knowledge::{Effect, Knowledge, Operator, ReadsOnce, TemplateScope as Scope, VersionPoint};
use firstpass_object::{GroupKind, ObjectExt, ObjectId, TierName};
use firstpass_render::{Outcome, RemotePart, RenderedCluster, RenderedObject, Tier};
use serde_json::Value;

use crate::tiers::{Gate, TierGraph, TierIndex, TierNode};

/// Kinds whose objects run containers.
const WORKLOAD_KINDS: [&str; 6] = ["Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "Pod"];

/// Everything that answering takes.
pub(crate) struct World<'a> {
    pub(crate) cluster: &'a RenderedCluster,
    pub(crate) stage: &'a Stage,
    pub(crate) knowledge: &'a Knowledge,
    pub(crate) tiers: TierGraph,
    /// Where each object is applied.
    pub(crate) by_id: BTreeMap<ObjectId, Vec<Place<'a>>>,
    /// The CRDs among the objects, by the kind that they define.
    pub(crate) crds: BTreeMap<GroupKind, Vec<Place<'a>>>,
    /// The releases of charts.
    pub(crate) releases: Vec<ReleaseAt<'a>>,
    /// The releases that bring a kind, by index into `releases`.
    pub(crate) releases_by_kind: BTreeMap<GroupKind, Vec<usize>>,
    /// The operators that run.
    pub(crate) operators: Vec<OperatorAt<'a>>,
    /// The objects that operators reconcile into new kinds, by the kind that comes of it.
    pub(crate) triggered: BTreeMap<GroupKind, Vec<Triggered<'a>>>,
    /// The kinds that operators register when they start, by index into `operators`.
    pub(crate) started: BTreeMap<GroupKind, Vec<(usize, &'a Effect)>>,
    /// What the operators that run read once.
    pub(crate) reads_once: Vec<&'a ReadsOnce>,
    /// What could not be seen.
    pub(crate) unknowns: Unknowns,
}

/// An object where it is applied.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) tier: TierIndex,
    pub(crate) object: &'a RenderedObject,
}

/// A HelmRelease where it is applied.
pub(crate) struct ReleaseAt<'a> {
    pub(crate) place: Place<'a>,
    pub(crate) id: ObjectId,
    pub(crate) release: Release,
    pub(crate) facts: Option<ReleaseFacts<'a>>,
}

/// An operator, and the object that starts it.
pub(crate) struct OperatorAt<'a> {
    pub(crate) operator: &'a Operator,
    /// The Deployment or HelmRelease that starts it; `None` if it is seeded.
    pub(crate) place: Option<Place<'a>>,
    /// Whether being Ready means that the operator runs.
    pub(crate) waits: bool,
    pub(crate) version: VersionPoint,
    /// The values of its chart.
    pub(crate) values: Value,
}

/// An object that an operator reconciles into a new kind.
pub(crate) struct Triggered<'a> {
    pub(crate) operator: usize,
    /// The object that it reconciles.
    pub(crate) object: ObjectId,
    /// Where that object is applied, or the release or workload that makes it at runtime; `None` if that is seeded.
    pub(crate) trigger: Option<Place<'a>>,
    pub(crate) effect: &'a Effect,
    /// The name of the CRD that comes of it.
    pub(crate) crd_name: String,
}

/// What could not be seen. Something that seems to be missing may come from there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unknowns {
    /// Tiers whose contents are not known, wholly or in part.
    pub tiers: Vec<TierName>,
    /// HelmReleases whose chart is not known.
    pub charts: Vec<ObjectId>,
    /// Objects from which controllers make others in ways that are not modelled, such as ResourceSets.
    pub makers: Vec<ObjectId>,
    /// Workloads that may be operators nobody has described.
    pub workloads: Vec<ObjectId>,
    /// Whether a bootstrap stage holds something unknown.
    pub bootstrap: bool,
}

impl Unknowns {
    /// Whether everything that could bring an object of a known sort was seen.
    pub fn is_empty(&self) -> bool {
        let Unknowns {
            tiers,
            charts,
            makers,
            workloads: _,
            bootstrap,
        } = self;
        tiers.is_empty() && charts.is_empty() && makers.is_empty() && !bootstrap
    }
}

impl<'a> World<'a> {
    pub(crate) fn new(
        cluster: &'a RenderedCluster,
        stage: &'a Stage,
        knowledge: &'a Knowledge,
        tiers: TierGraph,
    ) -> World<'a> {
        let mut world = World {
            cluster,
            stage,
            knowledge,
            tiers,
            by_id: BTreeMap::new(),
            crds: BTreeMap::new(),
            releases: Vec::new(),
            releases_by_kind: BTreeMap::new(),
            operators: Vec::new(),
            triggered: BTreeMap::new(),
            started: BTreeMap::new(),
            reads_once: Vec::new(),
            unknowns: Unknowns {
                bootstrap: stage.has_unknown_parts,
                ..Unknowns::default()
            },
        };
        world.index_objects();
        world.index_releases();
        world.index_operators();
        world.index_effects();
        world
    }

    /// The tier behind an index.
    pub(crate) fn tier(&self, tier: TierIndex) -> &'a Tier {
        &self.cluster.tiers[tier.0]
    }

    /// Whether a tier applies objects that cannot be seen. What `flux install` would apply is known.
    pub(crate) fn has_unseen_objects(&self, tier: TierIndex) -> bool {
        let tier = self.tier(tier);
        if tier.kustomization.spec.kube_config.is_some() || tier.kustomization.spec.suspend {
            return false;
        }
        let installs_flux = |remote: &RemotePart| remote.text.contains("fluxcd/flux2/");
        matches!(tier.outcome, Outcome::Unrendered(_))
            || tier.remote.iter().any(|remote| !installs_flux(remote))
    }

    /// The objects of a tier in build order. A suspended tier applies nothing, so it needs nothing.
    pub(crate) fn objects(&self, tier: TierIndex) -> &'a [RenderedObject] {
        applied_here(self.tier(tier))
    }

    /// Whether objects of a kind live in namespaces, as far as anybody knows.
    pub(crate) fn is_namespaced(&self, object: &Value) -> Option<bool> {
        let gvk = object.gvk();
        if let Some(scope) = firstpass_schema::scope(&gvk.group, &gvk.version, &gvk.kind) {
            return Some(scope == firstpass_schema::Scope::Namespaced);
        }
        let kind = gvk.group_kind();
        if let Some(place) = self.crds.get(&kind).and_then(|places| places.first()) {
            return Some(place.object.object.text_at(&["spec", "scope"]) != Some("Cluster"));
        }
        if let Some(staged) = self.stage.kinds.get(&kind) {
            return Some(staged.namespaced);
        }
        let def = self.knowledge.custom_kind(&kind.group, &kind.kind)?;
        Some(def.scope == firstpass_knowledge::Scope::Namespaced)
    }

    fn index_objects(&mut self) {
        for (index, tier) in self.cluster.tiers.iter().enumerate() {
            let place = |object| Place {
                tier: TierIndex(index),
                object,
            };
            if matches!(tier.outcome, Outcome::Unrendered(_) | Outcome::Failed(_)) || !tier.remote.is_empty()
            {
                self.unknowns.tiers.push(tier.name.clone());
            }
            for object in applied_here(tier) {
                let id = object.id();
                if id.is("apiextensions.k8s.io", "CustomResourceDefinition")
                    && let Some(kind) = kind_of_crd(&object.object)
                {
                    self.crds.entry(kind).or_default().push(place(object));
                }
                if id.is("fluxcd.controlplane.io", "ResourceSet") {
                    self.unknowns.makers.push(id.clone());
                }
                self.by_id.entry(id).or_default().push(place(object));
            }
        }
    }

    fn index_releases(&mut self) {
        let by_id = &self.by_id;
        let found = |id: &ObjectId| {
            by_id
                .get(id)
                .and_then(|places| places.first())
                .map(|p| p.object.object.clone())
        };
        let mut releases = Vec::new();
        for (index, tier) in self.cluster.tiers.iter().enumerate() {
            for object in applied_here(tier)
                .iter()
                .filter(|object| HelmRelease::is(&object.object))
            {
                let release = Release::of_object(&object.object, &found);
                let facts = release.facts(self.knowledge);
                let id = object.id();
                if facts.is_none() {
                    self.unknowns.charts.push(id.clone());
                }
                let place = Place {
                    tier: TierIndex(index),
                    object,
                };
                releases.push(ReleaseAt {
                    place,
                    id,
                    release,
                    facts,
                });
            }
        }
        for (index, at) in releases.iter().enumerate() {
            for brought in at.facts.iter().flat_map(|facts| &facts.kinds) {
                let kind = GroupKind::new(&brought.def.group, &brought.def.kind);
                self.releases_by_kind.entry(kind).or_default().push(index);
            }
        }
        self.releases = releases;
    }

    fn index_operators(&mut self) {
        let mut operators: Vec<OperatorAt<'a>> = Vec::new();
        for seeded in self.stage.releases.iter().filter(|seeded| !seeded.crds_only) {
            let Some(facts) = seeded.release.facts(self.knowledge) else {
                continue;
            };
            operators.extend(facts.operators.iter().map(|(operator, _)| OperatorAt {
                operator,
                place: None,
                waits: true,
                version: facts.version,
                values: seeded.release.values.clone(),
            }));
        }
        for at in &self.releases {
            let Some(facts) = &at.facts else { continue };
            operators.extend(facts.operators.iter().map(|(operator, _)| OperatorAt {
                operator,
                place: Some(at.place),
                waits: at.release.waits,
                version: facts.version,
                values: at.release.values.clone(),
            }));
        }
        for (id, places) in &self.by_id {
            if !WORKLOAD_KINDS.contains(&id.kind.as_str()) {
                continue;
            }
            for place in places {
                let images = images_of(&place.object.object);
                let known = self
                    .knowledge
                    .operators_of_workload(&id.name, images.iter().map(String::as_str));
                if known.is_empty() {
                    self.unknowns.workloads.push(id.clone());
                }
                operators.extend(known.into_iter().map(|operator| OperatorAt {
                    operator,
                    place: Some(*place),
                    waits: true,
                    version: version_of_images(&images),
                    values: Value::Null,
                }));
            }
        }
        self.operators = operators;
    }

    /// The objects that charts make, with the release; those of seeded releases are there.
    fn objects_of_charts(&self) -> Vec<(Option<Place<'a>>, Value)> {
        let of_releases = self.releases.iter().filter_map(|at| {
            let facts = at.facts.as_ref()?;
            Some((Some(at.place), facts.objects.clone()))
        });
        let seeded = self.stage.releases.iter().filter(|seeded| !seeded.crds_only);
        let of_seeded = seeded.filter_map(|seeded| {
            let facts = seeded.release.facts(self.knowledge)?;
            Some((None, facts.objects))
        });
        of_releases
            .chain(of_seeded)
            .flat_map(|(place, objects)| objects.into_iter().map(move |object| (place, object)))
            .collect()
    }

    fn index_effects(&mut self) {
        let mut by_kind: BTreeMap<GroupKind, Vec<Place<'a>>> = BTreeMap::new();
        for (id, places) in &self.by_id {
            by_kind.entry(id.group_kind()).or_default().extend(places);
        }
        // Operators that run, and those that they start for an object of the cluster.
        let mut running: Vec<&'a Operator> = self.operators.iter().map(|at| at.operator).collect();
        for (index, at) in self.operators.iter().enumerate() {
            for effect in at
                .operator
                .at_start
                .iter()
                .filter(|effect| at.does(effect, &at.values))
            {
                for def in self.knowledge.effect_kinds(effect, None) {
                    let kind = GroupKind::new(def.group, def.kind);
                    self.started.entry(kind).or_default().push((index, effect));
                }
            }
            let mut made: Vec<(Option<Place<'a>>, Value)> =
                at.objects_at_start().map(|made| (at.place, made)).collect();
            made.extend(self.objects_of_charts());
            for on_object in &at.operator.on_object {
                let applied = by_kind
                    .iter()
                    .filter(|(kind, _)| on_object.kind.matches(&kind.group, &kind.kind))
                    .flat_map(|(_, places)| places)
                    .map(|place| (Some(*place), &*place.object.object));
                let made = made
                    .iter()
                    .map(|(place, object)| (*place, object))
                    .filter(|(_, object)| {
                        let id = object.id();
                        on_object.kind.matches(&id.group, &id.kind) && !self.by_id.contains_key(&id)
                    });
                for (trigger, object) in applied.chain(made) {
                    if on_object.when.as_ref().is_some_and(|when| !when.holds(object)) {
                        continue;
                    }
                    for effect in on_object.effects.iter().filter(|effect| at.does(effect, object)) {
                        let started = effect
                            .workloads
                            .iter()
                            .filter_map(|workload| workload.operator.as_deref());
                        running.extend(started.filter_map(|name| self.knowledge.operator(name)));
                        for def in self.knowledge.effect_kinds(effect, Some(object)) {
                            let crd_name = def.crd_name();
                            self.triggered
                                .entry(GroupKind::new(def.group, def.kind))
                                .or_default()
                                .push(Triggered {
                                    operator: index,
                                    object: object.id(),
                                    trigger,
                                    effect,
                                    crd_name,
                                });
                        }
                    }
                }
            }
        }
        let mut reads: Vec<&'a ReadsOnce> = Vec::new();
        for read in running.into_iter().flat_map(|operator| &operator.reads_once) {
            if !reads.contains(&read) {
                reads.push(read);
            }
        }
        self.reads_once = reads;
    }
}

impl OperatorAt<'_> {
    /// The objects that the operator makes when it starts.
    fn objects_at_start(&self) -> impl Iterator<Item = Value> + '_ {
        let effects = self
            .operator
            .at_start
            .iter()
            .filter(|effect| self.does(effect, &self.values));
        let templates = effects
            .flat_map(|effect| &effect.objects)
            .filter(|template| template.for_each.is_none());
        let scope = Scope {
            values: Some(&self.values),
            ..Scope::default()
        };
        templates.flat_map(move |template| template.render_all(&scope))
    }

    /// Whether this release of the operator has an effect, with these values or for this object.
    fn does(&self, effect: &Effect, values: &Value) -> bool {
        effect.range().contains(self.version) && effect.when.as_ref().is_none_or(|when| when.holds(values))
    }
}

impl ReleaseAt<'_> {
    /// The workloads that the chart is known to start.
    pub(crate) fn workloads(&self) -> impl Iterator<Item = ObjectId> + '_ {
        let placed = self.facts.iter().flat_map(|facts| &facts.workloads);
        placed.map(|placed| {
            let kind = placed.workload.kind;
            ObjectId::new(kind.group(), kind.as_str(), Some(&placed.namespace), &placed.name)
        })
    }
}

impl Place<'_> {
    pub(crate) fn id(&self) -> ObjectId {
        self.object.id()
    }
}

/// What a tier applies to this cluster: with `kubeConfig` it applies to another one, of which nothing is known.
fn applied_here(tier: &Tier) -> &[RenderedObject] {
    if tier.kustomization.spec.kube_config.is_some() {
        return &[];
    }
    tier.objects()
}

/// The tiers of a cluster with their edges, in the order of `cluster.tiers`.
pub(crate) fn tier_graph(cluster: &RenderedCluster) -> TierGraph {
    let index: BTreeMap<&TierName, TierIndex> = cluster
        .tiers
        .iter()
        .enumerate()
        .map(|(index, tier)| (&tier.name, TierIndex(index)))
        .collect();
    let nodes = cluster.tiers.iter().map(|tier| {
        let spec = &tier.kustomization.spec;
        let (mut depends_on, mut missing) = (Vec::new(), Vec::new());
        for dependency in tier.kustomization.dependencies() {
            match index.get(&dependency) {
                Some(found) => depends_on.push(*found),
                None => missing.push(dependency),
            }
        }
        let gate = if spec.wait {
            Gate::Everything
        } else if spec.health_checks.is_empty() {
            Gate::Nothing
        } else {
            Gate::Listed(spec.health_checks.iter().map(target_of).collect())
        };
        TierNode {
            name: tier.name.clone(),
            depends_on,
            missing,
            parent: tier.parent.as_ref().and_then(|parent| index.get(parent).copied()),
            gate,
            suspended: spec.suspend,
            rendered: !matches!(tier.outcome, Outcome::Unrendered(_)),
        }
    });
    TierGraph::new(nodes.collect())
}

/// The object that a health check names; an empty `apiVersion` means `apps/v1` (F-501).
fn target_of(check: &firstpass_flux::HealthCheck) -> ObjectId {
    let api_version = if check.api_version.is_empty() {
        "apps/v1"
    } else {
        &check.api_version
    };
    let group = firstpass_object::group_of(api_version);
    ObjectId::new(group, &check.kind, check.namespace.as_deref(), &check.name)
}

/// The kind that a CRD defines.
pub(crate) fn kind_of_crd(crd: &Value) -> Option<GroupKind> {
    Some(GroupKind::new(
        crd.text_at(&["spec", "group"])?,
        crd.text_at(&["spec", "names", "kind"])?,
    ))
}

/// The images of all containers of a workload.
fn images_of(object: &Value) -> Vec<String> {
    let template: &[&str] = match object.kind() {
        "Pod" => &["spec"],
        "CronJob" => &["spec", "jobTemplate", "spec", "template", "spec"],
        _ => &["spec", "template", "spec"],
    };
    let pod = object.at(template).unwrap_or(&Value::Null);
    let containers = ["initContainers", "containers"]
        .iter()
        .flat_map(|list| pod.items_at(&[list]));
    containers
        .filter_map(|container| Some(container.text_at(&["image"])?.to_owned()))
        .collect()
}

/// The version of an operator that its image's tag names.
fn version_of_images(images: &[String]) -> VersionPoint {
    let tag = |image: &String| {
        let name = image.rsplit('/').next()?;
        let tag = name.split('@').next()?.split_once(':')?.1;
        tag.contains('.').then(|| VersionPoint::parse(tag))
    };
    images.iter().find_map(tag).unwrap_or(VersionPoint::Newest)
}

/// Looks up by group and kind in an index of lists; nothing there is an empty list.
pub(crate) fn listed<'i, T>(index: &'i BTreeMap<GroupKind, Vec<T>>, kind: &GroupKind) -> &'i [T] {
    index.get(kind).map_or(&[], Vec::as_slice)
}

/// The origin of an object, shared.
pub(crate) fn origin_of(place: Place<'_>) -> Arc<firstpass_object::Origin> {
    place.object.origin.clone()
}
