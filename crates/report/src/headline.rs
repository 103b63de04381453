//! What came of one cluster, in one line.

use std::fmt::Write as _;

use firstpass_diagnostics::{ClusterReport, TierState, Verdict};

use crate::clean::clean;
use crate::counts::{Counts, counted};
use crate::text::{Paint, Style};
use firstpass_diagnostics::duration_text;

/// `clusters/prod: deadlock, 3 of 10 tiers Ready`.
pub(crate) fn of(cluster: &ClusterReport, style: Style) -> String {
    let paint = match cluster.verdict {
        Verdict::Converges => Paint::Good,
        Verdict::Hazard | Verdict::Undecided => Paint::Warn,
        Verdict::NeverReady | Verdict::Deadlock | Verdict::Invalid => Paint::Bad,
    };
    let verdict = style.paint(paint, &cluster.verdict.to_string());
    let entry = style.paint(Paint::Bold, &clean(entry(cluster)));
    format!("{entry}: {verdict}, {}", consequence(cluster))
}

/// The entry, as people write it.
pub(crate) fn entry(cluster: &ClusterReport) -> &str {
    if cluster.entry.is_empty() {
        "."
    } else {
        &cluster.entry
    }
}

/// The verdict in a few words of this cluster.
pub(crate) fn consequence(cluster: &ClusterReport) -> String {
    match cluster.suppressed.len() {
        0 => result(cluster),
        count => format!("{}, {count} suppressed", result(cluster)),
    }
}

fn result(cluster: &ClusterReport) -> String {
    let total = cluster.tiers.len();
    let in_state = |state: TierState| cluster.tiers.iter().filter(|tier| tier.state == state).count();
    if total == 0 {
        let counts = Counts::of(&cluster.findings);
        return match (counts.errors, counts.warnings) {
            (0, 0) => "nothing found".to_owned(),
            (errors, warnings) => format!("{}, {}", counted(errors, "error"), counted(warnings, "warning")),
        };
    }
    let ready = in_state(TierState::Ready);
    if ready == total {
        let failed: u32 = cluster.tiers.iter().map(|tier| tier.failed_attempts).sum();
        let duration = cluster
            .duration_s
            .map(|seconds| format!(" in {}", duration_text(seconds)))
            .unwrap_or_default();
        let attempts = match failed {
            0 => "no failed attempt".to_owned(),
            1 => "1 failed attempt".to_owned(),
            many => format!("{many} failed attempts"),
        };
        return format!("{} Ready{duration}, {attempts}", counted(total, "tier"));
    }
    let mut text = format!("{ready} of {} Ready", counted(total, "tier"));
    for (state, words) in [
        (TierState::Unrendered, "could not be seen"),
        (TierState::Suspended, "suspended"),
    ] {
        let count = in_state(state);
        if count > 0 {
            let _ = write!(text, ", {count} {words}");
        }
    }
    text
}
