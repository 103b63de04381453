//! What a tier needs, and what is known about it.

use std::sync::Arc;

use firstpass_object::{GroupKind, ObjectId, Origin};

use crate::TierIndex;

/// Something that has to be there before a tier's pass can succeed, or before it can become Ready.
#[derive(Clone, Debug)]
pub struct Need {
    /// The tier that needs it.
    pub tier: TierIndex,
    /// What is needed.
    pub needed: Needed,
    /// The first object, in build order, that needs it; the Flux Kustomization itself where no object does.
    pub by: ObjectId,
    /// Further objects of the tier that need the same.
    pub also: Vec<ObjectId>,
    /// Where `by` came from.
    pub origin: Arc<Origin>,
    /// What is known about it.
    pub answer: Answer,
}

/// The sorts of things that tiers need.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Needed {
    /// A kind in a version, served by the API server (F-221).
    Kind {
        /// The kind.
        kind: GroupKind,
        /// The version that the objects are written in.
        version: String,
    },
    /// A namespace (F-302).
    Namespace(String),
    /// A ConfigMap or Secret that `substituteFrom` names (F-605).
    Data {
        /// The object.
        object: ObjectId,
        /// A missing one is tolerated, and its variables are then not set.
        optional: bool,
    },
    /// An object that a health check names (F-500).
    HealthTarget(ObjectId),
    /// A webhook that is asked about the objects, and has to serve.
    Webhook {
        /// The name of the webhook configuration.
        name: String,
        /// The kind of the objects.
        kind: GroupKind,
    },
    /// An object that a controller reads when it handles ours, once and for good.
    ReadOnce {
        /// The object that is read.
        object: ObjectId,
        /// The fact as a sentence.
        fact: String,
    },
    /// A pod that uses a claim, so that the claim is bound (F-525).
    Consumer {
        /// The claim.
        claim: ObjectId,
    },
}

/// What is known of something that nobody brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The fact, as the end of a sentence.
    pub says: String,
    /// What to do about it, where it is not simply to bring the thing.
    pub remedy: Option<String>,
}

impl Hint {
    pub(crate) fn new(says: impl Into<String>) -> Hint {
        Hint {
            says: says.into(),
            remedy: None,
        }
    }

    /// The kind is served, but not in the version that was asked for.
    pub(crate) fn of_version(says: impl Into<String>) -> Hint {
        Hint {
            remedy: Some("write the objects in a version that is served".to_owned()),
            ..Hint::new(says)
        }
    }

    /// Whether it is known what is wrong: a version that nobody serves, a component that is not installed.
    pub(crate) fn is_certain(&self) -> bool {
        self.remedy.is_some()
    }
}

/// What is known about a need.
#[derive(Clone, Debug)]
pub enum Answer {
    /// It is there from the start.
    There {
        /// Who brings it, for people.
        from: String,
    },
    /// An earlier stage of the same pass brings it (F-200, F-220).
    SamePass,
    /// Another tier brings it, and the order is certain.
    Guaranteed {
        /// Who brings it.
        provider: Provider,
        /// What guarantees the order, for people.
        barrier: String,
    },
    /// The tier that brings it comes first, but its Ready condition proves nothing about it.
    WithoutBarrier {
        /// Who brings it.
        provider: Provider,
        /// Why the wait proves nothing.
        why: String,
    },
    /// Nothing orders this tier after the one that brings it.
    WithoutEdge {
        /// Who brings it.
        provider: Provider,
    },
    /// What brings it waits for this very tier.
    Blocked {
        /// Who would bring it.
        provider: Provider,
        /// In which way it waits for us.
        how: Blocked,
    },
    /// Nobody brings it.
    Nobody {
        /// Whether the repository proves that; otherwise something unseen may bring it.
        provable: bool,
        /// What would, or what is wrong with the request.
        hint: Option<Hint>,
    },
}

/// How a provider waits for the tier that needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// It is applied by the same pass, which fails before it applies anything (F-212).
    SamePass,
    /// It is in a tier whose Flux Kustomization this pass would apply.
    Child(TierIndex),
    /// It is in a tier that begins only when this one is Ready.
    BehindUs(TierIndex),
}

/// Who brings something.
#[derive(Clone, Debug)]
pub struct Provider {
    /// The tier; `None` if a bootstrap stage or the distribution does.
    pub tier: Option<TierIndex>,
    /// The object that it takes: a CRD, a HelmRelease, an operator's Deployment, the object that an operator reconciles.
    pub object: Option<ObjectId>,
    /// Where that object came from.
    pub origin: Option<Arc<Origin>>,
    /// In which way it comes.
    pub how: How,
    /// The file of the repository or of knowledge that says so.
    pub source: String,
}

/// The ways in which something comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// It is among the objects of a tier.
    Manifest,
    /// A release of a chart brings it.
    Chart {
        /// The chart.
        chart: String,
    },
    /// An operator registers it when it starts.
    OperatorStart {
        /// The operator.
        operator: String,
    },
    /// An operator brings it after it has reconciled an object: a second-order kind.
    OperatorObject {
        /// The operator.
        operator: String,
        /// The object that it reconciles.
        trigger: ObjectId,
        /// The tier of that object.
        trigger_tier: TierIndex,
        /// The tier of the operator; `None` if it is seeded.
        operator_tier: Option<TierIndex>,
    },
}

impl Answer {
    /// Whether the need is certainly met in time.
    pub fn is_met(&self) -> bool {
        matches!(
            self,
            Answer::There { .. } | Answer::SamePass | Answer::Guaranteed { .. }
        )
    }

    /// The provider, if there is one.
    pub fn provider(&self) -> Option<&Provider> {
        match self {
            Answer::There { .. } | Answer::SamePass | Answer::Nobody { .. } => None,
            Answer::Guaranteed { provider, .. }
            | Answer::WithoutBarrier { provider, .. }
            | Answer::WithoutEdge { provider }
            | Answer::Blocked { provider, .. } => Some(provider),
        }
    }

    /// The better of two answers: the need is met as well as its best provider meets it.
    pub(crate) fn better(self, other: Answer) -> Answer {
        if other.rank() < self.rank() { other } else { self }
    }

    fn rank(&self) -> u8 {
        match self {
            Answer::There { .. } => 0,
            Answer::SamePass => 1,
            Answer::Guaranteed { .. } => 2,
            Answer::WithoutBarrier { .. } => 3,
            Answer::WithoutEdge { .. } => 4,
            Answer::Blocked { .. } => 5,
            Answer::Nobody { .. } => 6,
        }
    }
}
