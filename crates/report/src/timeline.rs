//! The table of tiers: when each was applied and Ready, how often it tried, and what it waited for.

use std::fmt::Write as _;

use crate::clean::clean;
use crate::text::{Paint, Style};
use firstpass_diagnostics::{ClusterReport, Tier, TierState, Verdict, WaitingFor, WaitingOn, duration_text};

/// Things waited for beyond this many are counted, not listed.
const LISTED_MAX: usize = 3;

/// Renders the table, one line per tier, in the order of the report.
pub(crate) fn render(cluster: &ClusterReport, style: Style) -> String {
    let tiers = &cluster.tiers;
    let name_width = tiers
        .iter()
        .map(|tier| tier.name.to_string().chars().count())
        .max()
        .unwrap_or(0)
        .max(4);
    let mut text = String::new();
    let header = format!(
        "    {:name_width$}  {:>8}  {:>8}  {:>5}  waited for",
        "tier", "applied", "ready", "tries"
    );
    let _ = writeln!(text, "{}", style.paint(Paint::Dim, header.trim_end()));
    for tier in tiers {
        let (mark, paint) = mark(tier.state);
        let tries = match tier.failed_attempts {
            0 => tier.attempts.to_string(),
            failed => format!("{} ({failed} failed)", tier.attempts),
        };
        let line = format!(
            "{:name_width$}  {:>8}  {:>8}  {:>5}  {}",
            tier.name.to_string(),
            tier.applied_at_s.map_or_else(|| "-".to_owned(), duration_text),
            tier.ready_at_s
                .map_or_else(|| no_time(tier, cluster.verdict).to_owned(), duration_text),
            tries,
            waits(&tier.waiting_on),
        );
        let _ = writeln!(text, "  {} {}", style.paint(paint, mark), clean(line.trim_end()));
    }
    text
}

/// The sign of a state, and its paint.
pub(crate) fn mark(state: TierState) -> (&'static str, Paint) {
    match state {
        TierState::Ready => ("+", Paint::Good),
        TierState::Waiting => (".", Paint::Warn),
        TierState::Failed => ("x", Paint::Bad),
        TierState::Suspended | TierState::Unrendered | TierState::Removed => ("?", Paint::Dim),
    }
}

/// What stands in the place of a time that did not come: where the time was up, that says nothing about ever.
fn no_time(tier: &Tier, verdict: Verdict) -> &'static str {
    match (tier.state, verdict) {
        (TierState::Waiting, Verdict::Undecided) => "not yet",
        (state, _) => state_word(state),
    }
}

/// What stands in the place of a time that never comes.
pub(crate) fn state_word(state: TierState) -> &'static str {
    match state {
        TierState::Ready => "-",
        TierState::Waiting => "never",
        TierState::Failed => "fails",
        TierState::Suspended => "suspended",
        TierState::Unrendered => "unseen",
        TierState::Removed => "removed",
    }
}

fn waits(waiting_on: &[WaitingOn]) -> String {
    let mut shown: Vec<String> = waiting_on.iter().take(LISTED_MAX).map(wait).collect();
    if waiting_on.len() > LISTED_MAX {
        shown.push(format!("{} more", waiting_on.len() - LISTED_MAX));
    }
    shown.join(", ")
}

/// What is waited for, in words.
pub(crate) fn wait(wait: &WaitingOn) -> String {
    let what = &wait.what;
    match wait.waiting_for {
        WaitingFor::Kind => format!("kind {what}"),
        WaitingFor::Dependency => what.clone(),
        WaitingFor::Health => format!("health of {what}"),
        WaitingFor::Namespace => format!("namespace {what}"),
        WaitingFor::Webhook => format!("webhook {what}"),
        WaitingFor::Source => format!("source {what}"),
        WaitingFor::Variable => format!("variable {what}"),
        WaitingFor::Object => what.clone(),
    }
}
