//! What the sources of a scenario hold, revision by revision. Unlike a rehearsal, a scenario knows everything: what no
//! file brings does not exist.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use firstpass_apiserver::ApiServer;
use firstpass_controllers::{Artifact, BuildFailure, Built, Contents};
use firstpass_flux::{FluxVersion, Kustomization, SourceName, names};
use firstpass_object::{ObjectExt, ObjectId};
use firstpass_render::{
    Data, DataKind, Options, Outcome, RenderedCluster, RenderedObject, Repository, TierFailure, Variables,
    render_cluster,
};
use firstpass_source::{MemoryTree, RepoPath};

use crate::play::stage::error;
use crate::scenario::{Scenario, ScenarioError};

/// Where the seeds lie in the tree that is rendered.
const ENTRY: &str = "cluster-entry";

/// The revisions of a scenario and where each source is.
#[derive(Clone)]
pub(super) struct Revisions {
    clusters: Vec<Arc<RenderedCluster>>,
    current: usize,
    /// Sources that are somewhere else, by name.
    own: BTreeMap<String, usize>,
    /// Versions of the charts that the chart repository has.
    charts: BTreeMap<String, Vec<String>>,
}

impl Revisions {
    pub(super) fn new(scenario: &Scenario, flux: FluxVersion) -> Result<Revisions, ScenarioError> {
        let seeds: Vec<String> = scenario.seeds.iter().map(ToString::to_string).collect();
        let sources: BTreeSet<String> = scenario
            .seeds
            .iter()
            .chain(&scenario.stage)
            .filter(|object| object.kind() == "GitRepository")
            .map(|object| {
                format!(
                    "GitRepository/{}/{}",
                    object.namespace().unwrap_or_default(),
                    object.name()
                )
            })
            .chain(["GitRepository/flux-system/flux-system".to_owned()])
            .collect();
        let sources: Vec<String> = sources
            .iter()
            .map(|name| format!("{name}: {{path: .}}"))
            .collect();
        let config = format!(
            "clusters: {{oracle: {{path: {ENTRY}, sources: {{{}}}}}}}\n",
            sources.join(", ")
        );
        let nothing = BTreeMap::new();
        let revisions = scenario.revisions.iter();
        let clusters = revisions
            .chain(scenario.helm.then_some(&nothing))
            .map(|files| {
                let mut tree = MemoryTree::new();
                for (path, text) in files {
                    tree.insert(path, text.clone());
                }
                tree.insert(&format!("{ENTRY}/seeds.yaml"), seeds.join("\n---\n"));
                tree.insert("firstpass.yaml", config.clone());
                let repository =
                    Repository::open(Arc::new(tree)).map_err(|failure| error(format!("{failure:?}")))?;
                let entry = repository
                    .entry(&RepoPath::clamped("oracle"))
                    .map_err(|failure| error(format!("{failure:?}")))?;
                Ok(Arc::new(render_cluster(
                    &repository,
                    &entry,
                    &Options { flux: Some(flux) },
                )))
            })
            .collect::<Result<Vec<_>, ScenarioError>>()?;
        Ok(Revisions {
            clusters,
            current: 1,
            own: BTreeMap::new(),
            charts: scenario.charts.clone(),
        })
    }

    /// All sources, or the one that is named, move to a revision.
    pub(super) fn push(&mut self, number: usize, name: Option<&str>) -> Result<(), String> {
        if number == 0 || number > self.clusters.len() {
            return Err(format!("there is no revision {number}"));
        }
        match name {
            Some(name) => {
                self.own.insert(name.to_owned(), number);
            }
            None => {
                self.current = number;
                self.own.clear();
            }
        }
        Ok(())
    }

    pub(super) fn contents(&self) -> Revisions {
        self.clone()
    }

    fn number(&self, source: &str) -> usize {
        self.own.get(source).copied().unwrap_or(self.current)
    }

    fn all_objects(&self) -> impl Iterator<Item = &RenderedObject> {
        self.clusters.iter().flat_map(|cluster| {
            let of_tiers = cluster.tiers.iter().flat_map(|tier| tier.objects());
            cluster.seeds.iter().chain(of_tiers)
        })
    }
}

impl Contents for Revisions {
    fn artifact(&self, source: &ObjectId) -> Option<Artifact> {
        let number = self.number(&source.name);
        Some(Artifact {
            revision: format!("main@sha1:{number:040x}"),
            digest: format!("sha256:{number:064x}"),
        })
    }

    fn build(&self, tier: &Kustomization, revision: &str, server: &ApiServer) -> Result<Built, BuildFailure> {
        let digits = revision.rsplit(':').next().unwrap_or_default();
        let number = usize::from_str_radix(digits.trim_start_matches('0'), 16).unwrap_or(1);
        let Some(cluster) = self.clusters.get(number - 1) else {
            return Err(BuildFailure::PathMissing {
                message: format!("there is no revision {number}"),
            });
        };
        match cluster.builder.render(tier, &Live { server }) {
            Outcome::Rendered(objects) | Outcome::Suspended(objects) => Ok(Built {
                objects: objects.iter().map(|object| Arc::clone(&object.object)).collect(),
                ..Built::default()
            }),
            Outcome::Unrendered(_) => Ok(Built {
                unrendered: true,
                ..Built::default()
            }),
            Outcome::Failed(failures) => Err(failure(&failures)),
        }
    }

    fn brings(&self, id: &ObjectId) -> bool {
        self.all_objects().any(|object| object.id() == *id)
    }

    fn chart_version(&self, _: &SourceName, chart: &str, wanted: &str) -> Option<Result<String, String>> {
        let Some(versions) = self.charts.get(chart) else {
            return Some(Err("no chart name found".to_owned()));
        };
        let fitting = versions.iter().filter(|version| fits(version, wanted));
        let newest = fitting.max_by_key(|version| numbers(version));
        let nothing = || format!("no '{chart}' chart with version matching '{wanted}' found");
        Some(newest.cloned().ok_or_else(nothing))
    }

    fn rules_out(&self, id: &ObjectId) -> bool {
        !self.brings(id)
    }
}

/// Whether a version is the one that is asked for, or in a range such as `*` or `1.x`.
fn fits(version: &str, wanted: &str) -> bool {
    let mut parts = version.split('.');
    wanted == version
        || wanted.split('.').all(|part| {
            parts
                .next()
                .is_some_and(|own| part == "x" || part == "*" || part == own)
        })
}

fn numbers(version: &str) -> Vec<u64> {
    version.split('.').filter_map(|part| part.parse().ok()).collect()
}

fn failure(failures: &[TierFailure]) -> BuildFailure {
    let message = failures
        .first()
        .map(|failure| failure.flux_message.clone())
        .unwrap_or_default();
    let obstacles = Vec::new();
    match failures.first().map(|failure| failure.reason) {
        Some(names::reason::ARTIFACT_FAILED) => BuildFailure::PathMissing { message },
        Some(names::reason::RECONCILIATION_FAILED) => BuildFailure::Refused { message, obstacles },
        _ => BuildFailure::Failed { message, obstacles },
    }
}

/// Variables as the simulated cluster has them at this moment.
struct Live<'a> {
    server: &'a ApiServer,
}

impl Variables for Live<'_> {
    fn data(&self, kind: DataKind, namespace: &str, name: &str) -> Option<Data> {
        let id = ObjectId::new("", kind.as_str(), Some(namespace), name);
        self.server.object(&id).map(|object| Data::of(object))
    }
}
