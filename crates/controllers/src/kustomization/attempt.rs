//! One attempt of a Flux Kustomization, step by step (F-113).

use std::sync::Arc;

use firstpass_apiserver::{Duration, Time};
use firstpass_flux::{Kustomization, names};
use firstpass_object::TierName;
use serde_json::Value;

use super::begin::{note_ready, write};
use super::health::{HealthWait, Verdict};
use super::history::{self, Snapshot};
use super::inventory::{self, Entry};
use super::mapper::PollerMapper;
use super::normalize::normalize;
use super::stages::Stage;
use super::submit::{Change, Submission};
use super::{CameUp, FailedAttempt, Failure, KustomizationController, Next, Obstacle, OutcomeResult, Retry};
use crate::context::{BuildFailure, Built, Context};
use crate::flux_api;
use crate::status::Status;
use crate::time::{go, of_flux};
use crate::trouble::Trouble;
use crate::workers;

/// Time between two polls of a stage wait (F-202).
const STAGE_POLL: Duration = Duration::from_secs(2);
/// Limit of a stage wait since Flux 2.7 (F-202, F-1731).
const STAGE_LIMIT: Duration = Duration::from_secs(60);
/// Time between two polls of the health wait (F-503).
const HEALTH_POLL: Duration = Duration::from_secs(5);

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
    pub(super) stages: Vec<(Stage, Vec<Arc<Value>>)>,
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
            super::ACTOR,
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
            stages: Vec::new(),
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
    pub(super) fn is_in_health_wait(&self) -> bool {
        matches!(self.phase, Phase::Health(_))
    }

    fn name(&self) -> &TierName {
        &self.kustomization.name
    }

    fn retry(&self) -> Retry {
        Retry::After(of_flux(self.kustomization.spec.retry_interval()))
    }

    fn failure(&self, reason: &'static str, message: String, obstacles: Vec<Obstacle>) -> Step {
        Step::Failed(Failure {
            reason,
            message,
            obstacles,
            retry: self.retry(),
        })
    }

    /// Adds the outcome to the history (F-007), which there is since Flux 2.7 (F-1719).
    fn remember(&mut self, reason: &str, context: &Context<'_>) {
        let Some(digest) = self
            .digest
            .as_deref()
            .filter(|_| context.settings.flux.at_least(7))
        else {
            return;
        };
        let snapshot = Snapshot {
            digest,
            status: reason,
            revision: &self.revision,
            at: context.now,
            duration: context.now.since(self.began_at),
        };
        let history = history::upsert(self.status.get("history"), &snapshot);
        self.status.set("history", history);
    }

    fn timeout(&self) -> Duration {
        of_flux(self.kustomization.spec.timeout())
    }

    /// How long a stage's requests take: dry-runs four at a time, applies one by one (F-164).
    fn stage_time(&self, stage: usize, context: &Context<'_>) -> Duration {
        let objects = self.stages[stage].1.len() as u64;
        let subject = self.name().to_string();
        let dry_run = context.delays.delay("flux-dry-run", &subject, self.nth);
        let apply = context.delays.delay("flux-apply", &subject, self.nth);
        dry_run * objects.div_ceil(4) + apply * objects
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
        let step = match attempt.phase.clone() {
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

    fn build(&mut self, attempt: &mut Attempt, context: &mut Context<'_>) -> Step {
        let tier = attempt.name().clone();
        if context.trouble(Trouble::RemoteBase(&tier)).is_some() {
            attempt
                .status
                .set("lastAttemptedRevision", attempt.revision.clone().into());
            let message = "kustomize build failed: accumulating resources: hit 27s timeout running 'git fetch' of a remote base".to_owned();
            let obstacles = vec![Obstacle::Build {
                message: message.clone(),
            }];
            return attempt.failure(names::reason::BUILD_FAILED, message, obstacles);
        }
        let built = context
            .contents
            .build(&attempt.kustomization, &attempt.revision, context.server);
        if built.is_ok()
            && let Err(failure) = super::impersonate::check_kube_config(&attempt.kustomization, context)
        {
            return Step::Failed(failure);
        }
        let path_missing = matches!(built, Err(BuildFailure::PathMissing { .. }));
        if !path_missing {
            // F-113, F-115: written before anything is built.
            attempt
                .status
                .set("lastAttemptedRevision", attempt.revision.clone().into());
            write(context, &tier, &attempt.status);
        }
        let Built {
            objects,
            unknown_tokens,
            unrendered,
        } = match built {
            Ok(built) => built,
            Err(BuildFailure::PathMissing { message }) => {
                let obstacles = vec![Obstacle::Build {
                    message: message.clone(),
                }];
                return attempt.failure(names::reason::ARTIFACT_FAILED, message, obstacles);
            }
            Err(BuildFailure::Failed { message, obstacles }) => {
                return attempt.failure(names::reason::BUILD_FAILED, message, obstacles);
            }
            Err(BuildFailure::Refused { message, obstacles }) => {
                return attempt.failure(names::reason::RECONCILIATION_FAILED, message, obstacles);
            }
        };
        let record = self.record(&tier);
        record.unrendered = unrendered;
        if unrendered {
            return Step::Succeeded;
        }
        attempt.unknown_tokens = unknown_tokens;
        if context.settings.flux.at_least(7) {
            attempt.digest = Some(history::digest(&objects));
        }
        let objects: Vec<_> = objects
            .iter()
            .map(|object| normalize(object, &attempt.unknown_tokens))
            .collect();
        attempt.stages = self.stage_rules.divide(&objects);
        let at = context.now + attempt.stage_time(0, context);
        Step::Continue(Phase::Stage(0), at)
    }

    fn apply_stage(&mut self, attempt: &mut Attempt, stage: usize, context: &mut Context<'_>) -> Step {
        let (kind, objects) = attempt.stages[stage].clone();
        let outcome = self.submit(&attempt.kustomization, &objects, &attempt.unknown_tokens, context);
        match outcome {
            Submission::Applied(changes) => {
                let first = attempt.changes.len();
                attempt.changes.extend(changes);
                if kind.is_waited_for() {
                    let ids = attempt.changes[first..]
                        .iter()
                        .map(|change| change.entry.id.clone())
                        .collect();
                    // F-1731: up to 2.6 the Kustomization's own timeout limits the wait.
                    let limit = if context.settings.flux.at_least(7) {
                        STAGE_LIMIT
                    } else {
                        attempt.timeout()
                    };
                    let wait = HealthWait::of_stage(ids, context.now, limit);
                    return Step::Continue(Phase::StageWait(stage, wait), context.now);
                }
                self.after_stage(attempt, stage, context)
            }
            Submission::Deleting => Step::Continue(Phase::Stage(stage), context.now + STAGE_POLL),
            Submission::Failed { message, obstacles } => {
                let message = self.apply_error(attempt, stage, &message, context);
                attempt.failure(names::reason::RECONCILIATION_FAILED, message, obstacles)
            }
        }
    }

    /// F-156: the error, a newline and the changes so far; up to 2.6 the bare error for all but the last stage (F-1735).
    fn apply_error(&self, attempt: &Attempt, stage: usize, message: &str, context: &Context<'_>) -> String {
        let last = stage + 1 == attempt.stages.len();
        if !last && !context.settings.flux.at_least(7) {
            return message.to_owned();
        }
        let changed = attempt.changes.iter().filter(|change| change.action.is_change());
        let log: Vec<String> = changed
            .map(|change| format!("{} {}", change.entry.id, change.action))
            .collect();
        format!("{message}\n{}", log.join("\n"))
    }

    fn poll_stage(
        &mut self,
        attempt: &mut Attempt,
        stage: usize,
        mut wait: HealthWait,
        context: &mut Context<'_>,
    ) -> Step {
        let verdict = wait.poll(
            &[],
            true,
            self.mapper_for(&attempt.kustomization, context),
            context,
        );
        attempt.obstacles_seen = wait.obstacles();
        match verdict {
            Verdict::Healthy => {
                attempt.obstacles_seen.clear();
                self.after_stage(attempt, stage, context)
            }
            Verdict::Pending => Step::Continue(Phase::StageWait(stage, wait), context.now + STAGE_POLL),
            Verdict::TimedOut(message) | Verdict::FailedEarly(message) => {
                let message = self.apply_error(attempt, stage, &message, context);
                attempt.failure(names::reason::RECONCILIATION_FAILED, message, wait.obstacles())
            }
        }
    }

    fn after_stage(&mut self, attempt: &mut Attempt, stage: usize, context: &mut Context<'_>) -> Step {
        let next = stage + 1;
        if next < attempt.stages.len() {
            let at = context.now + attempt.stage_time(next, context);
            return Step::Continue(Phase::Stage(next), at);
        }
        self.applied(attempt, context)
    }

    /// Everything is applied: the inventory, the pruning, the health checks (F-113, F-154).
    fn applied(&mut self, attempt: &mut Attempt, context: &mut Context<'_>) -> Step {
        let tier = attempt.name().clone();
        let inventory: Vec<Entry> = attempt
            .changes
            .iter()
            .map(|change| change.entry.clone())
            .collect();
        let changed = attempt
            .changes
            .iter()
            .filter(|change| change.action.is_change())
            .count();
        let record = self.record(&tier);
        record.applied_at.get_or_insert(context.now);
        attempt.applied_at = Some(context.now);
        record.objects = inventory.iter().map(|entry| entry.id.clone()).collect();
        if changed > 0 {
            let line = format!("applied {} objects, {changed} changed", inventory.len());
            context.note(super::ACTOR, flux_api::kustomization_id(&tier), line);
        }
        let stale = inventory::stale(&attempt.old_inventory, &inventory);
        // Written with the next status, which comes after the pruning.
        attempt.status.set("inventory", inventory::write(&inventory));
        if attempt.kustomization.spec.prune && !stale.is_empty() {
            let pruned = self.prune(&attempt.kustomization, stale, context);
            if let Err((message, survivors, obstacles)) = pruned {
                if context.settings.flux.at_least(9) {
                    // F-413, F-1745: before 2.9 the survivors were lost.
                    let kept: Vec<Entry> = inventory.into_iter().chain(survivors).collect();
                    attempt.status.set("inventory", inventory::write(&kept));
                }
                return attempt.failure(names::reason::PRUNE_FAILED, message, obstacles);
            }
        }
        if !attempt.kustomization.spec.checks_health() {
            attempt.status.remove_condition(names::condition::HEALTHY);
            return Step::Succeeded;
        }
        match super::health::checked_objects(attempt, context) {
            Ok(ids) => {
                let message = format!(
                    "Running health checks for revision {} with a timeout of {}",
                    attempt.revision,
                    attempt.kustomization.spec.timeout()
                );
                for (kind, value) in [
                    (names::condition::READY, "Unknown"),
                    (names::condition::HEALTHY, "Unknown"),
                    (names::condition::RECONCILING, "True"),
                ] {
                    attempt.status.set_condition(
                        kind,
                        value,
                        names::reason::PROGRESSING,
                        &message,
                        attempt.generation,
                        context.now,
                    );
                }
                write(context, &tier, &attempt.status);
                let wait = HealthWait::of_checks(
                    ids,
                    super::health::jobs_with_ttl(attempt, context),
                    super::impersonate::has_own_client(&attempt.kustomization, context),
                    context.now,
                    attempt.timeout(),
                );
                Step::Continue(Phase::Health(wait), context.now)
            }
            Err(message) => health_failure(attempt, context.now, context.now, &message, Vec::new(), context),
        }
    }

    fn poll_health(
        &mut self,
        attempt: &mut Attempt,
        mut wait: HealthWait,
        context: &mut Context<'_>,
    ) -> Step {
        let began_at = wait.began_at();
        if let Some(trigger) = attempt.canceled_by.take() {
            // F-142: looked at again at once.
            return Step::Failed(Failure {
                reason: names::reason::HEALTH_CHECK_CANCELED,
                message: format!("New reconciliation triggered by {trigger}"),
                obstacles: wait.obstacles(),
                retry: Retry::Backoff,
            });
        }
        let kustomization = Arc::clone(&attempt.kustomization);
        let mapper = self.mapper_for(&kustomization, context);
        let verdict = wait.poll(&kustomization.spec.health_check_exprs, false, mapper, context);
        attempt.obstacles_seen = wait.obstacles();
        match verdict {
            Verdict::Healthy => {
                attempt.status.set_condition(
                    names::condition::HEALTHY,
                    "True",
                    names::reason::SUCCEEDED,
                    &format!("Health check passed in {}", go(context.now.since(began_at))),
                    attempt.generation,
                    context.now,
                );
                Step::Succeeded
            }
            Verdict::Pending => {
                attempt.held_by = wait.obstacles();
                let at = (context.now + HEALTH_POLL).min(wait.deadline());
                Step::Continue(Phase::Health(wait), at)
            }
            Verdict::TimedOut(message) | Verdict::FailedEarly(message) => health_failure(
                attempt,
                began_at,
                context.now,
                &message,
                wait.obstacles(),
                context,
            ),
        }
    }

    /// The table of kinds that the waits of a Kustomization use. Clients of their own have a new one every time (F-227),
    /// which knows what there is; so had all clients of Flux 2.5, and 2.4 shared the table with the applies (F-1720).
    fn mapper_for(
        &mut self,
        kustomization: &Kustomization,
        context: &Context<'_>,
    ) -> Option<&mut PollerMapper> {
        let is_shared =
            context.settings.flux.at_least(6) && !super::impersonate::has_own_client(kustomization, context);
        is_shared.then_some(&mut self.poller)
    }

    fn succeed(&mut self, mut attempt: Attempt, context: &mut Context<'_>) {
        let tier = attempt.name().clone();
        let now = context.now;
        let revision = attempt.revision.clone();
        let message = format!("Applied revision: {revision}");
        let was_ready = attempt.status.get("lastAppliedRevision") == Some(&Value::String(revision.clone()));
        attempt.status.set("lastAppliedRevision", revision.clone().into());
        attempt
            .status
            .set("observedGeneration", attempt.generation.into());
        attempt.remember(names::reason::RECONCILIATION_SUCCEEDED, context);
        attempt.status.remove_condition(names::condition::RECONCILING);
        attempt.status.set_condition(
            names::condition::READY,
            "True",
            names::reason::RECONCILIATION_SUCCEEDED,
            &message,
            attempt.generation,
            now,
        );
        write(context, &tier, &attempt.status);
        if !was_ready || self.record(&tier).ready_at.is_none() {
            note_ready(
                context,
                &tier,
                "True",
                names::reason::RECONCILIATION_SUCCEEDED,
                &message,
            );
        }
        let came_up = CameUp {
            began_at: attempt.began_at,
            applied_at: attempt.applied_at.unwrap_or(now),
            held_by: std::mem::take(&mut attempt.held_by),
        };
        let record = self.record(&tier);
        if record.ready_at.is_none() {
            record.came_up = Some(came_up);
        }
        record.ready_at.get_or_insert(now);
        record.revision = Some(revision);
        self.workers.queue.done(&tier);
        let interval = of_flux(attempt.kustomization.spec.interval.unwrap_or_default());
        self.conclude(
            &tier,
            attempt.began_at,
            OutcomeResult::Succeeded,
            Next::Interval(interval),
            context,
        );
    }

    fn fail(&mut self, mut attempt: Attempt, failure: Failure, context: &mut Context<'_>) {
        let tier = attempt.name().clone();
        let now = context.now;
        attempt.remember(failure.reason, context);
        let progress = attempt
            .status
            .condition_field(names::condition::RECONCILING, "message")
            .to_owned();
        attempt.status.set_condition(
            names::condition::READY,
            "False",
            failure.reason,
            &failure.message,
            attempt.generation,
            now,
        );
        attempt.status.set_condition(
            names::condition::RECONCILING,
            "True",
            names::reason::PROGRESSING_WITH_RETRY,
            &progress,
            attempt.generation,
            now,
        );
        write(context, &tier, &attempt.status);
        note_ready(context, &tier, "False", failure.reason, &failure.message);
        let failed = FailedAttempt {
            began_at: attempt.began_at,
            ended_at: now,
            failure: failure.clone(),
        };
        self.record(&tier).failures.push(failed);
        self.workers.queue.done(&tier);
        let next = Next::from(failure.retry);
        self.conclude(
            &tier,
            attempt.began_at,
            OutcomeResult::Failed(failure),
            next,
            context,
        );
    }
}

/// F-141, F-505.
fn health_failure(
    attempt: &mut Attempt,
    began_at: Time,
    now: Time,
    message: &str,
    obstacles: Vec<Obstacle>,
    context: &Context<'_>,
) -> Step {
    let message = format!("health check failed after {}: {message}", go(now.since(began_at)));
    attempt.status.set_condition(
        names::condition::HEALTHY,
        "False",
        names::reason::HEALTH_CHECK_FAILED,
        &message,
        attempt.generation,
        context.now,
    );
    attempt.failure(names::reason::HEALTH_CHECK_FAILED, message, obstacles)
}
