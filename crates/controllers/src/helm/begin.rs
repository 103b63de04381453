//! The first look at a HelmRelease: deletion, finalizer, suspension, chart, dependencies, source, values (F-1001).

use std::sync::Arc;

use firstpass_apiserver::{Apply, Request};
use firstpass_flux::names::{self, reason};
use firstpass_flux::{HelmRelease, SourceName};
use firstpass_object::{ObjectExt, TierName};
use serde_json::{Value, json};

use super::attempt::{Action, Attempt, Phase};
use super::conditions::Conditions;
use super::prerequisites::{check_dependencies, check_expressions, check_source};
use super::record::{Failures, Handled, ReleaseRecord, key_of};
use super::storage::{ChartVersion, ReleaseKey};
use super::{ACTOR, HelmController};
use crate::context::Context;
use crate::flux_api;
use crate::kustomization::{Failure, Retry};

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
        let release = HelmRelease::read(&object).value;
        if object.at(&["metadata", "deletionTimestamp"]).is_some() {
            self.delete(release, &object, context);
            return;
        }
        if flux_api::add_finalizer(context, &target, &object, names::HELM_MANAGER) {
            self.workers.queue.add_rate_limited(name.clone(), now);
            return;
        }
        let mut conditions = Conditions::of(&object, &release.spec.test, now);
        if release.spec.suspend {
            self.record(name).settled = true;
            conditions.observe();
            conditions.write(name, context);
            self.workers.queue.forget(name);
            return;
        }
        if let Err(failure) = check_expressions(&release, context) {
            self.refuse(name, conditions, failure, context);
            return;
        }
        self.make_chart(&release, context);
        conditions.reconciling(reason::PROGRESSING, "Fulfilling prerequisites");
        conditions.write(name, context);
        let prerequisites = check_dependencies(&release, context)
            .and_then(|()| check_source(&release, context))
            .and_then(|chart| self.check_values(&release, context).map(|()| chart));
        match prerequisites {
            Err(failure) => self.refuse(name, conditions, failure, context),
            Ok(chart) => self.reconcile(release, &object, chart, conditions, context),
        }
    }

    /// Everything that the release needs is there.
    fn reconcile(
        &mut self,
        release: HelmRelease,
        object: &Value,
        chart: ChartVersion,
        conditions: Conditions,
        context: &mut Context<'_>,
    ) {
        let name = release.name.clone();
        let values = super::prerequisites::values_digest(object, &release, context);
        let generation = conditions.generation;
        let mut attempt = Attempt {
            key: key_of(&release),
            release: Arc::new(release),
            chart,
            values,
            conditions,
            is_forced: false,
            done: Vec::new(),
            hooks_after: Vec::new(),
            has_stored: false,
            next_at: context.now,
            phase: Phase::Over,
        };
        let record = self.record(&name);
        if let Some(former) = former_release(record, &attempt) {
            attempt.key = former;
            self.start(attempt, Action::UninstallFormer, context);
            return;
        }
        record.stored_at = Some(attempt.key.0.clone());
        // F-1012
        let counted = (generation, attempt.chart.version.clone(), attempt.values.clone());
        let is_reset = is_requested(object, names::RESET_AT, &mut record.handled);
        if record.counted.as_ref() != Some(&counted) || is_reset {
            record.failures = Failures::default();
            record.counted = Some(counted);
        }
        attempt.is_forced = is_requested(object, names::FORCE_AT, &mut record.handled);
        record.handled.reconcile = object.annotation(names::REQUESTED_AT).map(str::to_owned);
        self.advance(attempt, context);
    }

    /// The HelmRelease is being deleted: its release goes, unless it is suspended.
    fn delete(&mut self, release: HelmRelease, object: &Value, context: &mut Context<'_>) {
        let name = release.name.clone();
        let record = self.record(&name);
        let former = record.latest().map(|latest| latest.name.clone());
        let former = former.zip(record.stored_at.clone());
        let Some((release_name, stored_at)) = former.filter(|_| !release.spec.suspend) else {
            if !release.spec.suspend {
                self.delete_chart(&name, context);
            }
            flux_api::write_finalizers(context, &flux_api::helm_release(&name), &[], names::HELM_MANAGER);
            return;
        };
        let attempt = Attempt {
            key: (stored_at, release_name),
            conditions: Conditions::of(object, &release.spec.test, context.now),
            release: Arc::new(release),
            chart: ChartVersion::default(),
            values: String::new(),
            is_forced: false,
            done: Vec::new(),
            hooks_after: Vec::new(),
            has_stored: false,
            next_at: context.now,
            phase: Phase::Over,
        };
        self.start(attempt, Action::Uninstall, context);
    }

    /// A HelmRelease whose release is uninstalled may go.
    pub(super) fn let_go(&mut self, name: &TierName, context: &mut Context<'_>) {
        self.delete_chart(name, context);
        let target = flux_api::helm_release(name);
        self.workers.queue.done(name);
        flux_api::write_finalizers(context, &target, &[], names::HELM_MANAGER);
    }

    fn delete_chart(&mut self, name: &TierName, context: &mut Context<'_>) {
        if let Some(chart) = self.record(name).helm_chart.take() {
            let target = flux_api::source(&chart, context.settings.flux);
            let _gone_already = context.server.call(&Request::delete(target));
        }
    }

    /// F-1000: `chart` makes a HelmChart beside its source. One of another name goes.
    fn make_chart(&mut self, release: &HelmRelease, context: &mut Context<'_>) {
        let wanted = release.helm_chart().filter(|_| release.spec.chart_ref.is_none());
        let known = self.record(&release.name).helm_chart.clone();
        if known.is_some() && known != wanted {
            self.delete_chart(&release.name, context);
        }
        let (Some(chart), Some(name)) = (&release.spec.chart, wanted) else {
            return;
        };
        let Some(source) = &chart.source else { return };
        apply_chart(release, chart, &name, source, context);
        self.record(&release.name).helm_chart = Some(name);
    }

    /// Ends a look that did not come to an action.
    fn refuse(
        &mut self,
        release: &TierName,
        mut conditions: Conditions,
        failure: Failure,
        context: &mut Context<'_>,
    ) {
        let before = conditions.message().to_owned();
        conditions.ready("False", failure.reason, &failure.message);
        if failure.retry == Retry::Never {
            conditions.stalled(failure.reason, &failure.message);
            conditions.observe();
        }
        conditions.write(release, context);
        if before != failure.message {
            let line = format!("Ready=False {}: {}", failure.reason, failure.message);
            context.note(ACTOR, flux_api::helm_release_id(release), line);
        }
        self.plan(release, failure.retry, context.now);
        self.record(release).last_failure = Some(failure);
    }
}

