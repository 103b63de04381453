//! Deleting a Flux Kustomization and what it brought (F-430 to F-434).

use firstpass_flux::{DeletionPolicy, Kustomization};
use firstpass_object::TierName;
use serde_json::Value;

use super::{KustomizationController, inventory};
use crate::context::Context;
use crate::flux_api;

impl KustomizationController {
    /// Works from the inventory alone: no source, no order, no build (F-434).
    pub(super) fn finalize(&mut self, tier: &TierName, object: &Value, context: &mut Context<'_>) {
        let kustomization = Kustomization::read(object).value;
        let entries = inventory::read(object["status"].get("inventory"));
        if deletes_objects(&kustomization, context) && !entries.is_empty() {
            let pruned = self.prune(&kustomization, entries, context);
            if let Err((message, _, _)) = pruned {
                // F-431
                context.note(
                    super::ACTOR,
                    flux_api::kustomization_id(tier),
                    format!("pruning for deleted resource failed: {message}"),
                );
                self.workers.queue.add_rate_limited(tier.clone(), context.now);
                return;
            }
        }
        flux_api::write_finalizers(
            context,
            &flux_api::kustomization(tier),
            &[],
            firstpass_flux::names::KUSTOMIZE_MANAGER,
        );
        self.workers.queue.forget(tier);
    }
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
