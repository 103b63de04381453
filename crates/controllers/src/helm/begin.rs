//! The first look at a HelmRelease: deletion, finalizer, chart, dependencies, source, values (F-1001).

use std::sync::Arc;

use firstpass_apiserver::{Apply, Duration, Request, Target};
use firstpass_flux::{HelmGate, HelmRelease, names};
use firstpass_object::{ObjectExt, ObjectId, TierName};
use serde_json::{Value, json};

use super::{ACTOR, Attempt, HelmController, Phase, chart_source, write};
use crate::context::Context;
use crate::flux_api;
use crate::kustomization::{DependencyState, Failure, Obstacle, Retry, is_ready};
use crate::status::Status;
use crate::time::of_flux;
use firstpass_apiserver::cel::{Expression, Library};

impl HelmController {
    pub(super) fn begin(&mut self, name: &TierName, context: &mut Context<'_>) {
        let target = flux_api::helm_release(name);
        let Ok(Some(object)) = context.get(target.clone()) else {
            self.workers.queue.remove(name);
            return;
        };
        let now = context.now;
        let record = self.record(name);
        record.looks += 1;
        record.looked_at = Some(now);
        if object.at(&["metadata", "deletionTimestamp"]).is_some() {
            self.uninstall(name, context);
            flux_api::write_finalizers(context, &target, &[], names::HELM_MANAGER);
            return;
        }
        if flux_api::add_finalizer(context, &target, &object, names::HELM_MANAGER) {
            self.workers.queue.add_rate_limited(name.clone(), now);
            return;
        }
        let release = HelmRelease::read(&object).value;
        if release.spec.suspend {
            self.record(name).settled = true;
            self.workers.queue.forget(name);
            return;
        }
        make_chart(&release, context);
        let generation = flux_api::generation(&object);
        let mut status = Status::of(&object);
        let message = "Fulfilling prerequisites";
        status.set_condition(
            names::condition::RECONCILING,
            "True",
            names::reason::PROGRESSING,
            message,
            generation,
            now,
        );
        let prerequisites = check_dependencies(&release, context)
            .and_then(|()| check_source(&release, context))
            .and_then(|version| self.check_values(&release, context).map(|()| version));
        match prerequisites {
            Err(failure) => self.refuse(name, status, generation, failure, context),
            Ok(version) => self.reconcile(release, &object, &version, status, context),
        }
    }

    /// Installs or upgrades if what is wanted is not what was installed last.
    fn reconcile(
        &mut self,
        release: HelmRelease,
        object: &Value,
        version: &str,
        mut status: Status,
        context: &mut Context<'_>,
    ) {
        let name = release.name.clone();
        let generation = flux_api::generation(object);
        let fingerprint = format!("{version} {}", values_fingerprint(&release, context));
        let wanted = (generation, fingerprint.clone());
        let record = self.record(&name);
        if record.installed.as_ref() == Some(&wanted) {
            status.remove_condition(names::condition::RECONCILING);
            write(context, &name, &status);
            let looks = self.record(&name).looks;
            let interval = of_flux(release.spec.interval.unwrap_or_default());
            let interval = context.delays.jittered(interval, &name.to_string(), looks);
            self.plan(&name, Retry::After(interval), context);
            return;
        }
        record.attempts += 1;
        let (attempts, is_upgrade) = (record.attempts, record.installed.is_some());
        let (delay, verb) = if is_upgrade {
            ("chart-upgrade", "upgrade")
        } else {
            ("chart-install", "install")
        };
        let message = format!(
            "Running '{verb}' action with timeout of {}",
            release.spec.timeout()
        );
        status.set_condition(
            names::condition::READY,
            "Unknown",
            names::reason::PROGRESSING,
            &message,
            generation,
            context.now,
        );
        write(context, &name, &status);
        context.note(ACTOR, flux_api::helm_release_id(&name), format!("{verb} begins"));
        let attempt = Attempt {
            next_at: context.now
                + context
                    .delays
                    .delay(delay, &name.to_string(), u64::from(attempts)),
            release: Arc::new(release),
            generation,
            fingerprint,
            status,
            phase: Phase::Install,
        };
        self.workers.attempts.insert(name, attempt);
    }

    /// F-1004: values from objects that do not exist. What nothing brings is taken to exist.
    fn check_values(&mut self, release: &HelmRelease, context: &Context<'_>) -> Result<(), Failure> {
        for reference in release
            .spec
            .values_from
            .iter()
            .filter(|reference| !reference.optional)
        {
            let id = ObjectId::new(
                "",
                &reference.kind,
                Some(&release.name.namespace),
                &reference.name,
            );
            if context.server.object(&id).is_some() {
                continue;
            }
            if !context.contents.brings(&id) {
                self.assumed
                    .entry(id)
                    .or_insert_with(|| flux_api::helm_release_id(&release.name));
                continue;
            }
            let resource = if reference.kind == "Secret" {
                "secrets"
            } else {
                "configmaps"
            };
            return Err(Failure {
                reason: names::reason::VALUES_ERROR,
                message: format!(
                    "could not resolve {} chart values reference '{}/{}' with key '{}': {resource} \"{}\" not found",
                    reference.kind,
                    release.name.namespace,
                    reference.name,
                    reference.values_key,
                    reference.name
                ),
                obstacles: vec![Obstacle::VariableSource { object: id }],
                retry: Retry::Backoff,
            });
        }
        Ok(())
    }
}

