//! From an entry to its [`RenderedCluster`]: Kustomizations that make Kustomizations, followed to the end.
//!
//! Rendering goes in rounds. A round walks from the roots through everything that they bring, with the variables and
//! sources that the round before found; the cluster is rendered when a round finds what the one before it found. Names
//! and paths that are made by substitution settle in two or three rounds.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use firstpass_flux::names::reason;
use firstpass_flux::{ArtifactGenerator, FluxVersion, Kustomization, Read, Source, SourceKind, SourceName};
use firstpass_object::{ObjectExt, ObjectId, Origin, TierName};
use rayon::prelude::*;
use serde_json::Value;

use crate::artifacts::{Artifacts, Sources};
use crate::seeds::{self, Seeds};
use crate::{
    AssumedData, BuildOutcome, Data, DataKind, Entry, MadeBy, Outcome, RenderedCluster, Repository, Tier,
    TierBuilder, TierFailure, Unrendered, UnrenderedReason, Variables, assumptions, detect, locate, made,
};

/// Rounds until names, variables and sources have settled; what has not by then never does.
const ROUNDS_MAX: usize = 12;
/// Settings are found in what was rendered, which depends on the settings.
const SETTINGS_MAX: usize = 3;
/// Tiers of one cluster; the largest clusters known have a few hundred.
const TIERS_MAX: usize = 20_000;
/// Kustomizations that make Kustomizations that make Kustomizations.
const NESTING_MAX: usize = 30;

/// What the caller knows better than the repository.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The version of Flux.
    pub flux: Option<FluxVersion>,
}

/// Renders an entry.
pub fn render_cluster(repository: &Repository, entry: &Entry, options: &Options) -> RenderedCluster {
    let seeds = Seeds::of(repository, entry);
    let mut detected = detect::detect(repository, entry, options, &[]);
    let mut known = Known::new(&seeds);
    for attempt in 1.. {
        let mut rendering = Rendering::new(repository, entry, &seeds, detected.settings.clone(), known);
        let tiers = rendering.until_settled();
        let again = detect::detect(repository, entry, options, &tiers);
        if again.settings == detected.settings || attempt == SETTINGS_MAX {
            detected.assumptions = again.assumptions;
            return rendering.finish(tiers, detected);
        }
        detected = again;
        known = rendering.known;
    }
    unreachable!("the loop ends by its last attempt")
}

/// What one round finds and the next one builds on.
#[derive(Clone, Default)]
struct Known {
    /// ConfigMaps and Secrets.
    data: BTreeMap<(DataKind, String, String), Data>,
    /// ConfigMaps and Secrets that controllers make, with the object and tier behind them.
    made: BTreeMap<(DataKind, String, String), (Data, String, TierName)>,
    /// Source objects.
    sources: BTreeMap<SourceName, Source>,
    /// ArtifactGenerators by the artifact that they make.
    generators: BTreeMap<SourceName, (Arc<ArtifactGenerator>, usize)>,
    /// Root Kustomizations that a tier applies, as it applies them.
    adopted: BTreeMap<TierName, Definition>,
}

/// A Kustomization object and who applies it.
#[derive(Clone, Debug, PartialEq)]
struct Definition {
    object: Arc<Value>,
    origin: Arc<Origin>,
    parent: Option<TierName>,
}

/// A tier that is still to be rendered.
struct Pending {
    name: TierName,
    definition: Definition,
    /// How many Kustomizations made it.
    depth: usize,
}

struct Rendering<'r> {
    repository: &'r Repository,
    entry: &'r Entry,
    seeds: &'r Seeds,
    builder: TierBuilder,
    known: Known,
    /// Which tiers asked for which data.
    asked: BTreeMap<(DataKind, String, String), BTreeSet<TierName>>,
}

impl Known {
    fn new(seeds: &Seeds) -> Known {
        let mut known = Known::default();
        for seed in &seeds.objects {
            let object = &*seed.object;
            known.take_source(object);
            if let Some(kind) = DataKind::of(object.kind()).filter(|_| object.api_version() == "v1") {
                let namespace = object.namespace().unwrap_or_default().to_owned();
                let key = (kind, namespace, object.name().to_owned());
                known.data.insert(key, Data::of(object));
            }
        }
        known
    }

