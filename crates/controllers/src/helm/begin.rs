//! The first look at a HelmRelease: deletion, finalizer, chart, dependencies, source, values (F-1001).

use std::sync::Arc;

use firstpass_apiserver::{Apply, Duration, Request, Target};
use firstpass_flux::{HelmGate, HelmRelease, ReleaseAction, ValuesFrom, names};
use firstpass_object::{ObjectExt, ObjectId, TierName};
use serde_json::{Value, json};

use super::{ACTOR, Action, Attempt, HelmController, Phase, ReleaseRecord, chart_source, outcome, write};
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
        let fingerprint = fingerprint(object, version, &release, context);
        let wanted = (generation, fingerprint.clone());
        let record = self.record(&name);
        if record.counted.as_ref() != Some(&wanted) {
            // F-1012
            record.counted = Some(wanted);
            record.failures = 0;
            record.stalled_by = None;
        }
        let Some(action) = next_action(record, &release, &fingerprint, context) else {
            self.rest(&release, generation, status, context);
            return;
        };
        let record = self.record(&name);
        record.settled = false;
        record.attempts += 1;
        let attempts = record.attempts;
        let delay = match action {
            Action::Install => "chart-install",
            Action::Upgrade => "chart-upgrade",
        };
        let verb = action.verb();
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
            action,
            generation,
            fingerprint,
            status,
            phase: Phase::Install,
        };
        self.workers.attempts.insert(name, attempt);
    }

    /// Nothing is to be done: as wanted, or out of retries.
    fn rest(
        &mut self,
        release: &HelmRelease,
        generation: i64,
        mut status: Status,
        context: &mut Context<'_>,
    ) {
        let name = release.name.clone();
        let record = self.record(&name);
        let is_good = record.stored.as_ref().is_some_and(|stored| !stored.failed) && record.failures == 0;
        if !is_good {
            if let Some(failure) = record.stalled_by.clone() {
                self.refuse(&name, status, generation, failure, context);
            }
            return;
        }
        let (looks, version) = (record.looks, record.version);
        record.settled = true;
        record.last_failure = None;
        record.ready_at.get_or_insert(context.now);
        if release.spec.drift_detection.as_deref() == Some("enabled") {
            self.correct_drift(&name, context);
        }
        status.remove_condition(names::condition::RECONCILING);
        if status.condition_status(names::condition::READY) != "True" {
            let message = format!(
                "Helm upgrade succeeded for release {}/{}.v{version}",
                release.release_namespace(),
                release.release_name()
            );
            status.remove_condition(names::condition::REMEDIATED);
            for condition in [names::condition::READY, names::condition::RELEASED] {
                let reason = names::reason::UPGRADE_SUCCEEDED;
                status.set_condition(condition, "True", reason, &message, generation, context.now);
            }
        }
        status.set("observedGeneration", generation.into());
        write(context, &name, &status);
        let interval = of_flux(release.spec.interval.unwrap_or_default());
        let interval = context.delays.jittered(interval, &name.to_string(), looks);
        self.plan(&name, Retry::After(interval), context);
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
            if let Some(object) = context.server.object(&id) {
                if let Some(failure) = missing_key(release, reference, object) {
                    return Err(failure);
                }
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

/// F-1004: a key that an object from the repository does not have. Objects that somebody else fills have it later.
fn missing_key(release: &HelmRelease, reference: &ValuesFrom, object: &Value) -> Option<Failure> {
    let is_ours = object.label(names::OWNER_NAME_LABEL).is_some();
    let has = |field: &str| object.at(&[field, &reference.values_key]).is_some();
    if !is_ours || has("data") || has("stringData") || has("binaryData") {
        return None;
    }
    Some(Failure {
        reason: names::reason::VALUES_ERROR,
        message: format!(
            "could not resolve {} chart values reference '{}/{}' with key '{}': missing key",
            reference.kind, release.name.namespace, reference.name, reference.values_key
        ),
        obstacles: vec![Obstacle::VariableSource { object: object.id() }],
        retry: Retry::Backoff,
    })
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

/// What is done next; `None` if the stored release is as wanted, or no retries are left (F-1009 to F-1012).
fn next_action(
    record: &ReleaseRecord,
    release: &HelmRelease,
    fingerprint: &str,
    context: &Context<'_>,
) -> Option<Action> {
    let exhausted = |spec: &ReleaseAction| spec.retries >= 0 && i64::from(record.failures) > spec.retries;
    let Some(stored) = &record.stored else {
        return (record.failures == 0 || !exhausted(&release.spec.install)).then_some(Action::Install);
    };
    if stored.failed {
        let spec = match record.last_action {
            Some(Action::Install) => &release.spec.install,
            _ => &release.spec.upgrade,
        };
        let is_retried = outcome::retry_interval(spec, context).is_some();
        return (is_retried || record.failures == 0 || !exhausted(spec)).then_some(Action::Upgrade);
    }
    let is_due =
        stored.fingerprint != fingerprint && !(record.failures > 0 && exhausted(&release.spec.upgrade));
    is_due.then_some(Action::Upgrade)
}

/// What tells two releases apart: the chart's version, the values and what is done to the manifests.
fn fingerprint(object: &Value, version: &str, release: &HelmRelease, context: &Context<'_>) -> String {
    let mut text = version.to_owned();
    for field in [
        "chart",
        "chartRef",
        "values",
        "valuesFrom",
        "postRenderers",
        "commonMetadata",
        "releaseName",
        "targetNamespace",
        "storageNamespace",
    ] {
        text.push('\n');
        if let Some(value) = object["spec"].get(field) {
            text.push_str(&value.to_string());
        }
    }
    for reference in &release.spec.values_from {
        let namespace = Some(release.name.namespace.as_str());
        let id = ObjectId::new("", &reference.kind, namespace, &reference.name);
        let found = context.server.object(&id);
        text.push('\n');
        for field in ["data", "stringData"] {
            let value = found.and_then(|object| object.get(field)?.get(&reference.values_key));
            text.push_str(&value.map(Value::to_string).unwrap_or_default());
        }
    }
    text
}

/// Deletes an object that a release made.
pub(super) fn delete(id: &ObjectId, api_version: &str, context: &mut Context<'_>) {
    let target = Target::new(api_version, &id.kind, id.namespace.as_deref(), &id.name);
    let _gone_already = context.server.call(&Request::delete(target));
}
