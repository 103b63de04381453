//! `--why TIER`: the chain from a tier to what it waits for in the end, in words.

use std::collections::BTreeSet;
use std::fmt::Write;

use firstpass_controllers::kustomization::Obstacle;
use firstpass_diagnostics::TierState;
use firstpass_object::{ObjectId, TierName};
use firstpass_order::How;

use crate::explain::{Explainer, TierView};
use crate::waits::{Wait, health_text};

/// The chain, one step per line.
pub(crate) fn chain(explainer: &Explainer<'_>, tier: &TierName) -> Option<String> {
    let view = explainer.tier(tier)?;
    let mut text = String::new();
    if view.is_done() {
        describe_ready(explainer, view, &mut text);
        return Some(text);
    }
    let mut seen = BTreeSet::new();
    describe(explainer, view, 0, &mut seen, &mut text);
    Some(text)
}

fn describe_ready(explainer: &Explainer<'_>, view: &TierView, text: &mut String) {
    let ready = view.record.ready_at.map_or(0.0, |at| explainer.seconds(at));
    let _ = writeln!(
        text,
        "`{}` is Ready after {ready:.1} s, with {} attempts.",
        view.name, view.record.attempts
    );
    for wait in &view.waits {
        let _ = writeln!(text, "  on the way it waited for {}", waiting_text(wait));
    }
    for failure in &view.record.failures {
        let began = explainer.seconds(failure.began_at);
        let _ = writeln!(
            text,
            "  the attempt at {began:.1} s failed: {}",
            first_line(&failure.failure.message)
        );
    }
}

fn describe(
    explainer: &Explainer<'_>,
    view: &TierView,
    depth: usize,
    seen: &mut BTreeSet<TierName>,
    text: &mut String,
) {
    let indent = "  ".repeat(depth);
    if !seen.insert(view.name.clone()) {
        let _ = writeln!(
            text,
            "{indent}`{}`: see above; this closes the circle.",
            view.name
        );
        return;
    }
    if view.state == TierState::Suspended {
        let _ = writeln!(text, "{indent}`{}` is suspended.", view.name);
        return;
    }
    if view.waits.is_empty() {
        let _ = writeln!(text, "{indent}`{}` is not Ready.", view.name);
    }
    for wait in &view.waits {
        let place = place_text(explainer, wait);
        let _ = writeln!(
            text,
            "{indent}`{}` waits for {}{place}.",
            view.name,
            waiting_text(wait)
        );
        if let Some(reason) = because(explainer, view, wait) {
            let _ = writeln!(text, "{indent}  {reason}");
        }
        for next in &wait.tiers {
            if *next == view.name {
                let _ = writeln!(text, "{indent}  That is `{next}` itself: this closes the circle.");
            } else if let Some(next) = explainer.tier(next).filter(|next| !next.is_done()) {
                describe(explainer, next, depth + 1, seen, text);
            }
        }
    }
}

/// What a tier waits for, in a few words.
pub(crate) fn waiting_text(wait: &Wait) -> String {
    let what = &wait.on.what;
    match &wait.obstacle {
        None => format!(
            "`{what}`, which `{}` applies",
            wait.on.tier.as_ref().map(ToString::to_string).unwrap_or_default()
        ),
        Some(Obstacle::Dependency { .. }) => format!("its dependency `{what}`"),
        Some(Obstacle::UnknownKind { object, .. }) => format!("the kind `{what}`, which `{object}` is of"),
        Some(Obstacle::NamespaceMissing { object, .. }) => {
            format!("the namespace `{what}`, where `{object}` belongs")
        }
        Some(Obstacle::NamespaceTerminating { .. }) => format!("the namespace `{what}` to be gone"),
        Some(Obstacle::Webhook { .. }) => format!("the admission webhook that is asked about `{what}`"),
        Some(Obstacle::Unhealthy { .. }) => format!("`{what}` to be healthy"),
        Some(Obstacle::Source { .. }) => format!("an artifact of `{what}`"),
        Some(Obstacle::VariableSource { .. }) => format!("`{what}`, which holds its variables"),
        Some(Obstacle::UndefinedVariable { .. }) => format!("the variable `{what}`"),
        Some(_) => first_line(what).to_owned(),
    }
}

/// Where the object that waits is written.
fn place_text(explainer: &Explainer<'_>, wait: &Wait) -> String {
    let object = wait.obstacle.as_ref().and_then(Obstacle::object);
    let rendered = object.and_then(|object| explainer.rendered(object));
    rendered.map_or_else(String::new, |rendered| {
        format!(" ({}:{})", rendered.origin.file, rendered.origin.line.max(1))
    })
}

fn because(explainer: &Explainer<'_>, view: &TierView, wait: &Wait) -> Option<String> {
    let obstacle = wait.obstacle.as_ref()?;
    match obstacle {
        Obstacle::UnknownKind { .. } | Obstacle::NamespaceMissing { .. } => {
            let bringers = explainer.bringers();
            let provider = bringers.provider(&view.name, obstacle)?;
            let place = provider
                .tier
                .map(|tier| explainer.script.graph.tiers.name(tier).to_string());
            let place = place.map_or_else(String::new, |tier| format!(", in `{tier}`"));
            Some(format!(
                "{}{place} ({}).",
                provided_by(&provider.how, provider.object.as_ref()),
                provider.source
            ))
        }
        Obstacle::Unhealthy { object, .. } => Some(format!("{}.", health_text(object, explainer.world))),
        Obstacle::Refused { message, .. } | Obstacle::Build { message } => {
            Some(first_line(message).to_owned())
        }
        _ => None,
    }
}

/// How something comes, as a sentence.
pub(crate) fn provided_by(how: &How, object: Option<&ObjectId>) -> String {
    let object = object.map_or_else(|| "something".to_owned(), |object| format!("`{object}`"));
    match how {
        How::Manifest => format!("{object} brings it"),
        How::Chart { chart } => format!("the chart {chart} of {object} brings it"),
        How::OperatorStart { operator } => {
            format!("{operator} registers it when it starts, which takes {object}")
        }
        How::OperatorObject {
            operator, trigger, ..
        } => {
            format!("{operator} creates it only after it has reconciled `{trigger}`")
        }
    }
}

pub(crate) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
