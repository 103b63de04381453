//! Why an attempt of a Flux Kustomization did not end well: the words that Flux puts into the status, and, typed, what
//! stood in the way. The stall analysis follows the typed part.

use firstpass_apiserver::Duration;
use firstpass_object::kstatus::StatusKind;
use firstpass_object::{GroupVersionKind, ObjectId, TierName};

/// An attempt that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Reason of the Ready condition.
    pub reason: &'static str,
    /// Message of the Ready condition.
    pub message: String,
    /// Everything that stood in the way, in the order in which Flux would meet it. Flux itself reports the first.
    pub obstacles: Vec<Obstacle>,
    /// When it is tried again.
    pub retry: Retry,
}

/// When an attempt is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// After this time.
    After(Duration),
    /// With exponential backoff (F-1105).
    Backoff,
    /// Not before something changes.
    Never,
}

/// One thing that stood in the way of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The source does not exist, or has no artifact yet.
    Source {
        /// The source.
        source: ObjectId,
    },
    /// Another Kustomization is not there or not ready, or not at our revision.
    Dependency {
        /// The other Kustomization.
        tier: TierName,
        /// What is wrong with it.
        state: DependencyState,
    },
    /// Another HelmRelease is not there or not ready.
    Release {
        /// The other HelmRelease.
        release: TierName,
        /// What is wrong with it.
        state: DependencyState,
    },
    /// The tier cannot be built, decrypted or substituted, whatever the cluster holds.
    Build {
        /// What the build says.
        message: String,
    },
    /// A ConfigMap or Secret of `substituteFrom` does not exist.
    VariableSource {
        /// The object that is missing.
        object: ObjectId,
    },
    /// A variable is not defined by what `substituteFrom` holds now.
    UndefinedVariable {
        /// Its name.
        name: String,
        /// The object that uses it, if that is known.
        object: Option<ObjectId>,
    },
    /// The kind is not served.
    UnknownKind {
        /// The object of that kind.
        object: ObjectId,
        /// The kind in the version asked for.
        gvk: GroupVersionKind,
    },
    /// The namespace does not exist.
    NamespaceMissing {
        /// The object that belongs there.
        object: ObjectId,
        /// The namespace.
        namespace: String,
    },
    /// The namespace is being deleted.
    NamespaceTerminating {
        /// The object that belongs there.
        object: ObjectId,
        /// The namespace.
        namespace: String,
    },
    /// A namespaced object names no namespace (F-300).
    NamespaceUnset {
        /// The object.
        object: ObjectId,
    },
    /// An admission webhook does not answer.
    Webhook {
        /// The object that it was asked about.
        object: ObjectId,
        /// What the API server says.
        message: String,
    },
    /// The API server refuses the object.
    Refused {
        /// The object.
        object: ObjectId,
        /// What the API server says.
        message: String,
    },
    /// An object of a stage is not Current in time (F-202), or a checked one is not healthy in time or failed.
    Unhealthy {
        /// The object.
        object: ObjectId,
        /// Its status in kstatus' words.
        status: StatusKind,
        /// What kstatus says about it.
        message: String,
        /// Whether it was the wait between the stages.
        in_stage: bool,
    },
    /// A stale object could not be deleted.
    Prune {
        /// The object.
        object: ObjectId,
        /// What the API server says.
        message: String,
    },
    /// The Flux Kustomization itself makes no sense, such as an expression that does not compile.
    Configuration {
        /// What is wrong.
        message: String,
    },
}

/// What is wrong with a dependency (F-120 to F-122).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DependencyState {
    /// It does not exist.
    Missing,
    /// It exists and is not Ready.
    NotReady,
    /// It is Ready at another revision of our common source.
    OtherRevision,
    /// Its `readyExpr` is not true.
    ExpressionFalse,
}

impl Obstacle {
    /// The object that the obstacle concerns, if it is one of the tier's own.
    pub fn object(&self) -> Option<&ObjectId> {
        match self {
            Obstacle::UnknownKind { object, .. }
            | Obstacle::NamespaceMissing { object, .. }
            | Obstacle::NamespaceTerminating { object, .. }
            | Obstacle::NamespaceUnset { object }
            | Obstacle::Webhook { object, .. }
            | Obstacle::Refused { object, .. }
            | Obstacle::Unhealthy { object, .. }
            | Obstacle::Prune { object, .. } => Some(object),
            Obstacle::UndefinedVariable { object, .. } => object.as_ref(),
            Obstacle::Source { .. }
            | Obstacle::Dependency { .. }
            | Obstacle::Release { .. }
            | Obstacle::Build { .. }
            | Obstacle::VariableSource { .. }
            | Obstacle::Configuration { .. } => None,
        }
    }
}
