//! What each tier waits for, typed, and which tiers wait for each other in a circle.

use std::collections::{BTreeMap, BTreeSet};

use firstpass_controllers::ClaimWait;
use firstpass_controllers::kustomization::Obstacle;
use firstpass_diagnostics::{WaitingFor, WaitingOn};
use firstpass_flux::names;
use firstpass_object::kstatus::StatusKind;
use firstpass_object::{ObjectExt, ObjectId, TierName};
use firstpass_order::{Need, Needed, OrderGraph, Provider};
use firstpass_render::RenderedCluster;
use firstpass_sim::World;

/// Who brings what, looked up by the run.
pub(crate) struct Bringers<'a> {
    pub(crate) world: &'a World,
    pub(crate) graph: &'a OrderGraph,
    pub(crate) cluster: &'a RenderedCluster,
}

/// One thing that a tier waits for, and the tiers that would bring it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) on: WaitingOn,
    /// The obstacle that says so; absent where the tier's Flux Kustomization does not exist yet.
    pub(crate) obstacle: Option<Obstacle>,
    /// The tiers that have to do something first; several where more than one object is needed.
    pub(crate) tiers: BTreeSet<TierName>,
}

impl Bringers<'_> {
    /// What the order graph knows of the need that an obstacle is about.
    pub(crate) fn need(&self, tier: &TierName, obstacle: &Obstacle) -> Option<&Need> {
        let index = self.graph.tiers.find(tier)?;
        let is_it = |needed: &Needed| match (needed, obstacle) {
            (Needed::Kind { kind, version }, Obstacle::UnknownKind { gvk, .. }) => {
                *kind == gvk.group_kind() && *version == gvk.version
            }
            (
                Needed::Namespace(wanted),
                Obstacle::NamespaceMissing { namespace, .. }
                | Obstacle::NamespaceTerminating { namespace, .. },
            ) => wanted == namespace,
            (Needed::Data { object, .. }, Obstacle::VariableSource { object: missing }) => object == missing,
            (
                Needed::HealthTarget(object),
                Obstacle::Unhealthy {
                    object: unhealthy, ..
                },
            ) => object == unhealthy,
            (
                Needed::Consumer { claim },
                Obstacle::Unhealthy {
                    object: unhealthy, ..
                },
            ) => claim == unhealthy,
            (Needed::Webhook { kind, .. }, Obstacle::Webhook { object, .. }) => *kind == object.group_kind(),
            _ => false,
        };
        self.graph
            .needs
            .iter()
            .find(|need| need.tier == index && is_it(&need.needed))
    }

    /// The provider of what an obstacle is about.
    pub(crate) fn provider(&self, tier: &TierName, obstacle: &Obstacle) -> Option<&Provider> {
        self.need(tier, obstacle).and_then(|need| need.answer.provider())
    }

    /// The tier that brings what an obstacle is about, as the order graph has it.
    fn provider_tier(&self, tier: &TierName, obstacle: &Obstacle) -> Option<TierName> {
        let index = self.provider(tier, obstacle)?.tier?;
        Some(self.graph.tiers.name(index).clone())
    }

    /// What an obstacle makes a tier wait for.
    pub(crate) fn wait(&self, tier: &TierName, obstacle: &Obstacle) -> Wait {
        let (waiting_for, what, mut tiers): (WaitingFor, String, BTreeSet<TierName>) = match obstacle {
            Obstacle::Source { source } => (WaitingFor::Source, source.to_string(), self.tier_of(source)),
            Obstacle::Dependency { tier: dependency, .. } => (
                WaitingFor::Dependency,
                dependency.to_string(),
                BTreeSet::from([dependency.clone()]),
            ),
            Obstacle::Release { release, .. } => {
                let id = release_id(release);
                (WaitingFor::Dependency, id.to_string(), self.tier_of(&id))
            }
            Obstacle::Build { message } => (WaitingFor::Object, message.clone(), BTreeSet::new()),
            Obstacle::VariableSource { object } => {
                (WaitingFor::Variable, object.to_string(), self.tier_of(object))
            }
            Obstacle::UndefinedVariable { name, .. } => (WaitingFor::Variable, name.clone(), BTreeSet::new()),
            Obstacle::UnknownKind { gvk, .. } => {
                (WaitingFor::Kind, gvk.group_kind().to_string(), BTreeSet::new())
            }
            Obstacle::NamespaceMissing { namespace, .. }
            | Obstacle::NamespaceTerminating { namespace, .. } => {
                (WaitingFor::Namespace, namespace.clone(), BTreeSet::new())
            }
            Obstacle::NamespaceUnset { object } => {
                (WaitingFor::Namespace, object.to_string(), BTreeSet::new())
            }
            Obstacle::Webhook { object, .. } => (WaitingFor::Webhook, object.to_string(), BTreeSet::new()),
            Obstacle::Refused { object, .. } | Obstacle::Prune { object, .. } => {
                (WaitingFor::Object, object.to_string(), BTreeSet::new())
            }
            Obstacle::Unhealthy { object, .. } => {
                (WaitingFor::Health, object.to_string(), self.behind_health(object))
            }
            Obstacle::Configuration { message } => (WaitingFor::Object, message.clone(), BTreeSet::new()),
        };
        if tiers.is_empty() {
            // An object of our own that is not healthy, and waits for nothing that can be named, makes nobody wait for us.
            let is_health = matches!(obstacle, Obstacle::Unhealthy { .. });
            let provider = self.provider_tier(tier, obstacle);
            tiers.extend(provider.filter(|provider| !is_health || provider != tier));
        }
        let named = tiers
            .iter()
            .find(|named| *named != tier)
            .or(tiers.first())
            .cloned();
        Wait {
            on: WaitingOn {
                waiting_for,
                what,
                tier: named,
            },
            obstacle: Some(obstacle.clone()),
            tiers,
        }
    }

    fn tier_of(&self, id: &ObjectId) -> BTreeSet<TierName> {
        let bringer = self.cluster.places(id).next();
        bringer.map(|(tier, _)| tier.name.clone()).into_iter().collect()
    }

    /// The tiers that an unhealthy object waits for.
    fn behind_health(&self, id: &ObjectId) -> BTreeSet<TierName> {
        if id.is(names::KUSTOMIZE_GROUP, names::KUSTOMIZATION) {
            let namespace = id.namespace.clone().unwrap_or_default();
            return BTreeSet::from([TierName::new(namespace, &id.name)]);
        }
        // What is there already is not waited for: its tier has done what it has to do.
        let behind = self.behind(id);
        let missing = behind
            .iter()
            .filter(|object| self.world.server.object(object).is_none());
        missing.flat_map(|object| self.tier_of(object)).collect()
    }

    /// The objects that an unhealthy object waits for, down to those that wait for nothing else.
    pub(crate) fn behind(&self, id: &ObjectId) -> BTreeSet<ObjectId> {
        let mut found = BTreeSet::new();
        let mut open = vec![id.clone()];
        let mut seen = BTreeSet::new();
        while let Some(current) = open.pop() {
            if !seen.insert(current.clone()) {
                continue;
            }
            for next in self.directly_behind(&current) {
                found.insert(next.clone());
                open.push(next);
            }
        }
        found
    }

    fn directly_behind(&self, id: &ObjectId) -> Vec<ObjectId> {
        if let Some(record) = self.world.workloads.workloads().get(id) {
            let service = record.refused().map(|(_, service)| service);
            return record.missing.iter().chain(service).cloned().collect();
        }
        if let Some(record) = self.world.storage.claims().get(id) {
            return match &record.waits_for {
                Some(ClaimWait::Consumer { .. }) => self.consumers(id),
                Some(ClaimWait::Class { class }) => {
                    vec![ObjectId::new("storage.k8s.io", "StorageClass", None, class)]
                }
                Some(ClaimWait::Named { volume, .. }) => {
                    vec![ObjectId::new("", "PersistentVolume", None, volume)]
                }
                Some(ClaimWait::Volume { .. } | ClaimWait::Mode { .. }) | None => Vec::new(),
            };
        }
        let needed = self.world.operators.waits_of(id);
        if !needed.is_empty() {
            return needed;
        }
        let release = id
            .is(names::HELM_GROUP, names::HELM_RELEASE)
            .then(|| TierName::new(id.namespace.clone().unwrap_or_default(), &id.name));
        let failure = release
            .and_then(|release| self.world.releases.releases().get(&release))
            .and_then(|record| record.last_failure.as_ref());
        let obstacles = failure.map_or(&[][..], |failure| &failure.obstacles);
        obstacles
            .iter()
            .filter_map(|obstacle| match obstacle {
                Obstacle::Release { release, .. } => Some(release_id(release)),
                Obstacle::Source { source } => Some(source.clone()),
                Obstacle::VariableSource { object } | Obstacle::Unhealthy { object, .. } => {
                    Some(object.clone())
                }
                Obstacle::NamespaceMissing { namespace, .. } => {
                    Some(ObjectId::new("", "Namespace", None, namespace))
                }
                _ => None,
            })
            .collect()
    }

    /// The workloads of the repository that mount a claim, and the HelmReleases whose values name it.
    pub(crate) fn consumers(&self, claim: &ObjectId) -> Vec<ObjectId> {
        let index = self.graph.needs.iter().find_map(|need| match &need.needed {
            Needed::Consumer { claim: wanted } if wanted == claim => need.answer.provider()?.object.clone(),
            _ => None,
        });
        index.into_iter().collect()
    }
}

