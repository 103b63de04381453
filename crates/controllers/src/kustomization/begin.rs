//! The first look at a Kustomization: deletion, finalizer, suspension, source, dependencies (F-110).

use std::sync::Arc;

use firstpass_apiserver::{Duration, Time};
use firstpass_flux::{
    FluxVersion, HealthCheckExpr, Kustomization, KustomizeGate, SourceKind, SourceName, names,
};
use firstpass_object::{ObjectExt, TierName};
use serde_json::Value;

use super::{Attempt, Failure, KustomizationController, Next, Obstacle, OutcomeResult, Retry};
use crate::context::Context;
use crate::flux_api;
use crate::status::Status;
use crate::time::of_flux;
use crate::trouble::Trouble;
use firstpass_apiserver::cel::{Expression, Library};

impl KustomizationController {
    /// Looks at a Kustomization whose turn it is. Either an attempt runs afterwards, or the look is over.
    pub(super) fn begin(&mut self, tier: &TierName, context: &mut Context<'_>) {
        let target = flux_api::kustomization(tier);
        let Ok(Some(object)) = context.get(target.clone()) else {
            self.workers.queue.remove(tier);
            return;
        };
        self.record(tier).looks += 1;
        if object.at(&["metadata", "deletionTimestamp"]).is_some() {
            self.finalize(tier, &object, context);
            return;
        }
        if flux_api::add_finalizer(context, &target, &object, names::KUSTOMIZE_STATUS_MANAGER) {
            self.workers.queue.add_rate_limited(tier.clone(), context.now);
            return;
        }
        let kustomization = Kustomization::read(&object).value;
        if kustomization.spec.suspend {
            self.leave_suspended(tier, &object, context);
            return;
        }
        match self.check_prerequisites(&kustomization, context) {
            Ok(revision) => self.start(tier, kustomization, &object, revision, context),
            Err(failure) => self.refuse(tier, &object, failure, context),
        }
    }

    /// Steps 4 to 8 of F-110. Gives the revision of the artifact to work with.
    fn check_prerequisites(
        &self,
        kustomization: &Kustomization,
        context: &mut Context<'_>,
    ) -> Result<String, Failure> {
        check_expressions(kustomization, context)?;
        let revision = find_artifact(kustomization, context)?;
        super::dependencies::check(kustomization, &revision, context)?;
        Ok(revision)
    }

    fn leave_suspended(&mut self, tier: &TierName, object: &Value, context: &mut Context<'_>) {
        // F-151: the status is still concluded, so a Ready one takes over the new generation.
        let mut status = Status::of(object);
        if status.condition_status(names::condition::READY) == "True" {
            status.set("observedGeneration", flux_api::generation(object).into());
            write(context, tier, &status);
        }
        self.conclude(tier, context.now, OutcomeResult::Suspended, Next::Event, context);
    }

    /// Ends a look that did not get to an attempt.
    pub(super) fn refuse(
        &mut self,
        tier: &TierName,
        object: &Value,
        failure: Failure,
        context: &mut Context<'_>,
    ) {
        let generation = flux_api::generation(object);
        let mut status = Status::of(object);
        let before = status
            .condition_field(names::condition::READY, "message")
            .to_owned();
        status.refuse(&failure, generation, context.now);
        if failure.reason == names::reason::INVALID_CEL_EXPRESSION {
            // F-125, F-150: terminal errors count as observed.
            status.set("observedGeneration", generation.into());
        }
        // Most refusals only repeat the last one.
        if !status.is_of(object) {
            write(context, tier, &status);
        }
        if before != failure.message {
            note_ready(context, tier, "False", failure.reason, &failure.message);
        }
        let next = Next::from(failure.retry);
        self.conclude(tier, context.now, OutcomeResult::Failed(failure), next, context);
    }

