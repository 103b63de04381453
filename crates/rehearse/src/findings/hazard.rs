//! What went wrong on the way of a tier that came up in the end.

use std::collections::BTreeSet;

use firstpass_controllers::kustomization::Obstacle;
use firstpass_diagnostics::{Finding, Severity, Verdict, duration_text};
use firstpass_order::Answer;

use super::{Own, place};
use crate::explain::{Explainer, TierView};
use crate::why::first_line;

/// What went wrong on the way of a tier that came up in the end.
pub(super) fn hazards(explainer: &Explainer<'_>, view: &TierView) -> Vec<Own> {
    let mut own: Vec<Own> = Vec::new();
    for failure in &view.record.failures {
        let mut seen: BTreeSet<String> = BTreeSet::new();
        for obstacle in &failure.failure.obstacles {
            let Some((rule, finding)) = hazard(explainer, view, obstacle) else {
                continue;
            };
            if !seen.insert(rule.to_owned()) && own.iter().any(|known| known.finding.rule == rule) {
                if let (Some(known), Some(object)) = (
                    own.iter_mut().find(|known| known.finding.rule == rule),
                    finding.object,
                ) {
                    let is_new = known.finding.object.as_ref() != Some(&object)
                        && !known.finding.related.contains(&object);
                    if is_new {
                        known.finding.related.push(object);
                    }
                }
                continue;
            }
            if own.iter().any(|known| known.finding.rule == rule) {
                continue;
            }
            own.push(Own {
                finding,
                evidence: hazard_evidence(explainer, view),
            });
        }
    }
    own
}

fn hazard(
    explainer: &Explainer<'_>,
    view: &TierView,
    obstacle: &Obstacle,
) -> Option<(&'static str, Finding)> {
    let tier = &view.name;
    let bringers = explainer.bringers();
    let need = bringers.need(tier, obstacle);
    let has_edge = need.is_some_and(|need| {
        matches!(
            need.answer,
            Answer::WithoutBarrier { .. } | Answer::Guaranteed { .. } | Answer::There { .. }
        )
    });
    let (rule, message, help) = match obstacle {
        Obstacle::UnknownKind { gvk, .. } if has_edge => (
            "kind-without-barrier",
            format!(
                "`{tier}` begins before the kind {} is served, although it comes after what brings it",
                gvk.kind
            ),
            "let the tier that brings the kind prove that it is served: `wait: true` on a release that reports its health, \
             a `healthChecks` entry for the CRD, or `healthCheckExprs`",
        ),
        Obstacle::UnknownKind { gvk, .. } => (
            "kind-without-edge",
            format!("nothing orders `{tier}` after what brings the kind {}", gvk.kind),
            "add the tier that brings the kind to `dependsOn`, and let that tier wait for it",
        ),
        Obstacle::Webhook { .. } => (
            "webhook-without-barrier",
            format!("`{tier}` applies objects before the admission webhook that is asked about them serves"),
            "depend on the tier of the webhook, and let that tier wait until it serves",
        ),
        Obstacle::NamespaceMissing { namespace, .. } => (
            "namespace-without-edge",
            format!("nothing orders `{tier}` after what creates the namespace `{namespace}`"),
            "add the Namespace to this tier, or depend on the tier that creates it",
        ),
        Obstacle::VariableSource { .. } | Obstacle::UndefinedVariable { .. } => (
            "variable-without-edge",
            format!("nothing orders `{tier}` after what defines its variables"),
            "depend on the tier that applies them",
        ),
        Obstacle::Unhealthy { object, .. } => (
            "health-timeout",
            format!("`{tier}` gave up waiting for `{object}` before it was healthy"),
            "raise `spec.timeout`, or let the tier wait for less",
        ),
        Obstacle::Refused { object, .. } => (
            "attempt-failed",
            format!("the API server refused `{object}` of `{tier}` at first"),
            "order the tier after what it needs",
        ),
        _ => return None,
    };
    let mut finding = Finding::new(rule, Severity::Warning, Some(Verdict::Hazard), message).with_help(help);
    if let Obstacle::Unhealthy { object, .. } = obstacle
        && let Some((why, help)) = super::advice::for_late_release(explainer, view, object)
    {
        finding = finding.with_why(why).with_help(help);
    }
    Some((rule, place(explainer, view, obstacle, finding)))
}

fn hazard_evidence(explainer: &Explainer<'_>, view: &TierView) -> String {
    let failures = &view.record.failures;
    let Some(first) = failures.first() else {
        return String::new();
    };
    let attempts = if failures.len() == 1 {
        "one attempt".to_owned()
    } else {
        format!("{} attempts", failures.len())
    };
    let ready = view.record.ready_at.map_or(0.0, |at| explainer.seconds(at));
    format!(
        "In the rehearsal {attempts} failed, first at {} with `{}`, and the tier was Ready only at {}.",
        duration_text(explainer.seconds(first.ended_at)),
        first_line(&first.failure.message),
        duration_text(ready)
    )
}
