//! A rehearsal has to feel instant (DESIGN section 10).

#[allow(dead_code, reason = "each test file uses its part")]
mod common;

use std::fmt::Write;
use std::sync::Arc;

use common::{How, script};
use firstpass_diagnostics::Verdict;
use firstpass_source::MemoryTree;

/// A repository of some tiers in a chain of waves, ten tiers wide, each with some objects.
fn repository(tiers: usize, objects: usize) -> MemoryTree {
    let mut tree = MemoryTree::new();
    let mut cluster = String::from(
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: flux-system}\nspec: {interval: 1m, url: 'https://git.example.com/fleet.git'}\n---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: flux-system, namespace: flux-system}\nspec: {interval: 10m, path: ./clusters/prod, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}\n",
    );
    for tier in 0..tiers {
        let before = if tier < 10 {
            String::new()
        } else {
            format!("  dependsOn: [{{name: tier-{}}}]\n", tier - 10)
        };
        let _ = write!(
            cluster,
            "---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: tier-{tier}, namespace: flux-system}}\nspec:\n{before}  interval: 1h\n  retryInterval: 1m\n  timeout: 5m\n  path: ./tiers/{tier}\n  prune: true\n  wait: true\n  sourceRef: {{kind: GitRepository, name: flux-system}}\n"
        );
        let mut text = format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: ns-{tier}}}\n");
        for object in 0..objects {
            if object % 5 == 0 {
                let _ = write!(
                    text,
                    "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: app-{object}, namespace: ns-{tier}}}\nspec:\n  selector: {{matchLabels: {{app: app-{object}}}}}\n  template:\n    metadata: {{labels: {{app: app-{object}}}}}\n    spec:\n      containers: [{{name: main, image: 'registry.example.com/app:1', envFrom: [{{configMapRef: {{name: config-1}}}}]}}]\n"
                );
            } else {
                let _ = write!(
                    text,
                    "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: config-{object}, namespace: ns-{tier}}}\ndata: {{key: value-{object}}}\n"
                );
            }
        }
        tree.insert(&format!("tiers/{tier}/all.yaml"), text);
        tree.insert(
            &format!("tiers/{tier}/kustomization.yaml"),
            "resources: [all.yaml]\n",
        );
    }
    tree.insert("clusters/prod/all.yaml", cluster);
    tree
}

#[test]
#[expect(clippy::disallowed_methods, reason = "measures how long a rehearsal takes")]
fn a_hundred_tiers_with_three_thousand_objects() {
    let how = How {
        without_rules: true,
        ..How::default()
    };
    let begin = std::time::Instant::now();
    let script = script(Arc::new(repository(100, 30)), "clusters/prod", &how);
    let built = begin.elapsed();
    let begin = std::time::Instant::now();
    let rehearsal = script.rehearse(&how.options);
    let played = begin.elapsed();
    eprintln!(
        "set up in {built:?}, rehearsed in {played:?}, {} events, {} lines",
        rehearsal.world.server.log().head().0,
        rehearsal.world.journal().len()
    );
    assert_eq!(rehearsal.verdict(), Verdict::Converges);
    assert!(
        rehearsal
            .report
            .tiers
            .iter()
            .all(|tier| tier.failed_attempts == 0)
    );
    // Debug builds are for correctness; only a release build has to be fast. It takes about 0.3 s of two idle cores; the
    // limit leaves room for a busy machine.
    if !cfg!(debug_assertions) {
        assert!(played.as_secs_f64() < 2.0, "{played:?}");
    }
}

#[test]
#[ignore = "takes long; shows how the time grows"]
#[expect(clippy::disallowed_methods, reason = "measures how long a rehearsal takes")]
fn time_grows_with_the_number_of_tiers() {
    for tiers in [100, 1000, 3000] {
        let how = How {
            without_rules: true,
            ..How::default()
        };
        let script = script(Arc::new(repository(tiers, 10)), "clusters/prod", &how);
        let begin = std::time::Instant::now();
        let rehearsal = script.rehearse(&how.options);
        let played = begin.elapsed();
        let attempts: u32 = rehearsal.report.tiers.iter().map(|tier| tier.attempts).sum();
        eprintln!(
            "{tiers} tiers: {played:?}, {:?} per tier, {attempts} attempts",
            played / u32::try_from(tiers).unwrap()
        );
    }
}