    fn start(
        &mut self,
        tier: &TierName,
        kustomization: Kustomization,
        object: &Arc<Value>,
        revision: String,
        context: &mut Context<'_>,
    ) {
        // Runs of a tier that has been Ready are routine (F-1308); what counts is how it came up.
        let record = self.record(tier);
        record.attempts += u32::from(record.ready_at.is_none());
        self.remember_account(&kustomization, context);
        let build_at = self.plan_build(&tier.to_string(), context);
        let attempt = Attempt::new(kustomization, object, revision, build_at, context);
        self.workers.attempts.insert(tier.clone(), attempt);
    }

    /// When an attempt that begins now has the artifact and the build at hand. Builds never overlap (F-163).
    fn plan_build(&mut self, subject: &str, context: &Context<'_>) -> Time {
        let nth = context.now.as_micros();
        let fetched_at = context.now + context.delays.delay("flux-artifact-fetch", subject, nth);
        let done_at = fetched_at.max(self.build_free_at)
            + context.delays.delay("flux-build", subject, nth)
            + remote_base_limit(context, subject);
        self.build_free_at = done_at;
        done_at
    }
}

/// Writes the status of a Kustomization.
pub(super) fn write(context: &mut Context<'_>, tier: &TierName, status: &Status) {
    flux_api::write_status(
        context,
        &flux_api::kustomization(tier),
        status,
        names::KUSTOMIZE_STATUS_MANAGER,
    );
}

/// Notes a Ready condition in the journal.
pub(super) fn note_ready(
    context: &mut Context<'_>,
    tier: &TierName,
    ready: &str,
    reason: &str,
    message: &str,
) {
    let line = format!("Ready={ready} {reason}: {}", message.replace('\n', " "));
    context.note(super::ACTOR, flux_api::kustomization_id(tier), line);
}

/// A refusal for good, because of an expression (F-143).
pub(crate) fn terminal(message: String) -> Failure {
    Failure {
        reason: names::reason::INVALID_CEL_EXPRESSION,
        message: format!("Reconciliation failed terminally due to configuration error: {message}"),
        obstacles: vec![Obstacle::Configuration { message }],
        retry: Retry::Never,
    }
}

/// F-110 (4) and (5), F-143.
fn check_expressions(kustomization: &Kustomization, context: &Context<'_>) -> Result<(), Failure> {
    let spec = &kustomization.spec;
    if context.settings.flux.at_least(5) {
        check_health_expressions(&spec.health_check_exprs, context.settings.flux)?;
    }
    let account = spec
        .decryption
        .as_ref()
        .and_then(|decryption| decryption.service_account_name.as_ref());
    if account.is_some()
        && context.settings.flux.at_least(6)
        && !context.settings.gate(KustomizeGate::ObjectLevelWorkloadIdentity)
    {
        return Err(Failure {
            reason: "FeatureGateDisabled",
            message: "to use spec.decryption.serviceAccountName for decryption authentication please enable the ObjectLevelWorkloadIdentity feature gate in the controller".to_owned(),
            obstacles: vec![Obstacle::Configuration {
                message: "`spec.decryption.serviceAccountName` needs the feature gate ObjectLevelWorkloadIdentity".to_owned(),
            }],
            retry: Retry::Never,
        });
    }
    Ok(())
}

/// Health check expressions that cannot be read, or that are there twice (F-110, F-534, F-1752).
pub(crate) fn check_health_expressions(checks: &[HealthCheckExpr], flux: FluxVersion) -> Result<(), Failure> {
    let mut seen = Vec::new();
    for (index, check) in checks.iter().enumerate() {
        let expressions = [
            ("Current", Some(&check.current)),
            ("InProgress", check.in_progress.as_ref()),
            ("Failed", check.failed.as_ref()),
        ];
        for (name, expression) in expressions {
            let Some(expression) = expression else { continue };
            Expression::compile(expression, Library::Flux).map_err(|error| {
                terminal(format!(
                    "failed to create custom status evaluator for healthchecks[{index}]: failed to parse the \
                     expression {name}: failed to parse the CEL expression '{expression}': {error}"
                ))
            })?;
        }
        let key = (firstpass_object::group_of(&check.api_version), &check.kind);
        if seen.contains(&key) && flux.at_least(8) {
            return Err(terminal(format!(
                "duplicate custom health check for {} {}",
                check.api_version,
                check.kind.as_deref().unwrap_or("*")
            )));
        }
        seen.push(key);
    }
    Ok(())
}

