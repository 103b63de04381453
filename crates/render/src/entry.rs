//! Cluster entries: the directories that a cluster's Flux starts from.

use firstpass_diagnostics::Location;
use firstpass_flux::{FluxInstance, SourceName};
use firstpass_object::TierName;
use firstpass_source::RepoPath;

use crate::ClusterConfig;

/// A cluster entry, and how it is known to be one.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The directory.
    pub directory: RepoPath,
    /// The cluster's name in `firstpass.yaml`.
    pub cluster: Option<String>,
    /// What the configuration says about the cluster.
    pub config: ClusterConfig,
    /// What in the repository syncs the directory.
    pub sync: Sync,
}

/// What makes Flux sync an entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Sync {
    /// A Kustomization in a file of the repository: the bootstrap's `gotk-sync.yaml`, or any whose path holds its own file.
    Kustomization {
        /// The Kustomization.
        name: TierName,
        /// Its source.
        source: Option<SourceName>,
        /// Where it is written.
        location: Location,
    },
    /// A FluxInstance: an object, or the values of the flux-instance chart.
    Instance {
        /// The description of the Flux.
        instance: Box<FluxInstance>,
        /// Where it is written.
        location: Location,
    },
    /// Nothing that the repository says: `flux-system/flux-system` is assumed to build the directory.
    Assumed,
}

/// Where a tier's files come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TierSource {
    /// This repository.
    Repository {
        /// The source object.
        name: SourceName,
        /// The directory of the repository that is the root of the artifact.
        root: RepoPath,
    },
    /// A directory that the configuration names.
    Local {
        /// The source object.
        name: SourceName,
        /// The directory as configured.
        path: String,
    },
    /// An artifact that an ArtifactGenerator puts together from this repository.
    Generated {
        /// The source object.
        name: SourceName,
        /// The generator, as `ArtifactGenerator/namespace/name`.
        by: String,
    },
    /// Somewhere else.
    Foreign {
        /// The source object.
        name: SourceName,
        /// Its URL, if an object in the repository defines it.
        url: Option<String>,
    },
    /// The Kustomization names none that could be.
    Missing,
}

impl Entry {
    /// The entry as text: its directory.
    pub fn path(&self) -> &str {
        self.directory.as_str()
    }
}

impl TierSource {
    /// The source object, if the Kustomization names one.
    pub fn name(&self) -> Option<&SourceName> {
        match self {
            TierSource::Repository { name, .. }
            | TierSource::Local { name, .. }
            | TierSource::Generated { name, .. }
            | TierSource::Foreign { name, .. } => Some(name),
            TierSource::Missing => None,
        }
    }
}
