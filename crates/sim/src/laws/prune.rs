//! What kustomize-controller deletes, it may delete.

use std::sync::Arc;

use firstpass_apiserver::Event;
use firstpass_flux::{DeletionPolicy, Kustomization, names};
use firstpass_object::{ObjectExt, label_or_annotation};

use super::{Deletion, Law, Laws, is_deletion, owner};
use crate::world::World;

/// How the journal begins to tell that an object is deleted to be created again (F-242).
const FORCED: &str = "deleted, to be created again";

impl Laws {
    /// What was deleted to be created again is told by the journal alone.
    pub(super) fn read_journal(&mut self, world: &World) {
        self.forced.clear();
        for line in &world.journal()[self.lines.min(world.journal().len())..] {
            if line.what.starts_with(FORCED) {
                self.forced.insert((line.at, line.subject.clone()));
            }
        }
        self.lines = world.journal().len();
    }

    pub(super) fn check_deletion(&mut self, event: &Event, world: &World) {
        if &*event.by != names::KUSTOMIZE_MANAGER || !is_deletion(event) {
            return;
        }
        let id = &event.id;
        let by = owner(&event.object);
        let forced = self.forced.contains(&(event.at, id.to_string()));
        self.deletions.push(Deletion {
            at: event.at,
            object: Arc::clone(&event.object),
            by: by.clone(),
            forced,
        });
        if forced {
            return;
        }
        let followed = by.as_ref().and_then(|tier| self.tiers.get(tier));
        let prunes = followed.is_some_and(|tier| {
            let goes = tier.object.at(&["metadata", "deletionTimestamp"]).is_some();
            let spec = Kustomization::read(&tier.object).value.spec;
            match spec.deletion_policy {
                DeletionPolicy::Delete | DeletionPolicy::WaitForTermination if goes => true,
                DeletionPolicy::Orphan if goes => false,
                _ => spec.prune,
            }
        });
        let goes = followed.is_some_and(|tier| tier.object.at(&["metadata", "deletionTimestamp"]).is_some());
        let is_kept = [names::PRUNE, names::RECONCILE]
            .iter()
            .any(|key| label_or_annotation(&event.object, key, names::DISABLED));
        self.judge(Law::PruneOwned, event.at, prunes && !is_kept, || {
            let of = by
                .as_ref()
                .map_or_else(|| "nobody".to_owned(), ToString::to_string);
            format!("{id} of {of} was deleted, which does not prune it")
        });
        let Some(tier) = by.filter(|_| !goes) else { return };
        let record = world.kustomizations.tiers().get(&tier);
        let is_built = record.is_some_and(|record| record.objects.contains(id));
        self.judge(Law::PruneStale, event.at, !is_built, || {
            format!("{tier} deleted {id}, which it had just applied")
        });
    }
}