/// How a source that is not there is called: the informer cache knows kinds, the API server resources (F-112).
fn missing_source(kind: SourceKind, context: &Context<'_>) -> String {
    if context.settings.gate(KustomizeGate::DirectSourceFetch) {
        return flux_api::source_resource(kind).to_owned();
    }
    format!("{}.{}", kind.as_str(), names::SOURCE_GROUP)
}

/// The revision of the artifact of the Kustomization's source (F-112, F-130 to F-133).
fn find_artifact(kustomization: &Kustomization, context: &mut Context<'_>) -> Result<String, Failure> {
    let retry = Retry::After(of_flux(kustomization.spec.retry_interval()));
    let Some(source) = kustomization.source() else {
        return Err(Failure {
            reason: names::reason::ARTIFACT_FAILED,
            message: "spec.sourceRef is missing".to_owned(),
            obstacles: vec![Obstacle::Configuration {
                message: "`spec.sourceRef` is missing".to_owned(),
            }],
            retry,
        });
    };
    deny_access(kustomization, &source, retry, context)?;
    let obstacle = || vec![Obstacle::Source { source: source.id() }];
    let found = context.get(flux_api::source(&source, context.settings.flux));
    let object = match found {
        Ok(Some(object)) => object,
        Ok(None) => {
            return Err(Failure {
                reason: names::reason::ARTIFACT_FAILED,
                message: format!(
                    "{} \"{}\" not found",
                    missing_source(source.kind, context),
                    source.name
                ),
                obstacles: obstacle(),
                retry,
            });
        }
        Err(error) => {
            return Err(Failure {
                reason: names::reason::ARTIFACT_FAILED,
                message: error.to_string(),
                obstacles: obstacle(),
                retry: Retry::Backoff,
            });
        }
    };
    match object.text_at(&["status", "artifact", "revision"]) {
        Some(revision) => Ok(revision.to_owned()),
        None => Err(Failure {
            reason: names::reason::ARTIFACT_FAILED,
            // F-133: the wait is that for dependencies.
            message: format!(
                "Source artifact not found, retrying in {}",
                context.settings.kustomize_requeue_dependency
            ),
            obstacles: obstacle(),
            retry: Retry::After(of_flux(context.settings.kustomize_requeue_dependency)),
        }),
    }
}

/// F-131, F-1716.
fn deny_access(
    kustomization: &Kustomization,
    source: &SourceName,
    retry: Retry,
    context: &Context<'_>,
) -> Result<(), Failure> {
    let foreign = source.namespace != kustomization.name.namespace;
    let message = if foreign && context.settings.no_cross_namespace_refs {
        format!(
            "can't access '{}/{}/{}', cross-namespace references have been blocked",
            source.kind.as_str(),
            source.namespace,
            source.name
        )
    } else if source.kind == SourceKind::ExternalArtifact
        && !context.settings.gate(KustomizeGate::ExternalArtifact)
    {
        "ExternalArtifact feature gate is not enabled".to_owned()
    } else {
        return Ok(());
    };
    let retry = if context.settings.flux.at_least(7) {
        Retry::Never
    } else {
        retry
    };
    Err(Failure {
        reason: names::reason::ACCESS_DENIED,
        obstacles: vec![Obstacle::Configuration {
            message: message.clone(),
        }],
        message,
        retry,
    })
}

/// How long kustomize fetches a remote base before it gives up (its `git` timeout).
const REMOTE_BASE_LIMIT: Duration = Duration::from_secs(27);

/// What a remote base that is not fetched in time costs: kustomize gives it 27 s.
fn remote_base_limit(context: &Context<'_>, subject: &str) -> Duration {
    let trouble = subject
        .parse()
        .ok()
        .and_then(|tier| context.trouble(Trouble::RemoteBase(&tier)));
    trouble.map_or(Duration::ZERO, |_| REMOTE_BASE_LIMIT)
}
