//! What a HelmRelease needs before anything is done: other releases, its chart, its values (F-1002 to F-1004).

use firstpass_apiserver::Duration;
use firstpass_apiserver::cel::{Expression, Library};
use firstpass_baseline::Release;
use firstpass_flux::{DependencyReference, HelmGate, HelmRelease, SourceKind, SourceName, ValuesFrom, names};
use firstpass_object::{ObjectExt, ObjectId, TierName};
use serde_json::{Value, json};

use super::storage::ChartVersion;
use super::{HelmController, chart_source};
use crate::context::Context;
use crate::flux_api;
use crate::kustomization::{DependencyState, Failure, Obstacle, Retry, is_ready, terminal};
use crate::time::of_flux;

impl HelmController {
    /// F-1004: values from objects that do not exist. What nothing brings is taken to exist, unless nothing can.
    pub(super) fn check_values(
        &mut self,
        release: &HelmRelease,
        context: &Context<'_>,
    ) -> Result<(), Failure> {
        let needed = release.spec.values_from.iter();
        for reference in needed.filter(|reference| !reference.optional) {
            let namespace = Some(release.name.namespace.as_str());
            let id = ObjectId::new("", &reference.kind, namespace, &reference.name);
            if let Some(object) = context.server.object(&id) {
                if lacks_key(object, &id, reference, context) {
                    return Err(values_error(release, reference, "key not found", id));
                }
            } else if context.contents.brings(&id) || context.contents.rules_out(&id) {
                let resource = if reference.kind == "Secret" {
                    "secrets"
                } else {
                    "configmaps"
                };
                let why = format!("{resource} \"{}\" not found", reference.name);
                return Err(values_error(release, reference, &why, id));
            } else {
                self.assumed
                    .entry(id)
                    .or_insert_with(|| flux_api::helm_release_id(&release.name));
            }
        }
        Ok(())
    }
}

/// Whether an object from the repository has not got the key. Objects that somebody else fills have it later.
fn lacks_key(object: &Value, id: &ObjectId, reference: &ValuesFrom, context: &Context<'_>) -> bool {
    let is_known = object.label(names::OWNER_NAME_LABEL).is_some() || context.contents.rules_out(id);
    let has = |field: &str| object.at(&[field, &reference.values_key]).is_some();
    is_known && !has("data") && !has("stringData") && !has("binaryData")
}

fn values_error(release: &HelmRelease, reference: &ValuesFrom, why: &str, id: ObjectId) -> Failure {
    Failure {
        reason: names::reason::VALUES_ERROR,
        message: format!(
            "could not resolve {} chart values reference '{}/{}' with key '{}': {why}",
            reference.kind, release.name.namespace, reference.name, reference.values_key
        ),
        obstacles: vec![Obstacle::VariableSource { object: id }],
        retry: Retry::Backoff,
    }
}

/// Expressions of the spec that cannot be read end it (F-1001).
pub(super) fn check_expressions(release: &HelmRelease, context: &Context<'_>) -> Result<(), Failure> {
    if !context.settings.flux.at_least(8) {
        return Ok(());
    }
    crate::kustomization::check_health_expressions(&release.spec.health_check_exprs, context.settings.flux)
}

/// F-1002
pub(super) fn check_dependencies(release: &HelmRelease, context: &mut Context<'_>) -> Result<(), Failure> {
    let names_of_all: Vec<TierName> = release.dependencies().collect();
    for (reference, name) in release.spec.depends_on.iter().zip(names_of_all) {
        if let Some((state, message)) = unready(release, reference, &name, context)? {
            return Err(Failure {
                reason: names::reason::DEPENDENCY_NOT_READY,
                message,
                obstacles: vec![Obstacle::Release { release: name, state }],
                retry: Retry::After(of_flux(context.settings.helm_requeue_dependency)),
            });
        }
    }
    Ok(())
}

/// Why a dependency is not ready, if it is not; an error for good if its expression cannot be read.
fn unready(
    release: &HelmRelease,
    reference: &DependencyReference,
    name: &TierName,
    context: &Context<'_>,
) -> Result<Option<(DependencyState, String)>, Failure> {
    let Some(found) = context.server.object(&flux_api::helm_release_id(name)) else {
        let message = format!(
            "unable to get '{name}' dependency: helmreleases.helm.toolkit.fluxcd.io \"{}\" not found",
            name.name
        );
        return Ok(Some((DependencyState::Missing, message)));
    };
    let expression = reference.ready_expr.as_ref();
    if let Some(expression) = expression.filter(|_| context.settings.flux.at_least(7)) {
        let compiled = Expression::compile_condition(expression, Library::Flux, &["self", "dep"]).map_err(|error| {
            terminal(format!(
                "terminal error: failed to evaluate dependency {}: failed to parse the CEL expression '{expression}': {error}",
                reference.name
            ))
        })?;
        let own = context.server.object(&flux_api::helm_release_id(&release.name));
        let variables = json!({"self": own.map(|own| &**own), "dep": &**found});
        if compiled.is_true_of(&variables) != Ok(true) {
            let message = format!("dependency '{name}' is not ready according to readyExpr eval");
            return Ok(Some((DependencyState::ExpressionFalse, message)));
        }
        if !context.settings.helm_gate(HelmGate::AdditiveCelDependencyCheck) {
            return Ok(None);
        }
    }
    let message = || format!("dependency '{name}' is not ready");
    Ok((!is_ready(found)).then(|| (DependencyState::NotReady, message())))
}

