//! The shared cases by the rules alone: what the files prove needs no rehearsal.

mod support;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_source::WorkTree;
use serde_json::Value;
use support::{findings, is_loud, line};

/// Cases that the rules do not get right, with the reason. One that begins to pass has to leave the list.
const KNOWN_GAPS: [(&str, &str); 3] = [
    (
        "a31-kind-of-a-chart-of-this-repository",
        "charts of the repository are not rendered yet",
    ),
    (
        "b23-ready-expression-that-is-never-true",
        "what an expression says of a status is found by playing",
    ),
    (
        "i01-namespace-made-by-a-chart-in-the-same-set",
        "charts of the repository are not rendered yet",
    ),
];

#[test]
fn every_shared_case_has_its_verdict() {
    if let Some(directory) = firstpass_testing::shared("cases") {
        run(&directory);
    }
}

#[test]
fn every_case_of_our_own_has_its_verdict() {
    run(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases")));
}

fn run(directory: &Path) {
    let (mut passed, mut failures) = (0, String::new());
    for name in case_names(directory) {
        let expect = read_yaml(&directory.join(&name).join("expect.yaml"));
        // A plan compares two revisions; rules see one.
        if expect["command"] == "plan" {
            continue;
        }
        let gap = KNOWN_GAPS.iter().find(|(known, _)| *known == name);
        match (judge(&directory.join(&name), &expect), gap) {
            (Ok(()), None) => passed += 1,
            (Err(_), Some(_)) => {}
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
    assert!(failures.is_empty(), "\n{failures}");
    assert!(passed > 0, "no case was run");
}

fn judge(case: &Path, expect: &Value) -> Result<(), String> {
    let entry = expect["entry"].as_str().unwrap();
    let found = findings(WorkTree::open(case.join("repo")).unwrap(), entry);
    let loud: Vec<&Finding> = found.iter().filter(|finding| is_loud(finding)).collect();
    let shown = || {
        loud.iter().fold(String::new(), |text, finding| {
            format!("{text}\n    {}", line(finding))
        })
    };
    let verdict = found.iter().filter_map(|finding| finding.verdict).max();
    let verdict = verdict.unwrap_or(Verdict::Converges).to_string();
    if !one_or_more(&expect["verdict"]).contains(&verdict) {
        return Err(format!(
            "verdict {verdict}, expected {}{}",
            expect["verdict"],
            shown()
        ));
    }
    if expect["class"]
        .as_str()
        .is_some_and(|class| class.starts_with("control"))
    {
        return if loud.is_empty() {
            Ok(())
        } else {
            Err(format!("flagged all the same{}", shown()))
        };
    }
    let (places, things) = (one_or_more(&expect["where"]), one_or_more(&expect["what"]));
    let is_it = |finding: &&&Finding| {
        let tier = finding.tier.as_ref().map(ToString::to_string);
        let file = finding.location.as_ref().map(|place| &place.file);
        tier.is_some_and(|tier| places.contains(&tier))
            && (finding
                .object
                .as_ref()
                .is_some_and(|object| things.contains(object))
                || file.is_some_and(|file| things.contains(file)))
    };
    if !loud.iter().any(|finding| is_it(&finding)) {
        return Err(format!("no finding at {places:?} about {things:?}{}", shown()));
    }
    let blocks = one_or_more(&expect["blocks"]);
    // A tier whose pass fails for good never applies either; the finding is at it.
    let never_apply = loud.iter().filter(|finding| finding.severity == Severity::Error);
    let blocked: BTreeSet<String> = never_apply
        .flat_map(|finding| finding.blocks.iter().chain(&finding.tier))
        .map(ToString::to_string)
        .collect();
    if let Some(missing) = blocks.iter().find(|tier| !blocked.contains(*tier)) {
        return Err(format!(
            "`{missing}` is not among the blocked {blocked:?}{}",
            shown()
        ));
    }
    let at_fault = |finding: &&&Finding| {
        let tier = finding.tier.as_ref().map(ToString::to_string).unwrap_or_default();
        places.contains(&tier) || blocks.contains(&tier)
    };
    match loud.iter().find(|finding| !at_fault(finding)) {
        Some(stray) => Err(format!("a neighbour is flagged: {}", line(stray))),
        None => Ok(()),
    }
}

fn case_names(directory: &Path) -> Vec<String> {
    #[expect(clippy::disallowed_methods, reason = "tests find their cases")]
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("expect.yaml").is_file())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn one_or_more(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        Value::String(text) => vec![text.clone()],
        _ => Vec::new(),
    }
}

#[expect(clippy::disallowed_methods, reason = "tests read their expectations")]
fn read_yaml(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap();
    firstpass_yaml::parse_one(&text).unwrap().to_json().unwrap()
}