    fn take_source(&mut self, object: &Value) {
        if let Some(source) = Source::read(object) {
            self.sources.insert(source.value.name.clone(), source.value);
        } else if ArtifactGenerator::is(object) {
            let generator = Arc::new(ArtifactGenerator::read(object).value);
            for (index, artifact) in generator.artifacts.iter().enumerate() {
                let name = SourceName {
                    kind: SourceKind::ExternalArtifact,
                    namespace: generator.namespace.clone(),
                    name: artifact.name.clone(),
                };
                self.generators.insert(name, (generator.clone(), index));
            }
        }
    }

    /// Takes over what an object of a tier brings. What was there first stays, so that the order of tiers decides.
    fn take(&mut self, object: &Value, tier: &TierName) {
        let namespace = object.namespace().unwrap_or_default().to_owned();
        if let Some(kind) = DataKind::of(object.kind()).filter(|_| object.api_version() == "v1") {
            let key = (kind, namespace, object.name().to_owned());
            self.data.entry(key).or_insert_with(|| Data::of(object));
        } else if let Some((kind, name, data)) = made::made_by(object) {
            let by = object.id().to_string();
            self.made
                .entry((kind, namespace, name))
                .or_insert_with(|| (data, by, tier.clone()));
        } else {
            self.take_source(object);
        }
    }
}

