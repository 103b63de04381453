//! The shared cases: small repositories with a known verdict, run as their README says.

mod common;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use common::{json, loud_findings, texts};
use serde_json::Value;

/// Verbs that are not there yet; their cases are counted as skipped.
const LATER_VERBS: [&str; 1] = ["plan"];

/// Cases that need something that is not there yet, with the reason. A case that begins to pass has to leave the list.
const KNOWN_GAPS: [(&str, &str); 1] = [(
    "i01-namespace-made-by-a-chart-in-the-same-set",
    "charts of the repository are not rendered yet",
)];

/// What a case expects.
struct Expectation {
    verdicts: Vec<String>,
    places: Vec<String>,
    things: Vec<String>,
    blocks: Vec<String>,
    is_control: bool,
}

#[test]
fn every_case_has_its_verdict() {
    let Some(directory) = firstpass_testing::shared("cases") else {
        return;
    };
    let mut names: Vec<String> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("expect.yaml").is_file())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    let (mut passed, mut skipped, mut failures) = (0, 0, String::new());
    for name in &names {
        let case = directory.join(name);
        let expect = read_yaml(&case.join("expect.yaml"));
        let command = expect["command"].as_str().unwrap();
        if LATER_VERBS.contains(&command) {
            skipped += 1;
            continue;
        }
        let gap = KNOWN_GAPS.iter().find(|(known, _)| known == name);
        match (run(&case, command, &expect), gap) {
            (Ok(()), None) => passed += 1,
            (Err(_), Some(_)) => skipped += 1,
            (Ok(()), Some((_, reason))) => {
                let _ = writeln!(
                    failures,
                    "{name}: passes now, though it is listed as a gap ({reason})"
                );
            }
            (Err(why), None) => {
                let _ = writeln!(failures, "{name}: {why}");
            }
        }
    }
    let failed = failures.lines().filter(|line| !line.starts_with(' ')).count();
    println!("cases: {passed} passed, {failed} failed, {skipped} skipped");
    assert!(failures.is_empty(), "\n{failures}");
    assert!(passed > 0, "no case was run");
}

fn run(case: &Path, command: &str, expect: &Value) -> Result<(), String> {
    let expectation = Expectation {
        verdicts: one_or_more(&expect["verdict"]),
        places: one_or_more(&expect["where"]),
        things: one_or_more(&expect["what"]),
        blocks: one_or_more(&expect["blocks"]),
        is_control: expect["class"]
            .as_str()
            .is_some_and(|class| class.starts_with("control")),
    };
    let report = json(
        &case.join("repo"),
        &[command, expect["entry"].as_str().unwrap(), "--root", "."],
    );
    let cluster = &report["clusters"][0];
    let findings = loud_findings(&report);
    let shown = || {
        findings.iter().fold(String::new(), |text, finding| {
            format!("{text}\n    {}", brief(finding))
        })
    };
    let verdict = cluster["verdict"].as_str().unwrap_or_default();
    if !expectation.verdicts.iter().any(|expected| expected == verdict) {
        return Err(format!(
            "verdict {verdict}, expected {}{}",
            expectation.verdicts.join(" or "),
            shown()
        ));
    }
    if expectation.is_control {
        return if findings.is_empty() {
            Ok(())
        } else {
            Err(format!("a control is flagged{}", shown()))
        };
    }
    let Some(found) = findings.iter().find(|finding| matches(finding, &expectation)) else {
        return Err(format!(
            "no finding at {} about {}{}",
            expectation.places.join(" or "),
            expectation.things.join(" or "),
            shown()
        ));
    };
    let blocked: BTreeSet<String> = findings
        .iter()
        .flat_map(|finding| texts(&finding["blocks"]))
        .collect();
    if let Some(missing) = expectation.blocks.iter().find(|tier| !blocked.contains(*tier)) {
        return Err(format!(
            "`{missing}` is not among the blocked tiers {blocked:?}; found {}",
            brief(found)
        ));
    }
    let at_fault = |finding: &&&Value| {
        let tier = finding["tier"].as_str().unwrap_or_default();
        expectation
            .places
            .iter()
            .chain(&expectation.blocks)
            .any(|known| known == tier)
    };
    match findings.iter().find(|finding| !at_fault(finding)) {
        Some(stray) => Err(format!("a neighbour is flagged: {}", brief(stray))),
        None => Ok(()),
    }
}

fn matches(finding: &Value, expectation: &Expectation) -> bool {
    let is = |list: &[String], value: &Value| {
        value
            .as_str()
            .is_some_and(|text| list.iter().any(|item| item == text))
    };
    is(&expectation.places, &finding["tier"])
        && (is(&expectation.things, &finding["object"])
            || is(&expectation.things, &finding["location"]["file"]))
}

fn brief(finding: &Value) -> String {
    let text = |key: &str| finding[key].as_str().unwrap_or("-").to_owned();
    format!(
        "{}[{}] {} {}: {}",
        text("severity"),
        text("rule"),
        text("tier"),
        text("object"),
        text("message")
    )
}

fn one_or_more(value: &Value) -> Vec<String> {
    value
        .as_str()
        .map(|text| vec![text.to_owned()])
        .unwrap_or_else(|| texts(value))
}

#[expect(clippy::disallowed_methods, reason = "tests read their expectations")]
fn read_yaml(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap();
    firstpass_yaml::parse_one(&text).unwrap().to_json().unwrap()
}