/// F-1003. Gives the chart.
pub(super) fn check_source(
    release: &HelmRelease,
    context: &mut Context<'_>,
) -> Result<ChartVersion, Failure> {
    let Some(source) = chart_source(release) else {
        let message = "neither `chart` nor `chartRef` names a chart".to_owned();
        let obstacles = vec![Obstacle::Configuration {
            message: message.clone(),
        }];
        return Err(Failure {
            reason: names::reason::SOURCE_NOT_READY,
            message,
            obstacles,
            retry: Retry::Never,
        });
    };
    let id = source.id();
    let obstacles = vec![Obstacle::Source { source: id.clone() }];
    let Some(object) = context.server.object(&id) else {
        return Err(Failure {
            reason: names::reason::ARTIFACT_FAILED,
            message: format!(
                "could not get Source object: {}.{} \"{}\" not found",
                source.kind.as_str(),
                names::SOURCE_GROUP,
                source.name
            ),
            obstacles,
            retry: Retry::Backoff,
        });
    };
    if let Some(why) = why_not_ready(&source, object) {
        // F-1782: up to 2.6 it comes back only after the whole interval.
        let retry = if context.settings.flux.at_least(7) {
            of_flux(context.settings.helm_requeue_dependency)
        } else {
            of_flux(release.spec.interval.unwrap_or_default())
        };
        return Err(Failure {
            reason: names::reason::SOURCE_NOT_READY,
            message: format!(
                "{} '{}/{}' is not ready: {why}",
                source.kind.as_str(),
                source.namespace,
                source.name
            ),
            obstacles,
            retry: Retry::After(if retry == Duration::ZERO {
                Duration::from_secs(30)
            } else {
                retry
            }),
        });
    }
    let server = &*context.server;
    let own = server.object(&flux_api::helm_release_id(&release.name));
    let chart = own.map(|own| Release::of_object(own, &|id| server.object(id).cloned()).chart);
    let name = chart.map_or_else(String::new, |chart| {
        firstpass_knowledge::chart_name(&chart.name).to_owned()
    });
    let revision = object
        .text_at(&["status", "artifact", "revision"])
        .unwrap_or_default();
    Ok(ChartVersion {
        name,
        version: version_of(source.kind, revision),
    })
}

/// What Flux says of a source that is not ready.
fn why_not_ready(source: &SourceName, object: &Value) -> Option<String> {
    let message = |kind: &str| {
        let condition = object.condition(kind);
        condition
            .and_then(|condition| condition["message"].as_str())
            .unwrap_or_default()
            .to_owned()
    };
    let has_artifact = object.text_at(&["status", "artifact", "revision"]).is_some();
    let lacks_artifact = || (!has_artifact).then(|| "does not have an artifact".to_owned());
    if source.kind == SourceKind::ExternalArtifact {
        return lacks_artifact();
    }
    let observed = flux_api::observed_generation(object).unwrap_or_default();
    if observed != flux_api::generation(object) {
        let is_refused = object
            .condition(names::condition::READY)
            .is_some_and(|ready| ready["status"] == "False");
        return Some(if is_refused {
            message(names::condition::READY)
        } else {
            "latest generation of object has not been reconciled".to_owned()
        });
    }
    if object.condition_is_true(names::condition::STALLED) {
        return Some(message(names::condition::STALLED));
    }
    lacks_artifact()
}

/// The version of the chart in an artifact. F-1013: the digest of an OCI artifact is a part of it.
fn version_of(kind: SourceKind, revision: &str) -> String {
    if !matches!(kind, SourceKind::OciRepository | SourceKind::ExternalArtifact) {
        return revision.to_owned();
    }
    let (tag, digest) = revision.split_once('@').unwrap_or((revision, ""));
    let short: String = digest
        .rsplit(':')
        .next()
        .unwrap_or_default()
        .chars()
        .take(12)
        .collect();
    let tag = tag.replace('_', "+");
    let tag = tag.split('+').next().unwrap_or_default();
    if short.is_empty() {
        tag.to_owned()
    } else {
        format!("{tag}+{short}")
    }
}

/// What tells two sets of values apart, and what is done to the manifests beside.
pub(super) fn values_digest(object: &Value, release: &HelmRelease, context: &Context<'_>) -> String {
    let server = &*context.server;
    let values = Release::of_object(object, &|id| server.object(id).cloned());
    let mut text = values.values.to_string();
    for field in ["postRenderers", "commonMetadata"] {
        if let Some(value) = object["spec"].get(field) {
            text.push('\n');
            text.push_str(&value.to_string());
        }
    }
    if values.values_complete {
        return text;
    }
    // Values that cannot be read may change all the same.
    for reference in &release.spec.values_from {
        let namespace = Some(release.name.namespace.as_str());
        let id = ObjectId::new("", &reference.kind, namespace, &reference.name);
        let found = server.object(&id);
        for field in ["data", "stringData"] {
            let value = found.and_then(|object| object.get(field)?.get(&reference.values_key));
            text.push('\n');
            text.push_str(&value.map(Value::to_string).unwrap_or_default());
        }
    }
    text
}
