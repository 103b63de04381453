//! Cases: small repositories with a known verdict, in the form that `cases/README.md` describes.
#![expect(clippy::disallowed_methods, reason = "tests find their cases on disk")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::shared;

/// Cases that firstpass does not get right, with the reason. One that begins to pass has to leave the list.
const KNOWN_GAPS: [(&str, &str); 2] = [
    (
        "a31-kind-of-a-chart-of-this-repository",
        "charts of the repository are not rendered yet",
    ),
    (
        "i01-namespace-made-by-a-chart-in-the-same-set",
        "charts of the repository are not rendered yet",
    ),
];

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name of its directory.
    pub name: String,
    /// The root of its repository.
    pub repository: PathBuf,
    /// The verb that it is run with.
    pub command: String,
    /// The cluster entry.
    pub entry: String,
    /// What has to come out.
    pub expected: Expected,
    /// Whether it shows an arrangement that must not be flagged.
    pub is_control: bool,
}

/// What a case expects.
#[derive(Clone, Debug)]
pub struct Expected {
    verdicts: Vec<String>,
    places: Vec<String>,
    things: Vec<String>,
    blocks: Vec<String>,
    is_control: bool,
}

/// A finding of severity warning or error, as far as a case looks at it.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Its tier, or empty.
    pub tier: String,
    /// Its object, or empty.
    pub object: String,
    /// The file that it points at, or empty.
    pub file: String,
    /// The tiers that it blocks.
    pub blocks: Vec<String>,
    /// The finding in a line.
    pub text: String,
}

/// The cases of this repository.
///
/// # Panics
/// If one cannot be read.
pub fn own_cases() -> Vec<Case> {
    read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases")))
}

/// The shared cases about one revision; none where they are not at hand.
///
/// # Panics
/// If one cannot be read, and under `CI=true` if they are missing.
pub fn shared_cases() -> Vec<Case> {
    shared("cases")
        .map(|directory| read(&directory))
        .unwrap_or_default()
}

/// Judges cases, and fails with all that went wrong. `more_gaps` are cases that the caller cannot get right, with the reason.
///
/// # Panics
/// If a case does not pass, or passes although it is a known gap.
pub fn run(cases: &[Case], more_gaps: &[(&str, &str)], judge: impl Fn(&Case) -> Result<(), String>) {
    let (mut passed, mut skipped, mut failures) = (0, 0, String::new());
    for case in cases {
        let name = &case.name;
        let gap = KNOWN_GAPS
            .iter()
            .chain(more_gaps)
            .find(|(known, _)| known == name);
        match (judge(case), gap) {
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
    assert!(passed > 0 || cases.is_empty(), "no case was run");
}

impl Expected {
    /// Holds a verdict and the loud findings against what is expected.
    ///
    /// # Errors
    /// What differs, with the findings.
    pub fn judge(&self, verdict: &str, shown: &[Shown]) -> Result<(), String> {
        let all = || {
            shown.iter().fold(String::new(), |text, finding| {
                format!("{text}\n    {}", finding.text)
            })
        };
        if !self.verdicts.iter().any(|expected| expected == verdict) {
            let expected = self.verdicts.join(" or ");
            return Err(format!("verdict {verdict}, expected {expected}{}", all()));
        }
        if self.is_control {
            return match shown {
                [] => Ok(()),
                _ => Err(format!("a control is flagged{}", all())),
            };
        }
        let is_it = |finding: &&Shown| {
            self.places.contains(&finding.tier)
                && (self.things.contains(&finding.object) || self.things.contains(&finding.file))
        };
        if !shown.iter().any(|finding| is_it(&finding)) {
            let (places, things) = (self.places.join(" or "), self.things.join(" or "));
            return Err(format!("no finding at {places} about {things}{}", all()));
        }
        let blocked: BTreeSet<&String> = shown.iter().flat_map(|finding| &finding.blocks).collect();
        if let Some(missing) = self.blocks.iter().find(|tier| !blocked.contains(tier)) {
            return Err(format!(
                "`{missing}` is not among the blocked tiers {blocked:?}{}",
                all()
            ));
        }
        let at_fault =
            |finding: &&Shown| self.places.contains(&finding.tier) || self.blocks.contains(&finding.tier);
        match shown.iter().find(|finding| !at_fault(finding)) {
            Some(stray) => Err(format!("a neighbour is flagged: {}", stray.text)),
            None => Ok(()),
        }
    }
}

/// The cases in a directory, by name. A plan compares two revisions; its cases are left out.
fn read(directory: &Path) -> Vec<Case> {
    let entries = std::fs::read_dir(directory).expect("a directory of cases");
    let paths = entries.map(|entry| entry.expect("an entry of the directory").path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.join("expect.yaml").is_file()).collect();
    paths.sort();
    let cases = paths.iter().map(|path| case(path));
    cases.filter(|case| case.command != "plan").collect()
}

fn case(directory: &Path) -> Case {
    let file = directory.join("expect.yaml");
    let text = std::fs::read_to_string(&file).expect("the expectation of a case");
    let expect = firstpass_yaml::parse_one(&text)
        .ok()
        .and_then(|root| root.to_json().ok())
        .unwrap_or_else(|| panic!("{} is no YAML", file.display()));
    let text = |key: &str| {
        let found = expect[key].as_str();
        found
            .unwrap_or_else(|| panic!("{}: no `{key}`", file.display()))
            .to_owned()
    };
    let is_control = text("class").starts_with("control");
    Case {
        is_control,
        name: directory
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        repository: directory.join("repo"),
        command: text("command"),
        entry: text("entry"),
        expected: Expected {
            verdicts: one_or_more(&expect["verdict"]),
            places: one_or_more(&expect["where"]),
            things: one_or_more(&expect["what"]),
            blocks: one_or_more(&expect["blocks"]),
            is_control,
        },
    }
}

fn one_or_more(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        _ => Vec::new(),
    }
}
