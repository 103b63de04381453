//! What came of one cluster, in one line.

use std::fmt::Write as _;

use firstpass_diagnostics::{ClusterReport, Sampled, ScheduleOutcome, Span, TierState, Verdict};

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
    if let Some(sampled) = &cluster.sampled {
        return of_schedules(cluster, sampled);
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

/// What all schedules came to, so that no number is that of one of them alone.
fn of_schedules(cluster: &ClusterReport, sampled: &Sampled) -> String {
    let all = cluster.schedules;
    let as_said = sampled
        .outcomes
        .iter()
        .filter(|outcome| outcome.verdict == cluster.verdict);
    let count: u32 = as_said.map(|outcome| outcome.count).sum();
    let mut text = match count {
        // What follows from the files alone needs no schedule.
        0 => format!("in none of {all} schedules"),
        _ if count == all => format!("in all of {all} schedules"),
        _ => format!("in {count} of {all} schedules"),
    };
    let expected = cluster
        .tiers
        .iter()
        .filter(|tier| tier.state != TierState::Suspended)
        .count();
    let up = |outcome: &ScheduleOutcome| {
        u32::try_from(expected.saturating_sub(outcome.not_ready.len())).unwrap_or(u32::MAX)
    };
    let up = Span::of(sampled.outcomes.iter().map(up));
    if up.least as usize == expected {
        let _ = write!(text, ", {} Ready", counted(expected, "tier"));
    } else {
        let _ = write!(text, ", {up} of {} Ready", counted(expected, "tier"));
    }
    if let (Some(fastest), Some(slowest)) = (&sampled.fastest, &sampled.slowest) {
        let [least, most] = [fastest, slowest].map(|duration| duration_text(duration.duration_s));
        let _ = match least == most {
            true => write!(text, " in {least}"),
            false => write!(text, " in {least} to {most}"),
        };
    }
    let failed = sampled.failed_attempts;
    let _ = match (failed.least, failed.most) {
        (_, 0) => write!(text, ", no failed attempt"),
        (1, 1) => write!(text, ", 1 failed attempt"),
        _ => write!(text, ", {failed} failed attempts"),
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstpass_diagnostics::{ScheduleDuration, Tier};
    use firstpass_object::TierName;

    fn cluster(outcomes: &[(u32, Verdict, usize)], failed_attempts: Span) -> ClusterReport {
        let name = |number: usize| TierName::new("flux-system", number.to_string());
        let tier = |number: usize| Tier {
            name: name(number),
            state: TierState::Ready,
            applied_at_s: None,
            ready_at_s: None,
            attempts: 1,
            failed_attempts: 0,
            depends_on: Vec::new(),
            waiting_on: Vec::new(),
            proves: None,
            blast_radius: None,
        };
        let duration = |duration_s| ScheduleDuration {
            seed: 0,
            duration_s,
            critical_path: Vec::new(),
        };
        let outcomes: Vec<ScheduleOutcome> = outcomes
            .iter()
            .map(|(count, verdict, not_ready)| ScheduleOutcome {
                count: *count,
                seed: 0,
                verdict: *verdict,
                findings: Vec::new(),
                not_ready: (0..*not_ready).map(name).collect(),
            })
            .collect();
        ClusterReport {
            entry: "clusters/prod".to_owned(),
            verdict: outcomes.iter().map(|outcome| outcome.verdict).max().unwrap(),
            schedules: outcomes.iter().map(|outcome| outcome.count).sum(),
            tiers: (0..3).map(tier).collect(),
            sampled: Some(Sampled {
                outcomes,
                fastest: Some(duration(60.0)),
                slowest: Some(duration(90.0)),
                failed_attempts,
            }),
            ..ClusterReport::new("")
        }
    }

    #[test]
    fn many_schedules_are_told_as_many() {
        let line = |outcomes: &[(u32, Verdict, usize)], least, most| {
            of(&cluster(outcomes, Span { least, most }), Style::plain())
        };
        assert_eq!(
            line(&[(5, Verdict::Converges, 0)], 0, 0),
            "clusters/prod: converges, in all of 5 schedules, 3 tiers Ready in 1m00s to 1m30s, no failed attempt"
        );
        assert_eq!(
            line(&[(4, Verdict::Converges, 0), (1, Verdict::NeverReady, 2)], 0, 7),
            "clusters/prod: never-ready, in 1 of 5 schedules, 1 to 3 of 3 tiers Ready in 1m00s to 1m30s, 0 to 7 failed attempts"
        );
    }
}
