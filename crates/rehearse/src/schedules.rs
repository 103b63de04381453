//! Many schedules of one cold start: what they have in common, how often each thing happened, and which seed shows it.

use std::collections::BTreeMap;

use firstpass_diagnostics::{
    ClusterReport, Finding, Frequency, Sampled, ScheduleDuration, ScheduleOutcome, Severity, Span, TierState,
    Verdict,
};
use firstpass_object::TierName;

/// What identifies a finding across schedules: rule, tier, object.
type Key = (String, String, String);

/// What tells one outcome from another: the verdict, what was found, who is not Ready.
type Outcome = (Verdict, Vec<String>, Vec<TierName>);

/// Takes over what other schedules found: sampled schedules may raise a verdict, never lower it.
pub(crate) fn merge(report: &mut ClusterReport, others: &[ClusterReport]) {
    let total = u32::try_from(others.len()).unwrap_or(u32::MAX).saturating_add(1);
    report.sampled = Some(sampled(report, others));
    report.schedules = total;
    let mut found: BTreeMap<Key, Found> = BTreeMap::new();
    for one in std::iter::once(&*report).chain(others) {
        for finding in &one.findings {
            let entry = found.entry(key(finding)).or_insert_with(|| Found {
                finding: finding.clone(),
                seen: 0,
                seed: one.seed,
            });
            // The schedule that says most about it is shown.
            let rank = |finding: &Finding| (finding.verdict, finding.schedules.is_some());
            if rank(finding) > rank(&entry.finding) {
                entry.finding = finding.clone();
                entry.seed = one.seed;
            }
            entry.seen += u32::from(finding.schedules.is_some());
        }
    }
    for other in others {
        report.verdict = report.verdict.max(other.verdict);
    }
    report.findings = found.into_values().map(|found| found.counted(total)).collect();
    report.conclude();
}

/// Takes the marks away where there is one schedule only.
pub(crate) fn unmark(report: &mut ClusterReport) {
    for finding in &mut report.findings {
        finding.schedules = None;
    }
}

/// A finding of several schedules.
struct Found {
    finding: Finding,
    /// In how many of them it was seen to happen; what follows from the files alone need not happen at all.
    seen: u32,
    seed: u64,
}

impl Found {
    /// The finding, with the number of schedules in which it happened.
    fn counted(self, of: u32) -> Finding {
        let Found {
            mut finding,
            seen: count,
            seed,
        } = self;
        finding.schedules = None;
        if count == 0 {
            return finding;
        }
        if !finding.why.is_empty() && !finding.why.ends_with(['.', '!', '?']) {
            finding.why.push('.');
        }
        finding.why.push_str(&format!(
            " This happened in {count} of {of} schedules; `--seed {seed}` shows one."
        ));
        finding.schedules = Some(Frequency { count, of, seed });
        finding
    }
}

/// What the schedules came to.
fn sampled(report: &ClusterReport, others: &[ClusterReport]) -> Sampled {
    let all = || std::iter::once(report).chain(others);
    let mut outcomes: BTreeMap<Outcome, (u32, u64)> = BTreeMap::new();
    for one in all() {
        let entry = outcomes.entry(outcome(one)).or_insert((0, one.seed));
        entry.0 += 1;
    }
    let mut outcomes: Vec<ScheduleOutcome> = outcomes
        .into_iter()
        .map(
            |((verdict, findings, not_ready), (count, seed))| ScheduleOutcome {
                count,
                seed,
                verdict,
                findings,
                not_ready,
            },
        )
        .collect();
    outcomes.sort_by_key(|outcome| (std::cmp::Reverse(outcome.count), outcome.seed));
    let ended = || all().filter_map(|one| one.duration_s.map(|seconds| (one, seconds)));
    let duration = |(one, duration_s): (&ClusterReport, f64)| ScheduleDuration {
        seed: one.seed,
        duration_s,
        critical_path: one.critical_path.clone(),
    };
    let by_time = |a: &(&ClusterReport, f64), b: &(&ClusterReport, f64)| a.1.total_cmp(&b.1);
    let failed = |one: &ClusterReport| one.tiers.iter().map(|tier| tier.failed_attempts).sum();
    Sampled {
        failed_attempts: Span::of(all().map(failed)),
        outcomes,
        fastest: ended().min_by(by_time).map(duration),
        // The first of equals, as with the fastest.
        slowest: ended()
            .max_by(|a, b| by_time(a, b).then(b.0.seed.cmp(&a.0.seed)))
            .map(duration),
    }
}

/// What tells one outcome from another: the verdict, what was found, who is not Ready.
fn outcome(report: &ClusterReport) -> Outcome {
    let loud = report
        .findings
        .iter()
        .filter(|finding| finding.severity > Severity::Info);
    let mut findings: Vec<String> = loud
        .map(|finding| {
            let (rule, tier, object) = key(finding);
            [rule, tier, object].join(" ").trim_end().to_owned()
        })
        .collect();
    findings.sort();
    findings.dedup();
    let expected = report
        .tiers
        .iter()
        .filter(|tier| tier.state != TierState::Suspended);
    let mut not_ready: Vec<TierName> = expected
        .filter(|tier| tier.ready_at_s.is_none())
        .map(|tier| tier.name.clone())
        .collect();
    not_ready.sort();
    (report.verdict, findings, not_ready)
}

/// What identifies a finding across schedules.
pub(crate) fn key(finding: &Finding) -> Key {
    let tier = finding.tier.as_ref().map(ToString::to_string).unwrap_or_default();
    (
        finding.rule.clone(),
        tier,
        finding.object.clone().unwrap_or_default(),
    )
}
