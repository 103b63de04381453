//! Nobody is Ready before those it depends on.

use firstpass_apiserver::Event;
use firstpass_flux::{Kustomization, KustomizeGate};
use firstpass_object::TierName;

use super::{Law, Laws};
use crate::world::World;

impl Laws {
    pub(super) fn check_dependencies(
        &mut self,
        name: &TierName,
        kustomization: &Kustomization,
        revision: &str,
        event: &Event,
        world: &World,
    ) {
        // F-124: an expression decides alone.
        let additive = world.settings().gate(KustomizeGate::AdditiveCelDependencyCheck);
        let has_expressions = world.settings().flux.at_least(7) && !additive;
        let references = kustomization
            .spec
            .depends_on
            .iter()
            .zip(kustomization.dependencies());
        for (reference, dependency) in references {
            if has_expressions && reference.ready_expr.is_some() {
                continue;
            }
            let holds = self.tiers.get(&dependency).is_some_and(|tier| {
                let same_source = Kustomization::read(&tier.object).value.source() == kustomization.source();
                if same_source {
                    tier.ready_at.contains(revision)
                } else {
                    !tier.ready_at.is_empty()
                }
            });
            self.judge(Law::DependenciesFirst, event.at, holds, || {
                format!("{name} is Ready at {revision}, and {dependency} never was")
            });
        }
    }
}
