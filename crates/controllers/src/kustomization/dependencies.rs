//! The dependency check (F-120 to F-126).

use firstpass_flux::{DependencyReference, Kustomization, KustomizeGate, names};
use firstpass_object::{ObjectExt, TierName};
use serde_json::{Value, json};

use super::{DependencyState, Failure, Obstacle, Retry};
use crate::context::Context;
use crate::flux_api;
use crate::time::of_flux;
use firstpass_apiserver::cel::{Expression, Library};

/// Whether all dependencies are ready; the first that is not decides the message (F-123).
pub(super) fn check(
    kustomization: &Kustomization,
    revision: &str,
    context: &mut Context<'_>,
) -> Result<(), Failure> {
    let tiers: Vec<TierName> = kustomization.dependencies().collect();
    for (reference, tier) in kustomization.spec.depends_on.iter().zip(tiers) {
        compile(reference, context)?;
        if let Err((state, message)) = check_one(kustomization, reference, &tier, revision, context) {
            return Err(Failure {
                reason: names::reason::DEPENDENCY_NOT_READY,
                message,
                obstacles: vec![Obstacle::Dependency { tier, state }],
                retry: Retry::After(of_flux(context.settings.kustomize_requeue_dependency)),
            });
        }
    }
    Ok(())
}

/// F-125: an expression that does not compile ends the tier; that shows when its dependency's turn comes.
fn compile(reference: &DependencyReference, context: &Context<'_>) -> Result<(), Failure> {
    let Some(expression) = reference
        .ready_expr
        .as_ref()
        .filter(|_| context.settings.flux.at_least(7))
    else {
        return Ok(());
    };
    let compiled = Expression::compile_condition(expression, Library::Flux, &["self", "dep"]);
    compiled.map(|_| ()).map_err(|error| {
        super::begin::terminal(format!(
            "terminal error: failed to evaluate dependency {}: failed to parse the CEL expression '{expression}': {error}",
            reference.name
        ))
    })
}

fn check_one(
    kustomization: &Kustomization,
    reference: &DependencyReference,
    tier: &TierName,
    revision: &str,
    context: &mut Context<'_>,
) -> Result<(), (DependencyState, String)> {
    let dependency = match context.get(flux_api::kustomization(tier)) {
        Ok(Some(dependency)) => dependency,
        Ok(None) => {
            let message = format!(
                "dependency '{tier}' not found: kustomizations.{} \"{}\" not found",
                names::KUSTOMIZE_GROUP,
                tier.name
            );
            return Err((DependencyState::Missing, message));
        }
        Err(error) => {
            return Err((
                DependencyState::Missing,
                format!("dependency '{tier}' not found: {error}"),
            ));
        }
    };
    if let Some(expression) = reference
        .ready_expr
        .as_ref()
        .filter(|_| context.settings.flux.at_least(7))
    {
        let own = context
            .get(flux_api::kustomization(&kustomization.name))
            .ok()
            .flatten();
        let variables = json!({"self": own.as_deref(), "dep": &*dependency});
        if !is_true(expression, &variables) {
            let message = format!("dependency '{tier}' is not ready according to readyExpr eval");
            return Err((DependencyState::ExpressionFalse, message));
        }
        // F-124: the expression alone decides, unless the gate adds it to the built-in rules.
        if !context.settings.gate(KustomizeGate::AdditiveCelDependencyCheck) {
            return Ok(());
        }
    }
    if !is_ready(&dependency) {
        return Err((
            DependencyState::NotReady,
            format!("dependency '{tier}' is not ready"),
        ));
    }
    let same_source = Kustomization::read(&dependency).value.source() == kustomization.source();
    let applied = dependency.text_at(&["status", "lastAppliedRevision"]);
    if same_source && applied != Some(revision) {
        return Err((
            DependencyState::OtherRevision,
            format!("dependency '{tier}' revision is not up to date"),
        ));
    }
    Ok(())
}

/// F-125: an expression that fails to evaluate is not true.
fn is_true(expression: &str, variables: &Value) -> bool {
    Expression::compile(expression, Library::Flux)
        .is_ok_and(|compiled| compiled.is_true_of(variables) == Ok(true))
}

/// F-121: observed and Ready.
pub(crate) fn is_ready(object: &Value) -> bool {
    !object.items_at(&["status", "conditions"]).is_empty()
        && flux_api::observed_generation(object) == Some(flux_api::generation(object))
        && object.condition_is_true(names::condition::READY)
}
