//! Two ways to a verdict that must agree (DESIGN section 3): what follows from the files, and what a run shows.
//!
//! - A tier that the rules call stuck is not Ready in the run.
//! - A tier that the run finds at fault is at fault by the rules as well, but for what only playing shows.

#[allow(dead_code, reason = "each test file uses its part")]
mod common;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use common::{How, directory, overlaid, script};
use firstpass_diagnostics::{Finding, Verdict};
use firstpass_rehearse::{Script, run_rule};
use firstpass_source::Tree;
use firstpass_testing::CORPUS;
use firstpass_testing::cases::{own_cases, shared_cases};

fn is_stuck(finding: &&Finding) -> bool {
    finding.verdict.is_some_and(Verdict::is_failure)
}

/// What the two disagree about.
fn disagreements(name: &str, script: &Script) -> Vec<String> {
    let how = How::default();
    let static_tiers: BTreeSet<_> = script
        .findings
        .iter()
        .filter(is_stuck)
        .filter_map(|finding| finding.tier.clone())
        .collect();
    let alone = Script {
        findings: Arc::from([]),
        ..script.clone()
    }
    .rehearse(&how.options);
    let mut disagreements = Vec::new();
    for finding in script.findings.iter().filter(is_stuck) {
        let Some(tier) = &finding.tier else { continue };
        let ready = alone
            .report
            .tiers
            .iter()
            .any(|view| view.name == *tier && view.ready_at_s.is_some());
        if ready {
            disagreements.push(format!(
                "{name}: by {} `{tier}` is stuck, and the run says it is Ready",
                finding.rule
            ));
        }
    }
    for finding in alone.report.findings.iter().filter(is_stuck) {
        let Some(tier) = &finding.tier else { continue };
        // Whether a hazard ends badly depends on who is first, which only playing shows.
        let is_hazard = script.findings.iter().any(|known| {
            known.rule == finding.rule && known.tier == finding.tier && known.verdict == Some(Verdict::Hazard)
        });
        if !static_tiers.contains(tier) && !is_hazard && run_rule(&finding.rule).is_none() {
            disagreements.push(format!(
                "{name}: the run finds {} at `{tier}`, and no rule does: {}",
                finding.rule, finding.message
            ));
        }
    }
    disagreements
}

fn check(name: &str, tree: Arc<dyn Tree>, entry: &str, all: &mut Vec<String>) {
    all.extend(disagreements(name, &script(tree, entry, &How::default())));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the stories are read from disk")]
fn rules_and_runs_agree() {
    let mut all = Vec::new();
    let example = PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/home-network"
    ));
    check("home-network", directory(&example), "clusters/prod", &mut all);
    let stories = std::fs::read_dir(example.join("stories"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut stories: Vec<PathBuf> = stories.filter(|path| path.is_dir()).collect();
    stories.sort();
    for story in stories {
        let name = story.file_name().unwrap().to_string_lossy().into_owned();
        check(&name, overlaid(&example, &story), "clusters/prod", &mut all);
    }
    for case in own_cases().into_iter().chain(shared_cases()) {
        check(&case.name, directory(&case.repository), &case.entry, &mut all);
    }
    if let Some(corpus) = firstpass_testing::shared("corpus") {
        for (repository, entries) in CORPUS {
            for entry in entries {
                check(
                    &format!("{repository} {entry}"),
                    directory(&corpus.join(repository)),
                    entry,
                    &mut all,
                );
            }
        }
    }
    assert!(all.is_empty(), "\n{}", all.join("\n"));
}

#[test]
fn a_report_is_the_same_every_time() {
    let example = PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/home-network"
    ));
    let play = || {
        let how = How::default();
        let script = script(directory(&example), "clusters/prod", &how);
        let rehearsal = script.rehearse(&how.options);
        (rehearsal.trace(), format!("{:?}", rehearsal.report))
    };
    assert_eq!(play(), play());
}
