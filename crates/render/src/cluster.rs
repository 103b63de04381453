//! The rendered cluster: every reachable Flux Kustomization with the objects that it applies.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use firstpass_diagnostics::{Assumption, Finding, Location, Severity};
use firstpass_flux::{ControllerSettings, FieldProblem, Kustomization};
use firstpass_object::{ObjectId, ObjectMap, Origin, TierName};
use serde_json::Value;

use crate::{Data, DataKind, Entry, RenderedObject, TierBuilder, TierFailure, TierSource, Unrendered};

/// What a cluster entry comes to.
///
/// It is static: variables come from all objects rendered anywhere, as if everything had applied. Whether they are
/// there in time is for the rehearsal to find out.
#[derive(Clone, Debug)]
pub struct RenderedCluster {
    /// The entry.
    pub entry: Entry,
    /// How Flux runs there.
    pub settings: ControllerSettings,
    /// What the bootstrap puts into the cluster before the first pass: the namespace, the root source, the root
    /// Kustomization.
    pub seeds: Vec<RenderedObject>,
    /// The tiers that the seeds hold.
    pub roots: Vec<TierName>,
    /// Every reachable tier once: roots first, then children in the order in which their parents build them.
    pub tiers: Vec<Tier>,
    /// ConfigMaps and Secrets that some tier reads and the repository does not make.
    pub assumed: Vec<AssumedData>,
    /// What had to be taken for granted.
    pub assumptions: Vec<Assumption>,
    /// Builds the tiers again, for a simulator.
    pub builder: Arc<TierBuilder>,
    /// Where each tier is in the list.
    pub(crate) by_name: BTreeMap<TierName, usize>,
    /// Where each object is applied; made when it is first asked for.
    pub(crate) by_id: OnceLock<ObjectMap<Vec<Place>>>,
}

/// Where an object is applied, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    tier: u32,
    object: u32,
}

/// One Flux Kustomization and what it applies.
#[derive(Clone, Debug)]
pub struct Tier {
    /// Namespace and name.
    pub name: TierName,
    /// The tier that applies the Kustomization object; none for a root that only the bootstrap applies.
    pub parent: Option<TierName>,
    /// The Kustomization object as the cluster has it.
    pub object: Arc<Value>,
    /// The same, typed: its effective spec.
    pub kustomization: Arc<Kustomization>,
    /// Fields of the object that are not what the API asks for.
    pub problems: Vec<FieldProblem>,
    /// Where the object came from.
    pub origin: Arc<Origin>,
    /// Where the object is written.
    pub location: Option<Location>,
    /// Where its files come from.
    pub source: TierSource,
    /// What it applies.
    pub outcome: Outcome,
    /// Remote parts of its build that are missing from the outcome.
    pub remote: Vec<RemotePart>,
    /// Something wrong that Flux does not notice, such as ciphertext that is applied.
    pub warnings: Vec<TierFailure>,
}

/// What a tier applies, or why nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// These objects, in build order.
    Rendered(Arc<[RenderedObject]>),
    /// Nothing: Flux refuses. Never empty; the first is what Flux reports.
    Failed(Vec<TierFailure>),
    /// Nothing while it is suspended; these objects if it were not (none if they cannot be built).
    Suspended(Arc<[RenderedObject]>),
    /// Something that firstpass cannot see.
    Unrendered(Unrendered),
}

/// A part of a build that is fetched from elsewhere, and so is missing here.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RemotePart {
    /// The URL as written.
    pub text: String,
    /// Where it is written.
    pub location: Location,
}

/// A ConfigMap or Secret that has to exist in the cluster because a tier reads it and nothing in the repository makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssumedData {
    /// ConfigMap or Secret.
    pub kind: DataKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What it holds.
    pub data: Data,
    /// Who or what makes it: the configuration, an `ExternalSecret`, nobody in the repository.
    pub made_by: MadeBy,
    /// The tiers that read it.
    pub used_by: Vec<TierName>,
}

/// Who makes a ConfigMap or Secret that no tier applies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MadeBy {
    /// `baseline.secrets` of the configuration lists it.
    Configuration,
    /// A controller makes it from this object, such as an ExternalSecret of this tier.
    Controller {
        /// `Kind/namespace/name` of the object.
        object: String,
        /// The tier that applies the object.
        tier: TierName,
    },
    /// Nothing in the repository does.
    Nobody,
}

impl RenderedCluster {
    /// The tier of that name.
    pub fn tier(&self, name: &TierName) -> Option<&Tier> {
        self.by_name.get(name).map(|index| &self.tiers[*index])
    }

    /// An object by its identity, with the first tier that applies it.
    pub fn find(&self, id: &ObjectId) -> Option<(&Tier, &RenderedObject)> {
        self.places(id).find(|(tier, _)| tier.is_rendered())
    }

