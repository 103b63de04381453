//! `--why TIER`: the chain from a tier to what it waits for in the end, in words.

use std::collections::BTreeSet;
use std::fmt::Write;

use firstpass_controllers::kustomization::Obstacle;
use firstpass_diagnostics::{Finding, TierState, Verdict, duration_text};
use firstpass_object::{ObjectId, TierName};
use firstpass_order::How;

use crate::critical;
use crate::explain::{Explainer, TierView};
use crate::waits::{Wait, health_text};

/// Stretches of time shorter than this many seconds are not told.
const LEG_LEAST_S: f64 = 1.0;

/// The chain, one step per line; then what is at its root, what to do, and the knowledge that says so.
pub(crate) fn chain(explainer: &Explainer<'_>, findings: &[Finding], tier: &TierName) -> Option<String> {
    let view = explainer.tier(tier)?;
    let mut text = String::new();
    if view.is_done() {
        describe_ready(explainer, view, &mut text);
        return Some(text);
    }
    let mut seen = BTreeSet::new();
    describe(explainer, view, 0, &mut seen, &mut text);
    roots(explainer, findings, &seen, &mut text);
    knowledge(explainer, &seen, &mut text);
    Some(text)
}

/// The findings at the tiers of the chain that are to blame: those that nobody else of the chain keeps waiting.
fn roots(explainer: &Explainer<'_>, findings: &[Finding], seen: &BTreeSet<TierName>, text: &mut String) {
    let is_root = |tier: &TierName| {
        let view = explainer.tier(tier);
        let behind = view
            .into_iter()
            .flat_map(|view| &view.waits)
            .flat_map(|wait| &wait.tiers);
        let stuck =
            |other: &&TierName| *other != tier && explainer.tier(other).is_some_and(|other| !other.is_done());
        explainer.circles.contains_key(tier) || !behind.into_iter().any(|other| stuck(&other))
    };
    let loud = findings.iter().filter(|finding| {
        let fails = finding.verdict.is_some_and(Verdict::is_failure);
        fails
            && finding
                .tier
                .as_ref()
                .is_some_and(|tier| seen.contains(tier) && is_root(tier))
    });
    for finding in loud {
        let place = finding
            .location
            .as_ref()
            .map_or_else(String::new, |place| format!(" ({}:{})", place.file, place.line));
        let _ = writeln!(
            text,
            "\nAt the root: {}{place} [{}]",
            finding.message, finding.rule
        );
        if !finding.why.is_empty() {
            let _ = writeln!(text, "  why: {}", indented(&finding.why));
        }
        if !finding.help.is_empty() {
            let _ = writeln!(text, "  what to do: {}", indented(&finding.help));
        }
    }
}

/// What knowledge the chain rests on.
fn knowledge(explainer: &Explainer<'_>, seen: &BTreeSet<TierName>, text: &mut String) {
    let bringers = explainer.bringers();
    let mut sources = BTreeSet::new();
    for view in seen.iter().filter_map(|tier| explainer.tier(tier)) {
        for obstacle in view.waits.iter().filter_map(|wait| wait.obstacle.as_ref()) {
            if let Some(provider) = bringers.provider(&view.name, obstacle)
                && provider.how != How::Manifest
            {
                sources.insert(provider.source.clone());
            }
        }
    }
    for source in sources {
        let _ = writeln!(text, "Known from: {source}");
    }
}

fn indented(text: &str) -> String {
    text.replace('\n', "\n    ")
}

fn describe_ready(explainer: &Explainer<'_>, view: &TierView, text: &mut String) {
    let ready = view.record.ready_at.map_or(0.0, |at| explainer.seconds(at));
    let _ = writeln!(
        text,
        "`{}` is Ready after {}, with {}.",
        view.name,
        duration_text(ready),
        match view.record.attempts {
            1 => "one attempt".to_owned(),
            attempts => format!("{attempts} attempts"),
        }
    );
    for leg in critical::path_to(explainer, view) {
        let lasts = leg.to_s - leg.from_s;
        if lasts >= LEG_LEAST_S {
            let _ = writeln!(
                text,
                "  at {} `{}` {}, for {}",
                duration_text(leg.from_s),
                leg.tier,
                leg.what,
                duration_text(lasts)
            );
        }
    }
    for wait in &view.waits {
        let _ = writeln!(text, "  on the way it waited for {}", waiting_text(wait));
    }
    for failure in &view.record.failures {
        let began = explainer.seconds(failure.began_at);
        let _ = writeln!(
            text,
            "  the attempt at {} failed: {}",
            duration_text(began),
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
        let place = place_text(explainer, view, wait);
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
                let _ = writeln!(
                    text,
                    "{indent}  That is `{next}` itself: it applies nothing of a stage before all of it passes the dry-run, so \
                     this closes the circle."
                );
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

/// Where it is written: the object that waits, or the Flux Kustomization that names the dependency.
fn place_text(explainer: &Explainer<'_>, view: &TierView, wait: &Wait) -> String {
    let object = wait.obstacle.as_ref().and_then(Obstacle::object);
    let rendered = object.and_then(|object| explainer.rendered(object));
    if let Some(rendered) = rendered {
        return format!(" ({}:{})", rendered.origin.file, rendered.origin.line.max(1));
    }
    let location = explainer
        .script
        .cluster
        .tier(&view.name)
        .and_then(|tier| tier.location.as_ref());
    location.map_or_else(String::new, |place| format!(" ({}:{})", place.file, place.line))
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
            let trigger = match &provider.how {
                How::OperatorObject { trigger, .. } => explainer.rendered(trigger),
                _ => provider
                    .object
                    .as_ref()
                    .and_then(|object| explainer.rendered(object)),
            };
            let file = trigger.map_or_else(String::new, |rendered| {
                format!(" ({}:{})", rendered.origin.file, rendered.origin.line.max(1))
            });
            Some(format!(
                "{}{place}{file}.",
                provided_by(&provider.how, provider.object.as_ref())
            ))
        }
        Obstacle::Unhealthy { object, message, .. } => {
            Some(format!("{}.", health_text(object, message, explainer.world)))
        }
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
