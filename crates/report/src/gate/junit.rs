//! A gate as JUnit: a suite per cluster with the cases of each level, then the stories and the requirements.

use super::{Gate, GateTest, HeldRequirement};
use crate::context::Context;
use crate::junit::{Case, Outcome, Suite, document, suite_of};

/// The gate as a JUnit document. `static_rules` are the rules of the check; the context names all of them.
pub fn gate_to_junit(gate: &Gate, static_rules: &[crate::RuleInfo], context: Context<'_>) -> String {
    let static_context = Context {
        rules: static_rules,
        ..context
    };
    let mut suites = Vec::new();
    for (check, rehearsal) in gate.checks.iter().zip(&gate.rehearsals.clusters) {
        let mut suite = suite_of("rehearse", rehearsal, context);
        let of_files = suite_of("check", check, static_context);
        suite
            .cases
            .iter_mut()
            .for_each(|case| case.class = format!("{}.rehearsal", case.class));
        let of_files = of_files.cases.into_iter().map(|case| Case {
            class: format!("{}.static", case.class),
            ..case
        });
        suite.cases.splice(0..0, of_files);
        let others = gate.tests.iter().filter(|test| {
            test.cluster == rehearsal.entry && !["static", "rehearsal"].contains(&test.name.as_str())
        });
        let (stories, levels): (Vec<&GateTest>, Vec<&GateTest>) =
            others.partition(|test| test.name.starts_with("story/"));
        let class = |name: &str| format!("{}.{name}", suite.name);
        let more: Vec<Case> = levels
            .iter()
            .map(|test| test_case(test, &class("levels")))
            .chain(stories.iter().map(|test| test_case(test, &class("stories"))))
            .collect();
        suite.cases.extend(more);
        suites.push(suite);
    }
    if !gate.requirements.is_empty() {
        suites.push(Suite {
            name: "requirements".to_owned(),
            properties: Vec::new(),
            cases: gate.requirements.iter().map(requirement_case).collect(),
        });
    }
    document("firstpass gate", &suites)
}

fn test_case(test: &GateTest, class: &str) -> Case {
    Case {
        class: class.to_owned(),
        name: test.name.clone(),
        outcome: outcome(test.outcome, &test.said, &test.said),
        output: match test.outcome {
            super::Outcome::Passed => test.said.clone(),
            super::Outcome::Skipped | super::Outcome::Failed => String::new(),
        },
    }
}

fn requirement_case(requirement: &HeldRequirement) -> Case {
    let lines: Vec<String> = requirement
        .tests
        .iter()
        .map(|held| format!("{:?} {}: {}", held.outcome, held.test, held.said).to_lowercase())
        .collect();
    let first = requirement
        .tests
        .iter()
        .find(|held| held.outcome == requirement.outcome);
    let said = first
        .map(|held| format!("{}: {}", held.test, held.said))
        .unwrap_or_default();
    Case {
        class: "requirements".to_owned(),
        name: requirement.id.clone(),
        outcome: outcome(requirement.outcome, &said, &lines.join("\n")),
        output: match requirement.outcome {
            super::Outcome::Passed => lines.join("\n"),
            super::Outcome::Skipped | super::Outcome::Failed => String::new(),
        },
    }
}

fn outcome(outcome: super::Outcome, said: &str, text: &str) -> Outcome {
    match outcome {
        super::Outcome::Passed => Outcome::Passed,
        super::Outcome::Skipped => Outcome::Skipped {
            reason: said.to_owned(),
        },
        super::Outcome::Failed => Outcome::Failed {
            message: said.to_owned(),
            kind: "failed".to_owned(),
            text: text.to_owned(),
        },
    }
}
