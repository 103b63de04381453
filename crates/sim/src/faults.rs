//! Faults: small values that say what goes wrong, from when on, and for how long.
//!
//! A run with faults is asked two questions, one after the other. While they last: does nothing happen that must not? After
//! they have healed: does the cluster still come up? A fault that never heals asks what else stays up.

use std::collections::BTreeSet;
use std::fmt;

use firstpass_apiserver::{Duration, Time};
use firstpass_controllers::{Trouble, Troubles};
use firstpass_object::{ObjectId, TierName};

/// One fault. Times count from the start of Flux.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// What goes wrong.
    pub kind: FaultKind,
    /// From when on.
    pub begins: Duration,
    /// For how long; `None` if it never heals.
    pub lasts: Option<Duration>,
}

/// What goes wrong. Where a target is absent, all there are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// A source cannot be fetched.
    SourceDown(Option<ObjectId>),
    /// A source answers too slowly to be fetched within its timeout.
    SourceSlow(Option<ObjectId>),
    /// The artifact of a source cannot be downloaded by who builds it.
    ArtifactGone(Option<ObjectId>),
    /// Pods of a workload crash as soon as they run.
    CrashLoop(ObjectId),
    /// Images take until the fault is over.
    SlowImage(Option<ObjectId>),
    /// An operator does nothing.
    SlowOperator(Option<String>),
    /// Whoever controls an object never reports it well.
    Stuck(ObjectId),
    /// What serves a webhook is gone.
    WebhookDies {
        /// The webhook, as it was named.
        name: String,
        /// The workload that serves it.
        server: ObjectId,
    },
    /// Remote bases are not fetched within the 27 s that kustomize gives them.
    RemoteBaseSlow(BTreeSet<TierName>),
    /// A controller of Flux restarts, at `begins`.
    RestartController(FluxController),
}

/// A controller of Flux that can restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FluxController {
    /// kustomize-controller.
    Kustomize,
    /// helm-controller.
    Helm,
    /// source-controller.
    Source,
}

impl FluxController {
    /// All of them.
    pub const ALL: [FluxController; 3] = [
        FluxController::Kustomize,
        FluxController::Helm,
        FluxController::Source,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            FluxController::Kustomize => "kustomize-controller",
            FluxController::Helm => "helm-controller",
            FluxController::Source => "source-controller",
        }
    }
}

/// The faults of a run, at absolute times.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    faults: Vec<Fault>,
    epoch: Time,
}

impl Faults {
    /// Faults whose times count from `epoch`.
    pub fn new(faults: Vec<Fault>, epoch: Time) -> Faults {
        Faults { faults, epoch }
    }

    /// The faults.
    pub fn all(&self) -> &[Fault] {
        &self.faults
    }

    /// Lets one begin now that nobody has planned.
    pub(crate) fn begin_now(&mut self, kind: FaultKind, now: Time) {
        let begins = now.since(self.epoch);
        self.faults.push(Fault {
            kind,
            begins,
            lasts: None,
        });
    }

    /// Lets all that have begun end now.
    pub(crate) fn end_now(&mut self, now: Time) {
        let epoch = self.epoch;
        for fault in &mut self.faults {
            let begun = epoch + fault.begins;
            if begun <= now && fault.lasts.is_none() {
                fault.lasts = Some(now.since(begun));
            }
        }
    }

    /// When the last one that heals has healed.
    pub fn healed_at(&self) -> Time {
        let ends = self
            .faults
            .iter()
            .map(|fault| self.end(fault).unwrap_or(self.begin(fault)));
        ends.max().unwrap_or(self.epoch)
    }

    /// When a fault begins.
    pub fn begin(&self, fault: &Fault) -> Time {
        self.epoch + fault.begins
    }

    /// When a fault is over; `None` if it never is.
    pub fn end(&self, fault: &Fault) -> Option<Time> {
        fault.lasts.map(|lasts| self.begin(fault) + lasts)
    }
}

