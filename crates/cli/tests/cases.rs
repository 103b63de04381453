//! Cases, small repositories with a known verdict, run as people run the program.

mod common;

use common::{json, loud_findings, texts};
use firstpass_testing::cases::{Case, Shown, own_cases, run, shared_cases};
use serde_json::Value;

/// Those that everybody who builds such a program is given.
#[test]
fn every_shared_case_has_its_verdict() {
    run(&shared_cases(), &[], judge);
}

/// Those of this repository: failures that people meet, and arrangements that must not be flagged.
#[test]
fn every_case_of_our_own_has_its_verdict() {
    run(&own_cases(), &[], judge);
}

fn judge(case: &Case) -> Result<(), String> {
    let report = json(&case.repository, &[&case.command, &case.entry, "--root", "."]);
    let verdict = report["clusters"][0]["verdict"].as_str().unwrap_or_default();
    let shown: Vec<Shown> = loud_findings(&report).into_iter().map(shown).collect();
    case.expected.judge(verdict, &shown)
}

fn shown(finding: &Value) -> Shown {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let [severity, rule, tier, object, message] =
        ["severity", "rule", "tier", "object", "message"].map(|key| text(&finding[key]));
    Shown {
        text: format!("{severity}[{rule}] {tier} {object}: {message}"),
        tier,
        object,
        file: text(&finding["location"]["file"]),
        blocks: texts(&finding["blocks"]),
    }
}
