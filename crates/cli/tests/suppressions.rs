//! What somebody has accepted does not count, stays visible, and brings no tier up.

mod common;

use common::{firstpass, json};
use firstpass_testing::{BOOTSTRAP, Scratch};
use serde_json::Value;

/// Two tiers that wait for each other.
fn cycle(name: &str, comment: &str) -> Scratch {
    let tier = |name: &str, other: &str, comment: &str| {
        format!(
            "--- clusters/prod/{name}.yaml
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: {name}, namespace: flux-system}}
spec:
  interval: 10m
  path: ./{name}
  prune: true
  sourceRef: {{kind: GitRepository, name: flux-system}}
  dependsOn:
    {comment}
    - name: {other}
--- {name}/config.yaml
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}, namespace: default}}
"
        )
    };
    Scratch::new(
        name,
        &format!(
            "{BOOTSTRAP}{}{}",
            tier("a", "b", comment),
            tier("b", "a", "# nothing")
        ),
    )
}

/// A tier with a remote base, which the configuration raises to a warning.
fn remote(name: &str, more: &str) -> Scratch {
    Scratch::new(
        name,
        &format!(
            "{BOOTSTRAP}--- clusters/prod/web.yaml
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: web, namespace: flux-system}}
spec:
  interval: 10m
  path: ./web
  prune: true
  sourceRef: {{kind: GitRepository, name: flux-system}}
--- web/kustomization.yaml
resources: [https://raw.example.com/web/v1.2.0/web.yaml]
--- firstpass.yaml
rules: {{remote-base: warning}}
{more}
"
        ),
    )
}

fn run(scratch: &Scratch, arguments: &[&str]) -> (Value, Option<i32>) {
    let status = firstpass(&scratch.root, arguments).status.code();
    (json(&scratch.root, arguments)["clusters"][0].clone(), status)
}

fn rules(findings: &Value) -> Vec<&str> {
    let findings = findings.as_array().into_iter().flatten();
    let loud = findings.filter(|finding| finding["severity"] != "info");
    loud.map(|finding| finding["rule"].as_str().unwrap()).collect()
}

#[test]
fn a_comment_takes_a_finding_out_of_the_check_and_not_out_of_the_rehearsal() {
    let scratch = cycle(
        "cycle",
        "# firstpass: ignore[dependency-cycle] b is made by hand, once",
    );
    let (check, status) = run(&scratch, &["check", "clusters/prod"]);
    assert_eq!(
        (check["verdict"].as_str(), status),
        (Some("converges"), Some(0)),
        "{check:#}"
    );
    assert!(rules(&check["findings"]).is_empty());
    let suppressed = &check["suppressed"][0];
    assert_eq!(suppressed["finding"]["rule"], "dependency-cycle");
    assert_eq!(suppressed["by"], "comment");
    assert_eq!(suppressed["reason"], "b is made by hand, once");
    assert_eq!(suppressed["location"]["file"], "clusters/prod/a.yaml");

    let (rehearsal, status) = run(&scratch, &["rehearse", "clusters/prod"]);
    assert_eq!(
        (rehearsal["verdict"].as_str(), status),
        (Some("deadlock"), Some(1))
    );
    assert_eq!(rules(&rehearsal["findings"]), ["dependency-cycle"]);
    assert_eq!(rehearsal["suppressed"], Value::Null);
    let why = rehearsal["findings"][0]["why"].as_str().unwrap();
    assert!(
        why.contains("clusters/prod/a.yaml:10 would suppress this"),
        "{why}"
    );
}

#[test]
fn the_configuration_suppresses_by_file_tier_object_and_cluster() {
    for (name, fits, entry) in [
        ("file", true, "file: web/**"),
        ("glob", true, "file: '*/kustomization.yaml'"),
        ("tier", true, "tier: flux-system/web"),
        ("object", true, "object: Kustomization/flux-system/web"),
        ("cluster", true, "{tier: flux-system/web, cluster: clusters/prod}"),
        ("other-file", false, "file: apps/**"),
        ("other-tier", false, "tier: flux-system/flux-system"),
    ] {
        let entry = entry.trim_matches(['{', '}']);
        let scratch = remote(
            name,
            &format!("suppress:\n  - {{rule: remote-base, {entry}, reason: a tag that never moves}}"),
        );
        let (check, status) = run(&scratch, &["check", "clusters/prod", "--fail-on", "warning"]);
        if fits {
            assert_eq!(
                (rules(&check["findings"]), status),
                (vec![], Some(0)),
                "{name}: {check:#}"
            );
            assert_eq!(check["suppressed"][0]["by"], "configuration");
        } else {
            assert_eq!(
                (rules(&check["findings"]), status),
                (vec!["suppression-unused", "remote-base"], Some(1)),
                "{name}"
            );
        }
    }
}

#[test]
fn a_suppression_for_another_cluster_or_verb_is_not_unused() {
    let scratch = remote(
        "elsewhere",
        "suppress: [{rule: never-healthy, file: web/**, reason: slow}]",
    );
    let unused =
        |arguments: &[&str]| rules(&run(&scratch, arguments).0["findings"]).contains(&"suppression-unused");
    assert!(
        !unused(&["check"]),
        "check does not look for what rehearsals find"
    );
    assert!(unused(&["rehearse"]));
    scratch.write(
        "firstpass.yaml",
        "clusters: {prod: {path: clusters/prod}, dev: {path: clusters/dev}}\n\
         suppress: [{rule: never-healthy, file: web/**, reason: slow}]\n",
    );
    scratch.write("clusters/dev/nothing.yaml", "");
    assert!(!unused(&["rehearse", "clusters/prod"]), "dev was not looked at");
    assert!(unused(&["rehearse"]));
}

#[test]
fn suppressed_findings_are_counted_and_shown_with_v() {
    let scratch = cycle(
        "shown",
        "# firstpass: ignore[dependency-cycle] b is made by hand, once",
    );
    let text = |more: &[&str]| {
        let output = firstpass(&scratch.root, &[&["check", "clusters/prod"], more].concat());
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(text(&[]).starts_with("clusters/prod: converges, nothing found, 1 suppressed\n"));
    assert!(
        text(&["-v"]).contains("suppressed:\n  error[dependency-cycle] "),
        "{}",
        text(&["-v"])
    );
    let words = text(&["-v"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("(b is made by hand, once; clusters/prod/a.yaml:10)"),
        "{words}"
    );
}

#[test]
fn a_level_for_a_rule_that_does_not_exist_is_wrong_usage() {
    let scratch = remote("level", "");
    scratch.write("firstpass.yaml", "rules:\n  remote-bse: warning\n");
    let output = firstpass(&scratch.root, &["check", "clusters/prod"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "error: firstpass.yaml:2:3: `rules`: there is no rule `remote-bse`\n  help: did you mean `remote-base`?\n"
    );
}