impl FaultKind {
    fn hits(&self, trouble: Trouble<'_>) -> bool {
        let is = |wanted: &Option<ObjectId>, id: &ObjectId| wanted.as_ref().is_none_or(|wanted| wanted == id);
        match (self, trouble) {
            (FaultKind::SourceDown(source), Trouble::Fetch(id)) => is(source, id),
            (FaultKind::SourceSlow(source), Trouble::FetchInTime(id)) => is(source, id),
            (FaultKind::ArtifactGone(source), Trouble::Download(id)) => is(source, id),
            (FaultKind::SlowImage(workload), Trouble::Pull(id)) => is(workload, id),
            (FaultKind::CrashLoop(workload), Trouble::Run(id)) => workload == id,
            (FaultKind::WebhookDies { server, .. }, Trouble::Run(id)) => server == id,
            (FaultKind::SlowOperator(operator), Trouble::Operate(name)) => {
                operator.as_ref().is_none_or(|operator| operator == name)
            }
            (FaultKind::Stuck(object), Trouble::Report(id) | Trouble::Run(id)) => object == id,
            (FaultKind::RemoteBaseSlow(tiers), Trouble::RemoteBase(tier)) => tiers.contains(tier),
            _ => false,
        }
    }
}

impl Troubles for Faults {
    fn lasts_until(&self, trouble: Trouble<'_>, now: Time) -> Option<Time> {
        let active = self.faults.iter().filter(|fault| {
            self.begin(fault) <= now
                && self.end(fault).is_none_or(|end| now < end)
                && fault.kind.hits(trouble)
        });
        active.map(|fault| self.end(fault).unwrap_or(Time::NEVER)).max()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = |name: &str, target: Option<&dyn fmt::Display>, formatter: &mut fmt::Formatter<'_>| {
            match target {
                Some(target) => write!(formatter, "{name}={target}"),
                None => formatter.write_str(name),
            }
        };
        match &self.kind {
            FaultKind::SourceDown(source) => {
                target(
                    "source-down",
                    source.as_ref().map(|id| id as &dyn fmt::Display),
                    formatter,
                )?;
            }
            FaultKind::SourceSlow(source) => {
                target(
                    "source-slow",
                    source.as_ref().map(|id| id as &dyn fmt::Display),
                    formatter,
                )?;
            }
            FaultKind::ArtifactGone(source) => {
                target(
                    "artifact-gone",
                    source.as_ref().map(|id| id as &dyn fmt::Display),
                    formatter,
                )?;
            }
            FaultKind::CrashLoop(workload) => target("crash-loop", Some(workload), formatter)?,
            FaultKind::SlowImage(workload) => {
                target(
                    "slow-image",
                    workload.as_ref().map(|id| id as &dyn fmt::Display),
                    formatter,
                )?;
            }
            FaultKind::SlowOperator(operator) => {
                target(
                    "slow-operator",
                    operator.as_ref().map(|name| name as &dyn fmt::Display),
                    formatter,
                )?;
            }
            FaultKind::Stuck(object) => target("stuck", Some(object), formatter)?,
            FaultKind::WebhookDies { name, .. } => target("webhook-dies", Some(name), formatter)?,
            FaultKind::RemoteBaseSlow(_) => formatter.write_str("remote-base-slow")?,
            FaultKind::RestartController(controller) => {
                return write!(
                    formatter,
                    "restart-controller={}@{}",
                    controller.name(),
                    seconds(self.begins)
                );
            }
        }
        write!(
            formatter,
            "@{}+{}",
            seconds(self.begins),
            self.lasts.map_or_else(|| "never".to_owned(), seconds)
        )
    }
}

/// A duration as faults are typed: `90s`, `10m`, `2h`.
fn seconds(duration: Duration) -> String {
    let seconds = duration.as_micros() / 1_000_000;
    match seconds {
        0 => "0s".to_owned(),
        _ if seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
        _ if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        _ => format!("{seconds}s"),
    }
}