pub(crate) fn release_id(release: &TierName) -> ObjectId {
    ObjectId::new(
        names::HELM_GROUP,
        names::HELM_RELEASE,
        Some(&release.namespace),
        &release.name,
    )
}

/// The tiers that wait, through any chain, for themselves.
pub(crate) fn circles(waits: &BTreeMap<TierName, Vec<Wait>>) -> BTreeMap<TierName, BTreeSet<TierName>> {
    let next = |tier: &TierName| waits.get(tier).into_iter().flatten().flat_map(|wait| &wait.tiers);
    let reach = |start: &TierName| {
        let mut reached: BTreeSet<TierName> = BTreeSet::new();
        let mut open: Vec<&TierName> = next(start).collect();
        while let Some(tier) = open.pop() {
            if reached.insert(tier.clone()) {
                open.extend(next(tier));
            }
        }
        reached
    };
    let reached: BTreeMap<&TierName, BTreeSet<TierName>> =
        waits.keys().map(|tier| (tier, reach(tier))).collect();
    let mut circles = BTreeMap::new();
    for (tier, others) in &reached {
        if !others.contains(*tier) {
            continue;
        }
        let members = others
            .iter()
            .filter(|other| reached.get(other).is_some_and(|back| back.contains(*tier)));
        circles.insert((*tier).clone(), members.cloned().collect());
    }
    circles
}

