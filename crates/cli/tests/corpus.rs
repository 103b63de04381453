//! Public repositories: nothing crashes, every rehearsal ends, and every Flux Kustomization that can be reached is
//! rendered or listed once with its reason.

mod common;

use std::collections::BTreeSet;

use common::{firstpass, json};
use serde_json::Value;

/// The entries that the corpus' README names; `*` stands for every directory there.
const ENTRIES: [(&str, &[&str]); 8] = [
    ("billimek__k8s-gitops", &["setup/flux/cluster"]),
    ("equinor__radix-flux", &["clusters/*"]),
    (
        "fluxcd__flux2-kustomize-helm-example",
        &["clusters/staging", "clusters/production"],
    ),
    (
        "fluxcd__flux2-multi-tenancy",
        &["clusters/staging", "clusters/production"],
    ),
    ("joryirving__home-ops", &["kubernetes/clusters/*"]),
    (
        "martinohmann__home-ops",
        &["kubernetes/main/flux", "kubernetes/storage/flux"],
    ),
    ("onedr0p__home-ops", &["kubernetes/flux/cluster"]),
    (
        "tyriis__home-ops",
        &["kubernetes/main/flux", "kubernetes/utility/flux"],
    ),
];

#[test]
fn every_cluster_is_rehearsed_to_an_end() {
    let Some(corpus) = firstpass_testing::shared("corpus") else {
        return;
    };
    let mut clusters = 0;
    for (repository, patterns) in ENTRIES {
        let root = corpus.join(repository);
        for entry in entries(&root, patterns) {
            let report = json(&root, &["rehearse", &entry, "--root", ".", "--fail-on", "never"]);
            let cluster = &report["clusters"][0];
            let verdict = cluster["verdict"].as_str().unwrap();
            assert_ne!(verdict, "undecided", "{repository} {entry}");
            let tiers = cluster["tiers"].as_array().unwrap();
            assert!(
                tiers.len() > 1,
                "{repository} {entry}: only {} tiers were found",
                tiers.len()
            );
            let names: BTreeSet<&str> = tiers.iter().filter_map(|tier| tier["name"].as_str()).collect();
            assert_eq!(
                names.len(),
                tiers.len(),
                "{repository} {entry}: a tier is listed twice"
            );
            for unseen in tiers.iter().filter(|tier| tier["state"] == "unrendered") {
                let about =
                    |finding: &&Value| finding["tier"] == unseen["name"] && finding["severity"] == "info";
                let findings = cluster["findings"].as_array().unwrap();
                assert!(
                    findings.iter().any(|finding| about(&finding)),
                    "{repository}: no reason for {unseen}"
                );
            }
            println!("{repository} {entry}: {verdict}, {} tiers", tiers.len());
            clusters += 1;
        }
    }
    assert!(clusters >= 14, "only {clusters} clusters were found");
}

#[test]
fn every_cluster_is_built_and_checked() {
    let Some(corpus) = firstpass_testing::shared("corpus") else {
        return;
    };
    for (repository, patterns) in ENTRIES {
        let root = corpus.join(repository);
        for entry in entries(&root, patterns) {
            for verb in ["build", "check"] {
                let output = firstpass(&root, &[verb, &entry, "--root", "."]);
                let code = output.status.code();
                assert!(
                    code == Some(0) || code == Some(1),
                    "{verb} {repository} {entry}: exit {code:?}"
                );
                assert!(
                    !output.stdout.is_empty(),
                    "{verb} {repository} {entry} prints nothing"
                );
            }
        }
    }
}

fn entries(root: &std::path::Path, patterns: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for pattern in patterns {
        match pattern.strip_suffix("/*") {
            None => found.push((*pattern).to_owned()),
            Some(parent) => {
                #[expect(clippy::disallowed_methods, reason = "the test lists its inputs")]
                let directories = std::fs::read_dir(root.join(parent)).unwrap();
                let directories = directories
                    .map(|entry| entry.unwrap())
                    .filter(|entry| entry.path().is_dir());
                found.extend(
                    directories.map(|entry| format!("{parent}/{}", entry.file_name().to_str().unwrap())),
                );
            }
        }
    }
    found.sort();
    found
}
