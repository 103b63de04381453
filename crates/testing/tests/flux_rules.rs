//! `docs/flux-rules.md` is complete: each rule is cited by a test, or a known gap, or said to be unseen.
#![expect(clippy::disallowed_methods, reason = "the test reads the project's own files")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Sections of the reference whose rules a rehearsal could show.
const SECTIONS: [&str; 9] = ["2", "3", "4", "5", "6", "7", "9", "11", "12"];

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The rules of the list, each with its remark.
fn listed() -> BTreeMap<String, String> {
    let text = read(&root().join("docs/flux-rules.md"));
    let rows = text.lines().filter(|line| line.starts_with("| F-"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [rule, about, remark] = cells[..] else {
            panic!("a row has three cells: {row}");
        };
        assert!(!about.is_empty(), "{row}");
        (rule.to_owned(), remark.to_owned())
    })
    .collect()
}

/// All `F-nnn` in a text; `F-500 to F-508` and `F-500..` mean their ends alone.
fn rules_in(text: &str) -> BTreeSet<String> {
    let starts = text.match_indices("F-").map(|(start, _)| start + 2);
    starts
        .filter_map(|start| {
            let digits: String = text[start..].chars().take_while(char::is_ascii_digit).collect();
            (3..=4).contains(&digits.len()).then(|| format!("F-{digits}"))
        })
        .collect()
}

/// What the tests of all crates cite.
fn cited() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut directories = vec![root().join("crates")];
    while let Some(directory) = directories.pop() {
        let entries = std::fs::read_dir(&directory).expect("a directory of the project");
        for path in entries.map(|entry| entry.expect("an entry").path()) {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if path.is_dir() {
                if name != "target" {
                    directories.push(path);
                }
                continue;
            }
            // This file cites nothing by itself.
            if path.extension().is_none_or(|extension| extension != "rs")
                || name == "flux_rules.rs" && path.starts_with(root().join("crates/testing"))
            {
                continue;
            }
            let text = read(&path);
            let is_test_file =
                path.components().any(|part| part.as_os_str() == "tests") || name == "tests.rs";
            let tests = if is_test_file {
                Some(text.as_str())
            } else {
                text.find("#[cfg(test)]").map(|start| &text[start..])
            };
            found.extend(tests.map(rules_in).unwrap_or_default());
        }
    }
    found
}

#[test]
fn every_rule_is_shown_or_its_absence_is_explained() {
    let (cited, gaps) = (cited(), rules_in(&read(&root().join("KNOWN-GAPS.md"))));
    let mut problems = Vec::new();
    for (rule, remark) in listed() {
        let problem = match remark.split_once(':').map_or(remark.as_str(), |(word, _)| word) {
            "" if !cited.contains(&rule) => "no test cites it",
            "gap" if !gaps.contains(&rule) => "`KNOWN-GAPS.md` does not name it",
            "unseen" if remark.len() < "unseen: why".len() => "it says not why it is unseen",
            "unseen" if cited.contains(&rule) => "it is said to be unseen, but a test cites it",
            "" | "gap" | "unseen" => continue,
            _ => "the remark is neither `gap` nor `unseen: reason`",
        };
        problems.push(format!("{rule}: {problem}"));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn the_list_has_the_rules_of_the_reference() {
    let Some(reference) = firstpass_testing::shared("reference") else {
        return;
    };
    let text = read(&reference.join("flux-semantics.md"));
    let mut section = String::new();
    let mut wanted = BTreeSet::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("## ") {
            section = rest.split('.').next().unwrap_or_default().to_owned();
        }
        let defines = line.strip_prefix("- **").or_else(|| line.strip_prefix("| "));
        if let Some(rest) = defines.filter(|rest| rest.starts_with("F-"))
            && SECTIONS.contains(&section.as_str())
        {
            let rule = rest
                .split(|c: char| c != 'F' && c != '-' && !c.is_ascii_digit())
                .next();
            wanted.extend(rule.map(str::to_owned));
        }
    }
    let listed: BTreeSet<String> = listed().into_keys().collect();
    let missing: Vec<&String> = wanted.difference(&listed).collect();
    let unknown: Vec<&String> = listed.difference(&wanted).collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "missing {missing:?}, unknown {unknown:?}"
    );
}
