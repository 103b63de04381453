//! From an artifact to stages of objects.

use std::sync::Arc;

use firstpass_flux::names;
use firstpass_object::TierName;
use serde_json::Value;

use super::{Attempt, Phase, Step};
use crate::context::{BuildFailure, Built, Context};
use crate::kustomization::begin::write;
use crate::kustomization::prepared::Prepared;
use crate::kustomization::{Failure, KustomizationController, Obstacle, Retry, impersonate};
use crate::time::of_flux;
use crate::trouble::Trouble;

impl KustomizationController {
    /// Fetches the artifact, builds it and divides what comes of it into stages.
    pub(super) fn build(&mut self, attempt: &mut Attempt, context: &mut Context<'_>) -> Step {
        let tier = attempt.name().clone();
        let source = attempt.kustomization.source().map(|source| source.id());
        if source.is_some_and(|source| context.trouble(Trouble::Download(&source)).is_some()) {
            // F-135
            let wait = context.settings.kustomize_requeue_dependency;
            return Step::Failed(Failure {
                reason: names::reason::ARTIFACT_FAILED,
                message: format!("Source is not ready, artifact not found, retrying in {wait}"),
                obstacles: Vec::new(),
                retry: Retry::After(of_flux(wait)),
            });
        }
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
            && let Err(failure) = impersonate::check_kube_config(&attempt.kustomization, context)
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
        let prepared = self.prepare(&tier, objects, unknown_tokens);
        attempt.unknown_tokens = Arc::clone(&prepared.unknown_tokens);
        if context.settings.flux.at_least(7) {
            attempt.digest = Some(prepared.digest.clone());
        }
        attempt.stages = Arc::clone(&prepared.stages);
        let at = context.now + attempt.stage_time(0, context);
        Step::Continue(Phase::Stage(0), at)
    }

    fn prepare(
        &mut self,
        tier: &TierName,
        built: Vec<Arc<Value>>,
        unknown_tokens: Arc<[String]>,
    ) -> Arc<Prepared> {
        match self.prepared.get(tier) {
            Some(known) if known.is_of(&built, &unknown_tokens) => Arc::clone(known),
            _ => {
                let prepared = Arc::new(Prepared::of(built, unknown_tokens, &self.stage_rules));
                self.prepared.insert(tier.clone(), Arc::clone(&prepared));
                prepared
            }
        }
    }
}