impl<'r> Rendering<'r> {
    fn new(
        repository: &'r Repository,
        entry: &'r Entry,
        seeds: &'r Seeds,
        settings: firstpass_flux::ControllerSettings,
        known: Known,
    ) -> Rendering<'r> {
        let ignore_files = repository.survey().ignore_files.clone();
        let artifacts = Artifacts::new(
            repository.tree().clone(),
            ignore_files,
            entry.directory.clone(),
            &entry.config,
            repository.outside().clone(),
        );
        let builder = TierBuilder::new(artifacts, settings);
        Rendering {
            repository,
            entry,
            seeds,
            builder,
            known,
            asked: BTreeMap::new(),
        }
    }

    fn until_settled(&mut self) -> Vec<Tier> {
        let mut tiers = Vec::new();
        for round in 0..ROUNDS_MAX {
            self.take_sources(round == 0);
            let (found, next) = self.round();
            let settled = found.data == self.known.data
                && found.made == self.known.made
                && found.sources == self.known.sources
                && found.generators == self.known.generators
                && found.adopted == self.known.adopted;
            self.known = found;
            tiers = next;
            if settled {
                break;
            }
        }
        tiers
    }

    fn take_sources(&mut self, first: bool) {
        let sources = Sources {
            roots: self.seeds.sources.clone(),
            url: self.seeds.url.clone(),
            objects: self.known.sources.clone(),
            generators: self.known.generators.clone(),
        };
        let old = &self.builder.artifacts().sources;
        if first || old.objects != sources.objects || old.generators != sources.generators {
            self.builder.set_sources(sources);
        }
    }

    /// One walk from the roots.
    fn round(&mut self) -> (Known, Vec<Tier>) {
        self.asked.clear();
        let mut found = Known::new(self.seeds);
        let mut tiers = Vec::new();
        let mut defined: BTreeSet<TierName> = BTreeSet::new();
        let mut queue: Vec<Pending> = Vec::new();
        for name in &self.seeds.roots {
            let seeded = seeds::object_of(&self.seeds.objects, name);
            let definition = self.known.adopted.get(name).cloned().or_else(|| {
                let (object, origin) = seeded?;
                Some(Definition {
                    object,
                    origin,
                    parent: None,
                })
            });
            if let Some(definition) = definition {
                defined.insert(name.clone());
                queue.push(Pending {
                    name: name.clone(),
                    definition,
                    depth: 0,
                });
            }
        }
        while !queue.is_empty() {
            let level: Vec<Pending> = std::mem::take(&mut queue);
            // Builds depend on nothing but the tier and its files; what follows goes one tier after another.
            let kustomizations: Vec<Read<Kustomization>> =
                level.par_iter().map(|pending| self.prepare(pending)).collect();
            for (pending, kustomization) in level.into_iter().zip(kustomizations) {
                let (name, depth) = (pending.name.clone(), pending.depth);
                let tier = self.tier(pending, kustomization, &found, tiers.len());
                for object in tier.objects() {
                    found.take(&object.object, &name);
                    // Without a namespace the API server refuses the object, and there is no tier (F-300).
                    if !Kustomization::is(&object.object) || object.object.namespace().is_none() {
                        continue;
                    }
                    let child = TierName::new(
                        object.object.namespace().unwrap_or_default(),
                        object.object.name(),
                    );
                    let is_root = self.seeds.roots.contains(&child);
                    let definition = Definition {
                        object: object.object.clone(),
                        origin: object.origin.clone(),
                        // A root has no parent but the bootstrap, whoever applies it later.
                        parent: (!is_root).then(|| name.clone()),
                    };
                    if is_root {
                        found.adopted.entry(child).or_insert(definition);
                    } else if defined.insert(child.clone()) {
                        queue.push(Pending {
                            name: child,
                            definition,
                            depth: depth + 1,
                        });
                    }
                }
                tiers.push(tier);
            }
        }
        (found, tiers)
    }

    /// Reads a Kustomization and builds it, so that the build is at hand later.
    fn prepare(&self, pending: &Pending) -> Read<Kustomization> {
        let mut read = Kustomization::read(&pending.definition.object);
        read.value.name = pending.name.clone();
        if pending.depth <= NESTING_MAX {
            self.builder.build(&read.value);
        }
        read
    }

    fn tier(&mut self, pending: Pending, read: Read<Kustomization>, found: &Known, count: usize) -> Tier {
        let Pending {
            name,
            definition,
            depth,
        } = pending;
        let kustomization = read.value;
        let variables = StaticVariables {
            known: &self.known,
            found,
            entry: self.entry,
            asked: RefCell::new(BTreeSet::new()),
        };
        let limit = count >= TIERS_MAX || depth > NESTING_MAX;
        let outcome = if limit {
            Outcome::Unrendered(beyond_limit())
        } else {
            self.outcome(&kustomization, &variables)
        };
        for key in variables.asked.into_inner() {
            self.asked.entry(key).or_default().insert(name.clone());
        }
        let (remote, warnings) = match &*self.builder.build(&kustomization) {
            BuildOutcome::Built(built) if !limit => (built.remote.clone(), built.warnings.clone()),
            _ => (Vec::new(), Vec::new()),
        };
        Tier {
            name,
            parent: definition.parent,
            // Found for all tiers at once, when they have settled.
            location: None,
            source: self.builder.source(&kustomization),
            object: definition.object,
            kustomization: Arc::new(kustomization),
            problems: read.problems,
            origin: definition.origin,
            outcome,
            remote,
            warnings,
        }
    }

    fn outcome(&self, kustomization: &Kustomization, variables: &StaticVariables<'_>) -> Outcome {
        let outcome = self.builder.render(kustomization, variables);
        if !kustomization.spec.suspend {
            return outcome;
        }
        match outcome {
            Outcome::Rendered(objects) => Outcome::Suspended(objects),
            _ => Outcome::Suspended(Arc::from([])),
        }
    }

    fn finish(self, mut tiers: Vec<Tier>, detected: detect::Detected) -> RenderedCluster {
        self.place_tiers(&mut tiers);
        self.place_failures(&mut tiers);
        let mut taken = self.seeds.assumptions.clone();
        taken.extend(detected.assumptions);
        taken.extend(assumptions::sources(
            &tiers,
            &self.seeds.sources,
            &self.known.sources,
            self.seeds.url.as_deref(),
        ));
        let assumed = self.assumed_data();
        taken.extend(assumed.iter().map(AssumedData::assumption));
        taken.extend(assumptions::resource_sets(&tiers));
        RenderedCluster {
            entry: self.entry.clone(),
            settings: detected.settings,
            seeds: self.seeds.objects.clone(),
            roots: self.seeds.roots.clone(),
            by_id: OnceLock::new(),
            by_name: tiers
                .iter()
                .enumerate()
                .map(|(index, tier)| (tier.name.clone(), index))
                .collect(),
            tiers,
            assumed,
            assumptions: taken,
            builder: Arc::new(self.builder),
        }
    }

    fn place_tiers(&self, tiers: &mut [Tier]) {
        let origins = tiers.iter().map(|tier| &*tier.origin);
        let places = locate::fields(&**self.repository.tree(), origins, &["metadata", "name"]);
        for (tier, place) in tiers.iter_mut().zip(places) {
            tier.location = place;
        }
    }

    /// Failures that do not know their place get it: that of their object if a tier applies it, else that of the field of
    /// the Kustomization that they are about.
    fn place_failures(&self, tiers: &mut [Tier]) {
        let tree = &**self.repository.tree();
        let place = |failure: &TierFailure, tier: &Tier, tiers: &[Tier]| {
            let applied = |id: &ObjectId| {
                tiers
                    .iter()
                    .flat_map(Tier::objects)
                    .find(|object| object.id() == *id)
            };
            match failure.object.as_ref().and_then(applied) {
                Some(object) => match &failure.variable {
                    Some(variable) => locate::text(tree, &object.origin, variable),
                    None => locate::start_of(&object.origin),
                },
                None if failure.reason == reason::ARTIFACT_FAILED => {
                    self.repository.locate(&tier.origin, &["spec", "path"])
                }
                None => tier.location.clone(),
            }
        };
        let mut places = Vec::new();
        for (index, tier) in tiers.iter().enumerate() {
            if let Outcome::Failed(failures) = &tier.outcome {
                let lost = failures
                    .iter()
                    .enumerate()
                    .filter(|(_, failure)| failure.location.is_none());
                places.extend(lost.map(|(at, failure)| (index, at, place(failure, tier, tiers))));
            }
        }
        for (index, at, place) in places {
            if let Outcome::Failed(failures) = &mut tiers[index].outcome {
                failures[at].location = place;
            }
        }
    }

    /// The ConfigMaps and Secrets that tiers read and no tier applies.
    fn assumed_data(&self) -> Vec<AssumedData> {
        let absent = self
            .asked
            .iter()
            .filter(|(key, _)| !self.known.data.contains_key(*key));
        let assume = |(key, tiers): (&(DataKind, String, String), &BTreeSet<TierName>)| {
            let (kind, namespace, name) = key;
            let (data, made_by) = match (configured(self.entry, namespace, name), self.known.made.get(key)) {
                (Some(data), _) => (data, MadeBy::Configuration),
                (None, Some((data, object, tier))) => (
                    data.clone(),
                    MadeBy::Controller {
                        object: object.clone(),
                        tier: tier.clone(),
                    },
                ),
                (None, None) => (Data::open(), MadeBy::Nobody),
            };
            AssumedData {
                kind: *kind,
                namespace: namespace.clone(),
                name: name.clone(),
                data,
                made_by,
                used_by: tiers.iter().cloned().collect(),
            }
        };
        absent.map(assume).collect()
    }
}