/// F-1000: `chart` makes a HelmChart beside its source.
fn make_chart(release: &HelmRelease, context: &mut Context<'_>) {
    let (Some(chart), Some(name)) = (&release.spec.chart, release.helm_chart()) else {
        return;
    };
    let Some(source) = &chart.source else { return };
    let target = flux_api::source(&name, context.settings.flux);
    let object = json!({
        "apiVersion": target.gvk.api_version(),
        "kind": target.gvk.kind,
        "metadata": {"name": name.name, "namespace": name.namespace},
        "spec": {
            "chart": chart.chart,
            "version": chart.version.as_deref().unwrap_or("*"),
            "interval": release.spec.interval.unwrap_or_default().to_string(),
            "sourceRef": {"kind": source.kind.as_str(), "name": source.name},
        },
    });
    let _refused_only_without_the_namespace =
        context.apply(Apply::forced(object.into(), names::HELM_MANAGER));
}

/// F-1002
fn check_dependencies(release: &HelmRelease, context: &mut Context<'_>) -> Result<(), Failure> {
    let names_of_all: Vec<TierName> = release.dependencies().collect();
    for (reference, name) in release.spec.depends_on.iter().zip(names_of_all) {
        let found = context.server.object(&flux_api::helm_release_id(&name)).cloned();
        let (state, message) = match &found {
            None => (
                Some(DependencyState::Missing),
                format!(
                    "unable to get '{name}' dependency: helmreleases.helm.toolkit.fluxcd.io \"{}\" not found",
                    name.name
                ),
            ),
            Some(found) => {
                let own = context.server.object(&flux_api::helm_release_id(&release.name));
                let expression = reference
                    .ready_expr
                    .as_ref()
                    .filter(|_| context.settings.flux.at_least(7));
                let by_expression = expression.map(|expression| {
                    let variables = json!({"self": own.map(|own| &**own), "dep": &**found});
                    Expression::compile(expression, Library::Flux)
                        .is_ok_and(|compiled| compiled.is_true_of(&variables) == Ok(true))
                });
                let additive = context.settings.helm_gate(HelmGate::AdditiveCelDependencyCheck);
                match by_expression {
                    Some(false) => (
                        Some(DependencyState::ExpressionFalse),
                        format!("dependency '{name}' is not ready according to readyExpr eval"),
                    ),
                    Some(true) if !additive => (None, String::new()),
                    _ if is_ready(found) => (None, String::new()),
                    _ => (
                        Some(DependencyState::NotReady),
                        format!("dependency '{name}' is not ready"),
                    ),
                }
            }
        };
        if let Some(state) = state {
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

/// F-1003. Gives the version of the chart.
fn check_source(release: &HelmRelease, context: &mut Context<'_>) -> Result<String, Failure> {
    // F-1782: up to 2.6 it comes back only after the whole interval.
    let retry = if context.settings.flux.at_least(7) {
        Duration::from_secs(30)
    } else {
        of_flux(release.spec.interval.unwrap_or_default())
    };
    let not_ready = |message: String, obstacle: Obstacle| Failure {
        reason: names::reason::SOURCE_NOT_READY,
        message,
        obstacles: vec![obstacle],
        retry: Retry::After(retry),
    };
    let Some(source) = chart_source(release) else {
        let message = "neither `chart` nor `chartRef` names a chart".to_owned();
        return Err(not_ready(message.clone(), Obstacle::Configuration { message }));
    };
    let id = source.id();
    let described = format!("{} '{}/{}'", source.kind.as_str(), source.namespace, source.name);
    let Some(object) = context.server.object(&id) else {
        let message = format!(
            "could not get Source object: {} \"{}\" not found",
            flux_api::source_resource(source.kind),
            source.name
        );
        return Err(not_ready(message, Obstacle::Source { source: id }));
    };
    let observed =
        flux_api::observed_generation(object).is_none_or(|observed| observed == flux_api::generation(object));
    let stalled = object.condition_is_true(names::condition::STALLED);
    match object.text_at(&["status", "artifact", "revision"]) {
        Some(revision) if observed && !stalled => Ok(revision.to_owned()),
        _ => Err(not_ready(
            format!("{described} is not ready"),
            Obstacle::Source { source: id },
        )),
    }
}

/// What tells two sets of values apart: the referenced objects' contents and the inline values (the generation covers
/// the latter).
fn values_fingerprint(release: &HelmRelease, context: &Context<'_>) -> String {
    let versions = release.spec.values_from.iter().map(|reference| {
        let id = ObjectId::new(
            "",
            &reference.kind,
            Some(&release.name.namespace),
            &reference.name,
        );
        let object = context.server.object(&id);
        object
            .and_then(|object| object.get("data"))
            .map(Value::to_string)
            .unwrap_or_default()
    });
    versions.collect()
}

/// Deletes an object that a release made.
pub(super) fn delete(id: &ObjectId, api_version: &str, context: &mut Context<'_>) {
    let target = Target::new(api_version, &id.kind, id.namespace.as_deref(), &id.name);
    let _gone_already = context.server.call(&Request::delete(target));
}
