//! The gate in each format.

use firstpass_diagnostics::Report;
use firstpass_report::{Gate, GateTest, HeldBy, HeldRequirement, Outcome, Style};
use serde_json::{Value, json};

use crate::report::{RULES, World, world};
use crate::{junit, markdown};

fn gate(world: &World) -> Gate {
    let test = |name: &str, cluster: &str, outcome, said: &str| GateTest {
        name: name.to_owned(),
        cluster: cluster.to_owned(),
        outcome,
        said: said.to_owned(),
    };
    let held = |id: &str, test: &str, outcome, said: &str| HeldRequirement {
        id: id.to_owned(),
        says: Some("what it says".to_owned()),
        outcome,
        tests: vec![HeldBy {
            test: test.to_owned(),
            outcome,
            said: said.to_owned(),
        }],
    };
    let mut checks = world.report.clusters.clone();
    checks.iter_mut().for_each(|check| check.tiers.clear());
    Gate {
        checks,
        rehearsals: Report {
            command: "gate".to_owned(),
            ..world.report.clone()
        },
        tests: vec![
            test("static", "clusters/prod", Outcome::Failed, "deadlock, 2 errors"),
            test(
                "rehearsal",
                "clusters/prod",
                Outcome::Failed,
                "deadlock, 1 of 4 tiers Ready",
            ),
            test(
                "transition",
                "clusters/prod",
                Outcome::Skipped,
                "no base revision",
            ),
            test(
                "story/one",
                "clusters/prod",
                Outcome::Passed,
                "hazard, as expected",
            ),
            test("static", "clusters/dev", Outcome::Passed, "hazard, 1 warning"),
            test(
                "rehearsal",
                "clusters/dev",
                Outcome::Passed,
                "hazard, 1 tier Ready",
            ),
        ],
        requirements: vec![
            held("R-1", "static", Outcome::Passed, ""),
            held("R-2", "transition", Outcome::Skipped, "no base revision"),
            held("R-3", "rehearsal", Outcome::Failed, "clusters/prod: deadlock"),
        ],
    }
}

#[test]
fn the_gate_as_it_is_seen() {
    let world = world();
    let style = Style {
        color: false,
        width: 100,
        verbose: false,
    };
    let text = firstpass_report::gate_to_text(&gate(&world), world.context().tree, style);
    // What follows is the report that other tests show.
    insta::assert_snapshot!(text.split("\n\nclusters/prod: ").next().unwrap());
}

#[test]
fn junit_holds_every_level_story_and_requirement() {
    let world = world();
    let text = firstpass_report::gate_to_junit(&gate(&world), &RULES[..1], world.context());
    let document = junit::read(&text);
    let suites = document
        .root_element()
        .children()
        .filter(roxmltree::Node::is_element);
    let names: Vec<&str> = suites.filter_map(|suite| suite.attribute("name")).collect();
    assert_eq!(names, ["clusters/prod", "clusters/dev", "requirements"]);
    let outcome = |class: &str, name: &str| {
        let case = document
            .descendants()
            .find(|node| node.attribute("classname") == Some(class) && node.attribute("name") == Some(name))
            .unwrap_or_else(|| panic!("no {class} {name}"));
        let mut children = case
            .children()
            .filter(|child| ["failure", "skipped"].contains(&child.tag_name().name()));
        children.next().map(|child| child.tag_name().name().to_owned())
    };
    assert_eq!(
        outcome("clusters/prod.rules.static", "kind-without-barrier"),
        None
    );
    assert!(outcome("clusters/prod.rules.rehearsal", "second-order-kind-in-same-pass").is_some());
    assert_eq!(
        outcome("clusters/prod.levels", "transition").as_deref(),
        Some("skipped")
    );
    assert_eq!(outcome("clusters/prod.stories", "story/one"), None);
    assert_eq!(outcome("requirements", "R-1"), None);
    assert_eq!(outcome("requirements", "R-2").as_deref(), Some("skipped"));
    assert_eq!(outcome("requirements", "R-3").as_deref(), Some("failure"));
}

#[test]
fn comments_and_annotations_name_what_failed() {
    let world = world();
    let gate = gate(&world);
    let comment = firstpass_report::gate_to_markdown(&gate, world.context());
    let text = markdown::read(&comment);
    assert!(
        text.contains("failed: 3 of 6 tests passed, 1 skipped; 1 of 3 requirements held"),
        "{text}"
    );
    assert!(
        comment.find("failed: <code>static").unwrap() < comment.find("skipped: <code>transition").unwrap()
    );
    let annotations = firstpass_report::gate_to_github(&gate, world.context());
    assert!(annotations.contains("::error title=R-3 is not held::rehearsal: clusters/prod: deadlock\n"));
    let concise = firstpass_report::gate_to_concise(
        &gate,
        Style {
            color: false,
            width: 100,
            verbose: false,
        },
    );
    assert!(
        concise.contains("\nfailed R-3: rehearsal: clusters/prod: deadlock\n"),
        "{concise}"
    );
}

#[test]
fn json_is_valid_against_its_schema() {
    let schema: Value = serde_json::from_str(include_str!("../../../../schemas/gate.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let world = world();
    let written: Value = serde_json::from_str(&firstpass_report::gate_to_json(&gate(&world))).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&written)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    // The clusters are those of the report.
    let schema: Value = serde_json::from_str(include_str!("../../../../schemas/report.schema.json")).unwrap();
    let of_report = jsonschema::validator_for(&schema).unwrap();
    for level in ["static", "rehearsals"] {
        let report = json!({"schema_version": 1, "tool": written["tool"], "command": "rehearse", "clusters": written[level]});
        assert!(of_report.is_valid(&report), "{level}");
    }
    for (pointer, value) in [
        ("/tests/0/outcome", json!("fine")),
        ("/requirements/0/tests", json!([])),
        ("/passed", json!("yes")),
    ] {
        let mut broken = written.clone();
        *broken.pointer_mut(pointer).unwrap() = value;
        assert!(!validator.is_valid(&broken), "{pointer}");
    }
}
