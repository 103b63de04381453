//! Who brings each kind that the cluster uses: git, a chart, or a controller at runtime?

use std::collections::{BTreeMap, BTreeSet};

use firstpass_baseline::Stage;
use firstpass_knowledge::Knowledge;
use firstpass_object::{GroupKind, TierName};
use firstpass_render::RenderedCluster;
use firstpass_schema::Served;
use serde::Serialize;

use crate::OrderGraph;
use crate::need::{Answer, Needed};
use crate::world::{World, listed, tier_graph};

/// The kinds of a cluster: those that come last first, since they are the ones to think about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Audit {
    /// The kinds.
    pub kinds: Vec<KindAudit>,
}

/// One kind, who brings it and who uses it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KindAudit {
    /// `Kind.group`.
    pub kind: String,
    /// The versions that objects are written in.
    pub versions: Vec<String>,
    /// How it comes: the earliest of its providers.
    pub provider: ProviderClass,
    /// Everybody who brings it, the earliest first.
    pub brought_by: Vec<Bringer>,
    /// The tiers that use it, in the order of rendering.
    pub used_by: Vec<KindUse>,
}

/// How a kind comes, the latest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderClass {
    /// An operator registers it after it has reconciled an object: a second-order kind.
    AfterObject,
    /// An operator registers it when it starts.
    AtStart,
    /// Nobody does, as far as can be seen.
    Nobody,
    /// A release of a chart.
    Chart,
    /// A CRD in git.
    Git,
    /// What is there before Flux: the distribution, a bootstrap stage, Flux itself.
    Baseline,
    /// Kubernetes.
    BuiltIn,
}

/// Somebody who brings a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bringer {
    /// How.
    pub class: ProviderClass,
    /// The tier that brings it; null if it is there before Flux.
    pub tier: Option<TierName>,
    /// The object that it takes: a CRD, a HelmRelease, an operator's workload, the object that an operator reconciles.
    pub object: Option<String>,
    /// The chart, the operator, or whoever has it from the start.
    pub by: Option<String>,
    /// The file of the repository or of knowledge that says so.
    pub source: Option<String>,
}

/// A tier that uses a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KindUse {
    /// The tier.
    pub tier: TierName,
    /// How many objects of the kind it applies.
    pub objects: usize,
    /// Whether the kind is certainly served in time; null where nobody can tell.
    pub guaranteed: Option<bool>,
}

impl KindAudit {
    /// Whether a controller brings it while the cluster runs.
    pub fn comes_at_runtime(&self) -> bool {
        matches!(self.provider, ProviderClass::AfterObject | ProviderClass::AtStart)
    }
}

impl Audit {
    /// Looks at every kind that a cluster uses.
    pub fn of(cluster: &RenderedCluster, stage: &Stage, knowledge: &Knowledge, graph: &OrderGraph) -> Audit {
        let world = World::new(cluster, stage, knowledge, tier_graph(cluster));
        let mut uses: BTreeMap<GroupKind, (BTreeSet<String>, Vec<KindUse>)> = BTreeMap::new();
        for need in &graph.needs {
            let Needed::Kind { kind, version } = &need.needed else {
                continue;
            };
            let (versions, tiers) = uses.entry(kind.clone()).or_default();
            versions.insert(version.clone());
            let tier = graph.tiers.name(need.tier).clone();
            let guaranteed = match &need.answer {
                Answer::Nobody { provable: false, .. } => None,
                answer => Some(answer.is_met()),
            };
            let objects = 1 + need.also.len();
            match tiers.iter_mut().find(|known| known.tier == tier) {
                // A kind in two versions: what holds for the worse of them.
                Some(known) => {
                    known.objects += objects;
                    known.guaranteed = known.guaranteed.min(guaranteed);
                }
                None => tiers.push(KindUse {
                    tier,
                    objects,
                    guaranteed,
                }),
            }
        }
        let audit = |(kind, (versions, used_by)): (GroupKind, (BTreeSet<String>, Vec<KindUse>))| {
            let mut brought_by = bringers(&world, &kind, &versions);
            brought_by.sort_by_key(|bringer| std::cmp::Reverse(bringer.class));
            KindAudit {
                kind: kind.to_string(),
                versions: versions.into_iter().collect(),
                provider: brought_by
                    .first()
                    .map_or(ProviderClass::Nobody, |bringer| bringer.class),
                brought_by,
                used_by,
            }
        };
        let mut kinds: Vec<KindAudit> = uses.into_iter().map(audit).collect();
        kinds.sort_by(|one, other| (one.provider, &one.kind).cmp(&(other.provider, &other.kind)));
        Audit { kinds }
    }
}

/// Everybody who brings a kind, in no order that matters.
fn bringers(world: &World<'_>, kind: &GroupKind, versions: &BTreeSet<String>) -> Vec<Bringer> {
    let minor = world.stage.kubernetes_minor();
    let is_built_in = versions.iter().any(|version| {
        matches!(
            firstpass_schema::served(&kind.group, version, &kind.kind, minor),
            Served::Yes | Served::OptIn
        )
    });
    let mut found = Vec::new();
    if is_built_in {
        found.push(before_flux(
            ProviderClass::BuiltIn,
            &format!("Kubernetes {}", world.stage.kubernetes),
        ));
    }
    if let Some(staged) = world.stage.kinds.get(kind) {
        found.push(before_flux(ProviderClass::Baseline, &staged.from));
    }
    let tier = |index| Some(world.tiers.name(index).clone());
    for place in listed(&world.crds, kind) {
        found.push(Bringer {
            class: ProviderClass::Git,
            tier: tier(place.tier),
            object: Some(place.id().to_string()),
            by: None,
            source: Some(place.object.origin.file.clone()),
        });
    }
    for index in listed(&world.releases_by_kind, kind) {
        let at = &world.releases[*index];
        found.push(Bringer {
            class: ProviderClass::Chart,
            tier: tier(at.place.tier),
            object: Some(at.id.to_string()),
            by: Some(at.release.chart_text()),
            source: at.facts.as_ref().map(|facts| facts.chart.file.clone()),
        });
    }
    for (index, _) in listed(&world.started, kind) {
        let at = &world.operators[*index];
        found.push(Bringer {
            class: ProviderClass::AtStart,
            tier: at.place.and_then(|place| tier(place.tier)),
            object: at.place.map(|place| place.id().to_string()),
            by: Some(at.operator.name.clone()),
            source: Some(at.operator.file.clone()),
        });
    }
    for triggered in listed(&world.triggered, kind) {
        let operator = world.operators[triggered.operator].operator;
        found.push(Bringer {
            class: ProviderClass::AfterObject,
            tier: triggered.trigger.and_then(|trigger| tier(trigger.tier)),
            object: Some(triggered.object.to_string()),
            by: Some(operator.name.clone()),
            source: Some(operator.file.clone()),
        });
    }
    found.dedup();
    found
}

fn before_flux(class: ProviderClass, by: &str) -> Bringer {
    Bringer {
        class,
        tier: None,
        object: None,
        by: Some(by.to_owned()),
        source: None,
    }
}