fn apply_chart(
    release: &HelmRelease,
    chart: &firstpass_flux::ChartTemplate,
    name: &SourceName,
    source: &SourceName,
    context: &mut Context<'_>,
) {
    let target = flux_api::source(name, context.settings.flux);
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

/// Where Helm keeps the release that was made before, if the HelmRelease asks for another one now: other names, another
/// chart.
fn former_release(record: &ReleaseRecord, attempt: &Attempt) -> Option<ReleaseKey> {
    let (latest, stored_at) = (record.latest()?, record.stored_at.as_ref()?);
    let is_same = *stored_at == attempt.key.0
        && latest.name == attempt.key.1
        && latest.namespace == attempt.release.release_namespace()
        && latest.chart.name == attempt.chart.name;
    (!is_same).then(|| (stored_at.clone(), latest.name.clone()))
}

/// Whether an annotation asks for something that was not done yet: it says the same as the one that asks for a reconcile.
fn is_requested(object: &Value, annotation: &str, handled: &mut Handled) -> bool {
    let Some(asked) = object.annotation(annotation).map(str::to_owned) else {
        return false;
    };
    let slot = if annotation == names::FORCE_AT {
        &mut handled.force
    } else {
        &mut handled.reset
    };
    let is_new = slot.replace(asked.clone()).as_ref() != Some(&asked);
    let is_asked_now = object.annotation(names::REQUESTED_AT) == Some(asked.as_str())
        && handled.reconcile.as_ref() != Some(&asked);
    is_new && is_asked_now
}
