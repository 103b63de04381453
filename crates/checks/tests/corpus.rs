//! What the rules say about public repositories whose clusters run today: every error, one a line, judged by hand in
//! `corpus.findings`. A change of the list is a change to read. Warnings are counted.
//!
//! `FIRSTPASS_BLESS=1 cargo test -p firstpass-checks --test corpus` writes the list; the judgements behind `#` stay.

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use firstpass_diagnostics::{Finding, Severity};
use firstpass_render::Repository;
use firstpass_source::WorkTree;
use support::entry_findings;

#[test]
fn findings_on_public_repositories_are_judged() {
    let Some(directory) = firstpass_testing::shared("corpus") else {
        return;
    };
    let judged = read_list();
    let mut lines: Vec<String> = Vec::new();
    for name in repositories(&directory) {
        let tree = Arc::new(WorkTree::open(directory.join(&name)).unwrap());
        let repository = Repository::open(tree).unwrap();
        for entry in repository.entries() {
            let found = entry_findings(&repository, &entry);
            let count = |severity| {
                found
                    .iter()
                    .filter(|finding| finding.severity == severity)
                    .count()
            };
            println!("{name} {}: {} warnings", entry.path(), count(Severity::Warning));
            let errors = found.iter().filter(|finding| finding.severity == Severity::Error);
            lines.extend(errors.map(|finding| format!("{name} {} {}", entry.path(), brief(finding))));
        }
    }
    lines.sort();
    lines.dedup();
    let mut text = String::new();
    for line in &lines {
        match judged.get(line) {
            Some(judgement) => {
                let _ = writeln!(text, "{line}  # {judgement}");
            }
            None => {
                let _ = writeln!(text, "{line}");
            }
        }
    }
    if bless() {
        std::fs::write(list(), &text).unwrap();
        return;
    }
    let new: Vec<&String> = lines.iter().filter(|line| !judged.contains_key(*line)).collect();
    let gone: Vec<&String> = judged.keys().filter(|line| !lines.contains(line)).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "not judged: {new:#?}\ngone: {gone:#?}"
    );
}

fn brief(finding: &Finding) -> String {
    let tier = finding.tier.as_ref().map(ToString::to_string).unwrap_or_default();
    let object = finding.object.clone().unwrap_or_default();
    format!("{}[{}] {tier} {object}", finding.severity, finding.rule)
}

/// The judged findings, with the judgement.
fn read_list() -> BTreeMap<String, String> {
    #[expect(clippy::disallowed_methods, reason = "the list of this test")]
    let text = std::fs::read_to_string(list()).unwrap_or_default();
    let entry = |line: &str| {
        let (finding, judgement) = line.split_once("  # ").unwrap_or((line, ""));
        (finding.to_owned(), judgement.to_owned())
    };
    text.lines().map(entry).collect()
}

fn list() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus.findings"))
}

fn repositories(directory: &Path) -> Vec<String> {
    #[expect(clippy::disallowed_methods, reason = "tests find their inputs")]
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[expect(clippy::disallowed_methods, reason = "asked for by whoever runs the test")]
fn bless() -> bool {
    std::env::var("FIRSTPASS_BLESS").is_ok_and(|value| value == "1")
}
