//! Does a finding hang on how long things take, which nobody measured?
//!
//! Most delays are estimates. A wait that times out under an estimate says something about the estimate, not about the
//! repository, so no verdict may follow from it: unknown is not bad. The test is a second run of the same schedule in which
//! every estimate takes as good as no time. What still happens there happens by constants of Kubernetes and Flux, or because
//! the repository says so.

use firstpass_diagnostics::{ClusterReport, Finding, Severity, TierState, Verdict};

/// Rules of runs whose findings may hang on durations.
const SUSPECTS: [&str; 4] = [
    "health-timeout",
    "never-healthy",
    "release-never-ready",
    "attempt-failed",
];

/// The findings that may hang on durations: those of the run that are not the rules' as well.
fn suspects<'r>(
    report: &'r mut ClusterReport,
    known: &'r [Finding],
) -> impl Iterator<Item = &'r mut Finding> {
    report.findings.iter_mut().filter(move |finding| {
        let is_known = known.iter().any(|known| {
            known.rule == finding.rule && known.tier == finding.tier && known.object == finding.object
        });
        SUSPECTS.contains(&finding.rule.as_str()) && finding.verdict.is_some() && !is_known
    })
}

/// With faults a tier that came up late did what it should: its failed attempts are information.
pub(crate) fn forgive(report: &mut ClusterReport, known: &[Finding]) {
    if report.faults.is_empty() {
        return;
    }
    let faults = report.faults.join(" and ");
    let of_run = |finding: &&mut Finding| {
        let is_known = known.iter().any(|known| {
            known.rule == finding.rule && known.tier == finding.tier && known.object == finding.object
        });
        finding.verdict == Some(Verdict::Hazard) && !is_known
    };
    for finding in report.findings.iter_mut().filter(of_run) {
        finding.severity = Severity::Info;
        finding.verdict = None;
        finding.why.push_str(&format!(
            " This was with {faults}, and the tier came up all the same."
        ));
    }
}

/// Makes information of what does not happen when estimates take no time. `swift` plays that run; it is only asked where
/// something may hang on it.
pub(crate) fn judge(report: &mut ClusterReport, known: &[Finding], swift: impl FnOnce() -> ClusterReport) {
    if suspects(report, known).next().is_none() {
        return;
    }
    let swift = swift();
    let stays = |finding: &Finding| {
        swift.findings.iter().any(|other| {
            SUSPECTS.contains(&other.rule.as_str())
                && other.tier == finding.tier
                && other.object == finding.object
        })
    };
    let mut changed = false;
    for finding in suspects(report, known) {
        if stays(finding) {
            continue;
        }
        changed = true;
        finding.severity = Severity::Info;
        finding.verdict = None;
        if !finding.why.is_empty() && !finding.why.ends_with(['.', '!', '?']) {
            finding.why.push('.');
        }
        finding.why.push_str(
            " It hangs on delays that are estimates (`knowledge/timing.yaml` says which): where they take no time it does not \
             happen, so no verdict follows from it.",
        );
    }
    // A tier that never came up for such a reason may come up on a real cluster: nobody can say.
    let is_stuck = report
        .tiers
        .iter()
        .any(|tier| tier.ready_at_s.is_none() && tier.state != TierState::Suspended);
    if changed && is_stuck {
        report.verdict = report.verdict.max(Verdict::Undecided);
    }
}
