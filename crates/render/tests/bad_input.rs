//! Broken input is normal input: a clear failure with a place, and the other tiers rendered.

mod common;

use std::fmt::Write as _;
use std::sync::Arc;

use common::{BOOTSTRAP, config_map, find, outcome, render, tier};
use firstpass_render::{Options, Repository, render_cluster};
use firstpass_source::RepoPath;

/// Renders one tier `bad` with these files beside a good one, and gives what became of `bad`.
fn bad(files: &str) -> String {
    let fixture = [
        tier("bad", "path: ./bad"),
        tier("good", "path: ./good"),
        config_map("good/a.yaml", "a", &["k: v"]),
        files.to_owned(),
    ]
    .concat();
    let cluster = render(&fixture);
    assert_eq!(outcome(find(&cluster, "good")), "ConfigMap/flux-system/a");
    outcome(find(&cluster, "bad"))
}

#[test]
fn each_is_a_failure_with_a_place() {
    let mut deep = String::from("--- bad/a.yaml\nkind: ConfigMap\nx: ");
    deep.push_str(&"[".repeat(10_000));
    let mut bomb = String::from("--- bad/a.yaml\nkind: ConfigMap\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let refs = vec![format!("*a{}", level - 1); 10].join(", ");
        let _ = writeln!(bomb, "a{level}: &a{level} [{refs}]");
    }
    let table: [(&str, &str, &str); 9] = [
        (
            "tabs",
            "--- bad/a.yaml\nkind: ConfigMap\nmetadata:\n\tname: a\n",
            "bad/a.yaml:3:",
        ),
        ("alias bomb", &bomb, "bad/a.yaml:"),
        ("deep nesting", &deep, "bad/a.yaml:2:"),
        (
            "lists itself",
            "--- bad/kustomization.yaml\nresources: [.]\n",
            "bad/kustomization.yaml:1:",
        ),
        (
            "cycle",
            "--- bad/kustomization.yaml\nresources: [../other]\n--- other/kustomization.yaml\nresources: [../bad]\n",
            "other/kustomization.yaml:1:",
        ),
        (
            "missing resource",
            "--- bad/kustomization.yaml\nresources:\n  - gone.yaml\n",
            "bad/kustomization.yaml:2:",
        ),
        (
            "no yaml",
            "--- bad/kustomization.yaml\nresources: [a\n",
            "bad/kustomization.yaml:",
        ),
        (
            "a list",
            "--- bad/kustomization.yaml\n- a\n",
            "bad/kustomization.yaml:1:",
        ),
        (
            "wrong type",
            "--- bad/kustomization.yaml\nresources: 5\n",
            "bad/kustomization.yaml:1:",
        ),
    ];
    for (name, files, place) in table {
        let failed = bad(files);
        assert!(
            failed.starts_with(place) && failed.contains("build-failed"),
            "{name}: {failed}"
        );
    }
}

#[test]
fn carriage_returns_are_fine() {
    let crlf = config_map("bad/a.yaml", "a", &["k: v"])
        .replace('\n', "\r\n")
        .replacen("\r\n", "\n", 1);
    assert_eq!(bad(&crlf), "ConfigMap/flux-system/a");
}

#[test]
fn bytes_that_are_no_text_are_told() {
    let mut tree = firstpass_testing::tree(&format!("{BOOTSTRAP}{}", tier("bad", "path: ./bad")));
    tree.insert("bad/a.yaml", b"kind: \xff\xfe\xfa\n".to_vec());
    let repository = Repository::open(Arc::new(tree)).unwrap();
    let entry = repository.entry(&RepoPath::clamped("clusters/prod")).unwrap();
    let cluster = render_cluster(&repository, &entry, &Options::default());
    let failed = outcome(find(&cluster, "bad"));
    assert!(
        failed.contains("bad/a.yaml") && failed.contains("build-failed"),
        "{failed}"
    );
}

#[test]
fn kustomizations_without_a_usable_spec_are_tiers_all_the_same() {
    let table = [
        ("spec: 5", "it names no source"),
        (
            "spec: {path: [a], sourceRef: {kind: GitRepository, name: flux-system}}",
            "",
        ),
    ];
    for (spec, expected) in table {
        let fixture = format!(
            "--- clusters/prod/x.yaml\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: odd, namespace: flux-system}}\n{spec}\n"
        );
        let cluster = render(&fixture);
        let odd = find(&cluster, "odd");
        assert!(!odd.problems.is_empty());
        assert!(outcome(odd).contains(expected), "{}", outcome(odd));
    }
}
