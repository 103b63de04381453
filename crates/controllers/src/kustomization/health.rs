//! Waiting for objects: the stage wait and the health wait (F-202, F-500 to F-508, F-533).

use std::collections::{BTreeMap, BTreeSet};

use firstpass_apiserver::{Duration, Time};
use firstpass_flux::{HealthCheckExpr, KustomizeGate, names};
use firstpass_object::kstatus::StatusKind;
use firstpass_object::{GroupKind, ObjectExt, ObjectId, group_of};

use super::attempt::Attempt;
use super::mapper::{Found, PollerMapper};
use super::{Obstacle, submit};
use crate::context::Context;
use crate::readiness::{self, Health};
use firstpass_apiserver::cel::{Expression, Library};

/// A wait for a set of objects.
#[derive(Clone, Debug)]
pub(super) struct HealthWait {
    began_at: Time,
    deadline: Time,
    /// What was last seen of each object; they start as Unknown (F-504).
    seen: BTreeMap<ObjectId, Health>,
    in_stage: bool,
    /// Jobs that go by themselves once they are done (F-507).
    jobs_with_ttl: BTreeSet<ObjectId>,
    /// Whether expressions come before the reader for Jobs (F-535).
    expressions_first: bool,
    /// The server's revision at the last poll: where nothing changed there is nothing to see.
    polled_at: Option<u64>,
}

/// What a poll came to.
pub(super) enum Verdict {
    Healthy,
    Pending,
    /// Some object has failed, and that is enough (F-504).
    FailedEarly(String),
    TimedOut(String),
}

impl HealthWait {
    /// The wait after the first two stages.
    pub(super) fn of_stage(ids: Vec<ObjectId>, now: Time, limit: Duration) -> HealthWait {
        HealthWait::new(ids, now, limit, true)
    }

    /// The wait at the end of an attempt.
    pub(super) fn of_checks(
        ids: Vec<ObjectId>,
        jobs_with_ttl: BTreeSet<ObjectId>,
        expressions_first: bool,
        now: Time,
        limit: Duration,
    ) -> HealthWait {
        HealthWait {
            jobs_with_ttl,
            expressions_first,
            ..HealthWait::new(ids, now, limit, false)
        }
    }

    fn new(ids: Vec<ObjectId>, now: Time, limit: Duration, in_stage: bool) -> HealthWait {
        let seen = ids.into_iter().map(|id| (id, Health::unknown())).collect();
        HealthWait {
            began_at: now,
            deadline: now + limit,
            seen,
            in_stage,
            jobs_with_ttl: BTreeSet::new(),
            expressions_first: false,
            polled_at: None,
        }
    }

    pub(super) fn began_at(&self) -> Time {
        self.began_at
    }

    pub(super) fn deadline(&self) -> Time {
        self.deadline
    }

    /// What is not Current yet.
    pub(super) fn obstacles(&self) -> Vec<Obstacle> {
        let pending = self
            .seen
            .iter()
            .filter(|(_, health)| health.status != StatusKind::Current);
        pending
            .map(|(object, health)| Obstacle::Unhealthy {
                object: object.clone(),
                status: health.status,
                message: health.message.clone(),
                in_stage: self.in_stage,
            })
            .collect()
    }

    /// Looks at every object.
    pub(super) fn poll(
        &mut self,
        expressions: &[HealthCheckExpr],
        no_fail_fast: bool,
        mut mapper: Option<&mut PollerMapper>,
        context: &Context<'_>,
    ) -> Verdict {
        let revision = context.server.log().head().0;
        if self.polled_at != Some(revision) {
            self.polled_at = Some(revision);
            for (id, health) in &mut self.seen {
                *health = match mapper
                    .as_mut()
                    .map(|mapper| mapper.find(&id.group_kind(), context.server))
                {
                    // F-231
                    Some(Found::Gone) => Health::not_found(),
                    Some(Found::NoMatch) => no_match(id),
                    Some(Found::Served) | None => health_of(id, expressions, self.expressions_first, context),
                };
                if health.status == StatusKind::NotFound && self.jobs_with_ttl.contains(id) {
                    *health = Health::new(StatusKind::Current, "the Job is done and gone");
                }
            }
        }
        let is = |wanted: StatusKind| {
            self.seen
                .values()
                .filter(|health| health.status == wanted)
                .count()
        };
        let (current, failed) = (is(StatusKind::Current), is(StatusKind::Failed));
        if current == self.seen.len() {
            return Verdict::Healthy;
        }
        let fail_fast = !no_fail_fast && !context.settings.gate(KustomizeGate::DisableFailFastBehavior);
        // F-1732: the wait ends since 2.8 when nothing is left to hope for.
        let hopeless = context.settings.flux.at_least(8) && current + failed == self.seen.len();
        if failed > 0 && (fail_fast || hopeless) {
            let items = self.list(|status| status == StatusKind::Failed);
            return Verdict::FailedEarly(format!("failed early due to stalled resources: [{items}]"));
        }
        if context.now >= self.deadline {
            let items = self.list(|status| status != StatusKind::Current);
            return Verdict::TimedOut(format!("timeout waiting for: [{items}]"));
        }
        Verdict::Pending
    }

    /// F-505, with the order of identities where Flux has Go's map order.
    fn list(&self, wanted: impl Fn(StatusKind) -> bool) -> String {
        let items = self.seen.iter().filter(|(_, health)| wanted(health.status));
        let items: Vec<String> = items
            .map(|(id, health)| {
                let error = health
                    .error
                    .as_ref()
                    .map_or_else(String::new, |error| format!(": {error}"));
                format!("{id} status: '{}'{error}", health.status)
            })
            .collect();
        items.join(", ")
    }
}

