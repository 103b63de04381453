//! One attempt of a Flux Kustomization, step by step (F-113).
//!
//! Each phase has a file that carries out its step and says what comes next; how an attempt ends is in `end`.

mod applied;
mod build;
mod end;
mod stage;

use std::sync::Arc;

use firstpass_apiserver::{Duration, Time};
use firstpass_flux::{Kustomization, names};
use firstpass_object::TierName;
use serde_json::Value;

use super::begin::write;
use super::health::HealthWait;
use super::inventory::{self, Entry};
use super::stages::Stage;
use super::submit::Change;
use super::{ACTOR, Failure, KustomizationController, Obstacle, Retry};
use crate::context::Context;
use crate::flux_api;
use crate::status::Status;
use crate::time::of_flux;
use crate::workers;

/// An attempt that is running.
#[derive(Clone, Debug)]
pub struct Attempt {
    pub(super) kustomization: Arc<Kustomization>,
    /// When the look began that became this attempt.
    pub began_at: Time,
    /// When the next step is due.
    pub next_at: Time,
    /// What the next step is.
    pub(super) phase: Phase,
    /// What event ended the health wait early (F-161).
    pub(super) canceled_by: Option<String>,
    /// Revision of the artifact.
    pub(super) revision: String,
    generation: i64,
    status: Status,
    old_inventory: Vec<Entry>,
    pub(super) stages: Arc<[(Stage, Vec<Arc<Value>>)]>,
    unknown_tokens: Arc<[String]>,
    pub(super) changes: Vec<Change>,
    nth: u64,
    obstacles_seen: Vec<Obstacle>,
    /// Digest of what was built; none if the build failed (F-007).
    digest: Option<String>,
    /// When all was applied.
    applied_at: Option<Time>,
    /// What the health wait was last seen waiting for.
    held_by: Vec<Obstacle>,
}

/// What the next step of an attempt is.
#[derive(Clone, Debug)]
pub(super) enum Phase {
    /// The artifact is fetched and built.
    Build,
    /// A stage is dry-run and applied.
    Stage(usize),
    /// The objects of a stage are looked at.
    StageWait(usize, HealthWait),
    /// The checked objects are looked at.
    Health(HealthWait),
}

/// What a step came to.
enum Step {
    /// Go on with this phase at that time.
    Continue(Phase, Time),
    /// Done.
    Succeeded,
    /// Not done.
    Failed(Failure),
}

impl Attempt {
    /// Begins: the status says so (F-113, F-114).
    pub(super) fn new(
        kustomization: Kustomization,
        object: &Arc<Value>,
        revision: String,
        build_at: Time,
        context: &mut Context<'_>,
    ) -> Attempt {
        let generation = flux_api::generation(object);
        let tier = kustomization.name.clone();
        let nth = context.now.as_micros();
        let mut status = Status::of(object);
        let message = "Fetching manifests for revision {revision} with a timeout of {timeout}"
            .replace("{revision}", &revision)
            .replace("{timeout}", &kustomization.spec.timeout().to_string());
        for (kind, value) in [
            (names::condition::READY, "Unknown"),
            (names::condition::RECONCILING, "True"),
        ] {
            status.set_condition(
                kind,
                value,
                names::reason::PROGRESSING,
                &message,
                generation,
                context.now,
            );
        }
        write(context, &tier, &status);
        context.note(
            ACTOR,
            flux_api::kustomization_id(&tier),
            format!("attempt at {revision}"),
        );
        let old_inventory = inventory::read(status.get("inventory"));
        Attempt {
            began_at: context.now,
            next_at: build_at,
            kustomization: Arc::new(kustomization),
            phase: Phase::Build,
            canceled_by: None,
            revision,
            generation,
            status,
            old_inventory,
            stages: Arc::default(),
            unknown_tokens: Arc::from([]),
            changes: Vec::new(),
            nth,
            obstacles_seen: Vec::new(),
            digest: None,
            applied_at: None,
            held_by: Vec::new(),
        }
    }

    /// What the health wait or the stage wait waits for at the moment.
    pub fn waiting_for(&self) -> &[Obstacle] {
        &self.obstacles_seen
    }

    /// Whether the attempt is in its health wait.
    pub(in crate::kustomization) fn is_in_health_wait(&self) -> bool {
        matches!(self.phase, Phase::Health(_))
    }

    fn name(&self) -> &TierName {
        &self.kustomization.name
    }

    fn retry(&self) -> Retry {
        Retry::After(of_flux(self.kustomization.spec.retry_interval()))
    }

    fn set_condition(&mut self, kind: &str, value: &str, reason: &str, message: &str, now: Time) {
        self.status
            .set_condition(kind, value, reason, message, self.generation, now);
    }

    fn failure(&self, reason: &'static str, message: String, obstacles: Vec<Obstacle>) -> Step {
        Step::Failed(Failure {
            reason,
            message,
            obstacles,
            retry: self.retry(),
        })
    }

    fn timeout(&self) -> Duration {
        of_flux(self.kustomization.spec.timeout())
    }
}

impl workers::Attempt for Attempt {
    fn next_at(&self) -> Time {
        self.next_at
    }
}

impl KustomizationController {
    /// Carries out the due step of an attempt.
    pub(super) fn step(&mut self, tier: &TierName, context: &mut Context<'_>) {
        let Some(mut attempt) = self.workers.attempts.remove(tier) else {
            return;
        };
        let step = match std::mem::replace(&mut attempt.phase, Phase::Build) {
            Phase::Build => self.build(&mut attempt, context),
            Phase::Stage(stage) => self.apply_stage(&mut attempt, stage, context),
            Phase::StageWait(stage, wait) => self.poll_stage(&mut attempt, stage, wait, context),
            Phase::Health(wait) => self.poll_health(&mut attempt, wait, context),
        };
        match step {
            Step::Continue(phase, at) => {
                attempt.phase = phase;
                attempt.next_at = at;
                self.workers.attempts.insert(tier.clone(), attempt);
            }
            Step::Succeeded => self.succeed(attempt, context),
            Step::Failed(failure) => self.fail(attempt, failure, context),
        }
    }
}
