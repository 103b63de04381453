//! What a controller may ask of its surroundings: the server, the time, how long things take, and a journal to write to.
//!
//! A controller never waits. It is handed a [`Context`] when something changed or when a wake-up that it asked for is due,
//! asks the [`ApiServer`] what it needs (requests are plain values, answered at once), and says when it wants to be woken
//! next. Whoever drives it owns time, delivery and order.

use std::sync::Arc;

use firstpass_apiserver::{ApiError, ApiServer, Apply, Duration, Request, Response, Target, Time};
use firstpass_flux::{ControllerSettings, Kustomization, SourceName};
use firstpass_knowledge::Knowledge;
use firstpass_object::{ObjectId, TierName};
use serde_json::Value;

use crate::journal::Journal;
use crate::kustomization::Obstacle;
use crate::trouble::{Trouble, Troubles};

/// How long things take, and whatever else a schedule decides.
pub trait Delays {
    /// How long a thing takes for a subject, the how-many-th time it is done. `name` is a name of `timing`.
    fn delay(&self, name: &str, subject: &str, nth: u64) -> Duration;

    /// An interval with Flux's jitter (F-1103).
    fn jittered(&self, interval: Duration, subject: &str, nth: u64) -> Duration;

    /// Whose turn it is among what happens at one and the same moment and in no order of its own: the lowest goes first.
    /// Where all are equal, the order in which things were set up stays.
    fn turn(&self, among: &str, nth: u64) -> u64 {
        let _ = (among, nth);
        0
    }
}

/// What a Flux Kustomization builds to.
#[derive(Clone, Debug, Default)]
pub struct Built {
    /// The objects, in kustomize's order, after substitution, as they are sent to the API server.
    pub objects: Vec<Arc<Value>>,
    /// Texts in the objects whose real value nobody knows.
    pub unknown_tokens: Arc<[String]>,
    /// Whether the contents cannot be seen: the tier is taken to apply fine.
    pub unrendered: bool,
}

/// Why a Flux Kustomization cannot be built.
#[derive(Clone, Debug)]
pub enum BuildFailure {
    /// The path is not in the artifact (F-136).
    PathMissing {
        /// What Flux says.
        message: String,
    },
    /// Building, decrypting or substituting failed (F-138).
    Failed {
        /// What Flux says.
        message: String,
        /// What stands in the way.
        obstacles: Vec<Obstacle>,
    },
    /// It is built, and refused before anything is sent (F-709).
    Refused {
        /// What Flux says.
        message: String,
        /// What stands in the way.
        obstacles: Vec<Obstacle>,
    },
}

/// What a source has to offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// The revision, as Flux writes it (F-901 to F-903).
    pub revision: String,
    /// The digest of the contents.
    pub digest: String,
}

/// The contents of sources: what they offer now, and what Flux Kustomizations make of it.
pub trait Contents {
    /// What a source offers at the moment; `None` if nobody can say, which is taken as "something".
    fn artifact(&self, source: &ObjectId) -> Option<Artifact>;

    /// Builds a Flux Kustomization out of the artifact at a revision; variables come from what the cluster holds now.
    fn build(&self, tier: &Kustomization, revision: &str, cluster: &ApiServer)
    -> Result<Built, BuildFailure>;

    /// Whether some part of the sources brings this object, now or later. What nothing brings and somebody uses all the
    /// same is taken to exist.
    fn brings(&self, id: &ObjectId) -> bool;

    /// The version of a chart that a repository has for what is asked, a version or a range, or why it has none; `None` if
    /// nobody can see what it has, which is taken as "everything".
    fn chart_version(
        &self,
        repository: &SourceName,
        chart: &str,
        wanted: &str,
    ) -> Option<Result<String, String>> {
        let _ = (repository, chart, wanted);
        None
    }

    /// Versions in which the sources write objects of a kind. Whoever brings the kind is taken to serve those, unless it is
    /// known not to.
    fn written_versions(&self, group: &str, kind: &str) -> Vec<String> {
        let _ = (group, kind);
        Vec::new()
    }

    /// Whether some part of the sources binds a role to a service account, given by namespace and name.
    fn grants(&self, account: &TierName) -> bool {
        let _ = account;
        false
    }

    /// Whether an operator runs although nothing that can be seen starts it: its kinds are used, so something must.
    fn runs_unseen(&self, operator: &str) -> bool {
        let _ = operator;
        false
    }

    /// What in the cluster itself serves a source, a Service or a HelmRelease; `None` if it is outside, or there from the start.
    fn server_of(&self, source: &ObjectId) -> Option<ObjectId> {
        let _ = source;
        None
    }

    /// Whether nothing at all can bring this object, seen or unseen, so that it cannot be taken to exist.
    fn rules_out(&self, id: &ObjectId) -> bool {
        let _ = id;
        false
    }

    /// Whether every node of the cluster runs Linux, whatever nodes there are.
    fn has_linux_nodes_only(&self) -> bool {
        false
    }

    /// Whether some part of the sources brings a default storage class, now or later.
    fn brings_default_class(&self) -> bool {
        false
    }

    /// Objects of a namespace that health checks name and nothing in the sources brings, so that they must come from a
    /// chart that is installed there.
    fn expected_of_charts(&self, namespace: &str) -> Vec<ObjectId> {
        let _ = namespace;
        Vec::new()
    }
}

/// The surroundings of a controller for one call.
pub struct Context<'a> {
    /// The virtual time.
    pub now: Time,
    /// How Flux is set up.
    pub settings: &'a ControllerSettings,
    /// What is known of charts, operators and kinds.
    pub knowledge: &'a Knowledge,
    /// What sources hold.
    pub contents: &'a dyn Contents,
    /// The API server.
    pub server: &'a mut ApiServer,
    /// How long things take.
    pub delays: &'a dyn Delays,
    /// What does not work for a while.
    pub troubles: &'a dyn Troubles,
    /// What happened so far.
    pub journal: &'a mut Journal,
}

/// A controller: objects change, time passes, and it acts.
pub trait Controller {
    /// Something changed. `old` is absent for a new object, `new` for one that is gone.
    fn observe(&mut self, old: Option<&Arc<Value>>, new: Option<&Arc<Value>>, context: &mut Context<'_>);

    /// Does what is due.
    fn wake(&mut self, context: &mut Context<'_>);

    /// When it wants to be woken next.
    fn next_wake(&self) -> Option<Time>;

    /// Whether something that takes its time is under way that will change something. Retries and polls are not: a
    /// rehearsal is over when nothing else is pending and they have been tried in vain.
    fn is_working(&self) -> bool;
}

impl Context<'_> {
    /// Until when something does not work; `None` if it works now.
    pub fn trouble(&self, trouble: Trouble<'_>) -> Option<Time> {
        self.troubles.lasts_until(trouble, self.now)
    }

    /// Reads an object; `None` if there is no such object.
    pub fn get(&mut self, target: Target) -> Result<Option<Arc<Value>>, ApiError> {
        match self.server.call(&Request::Get(target)) {
            Ok(response) => Ok(response.object().cloned()),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Applies an object.
    pub fn apply(&mut self, apply: Apply) -> Result<Response, ApiError> {
        self.server.call(&Request::Apply(apply))
    }

    /// Writes a line of the journal.
    pub fn note(&mut self, actor: &'static str, subject: impl std::fmt::Display, what: impl Into<String>) {
        self.journal
            .note(self.server, actor, subject.to_string(), what.into());
    }
}
