//! Running cases: small repositories with a known verdict, in the form that `cases/README.md` describes.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use super::{json, loud_findings, texts};

/// What a directory of cases is run with.
pub(crate) struct Suite<'s> {
    /// The directory that holds the cases.
    pub(crate) directory: &'s Path,
    /// Verbs that are not there yet; their cases are counted as skipped.
    pub(crate) later_verbs: &'s [&'s str],
    /// Cases that need something that is not there yet, with the reason. One that begins to pass has to leave the list.
    pub(crate) known_gaps: &'s [(&'s str, &'s str)],
}

/// What a case expects.
struct Expectation {
    verdicts: Vec<String>,
    places: Vec<String>,
    things: Vec<String>,
    blocks: Vec<String>,
    is_control: bool,
}

impl Suite<'_> {
    /// Runs every case and fails with all that went wrong.
    ///
    /// # Panics
    /// If a case does not pass, or passes although it is listed as a gap, or a gap names no case.
    pub(crate) fn run(&self) {
        let names = self.names();
        let (mut passed, mut skipped, mut failures) = (0, 0, String::new());
        for (known, _) in self
            .known_gaps
            .iter()
            .filter(|(known, _)| !names.iter().any(|name| name == known))
        {
            let _ = writeln!(failures, "{known}: listed as a gap, but there is no such case");
        }
        for name in &names {
            let case = self.directory.join(name);
            let expect = read_yaml(&case.join("expect.yaml"));
            let command = expect["command"].as_str().unwrap();
            if self.later_verbs.contains(&command) {
                skipped += 1;
                continue;
            }
            let gap = self.known_gaps.iter().find(|(known, _)| known == name);
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

    /// The names of the cases, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.directory)
            .unwrap()
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.path().join("expect.yaml").is_file())
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
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

/// Reads a YAML file that holds one document.
pub(crate) fn read_yaml(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap();
    firstpass_yaml::parse_one(&text).unwrap().to_json().unwrap()
}