/// Variables as if everything had applied: what this round found so far, what the round before found, what the
/// configuration and controllers bring; anything else exists in the cluster and is not known.
struct StaticVariables<'k> {
    known: &'k Known,
    found: &'k Known,
    entry: &'k Entry,
    asked: RefCell<BTreeSet<(DataKind, String, String)>>,
}

impl Variables for StaticVariables<'_> {
    fn data(&self, kind: DataKind, namespace: &str, name: &str) -> Option<Data> {
        let key = (kind, namespace.to_owned(), name.to_owned());
        let data = [&self.found.data, &self.known.data]
            .into_iter()
            .find_map(|data| data.get(&key))
            .cloned();
        let made = || {
            Some(
                [&self.found.made, &self.known.made]
                    .into_iter()
                    .find_map(|made| made.get(&key))?
                    .0
                    .clone(),
            )
        };
        self.asked.borrow_mut().insert(key.clone());
        data.or_else(|| configured(self.entry, namespace, name))
            .or_else(made)
            .or_else(|| Some(Data::open()))
    }
}

/// What `baseline.secrets` of the configuration says.
fn configured(entry: &Entry, namespace: &str, name: &str) -> Option<Data> {
    let keys = entry
        .config
        .baseline
        .secrets
        .get(&format!("{namespace}/{name}"))?;
    Some(Data::unknown(keys.iter().map(String::as_str)))
}

fn beyond_limit() -> Unrendered {
    Unrendered {
        reason: UnrenderedReason::Limit,
        text: format!(
            "Kustomizations are nested deeper than {NESTING_MAX}, or there are more than {TIERS_MAX}"
        ),
        help: "look for a Kustomization that makes a copy of itself under another name".to_owned(),
    }
}
