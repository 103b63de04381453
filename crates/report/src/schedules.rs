//! What the schedules came to, and which chain of waits made the total.

use std::fmt::Write as _;

use firstpass_diagnostics::{ClusterReport, Leg, Sampled, ScheduleDuration};

use crate::clean::clean;
use crate::text::{Paint, Style};
use crate::wrap::wrap;
use firstpass_diagnostics::duration_text;

/// Legs shorter than this many seconds are left out, unless everything is asked for.
const LEG_LEAST_S: f64 = 1.0;

/// Renders the outcomes of many schedules, and the critical path; empty if there is nothing to tell.
pub(crate) fn render(cluster: &ClusterReport, style: Style) -> String {
    let mut text = String::new();
    if let Some(sampled) = &cluster.sampled {
        outcomes(sampled, cluster.schedules, style, &mut text);
    }
    // Where a run does not end there is no path to its end.
    let slowest = cluster
        .sampled
        .as_ref()
        .and_then(|sampled| sampled.slowest.as_ref());
    match slowest {
        Some(slowest) => {
            let title = format!("critical path of the slowest schedule, seed {}:", slowest.seed);
            path(&title, &slowest.critical_path, style, &mut text);
        }
        None if style.verbose && cluster.duration_s.is_some() => {
            path("critical path:", &cluster.critical_path, style, &mut text);
        }
        None => {}
    }
    text
}

fn outcomes(sampled: &Sampled, schedules: u32, style: Style, text: &mut String) {
    let _ = writeln!(text, "{}", style.paint(Paint::Bold, "schedules:"));
    for outcome in &sampled.outcomes {
        let mut line = format!(
            "{} of {schedules} {} (seed {})",
            outcome.count, outcome.verdict, outcome.seed
        );
        if !outcome.findings.is_empty() {
            let _ = write!(line, ": {}", outcome.findings.join("; "));
        }
        let _ = writeln!(
            text,
            "  {}",
            wrap(&clean(&line), style.width.saturating_sub(4)).join("\n    ")
        );
    }
    let took = |duration: &ScheduleDuration| {
        format!("{} (seed {})", duration_text(duration.duration_s), duration.seed)
    };
    if let (Some(fastest), Some(slowest)) = (&sampled.fastest, &sampled.slowest) {
        let _ = writeln!(text, "  fastest {}, slowest {}", took(fastest), took(slowest));
    }
}

fn path(title: &str, legs: &[Leg], style: Style, text: &mut String) {
    let shown = |leg: &&Leg| style.verbose || leg.to_s - leg.from_s >= LEG_LEAST_S;
    if !legs.iter().any(|leg| shown(&leg)) {
        return;
    }
    let _ = writeln!(text, "{}", style.paint(Paint::Bold, title));
    let width = legs
        .iter()
        .map(|leg| leg.tier.to_string().chars().count())
        .max()
        .unwrap_or(0);
    for leg in legs.iter().filter(shown) {
        let head = format!(
            "{:>8} +{:<8} {:width$}  ",
            duration_text(leg.from_s),
            duration_text(leg.to_s - leg.from_s),
            leg.tier.to_string()
        );
        let indent = head.chars().count() + 2;
        let lines = wrap(&leg.what, style.width.saturating_sub(indent).max(20));
        let _ = writeln!(
            text,
            "  {head}{}",
            clean(&lines.join(&format!("\n{:indent$}", "")))
        );
    }
}
