//! The pages of the rules that only a run finds are tests: what a page calls bad gives the finding, what it calls good does
//! not. And no finding of a run has a rule without a page.

#[allow(dead_code, reason = "each test file uses its part")]
mod common;

use std::sync::Arc;

use common::{How, rehearse};
use firstpass_diagnostics::Severity;
use firstpass_rehearse::{RUN_RULES, run_rule};
use firstpass_testing::BOOTSTRAP;

/// The example in a part of a page, if there is one.
fn example<'p>(page: &'p str, part: &str) -> Option<&'p str> {
    let (_, rest) = page.split_once(&format!("\n## {part}\n"))?;
    let rest = rest.split("\n## ").next()?;
    let (_, example) = rest.split_once("```yaml\n")?;
    example.split("\n```").next()
}

/// The rules of the findings that ask for something to be done.
fn rules_found(example: &str) -> Vec<String> {
    let tree = firstpass_testing::tree(&format!(
        "{BOOTSTRAP}{example}
"
    ));
    let rehearsal = rehearse(Arc::new(tree), "clusters/prod", &How::default());
    let findings = rehearsal.report.findings.iter();
    let loud = findings.filter(|finding| finding.severity >= Severity::Warning);
    loud.map(|finding| finding.rule.clone()).collect()
}

#[test]
fn pages_keep_their_word() {
    for rule in RUN_RULES {
        assert!(
            rule.page.starts_with(&format!("# {}\n", rule.name)),
            "{}",
            rule.name
        );
        if let Some(bad) = example(rule.page, "Bad") {
            let found = rules_found(bad);
            assert!(
                found.iter().any(|found| found == rule.name),
                "{}: {found:?}",
                rule.name
            );
        }
        if let Some(good) = example(rule.page, "Good") {
            assert_eq!(rules_found(good), Vec::<String>::new(), "{}", rule.name);
        }
    }
}

#[test]
fn every_rule_of_a_run_has_a_page() {
    let sources = [
        include_str!("../src/findings/mod.rs"),
        include_str!("../src/findings/stall.rs"),
        include_str!("../src/findings/hazard.rs"),
        include_str!("../src/findings/disk.rs"),
        include_str!("../src/findings/address.rs"),
        include_str!("../src/gate.rs"),
    ];
    let is_name = |text: &&str| {
        text.contains('-')
            && text
                .chars()
                .all(|letter| letter.is_ascii_lowercase() || letter == '-')
    };
    let names = sources
        .iter()
        .flat_map(|source| source.split('"'))
        .filter(is_name);
    for name in names {
        assert!(
            run_rule(name).is_some() || firstpass_checks::rule(name).is_some(),
            "`{name}` has no page"
        );
    }
}
