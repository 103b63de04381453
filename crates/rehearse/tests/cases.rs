//! The cases, played without what the rules say: a run by itself comes to the verdict, and names tier and object.

#[allow(dead_code, reason = "each test file uses its part")]
mod common;

use common::{How, directory, rehearse};
use firstpass_diagnostics::{Finding, Severity};
use firstpass_testing::cases::{Case, Shown, own_cases, run, shared_cases};

#[test]
fn every_shared_case_ends_as_it_says() {
    run(&shared_cases(), &[], judge);
}

#[test]
fn every_case_of_our_own_ends_as_it_says() {
    run(&own_cases(), &[], judge);
}

fn judge(case: &Case) -> Result<(), String> {
    let report = rehearse(directory(&case.repository), &case.entry, &How::default()).report;
    let loud = report
        .findings
        .iter()
        .filter(|finding| finding.severity >= Severity::Warning);
    let shown: Vec<Shown> = loud.map(shown).collect();
    case.expected.judge(&report.verdict.to_string(), &shown)
}

fn shown(finding: &Finding) -> Shown {
    let tier = finding.tier.as_ref().map(ToString::to_string).unwrap_or_default();
    Shown {
        object: finding.object.clone().unwrap_or_default(),
        file: finding
            .location
            .as_ref()
            .map(|place| place.file.clone())
            .unwrap_or_default(),
        blocks: finding.blocks.iter().map(ToString::to_string).collect(),
        text: format!("{} {tier}: {}", finding.rule, finding.message),
        tier,
    }
}