/// The health of one object, by the expressions of the Flux object if there are some for its kind (F-533, F-534).
pub(crate) fn health_of(
    id: &ObjectId,
    expressions: &[HealthCheckExpr],
    expressions_first: bool,
    context: &Context<'_>,
) -> Health {
    let Some(object) = context.server.object(id) else {
        if context.server.resource(&id.group_kind()).is_none() {
            return no_match(id);
        }
        return Health::not_found();
    };
    let flux = context.settings.flux;
    // F-535, F-1752: 2.5 reads Jobs first on every client.
    let is_read_as_job = id.is("batch", "Job") && !(expressions_first && flux.at_least(6));
    let check = expressions.iter().find(|check| {
        let kind_fits = match &check.kind {
            Some(kind) => *kind == id.kind,
            None => flux.at_least(9),
        };
        kind_fits && group_of(&check.api_version) == id.group
    });
    match check.filter(|_| flux.at_least(5) && !is_read_as_job) {
        Some(check) => {
            let health = by_expressions(check, object);
            if health.status != StatusKind::Current && is_beyond_us(id, object, context) {
                return Health::new(
                    StatusKind::Current,
                    "taken to become healthy: nothing is known of its controller",
                );
            }
            health
        }
        None => {
            let health = readiness::health(id, context.server, flux);
            let is_silent = object.items_at(&["status", "conditions"]).is_empty();
            if health.status != StatusKind::Current || !is_silent {
                return health;
            }
            // A controller that lacks something says so within milliseconds, which is before the first poll.
            match crate::operator::lacks(object, context).first() {
                Some(other) => Health::new(StatusKind::InProgress, format!("waiting for {other}")),
                None => health,
            }
        }
    }
}

/// F-228
fn no_match(id: &ObjectId) -> Health {
    Health::error(format!(
        "no matches for kind \"{}\" in group \"{}\"",
        id.kind, id.group
    ))
}

/// Whether nobody here knows what a kind's controller writes, so that waiting for it would never end.
fn is_beyond_us(id: &ObjectId, object: &serde_json::Value, context: &Context<'_>) -> bool {
    let built_in = !firstpass_schema::kinds::versions_of(&id.group, &id.kind).is_empty();
    let def = context.knowledge.custom_kind(&id.group, &id.kind);
    let is_silent = def.is_none_or(|def| def.status.is_empty() || def.controller.is_none());
    let is_flux = id.group.ends_with(".fluxcd.io");
    let has_status = object
        .get("status")
        .and_then(serde_json::Value::as_object)
        .is_some_and(|status| !status.is_empty());
    !built_in && !is_flux && is_silent && !has_status
}

/// F-533: the generation first, then inProgress, failed, current.
fn by_expressions(check: &HealthCheckExpr, object: &serde_json::Value) -> Health {
    let generation = object
        .at(&["metadata", "generation"])
        .and_then(serde_json::Value::as_i64);
    let observed = crate::flux_api::observed_generation(object);
    if let (Some(generation), Some(observed)) = (generation, observed)
        && generation != observed
    {
        return Health::new(StatusKind::InProgress, "the generation is not observed yet");
    }
    let expressions = [
        (check.in_progress.as_ref(), StatusKind::InProgress),
        (check.failed.as_ref(), StatusKind::Failed),
        (Some(&check.current), StatusKind::Current),
    ];
    for (expression, status) in expressions {
        let Some(expression) = expression else { continue };
        let value =
            Expression::compile(expression, Library::Flux).and_then(|compiled| compiled.is_true_of(object));
        match value {
            Ok(true) => return Health::new(status, format!("`{expression}` is true")),
            Ok(false) => {}
            Err(error) => {
                return Health::error(format!(
                    "failed to evaluate the CEL expression '{expression}': {error}"
                ));
            }
        }
    }
    Health::new(StatusKind::InProgress, format!("`{}` is not true", check.current))
}

/// F-507: Jobs among the applied objects that go by themselves, since Flux 2.8 (F-1751).
pub(super) fn jobs_with_ttl(attempt: &Attempt, context: &Context<'_>) -> BTreeSet<ObjectId> {
    if !context.settings.flux.at_least(8) {
        return BTreeSet::new();
    }
    let objects = attempt.stages.iter().flat_map(|(_, objects)| objects);
    objects
        .filter(|object| object.at(&["spec", "ttlSecondsAfterFinished"]).is_some())
        .map(|object| object.id())
        .filter(|id| id.is("batch", "Job"))
        .collect()
}

/// What the health wait of an attempt covers: everything applied, or the listed references (F-500 to F-502).
pub(super) fn checked_objects(attempt: &Attempt, context: &Context<'_>) -> Result<Vec<ObjectId>, String> {
    let spec = &attempt.kustomization.spec;
    let name = &attempt.kustomization.name;
    let ids = if spec.wait {
        submit::waited_for(&attempt.changes, !context.settings.flux.at_least(7))
    } else {
        spec.health_checks
            .iter()
            .map(|check| {
                ObjectId::new(
                    group_of(&check.api_version),
                    &check.kind,
                    check.namespace.as_deref(),
                    &check.name,
                )
            })
            .collect()
    };
    let is_self = |id: &ObjectId| {
        id.kind == names::KUSTOMIZATION
            && id.name == name.name
            && id.namespace.as_deref() == Some(&name.namespace)
    };
    let ids: Vec<ObjectId> = ids.into_iter().filter(|id| !is_self(id)).collect();
    for id in &ids {
        let kind = GroupKind::new(&id.group, &id.kind);
        let resource = context.server.resource(&kind);
        if id.namespace.is_none() && resource.is_some_and(|resource| resource.is_namespaced()) {
            // F-501
            return Err(format!(
                "resource {} {} is namespace scoped, but namespace is not set",
                id.kind, id.name
            ));
        }
    }
    Ok(ids)
}