/// An object's health as the world has it, in words. `seen` is what the health check itself said: it may ask more than the
/// object's own status does.
pub(crate) fn health_text(id: &ObjectId, seen: &str, world: &World) -> String {
    if let Some(record) = world.storage.claims().get(id)
        && let Some(wait) = &record.waits_for
    {
        return format!("it {wait}");
    }
    if let Some(record) = world.workloads.workloads().get(id)
        && !record.missing.is_empty()
    {
        let names: Vec<String> = record
            .missing_texts()
            .iter()
            .map(|missing| format!("`{missing}`"))
            .collect();
        return format!("its pods wait for {}", names.join(", "));
    }
    if let Some(record) = world.workloads.workloads().get(id)
        && let Some((message, _)) = record.refused()
    {
        return format!("its pods are refused: {message}");
    }
    if let Some(record) = world.workloads.workloads().get(id)
        && let Some(why) = &record.unplaced
    {
        return format!("its pods find no node: {why}");
    }
    if world
        .workloads
        .workloads()
        .get(id)
        .is_some_and(|record| record.is_crashing())
    {
        return "its pods crash as soon as they run".to_owned();
    }
    if world.server.object(id).is_none() {
        return "it does not exist".to_owned();
    }
    let needed = world.operators.waits_of(id);
    if !needed.is_empty() {
        let names: Vec<String> = needed.iter().map(|object| format!("`{object}`")).collect();
        return format!("its controller waits for {}", names.join(", "));
    }
    let health = firstpass_controllers::readiness::health(id, &world.server, world.settings().flux);
    let ready = world.server.object(id).and_then(|object| {
        object
            .condition(names::condition::READY)
            .and_then(|ready| ready.text_at(&["message"]))
            .map(str::to_owned)
    });
    if health.status == StatusKind::Current && !seen.is_empty() {
        return format!("its health check says: {seen}");
    }
    ready.unwrap_or(health.message)
}
