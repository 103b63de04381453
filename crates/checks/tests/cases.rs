//! The cases by the rules alone: what the files prove needs no rehearsal.

mod support;

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_source::WorkTree;
use firstpass_testing::cases::{Case, Shown, own_cases, run, shared_cases};
use support::{findings, is_loud, line};

/// Cases whose fault no file shows.
const ONLY_PLAYED: [(&str, &str); 4] = [
    (
        "b23-ready-expression-that-is-never-true",
        "what an expression says of a status is found by playing",
    ),
    (
        "b26-waits-that-take-every-worker",
        "who gets a worker in time is found by playing",
    ),
    (
        "i17-webhook-on-pods-that-nothing-serves",
        "whether something answers for a webhook is found by playing",
    ),
    (
        "i18-release-before-its-namespace",
        "whether a namespace comes in time is found by playing",
    ),
];

#[test]
fn every_shared_case_has_its_verdict() {
    run(&shared_cases(), &[], judge);
}

#[test]
fn every_case_of_our_own_has_its_verdict() {
    run(&own_cases(), &ONLY_PLAYED, judge);
}

fn judge(case: &Case) -> Result<(), String> {
    let found = findings(WorkTree::open(&case.repository).unwrap(), &case.entry);
    let verdict = found.iter().filter_map(|finding| finding.verdict).max();
    let shown: Vec<Shown> = found
        .iter()
        .filter(|finding| is_loud(finding))
        .map(shown)
        .collect();
    case.expected
        .judge(&verdict.unwrap_or(Verdict::Converges).to_string(), &shown)
}

fn shown(finding: &Finding) -> Shown {
    // A tier whose pass fails for good never applies either; the finding is at it.
    let own = finding
        .tier
        .iter()
        .filter(|_| finding.severity == Severity::Error);
    Shown {
        tier: finding.tier.as_ref().map(ToString::to_string).unwrap_or_default(),
        object: finding.object.clone().unwrap_or_default(),
        file: finding
            .location
            .as_ref()
            .map(|place| place.file.clone())
            .unwrap_or_default(),
        blocks: finding
            .blocks
            .iter()
            .chain(own)
            .map(ToString::to_string)
            .collect(),
        text: line(finding),
    }
}
