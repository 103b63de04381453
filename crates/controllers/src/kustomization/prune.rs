//! Deleting what is no longer built (F-410 to F-414).

use firstpass_apiserver::{Request, Target};
use firstpass_flux::{Kustomization, names};
use firstpass_object::{ObjectExt, ObjectId, TierName, label_or_annotation};
use serde_json::Value;

use super::inventory::Entry;
use super::{KustomizationController, Obstacle, impersonate};
use crate::context::Context;

/// What a prune could not do: the text, the entries that stay, and why.
pub(super) type PruneError = (String, Vec<Entry>, Vec<Obstacle>);

impl KustomizationController {
    /// Deletes objects one by one in the reverse order of application; errors do not stop it (F-411, F-413).
    pub(super) fn prune(
        &self,
        kustomization: &Kustomization,
        stale: Vec<Entry>,
        context: &mut Context<'_>,
    ) -> Result<Vec<ObjectId>, PruneError> {
        let account = impersonate::restricted_account(kustomization, context);
        let mut deleted = Vec::new();
        let mut survivors = Vec::new();
        let mut obstacles = Vec::new();
        let mut text = String::new();
        for entry in self.in_pruning_order(stale) {
            match self.prune_one(kustomization, account.as_ref(), &entry, context) {
                Ok(true) => deleted.push(entry.id),
                Ok(false) => {}
                Err(message) => {
                    text.push_str(&format!("{} {message};", entry.id));
                    obstacles.push(Obstacle::Prune {
                        object: entry.id.clone(),
                        message,
                    });
                    survivors.push(entry);
                }
            }
        }
        if survivors.is_empty() {
            Ok(deleted)
        } else {
            Err((format!("delete failed, errors: {text}"), survivors, obstacles))
        }
    }

    fn in_pruning_order(&self, mut entries: Vec<Entry>) -> Vec<Entry> {
        entries.sort_by_cached_key(|entry| {
            let id = &entry.id;
            let key = (
                self.stage_rules.kind_index(&id.kind),
                id.group.clone(),
                id.kind.clone(),
            );
            std::cmp::Reverse((key, id.namespace.clone(), id.name.clone()))
        });
        entries
    }

    /// F-412: whether it was deleted; `false` if it was skipped.
    fn prune_one(
        &self,
        kustomization: &Kustomization,
        account: Option<&TierName>,
        entry: &Entry,
        context: &mut Context<'_>,
    ) -> Result<bool, String> {
        let target = Target {
            gvk: entry.gvk(),
            namespace: entry.id.namespace.clone(),
            name: entry.id.name.clone(),
        };
        let is_default_client = impersonate::keeps_client(kustomization, context);
        let tier = &kustomization.name;
        let live = match context.get(target.clone()) {
            Ok(Some(live)) => live,
            Ok(None) => return Ok(true),
            // F-414: a kind that the client knew once gives a 404, which counts as deleted.
            Err(error)
                if error.is_no_kind_match()
                    && is_default_client
                    && self.known_kinds.contains_key(&target.gvk) =>
            {
                return Ok(true);
            }
            Err(error) => return Err(format!("query failed: {error}")),
        };
        if !is_owned(&live, tier) || is_protected(&live, context) {
            return Ok(false);
        }
        if live.at(&["metadata", "deletionTimestamp"]).is_none() {
            context.note(super::ACTOR, &entry.id, format!("pruned by {tier}"));
        }
        if let Err(error) = impersonate::authorize_delete(account, &live, context) {
            return Err(format!("delete failed: {error}"));
        }
        match context
            .server
            .call(&Request::delete_by(target, names::KUSTOMIZE_MANAGER))
        {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(true),
            Err(error) => Err(format!("delete failed: {error}")),
        }
    }
}

/// Whether both owner labels name the Kustomization (F-412).
pub(super) fn is_owned(live: &Value, tier: &TierName) -> bool {
    live.label(names::OWNER_NAME_LABEL) == Some(&tier.name)
        && live.label(names::OWNER_NAMESPACE_LABEL) == Some(&tier.namespace)
}

/// F-266, F-260, F-261; `ssa: Ignore` protects since kustomize-controller 1.8.5 only (F-1744).
fn is_protected(live: &Value, context: &Context<'_>) -> bool {
    let ignore = context.settings.flux.kustomize_controller() >= firstpass_flux::ControllerVersion::new(8, 5);
    label_or_annotation(live, names::PRUNE, names::DISABLED)
        || label_or_annotation(live, names::RECONCILE, names::DISABLED)
        || (ignore && label_or_annotation(live, names::SSA, "Ignore"))
}
