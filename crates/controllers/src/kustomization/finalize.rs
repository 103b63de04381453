//! Deleting a Flux Kustomization and what it brought (F-430 to F-434).

use firstpass_apiserver::{Duration, Time};
use firstpass_flux::{DeletionPolicy, Kustomization, names};
use firstpass_object::{ObjectId, TierName};
use serde_json::Value;

use super::{KustomizationController, inventory};
use crate::context::Context;
use crate::flux_api;
use crate::time::of_flux;

/// Time between two looks at what is being deleted (F-1106).
const TERMINATION_POLL: Duration = Duration::from_secs(2);

/// A deleted Kustomization that waits until its objects are gone (F-432). It holds a worker.
#[derive(Clone, Debug)]
pub(super) struct Termination {
    deadline: Time,
    objects: Vec<ObjectId>,
}

impl KustomizationController {
    /// Works from the inventory alone: no source, no order, no build (F-434).
    pub(super) fn finalize(&mut self, tier: &TierName, object: &Value, context: &mut Context<'_>) {
        let kustomization = Kustomization::read(object).value;
        let entries = inventory::read(object["status"].get("inventory"));
        if deletes_objects(&kustomization, context) && !entries.is_empty() {
            if self.has_lost_account(&kustomization, context) {
                // F-433: nobody is left to delete them.
                let line = "unable to prune objects: the service account is gone".to_owned();
                context.note(super::ACTOR, flux_api::kustomization_id(tier), line);
                self.let_go(tier, context);
                return;
            }
            if let Err(failure) = super::impersonate::check_kube_config(&kustomization, context) {
                // F-433: a missing kubeconfig is tried again for good.
                self.retry_deletion(tier, &failure.message, context);
                return;
            }
            match self.prune(&kustomization, entries, context) {
                Err((message, _, _)) => {
                    // F-431
                    self.retry_deletion(tier, &message, context);
                    return;
                }
                Ok(deleted) if waits(&kustomization, context) && !deleted.is_empty() => {
                    let termination = Termination {
                        deadline: context.now + of_flux(kustomization.spec.timeout()),
                        objects: deleted,
                    };
                    self.terminations.insert(tier.clone(), termination);
                    self.workers.held.insert(tier.clone(), context.now);
                    return;
                }
                Ok(_) => {}
            }
        }
        self.let_go(tier, context);
    }

    /// Looks whether what was deleted is gone.
    pub(super) fn poll_termination(&mut self, tier: &TierName, context: &mut Context<'_>) {
        let Some(mut termination) = self.terminations.remove(tier) else {
            return;
        };
        termination
            .objects
            .retain(|id| context.server.object(id).is_some());
        if !termination.objects.is_empty() && context.now < termination.deadline {
            let next_at = (context.now + TERMINATION_POLL).min(termination.deadline);
            self.workers.held.insert(tier.clone(), next_at);
            self.terminations.insert(tier.clone(), termination);
            return;
        }
        if let Some(first) = termination.objects.first() {
            let line = format!("failed to wait for {first} to terminate: timed out");
            context.note(super::ACTOR, flux_api::kustomization_id(tier), line);
        }
        self.let_go(tier, context);
        self.workers.held.remove(tier);
        self.workers.queue.done(tier);
    }

    fn retry_deletion(&mut self, tier: &TierName, message: &str, context: &mut Context<'_>) {
        context.note(
            super::ACTOR,
            flux_api::kustomization_id(tier),
            format!("pruning for deleted resource failed: {message}"),
        );
        self.workers.queue.add_rate_limited(tier.clone(), context.now);
    }

    /// Takes the finalizer off.
    fn let_go(&mut self, tier: &TierName, context: &mut Context<'_>) {
        let target = flux_api::kustomization(tier);
        flux_api::write_finalizers(context, &target, &[], names::KUSTOMIZE_STATUS_MANAGER);
        self.workers.queue.forget(tier);
    }
}

fn waits(kustomization: &Kustomization, context: &Context<'_>) -> bool {
    context.settings.flux.at_least(6)
        && kustomization.spec.deletion_policy == DeletionPolicy::WaitForTermination
}

/// F-430, F-1747.
fn deletes_objects(kustomization: &Kustomization, context: &Context<'_>) -> bool {
    let spec = &kustomization.spec;
    if spec.suspend {
        return false;
    }
    let policy = if context.settings.flux.at_least(5) {
        spec.deletion_policy
    } else {
        DeletionPolicy::MirrorPrune
    };
    match policy {
        DeletionPolicy::MirrorPrune => spec.prune,
        DeletionPolicy::Delete | DeletionPolicy::WaitForTermination => true,
        DeletionPolicy::Orphan => false,
    }
}
