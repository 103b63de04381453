//! What to do about an object that a tier waits for in vain, where the cause is known.

use firstpass_apiserver::{Duration, Time};
use firstpass_controllers::kustomization::Obstacle;
use firstpass_flux::{HelmRelease, names};
use firstpass_object::{ObjectExt, ObjectId, TierName};

use crate::explain::{Explainer, TierView};

/// Reasons of a HelmRelease that has given up for good (F-1008, F-1009).
const GAVE_UP: [&str; 2] = ["RetriesExceeded", "MissingRollbackTarget"];

/// How soon after a worker is free the next in the queue has applied its objects.
const TURN: Duration = Duration::from_secs(10);

/// What makes an object healthy; `None` if nobody can say.
pub(super) fn for_unhealthy(explainer: &Explainer<'_>, tier: &TierName, object: &ObjectId) -> Option<String> {
    if let Some(record) = explainer.world.workloads.workloads().get(object) {
        let (_, service) = record.refused()?;
        return Some(format!(
            "let what answers for `{service}` come up before these pods, or leave their namespace out of the webhook with \
             `namespaceSelector`"
        ));
    }
    if !object.is(names::HELM_GROUP, names::HELM_RELEASE) {
        return None;
    }
    let live = explainer.world.server.object(object)?;
    let namespace = live.namespace().unwrap_or_default();
    let record = explainer
        .world
        .releases
        .releases()
        .get(&TierName::new(namespace, live.name()))?;
    let obstacles = &record.last_failure.as_ref()?.obstacles;
    let known = obstacles.iter().find_map(|obstacle| match obstacle {
        Obstacle::NamespaceMissing { namespace, .. } => Some(for_namespace(explainer, tier, namespace)),
        Obstacle::Source { source } => {
            let suspended = explainer
                .world
                .server
                .object(source)?
                .at(&["spec", "suspend"])?
                .as_bool()?;
            suspended.then(|| format!("resume `{source}`"))
        }
        _ => None,
    });
    let gave_up = live
        .condition(names::condition::STALLED)
        .and_then(|stalled| stalled.text_at(&["reason"]))
        .is_some_and(|reason| GAVE_UP.contains(&reason));
    let retries = || {
        let read = HelmRelease::read(live).value;
        format!(
            "remove what makes the install fail, and set `install.remediation.retries` of `{object}`: with {} it gives up for good, \
             even if what it lacks comes later",
            read.spec.install.retries
        )
    };
    known.or_else(|| gave_up.then(retries))
}

fn for_namespace(explainer: &Explainer<'_>, tier: &TierName, namespace: &str) -> String {
    let id = ObjectId::new("", "Namespace", None, namespace);
    let maker = explainer.bringer(&id).filter(|maker| *maker != tier);
    match maker.filter(|maker| !is_after(explainer, maker, tier)) {
        Some(maker) => format!(
            "let `{tier}` depend on `{maker}`, which makes the namespace, or set `install.createNamespace: true`; without retries \
             (`install.remediation.retries`) one failed install is the last"
        ),
        None => format!(
            "set `install.createNamespace: true`, or add a Namespace `{namespace}` before the release"
        ),
    }
}

/// Why a tier gave up waiting for a release in an attempt, and what to do: the release waits for another one, whose tier
/// nothing puts before this tier and which applied only afterwards.
pub(super) fn for_late_release(
    explainer: &Explainer<'_>,
    view: &TierView,
    object: &ObjectId,
) -> Option<(String, String)> {
    let tier = &view.name;
    let (release, late, began) = late_release(explainer, view, object)?;
    let workers = explainer.world.kustomizations.workers_max();
    // Whoever was at work until the late tier had its turn.
    let waiting = explainer.tiers.iter().filter(|other| {
        let failed = other
            .record
            .failures
            .iter()
            .map(|failed| (failed.began_at, failed.ended_at));
        let came_up = other.record.came_up.as_ref().zip(other.record.ready_at);
        let mut spans = failed.chain(came_up.map(|(up, ready)| (up.began_at, ready)));
        other.name != late && spans.any(|(from, to)| from < began && to + TURN >= began)
    });
    let why = if waiting.count() >= workers {
        format!(
            "`{object}` waits for `{release}` of `{late}`, and nothing puts `{tier}` after `{late}`: tiers that wait for health hold \
             all {workers} workers of kustomize-controller, so `{late}` had no turn before one of them gave up."
        )
    } else {
        format!(
            "`{object}` waits for `{release}` of `{late}`, which applied only later: nothing puts `{tier}` after `{late}`."
        )
    };
    let help = format!(
        "let `{tier}` depend on `{late}` (`dependsOn`); with a longer `spec.timeout` it would only wait longer for what cannot begin"
    );
    Some((why, help))
}

/// The release, of those that a release depends on through any chain, whose tier applied only when most of the first attempt
/// was over; with that tier, and when it did.
fn late_release(
    explainer: &Explainer<'_>,
    view: &TierView,
    object: &ObjectId,
) -> Option<(ObjectId, TierName, Time)> {
    let attempt = view.record.failures.first()?;
    let is_late =
        |at: Time| at >= attempt.ended_at || at.since(attempt.began_at) >= attempt.ended_at.since(at);
    let mut open = vec![object.clone()];
    let mut seen = open.clone();
    while let Some(current) = open.pop() {
        let Some(rendered) = explainer.rendered(&current) else {
            continue;
        };
        if !HelmRelease::is(&rendered.object) {
            continue;
        }
        for dependency in HelmRelease::read(&rendered.object).value.dependencies() {
            let id = crate::waits::release_id(&dependency);
            if seen.contains(&id) {
                continue;
            }
            seen.push(id.clone());
            open.push(id.clone());
            let Some(bringer) = explainer.bringer(&id).filter(|bringer| **bringer != view.name) else {
                continue;
            };
            let applied = explainer
                .tier(bringer)
                .and_then(|other| other.record.applied_at)?;
            let is_free =
                !is_after(explainer, &view.name, bringer) && !is_after(explainer, bringer, &view.name);
            if is_late(applied) && is_free {
                return Some((id, bringer.clone(), applied));
            }
        }
    }
    None
}

/// Whether a tier certainly comes after another, so that the other cannot depend on it.
fn is_after(explainer: &Explainer<'_>, tier: &TierName, other: &TierName) -> bool {
    let tiers = &explainer.script.graph.tiers;
    match (tiers.find(tier), tiers.find(other)) {
        (Some(tier), Some(other)) => tiers.before(tier).certainty(other).is_some(),
        _ => false,
    }
}
