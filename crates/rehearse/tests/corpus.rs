//! Public repositories that run on real clusters: every rehearsal ends, and nothing panics.

#[allow(dead_code, reason = "each test file uses its part")]
mod common;

use common::{How, directory, script};
use firstpass_diagnostics::Severity;
use firstpass_sim::End;
use firstpass_testing::CORPUS;

#[test]
#[expect(clippy::disallowed_methods, reason = "picks a repository by hand")]
fn every_rehearsal_ends() {
    let Some(corpus) = firstpass_testing::shared("corpus") else {
        return;
    };
    let only = std::env::var("REPO").ok();
    for (repository, entries) in CORPUS {
        if only
            .as_ref()
            .is_some_and(|only| !repository.contains(only.as_str()))
        {
            continue;
        }
        for entry in entries {
            if !corpus.join(repository).join(entry).is_dir() {
                eprintln!("{repository} {entry}: no such directory");
                continue;
            }
            let how = How::default();
            let script = script(directory(&corpus.join(repository)), entry, &how);
            let rehearsal = script.rehearse(&how.options);
            let report = &rehearsal.report;
            eprintln!(
                "{repository} {entry}: {} ({} tiers, {} findings, ends at {})",
                report.verdict,
                report.tiers.len(),
                report.findings.len(),
                rehearsal.world.now()
            );
            if only.is_some() {
                eprintln!("{}", rehearsal.trace());
                for tier in &report.tiers {
                    eprintln!(
                        "{:?} {} {:?} {:?}",
                        tier.state, tier.name, tier.ready_at_s, tier.waiting_on
                    );
                }
                for assumption in &report.assumptions {
                    eprintln!("A {assumption:?}");
                }
            }
            // What is said aloud about a cluster that runs is looked at by hand.
            for finding in report
                .findings
                .iter()
                .filter(|finding| finding.severity > Severity::Info)
            {
                eprintln!(
                    "  {} {:?} {:?}: {}\n      {}",
                    finding.rule,
                    finding.tier.as_ref().map(ToString::to_string),
                    finding.object,
                    finding.message,
                    finding.why
                );
            }
            assert_eq!(rehearsal.end, End::Quiet, "{repository} {entry}");
        }
    }
}

/// Repositories that people run, with things that go wrong: whatever comes of it, no law is broken.
#[test]
fn no_fault_breaks_a_law() {
    let Some(corpus) = firstpass_testing::shared("corpus") else {
        return;
    };
    for (repository, entry) in [
        ("fluxcd__flux2-kustomize-helm-example", "clusters/staging"),
        ("equinor__radix-flux", "clusters/c3"),
        ("joryirving__home-ops", "kubernetes/clusters/test"),
        ("tyriis__home-ops", "kubernetes/utility/flux"),
    ] {
        let how = How::default();
        let script = script(directory(&corpus.join(repository)), entry, &how);
        let options = firstpass_rehearse::Options {
            troubles: script.faults(&["random=3".to_owned()]).unwrap(),
            schedules: 2,
            ..how.options
        };
        let rehearsal = script.rehearse(&options);
        let broken: Vec<String> = rehearsal
            .broken
            .iter()
            .map(|law| format!("seed {}: {}", law.seed, law.broken))
            .collect();
        assert!(broken.is_empty(), "{repository} {entry}: {broken:#?}");
        assert!(!rehearsal.cases.is_empty());
    }
}
