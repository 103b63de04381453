//! The shared cases whose command is `rehearse`: verdict, tier, object, blocked tiers.

#[allow(
    dead_code,
    clippy::needless_pass_by_value,
    reason = "each test file uses its part"
)]
mod common;

use std::path::Path;

use common::{How, directory, rehearse};
use firstpass_diagnostics::{ClusterReport, Finding, Severity};
use serde_json::Value;

/// What this case shows depends on the contents of a chart that nothing is known of.
const NEEDS_CHARTS: &str = "i01";

/// Texts that a key of `expect.yaml` allows: one, or a list.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(list) => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

fn is_expected(finding: &Finding, places: &[String], what: &[String]) -> bool {
    let tier = finding.tier.as_ref().map(ToString::to_string).unwrap_or_default();
    let object = finding.object.clone().unwrap_or_default();
    let file = finding
        .location
        .as_ref()
        .map(|location| location.file.clone())
        .unwrap_or_default();
    finding.severity >= Severity::Warning
        && places.contains(&tier)
        && (what.contains(&object) || what.contains(&file))
}

/// What is wrong with a report; empty if it is as expected.
fn complaints(report: &ClusterReport, expect: &Value) -> Vec<String> {
    let mut complaints = Vec::new();
    let verdict = report.verdict.to_string();
    if !texts(&expect["verdict"]).contains(&verdict) {
        complaints.push(format!("verdict {verdict}, expected {}", expect["verdict"]));
    }
    let (places, what, blocks) = (
        texts(&expect["where"]),
        texts(&expect["what"]),
        texts(&expect["blocks"]),
    );
    if verdict == "converges" {
        return complaints;
    }
    let found = report
        .findings
        .iter()
        .find(|finding| is_expected(finding, &places, &what));
    match found {
        None => complaints.push(format!("no finding at {places:?} about {what:?}")),
        Some(finding) => {
            let has = |tier: &String| finding.blocks.iter().any(|blocked| blocked.to_string() == *tier);
            if let Some(missing) = blocks.iter().find(|tier| !has(tier)) {
                complaints.push(format!(
                    "{missing} is not among the blocked tiers {:?}",
                    finding.blocks
                ));
            }
        }
    }
    complaints
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the shared cases are read from disk")]
fn cases_end_as_they_say() {
    let Some(cases) = firstpass_testing::shared("cases") else {
        return;
    };
    let mut names: Vec<_> = std::fs::read_dir(&cases)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    let only = std::env::var("CASE").ok();
    let mut failed = Vec::new();
    let mut played = 0;
    for case in names {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        if only.as_ref().is_some_and(|only| !name.starts_with(only.as_str())) {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(case.join("expect.yaml")) else {
            continue;
        };
        let expect = firstpass_yaml::parse_one(&text).unwrap().to_json().unwrap();
        // A rehearsal of what `check` finds says the same.
        if expect["command"] == "plan" {
            continue;
        }
        played += 1;
        let rehearsal = rehearse(
            directory(&case.join("repo")),
            expect["entry"].as_str().unwrap(),
            &How::default(),
        );
        let complaints = complaints(&rehearsal.report, &expect);
        if only.is_some() || !complaints.is_empty() {
            eprintln!("{}", rehearsal.trace());
            for finding in &rehearsal.report.findings {
                eprintln!("{finding:#?}");
            }
            for tier in &rehearsal.report.tiers {
                eprintln!("{tier:?}");
            }
        }
        let needs_charts = name.starts_with(NEEDS_CHARTS);
        if !complaints.is_empty() && !needs_charts {
            failed.push(format!("{name}: {}", complaints.join("; ")));
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {played} cases fail:\n{}",
        failed.len(),
        failed.join("\n")
    );
}

#[test]
fn the_readme_of_the_cases_is_where_it_should_be() {
    let Some(cases) = firstpass_testing::shared("cases") else {
        return;
    };
    assert!(Path::new(&cases).join("README.md").is_file());
}
