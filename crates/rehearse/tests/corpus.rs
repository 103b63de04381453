//! Public repositories that run on real clusters: every rehearsal ends, and nothing panics.

#[allow(dead_code, reason = "each test file uses its part")]
mod common;

use common::{How, directory, script};
use firstpass_diagnostics::Severity;
use firstpass_sim::End;

/// Cluster entries per repository.
const ENTRIES: [(&str, &[&str]); 8] = [
    (
        "fluxcd__flux2-kustomize-helm-example",
        &["clusters/staging", "clusters/production"],
    ),
    (
        "fluxcd__flux2-multi-tenancy",
        &["clusters/staging", "clusters/production"],
    ),
    ("onedr0p__home-ops", &["kubernetes/flux/cluster"]),
    ("billimek__k8s-gitops", &["setup/flux/cluster"]),
    (
        "tyriis__home-ops",
        &["kubernetes/main/flux", "kubernetes/utility/flux"],
    ),
    (
        "martinohmann__home-ops",
        &["kubernetes/main/flux", "kubernetes/storage/flux"],
    ),
    (
        "equinor__radix-flux",
        &[
            "clusters/c2-production",
            "clusters/c3",
            "clusters/development",
            "clusters/monitoring",
            "clusters/playground",
            "clusters/production",
        ],
    ),
    (
        "joryirving__home-ops",
        &[
            "kubernetes/clusters/main",
            "kubernetes/clusters/utility",
            "kubernetes/clusters/test",
        ],
    ),
];

#[test]
#[expect(clippy::disallowed_methods, reason = "picks a repository by hand")]
fn every_rehearsal_ends() {
    let Some(corpus) = firstpass_testing::shared("corpus") else {
        return;
    };
    let only = std::env::var("REPO").ok();
    for (repository, entries) in ENTRIES {
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
