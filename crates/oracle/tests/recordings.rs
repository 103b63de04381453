//! The simulator does what the real controllers did, but for what `KNOWN-GAPS.md` lists.

#![expect(
    clippy::disallowed_methods,
    reason = "scenarios and recordings are files of the workspace"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use firstpass_oracle::{Recording, Scenario, compare, narrate, play};

/// The section of `KNOWN-GAPS.md` that lists scenarios.
const SECTION: &str = "## Recordings that the simulator does not reproduce";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(directory: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(root().join("oracle").join(directory)).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".txt").map(str::to_owned))
        .collect()
}

/// The scenarios that are known to differ: the first cell of each row.
fn gaps() -> BTreeSet<String> {
    let text = std::fs::read_to_string(root().join("KNOWN-GAPS.md")).unwrap();
    let section = text.split_once(SECTION).map_or("", |(_, rest)| rest);
    let section = section.split("\n## ").next().unwrap_or_default();
    section
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(name, _)| name.to_owned())
        .collect()
}

fn read(directory: &str, name: &str) -> String {
    std::fs::read_to_string(root().join(format!("oracle/{directory}/{name}.txt"))).unwrap()
}

/// What differs, in words; `None` if nothing does.
fn difference(name: &str) -> Option<String> {
    let scenario =
        Scenario::parse(&read("scenarios", name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let real = Recording::parse(&read("recordings", name))
        .unwrap_or_else(|line| panic!("recordings/{name}.txt:{line}: no line of a recording"));
    let simulated = match play(&scenario) {
        Ok(items) => narrate(&items),
        Err(message) => return Some(format!("{name}: the simulator cannot play it: {message}")),
    };
    let differences = compare(&real, &simulated, scenario.waits);
    let shown: Vec<String> = differences.iter().map(ToString::to_string).collect();
    (!shown.is_empty()).then(|| format!("=== {name}\n{}", shown.join("\n")))
}

#[test]
fn the_simulator_does_what_the_real_controllers_did() {
    let gaps = gaps();
    let mut wrong = Vec::new();
    for name in files("recordings") {
        match (difference(&name), gaps.contains(&name)) {
            (Some(text), false) => wrong.push(text),
            (None, true) => wrong.push(format!(
                "=== {name}\nis reproduced, and still listed in KNOWN-GAPS.md"
            )),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_scenario_is_recorded_and_every_gap_is_a_scenario() {
    let scenarios = files("scenarios");
    assert_eq!(scenarios, files("recordings"), "scenarios and recordings");
    let unknown: Vec<String> = gaps().difference(&scenarios).cloned().collect();
    assert!(
        unknown.is_empty(),
        "gaps of scenarios that do not exist: {unknown:?}"
    );
}

#[test]
fn every_scenario_says_what_it_shows() {
    for name in files("scenarios") {
        let scenario =
            Scenario::parse(&read("scenarios", &name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!scenario.shows.is_empty(), "{name} does not say what it shows");
        assert!(!scenario.rules.is_empty(), "{name} names no rule");
        assert!(!scenario.steps.is_empty(), "{name} has no steps");
    }
}