    /// Every place where an object is applied, or would be if its tier were not suspended, in the order of the tiers.
    pub fn places(&self, id: &ObjectId) -> impl Iterator<Item = (&Tier, &RenderedObject)> {
        let by_id = self.by_id.get_or_init(|| self.index());
        by_id.get(id).into_iter().flatten().map(|place| self.at(*place))
    }

    /// The objects that are applied more than once, or would be, each with all its places, by identity.
    pub fn repeated(&self) -> BTreeMap<&ObjectId, Vec<(&Tier, &RenderedObject)>> {
        let by_id = self.by_id.get_or_init(|| self.index());
        let repeated = by_id.iter().filter(|(_, places)| places.len() > 1);
        repeated
            .map(|(id, places)| (id, places.iter().map(|place| self.at(*place)).collect()))
            .collect()
    }

    fn at(&self, place: Place) -> (&Tier, &RenderedObject) {
        let tier = &self.tiers[place.tier as usize];
        (tier, &tier.known_objects()[place.object as usize])
    }

    /// An object that the bootstrap puts there, or that a tier applies.
    pub fn defined(&self, id: &ObjectId) -> Option<&RenderedObject> {
        let seed = self.seeds.iter().find(|seed| seed.id() == *id);
        seed.or_else(|| self.find(id).map(|(_, object)| object))
    }

    fn index(&self) -> ObjectMap<Vec<Place>> {
        let mut places: ObjectMap<Vec<Place>> = ObjectMap::default();
        for (tier, rendered) in (0..).zip(&self.tiers) {
            for (object, known) in (0..).zip(rendered.known_objects()) {
                places.entry(known.id()).or_default().push(Place { tier, object });
            }
        }
        places
    }

    /// All objects that are applied, with their tiers.
    pub fn objects(&self) -> impl Iterator<Item = (&Tier, &RenderedObject)> {
        self.tiers
            .iter()
            .flat_map(|tier| tier.objects().iter().map(move |object| (tier, object)))
    }

    /// What rendering found: refusals, ciphertext, remote parts, what could not be seen, what is suspended.
    pub fn findings(&self) -> Vec<Finding> {
        self.tiers.iter().flat_map(Tier::findings).collect()
    }
}

impl Tier {
    /// The objects that it applies; none unless it is rendered.
    pub fn objects(&self) -> &[RenderedObject] {
        match &self.outcome {
            Outcome::Rendered(objects) => objects,
            Outcome::Failed(_) | Outcome::Suspended(_) | Outcome::Unrendered(_) => &[],
        }
    }

    /// The objects that it applies, or would apply if it were not suspended.
    pub fn known_objects(&self) -> &[RenderedObject] {
        match &self.outcome {
            Outcome::Rendered(objects) | Outcome::Suspended(objects) => objects,
            Outcome::Failed(_) | Outcome::Unrendered(_) => &[],
        }
    }

    /// Whether its objects are known.
    pub fn is_rendered(&self) -> bool {
        matches!(self.outcome, Outcome::Rendered(_))
    }

    /// What rendering found about this tier.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = match &self.outcome {
            Outcome::Rendered(_) => Vec::new(),
            Outcome::Failed(failures) => failures.iter().map(|failure| failure.finding(&self.name)).collect(),
            Outcome::Suspended(_) => vec![
                self.information("suspended", format!("`{}` is suspended", self.name))
                    .with_why("Flux leaves a suspended Kustomization alone, so its objects are not applied and its dependents wait for it")
                    .with_help("remove `spec.suspend` once the tier should come up"),
            ],
            Outcome::Unrendered(unrendered) => vec![
                self.information("unrendered", format!("the contents of `{}` are not known: {}", self.name, unrendered.text))
                    .with_why("firstpass sees only what is in this repository and in the sources that its configuration names")
                    .with_help(&unrendered.help),
            ],
        };
        findings.extend(self.remote.iter().map(|remote| {
            self.information(
                "remote-base",
                format!("`{}` is fetched from elsewhere and was left out", remote.text),
            )
            .with_why(
                "Flux fetches it again at every reconciliation, a git repository within 27 s; when the other side is slow or away the \
                 build fails, and the whole tier stalls with it. What it brings can change without a commit, and is not known here",
            )
            .with_help("vendor it into the repository, so that every commit says what it applies")
            .with_location(remote.location.clone())
        }));
        findings.extend(self.warnings.iter().map(|warning| warning.finding(&self.name)));
        findings
    }

    fn information(&self, rule: &str, message: String) -> Finding {
        let mut finding = Finding::new(rule, Severity::Info, None, message).with_tier(&self.name);
        finding.location = self.location.clone();
        finding
    }
}

impl AssumedData {
    /// An object for a cluster that has to have it: unknown values are marked as such.
    pub fn object(&self) -> Value {
        self.data.to_object(self.kind, &self.namespace, &self.name)
    }
}
