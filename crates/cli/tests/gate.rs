//! One command for CI: what it runs, what it maps, and what it says about itself.

mod common;

use std::collections::BTreeSet;

use common::{firstpass, json, workspace};
use firstpass_testing::{BOOTSTRAP, Scratch};
use serde_json::Value;

fn outcomes<'g>(gate: &'g Value, list: &str, name: &str) -> Vec<(&'g str, &'g str)> {
    let list = gate[list].as_array().unwrap().iter();
    list.map(|it| (it[name].as_str().unwrap(), it["outcome"].as_str().unwrap()))
        .collect()
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test compares the mapping with the documents"
)]
fn the_example_passes_and_maps_all_of_its_requirements_and_stories() {
    let home = workspace().join("examples/home-network");
    assert_eq!(firstpass(&home, &["gate"]).status.code(), Some(0));
    let gate = json(&home, &["gate"]);
    let tests = outcomes(&gate, "tests", "name");
    for (name, outcome) in &tests {
        let expected = if *name == "transition" {
            "skipped"
        } else {
            "passed"
        };
        assert_eq!(*outcome, expected, "{name}");
    }
    let requirements = outcomes(&gate, "requirements", "id");
    let not_passed: Vec<_> = requirements
        .iter()
        .filter(|(_, outcome)| *outcome != "passed")
        .collect();
    assert_eq!(
        not_passed,
        [&("R-DATA-01", "skipped")],
        "what did not run is not held"
    );

    let decisions = std::fs::read_to_string(home.join("DECISIONS.md")).unwrap();
    let written: BTreeSet<&str> = decisions
        .lines()
        .filter_map(|line| line.strip_prefix("| R-")?.split(" |").next())
        .collect();
    let mapped: BTreeSet<&str> = requirements
        .iter()
        .map(|(id, _)| id.trim_start_matches("R-"))
        .collect();
    assert_eq!(written, mapped);

    let stories = std::fs::read_dir(home.join("stories"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let stories: BTreeSet<String> = stories
        .filter(|path| path.is_dir())
        .map(|path| format!("story/{}", path.file_name().unwrap().to_str().unwrap()))
        .collect();
    let told: BTreeSet<String> = tests
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .filter(|name| name.starts_with("story/"))
        .collect();
    assert!(told.len() >= 10 && told.is_subset(&stories), "{told:?}");
}

#[test]
fn a_broken_requirement_fails_the_gate_although_its_rule_only_warns() {
    let home = workspace().join("examples/home-network");
    let arguments = ["gate", "clusters/prod", "--overlay", "stories/first-repair"];
    assert_eq!(firstpass(&home, &arguments).status.code(), Some(1));
    let never = [&arguments[..], &["--fail-on", "never"]].concat();
    assert_eq!(firstpass(&home, &never).status.code(), Some(0));
    let gate = json(&home, &arguments);
    assert_eq!(gate["passed"], false);
    assert!(outcomes(&gate, "requirements", "id").contains(&("R-GITOPS-02", "failed")));
    let stories = outcomes(&gate, "tests", "name");
    let stories = stories.iter().filter(|(name, _)| name.starts_with("story/"));
    assert!(stories.clone().count() > 3);
    assert!(
        stories.clone().all(|(_, outcome)| *outcome == "skipped"),
        "stories do not stack"
    );
}

/// A repository with a story that does not come to what is expected.
fn scratch(name: &str, requirements: &str) -> Scratch {
    Scratch::new(
        name,
        &format!(
            "{BOOTSTRAP}--- stories/nothing/README.md
changes nothing
--- conformance/requirements.yaml
{requirements}
"
        ),
    )
}

#[test]
fn a_story_that_ends_otherwise_fails_the_gate() {
    let story = "{entry: clusters/prod, overlay: stories/nothing, level: rehearsal, expect: deadlock}";
    let scratch = scratch("story", &format!("stories:\n  nothing: {story}"));
    let gate = json(&scratch.root, &["gate"]);
    let test = &gate["tests"][3];
    assert_eq!(
        (test["name"].as_str(), test["outcome"].as_str()),
        (Some("story/nothing"), Some("failed"))
    );
    assert!(
        test["said"].as_str().unwrap().ends_with("; expected is deadlock"),
        "{test}"
    );
    assert_eq!(firstpass(&scratch.root, &["gate"]).status.code(), Some(1));
}

#[test]
fn an_unknown_test_is_wrong_usage_with_the_nearest_name() {
    let scratch = scratch(
        "unknown",
        "requirements:\n  R-1: {tests: [static/kind-wthout-edge]}",
    );
    let output = firstpass(&scratch.root, &["gate"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "error: conformance/requirements.yaml:2:17: there is no test `static/kind-wthout-edge`\n  \
         help: did you mean `static/kind-without-edge`?\n"
    );
}

#[test]
fn completions_and_manual_pages_name_every_verb() {
    let scratch = scratch("man", "");
    let verbs = ["build", "check", "rehearse", "gate", "explain", "completion"];
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = firstpass(&scratch.root, &["completion", shell]);
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(verbs.iter().all(|verb| script.contains(verb)), "{shell}");
        let has_values = ["bash", "zsh", "fish"].contains(&shell);
        assert!(
            !has_values || script.contains("sarif"),
            "{shell} completes values as well"
        );
    }
    let output = firstpass(&scratch.root, &["man"]);
    assert!(String::from_utf8(output.stdout).unwrap().starts_with(".ie"));
    let output = firstpass(&scratch.root, &["man", "--directory", "."]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        verbs
            .iter()
            .all(|verb| scratch.root.join(format!("firstpass-{verb}.1")).is_file())
    );
}

/// What came of the third level, with what it said.
fn transition(gate: &Value) -> (&str, &str) {
    let mut tests = gate["tests"].as_array().unwrap().iter();
    let test = tests.find(|test| test["name"] == "transition").unwrap();
    (test["outcome"].as_str().unwrap(), test["said"].as_str().unwrap())
}

#[test]
fn a_running_cluster_takes_the_next_revision() {
    let home = workspace().join("examples/home-network");
    let arguments = ["gate", "clusters/prod", "--from-dir", "."];
    let gate = json(&home, &arguments);
    let (outcome, said) = transition(&gate);
    assert_eq!(outcome, "passed", "{said}");
    assert!(said.starts_with("converges, 11 tiers Ready in "), "{said}");
    assert!(said.ends_with(", no failed attempt"), "nothing goes: {said}");
    assert!(outcomes(&gate, "requirements", "id").contains(&("R-DATA-01", "passed")));

    // From the wedged cluster of the story to the repaired one.
    let arguments = [
        "gate",
        "clusters/prod",
        "--from-overlay",
        "stories/before-cdi-split",
    ];
    let gate = json(&home, &arguments);
    let (outcome, said) = transition(&gate);
    assert!(
        said.ends_with("; the revision before was deadlock itself"),
        "{said}"
    );
    assert_eq!(outcome, "passed", "{said}");
}

/// `settings` moves from the tier `a` to `b`, which waits for `a`.
const MOVE: &str = "
--- clusters/prod/tiers.yaml
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: a, namespace: flux-system}
spec: {interval: 10m, path: ./a, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: b, namespace: flux-system}
spec:
  interval: 10m
  path: ./b
  prune: true
  dependsOn: [{name: a}]
  sourceRef: {kind: GitRepository, name: flux-system}
--- a/stays.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: stays, namespace: default}
--- b/also.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: also, namespace: default}
--- b/settings.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
--- before/.removed
b/settings.yaml
--- before/a/settings.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
--- before/a/old.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: old, namespace: default}
";

#[test]
fn what_is_missing_on_the_way_fails_the_gate() {
    let scratch = Scratch::new("move", &format!("{BOOTSTRAP}{MOVE}"));
    let arguments = ["gate", "--from-overlay", "before"];
    let gate = json(&scratch.root, &arguments);
    let (outcome, said) = transition(&gate);
    assert_eq!(outcome, "failed", "{said}");
    assert!(
        said.contains("ConfigMap/default/settings is deleted and missing for 30.0s"),
        "{said}"
    );
    assert!(
        said.ends_with("; 1 object pruned: ConfigMap/default/old"),
        "{said}"
    );
    assert_eq!(firstpass(&scratch.root, &arguments).status.code(), Some(1));
}

#[test]
fn without_a_revision_to_come_from_nothing_is_known_of_a_transition() {
    let scratch = Scratch::new("no-base", BOOTSTRAP);
    let gate = json(&scratch.root, &["gate"]);
    let (outcome, said) = transition(&gate);
    assert_eq!(outcome, "skipped");
    assert!(said.contains("--from-dir"), "{said}");
    let missing = firstpass(&scratch.root, &["gate", "--from-dir", "nowhere"]);
    assert_eq!(missing.status.code(), Some(2));
}
