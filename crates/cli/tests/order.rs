//! `firstpass order`, as people and scripts call it.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests write the lists that they check"
)]

mod common;

use std::path::{Path, PathBuf};

use common::{firstpass, json, workspace};
use firstpass_testing::Scratch;
use serde_json::Value;

fn home() -> PathBuf {
    workspace().join("examples/home-network")
}

fn run(directory: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = firstpass(directory, arguments);
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

const SCRIPT: &str = "#!/usr/bin/env bash
set -euo pipefail
TOOLS=(flux kubectl jq)
# In the order in which they come up.
TIERS=(
  cilium platform   # network, then operators
  platform-config
  platform-config-cdi
  \"apps-wave-0\" apps-wave-1 apps-wave-2
  apps-vms oauth2-proxy headlamp
)
for tier in \"${TIERS[@]}\"; do
  flux reconcile kustomization \"$tier\" --with-source
done
";

#[test]
fn a_right_list_agrees_with_both_clusters() {
    let scratch = Scratch::new("order-right", "");
    let file = scratch.write("up.sh", SCRIPT);
    let (code, text) = run(&home(), &["order", "--check", &file]);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(text.lines().count(), 2, "one line per cluster: {text}");
}

#[test]
fn a_list_without_a_tier_is_told_its_name_and_place() {
    let scratch = Scratch::new("order-missing", "");
    let file = scratch.write("up.sh", SCRIPT.replace("  platform-config-cdi\n", ""));
    let (code, text) = run(&home(), &["order", "clusters/prod", "--check", &file]);
    assert_eq!(code, Some(1));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("`flux-system/platform-config-cdi` is missing; it belongs after `flux-system/platform-config` and before `flux-system/apps-vms`"),
        "{text}"
    );
    let report = json(&home(), &["order", "clusters/prod", "--check", &file]);
    let problems = report["clusters"][0]["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 1, "{problems:#?}");
    assert_eq!(
        (&problems[0]["problem"], &problems[0]["tier"]),
        (
            &Value::from("missing"),
            &Value::from("flux-system/platform-config-cdi")
        )
    );
}

#[test]
fn a_need_without_an_edge_counts_as_well() {
    // Nothing but the value that the machine reads orders the two in this story.
    let scratch = Scratch::new("order-need", "");
    let file = scratch.write("order.txt", "cilium\nplatform\nplatform-config\napps-vms\nplatform-config-cdi\napps-wave-0\napps-wave-1\napps-wave-2\noauth2-proxy\nheadlamp\n");
    let arguments = [
        "order",
        "clusters/prod",
        "--overlay",
        "stories/no-apps-vms-edge",
        "--check",
        &file,
    ];
    let (code, text) = run(&home(), &arguments);
    assert_eq!(code, Some(1));
    assert!(
        text.contains("order.txt:4: `flux-system/apps-vms` stands too early"),
        "{text}"
    );
}

#[test]
fn a_file_without_a_list_is_wrong_usage() {
    let scratch = Scratch::new("order-none", "");
    let file = scratch.write("notes.txt", "nothing of the sort\n");
    let output = firstpass(&home(), &["order", "clusters/prod", "--check", &file]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("holds no list that names a tier"));
}

#[test]
fn the_order_says_what_is_luck() {
    let report = json(&home(), &["order", "clusters/prod"]);
    let rows = report["clusters"][0]["order"].as_array().unwrap();
    let ordered = |name: &str| {
        let row = rows
            .iter()
            .find(|row| row["tier"] == format!("flux-system/{name}"));
        row.unwrap_or_else(|| panic!("no {name}"))["ordered"]
            .as_bool()
            .unwrap()
    };
    assert!(ordered("platform") && ordered("platform-config-cdi"));
    assert!(
        !ordered("headlamp"),
        "nothing orders it after platform-config-cdi"
    );
}

#[test]
fn the_cdi_alone_un_wedges_the_deadlock() {
    let arguments = [
        "order",
        "clusters/prod",
        "--overlay",
        "stories/before-cdi-split",
        "--pre-apply",
    ];
    let (code, yaml) = run(&home(), &arguments);
    assert_eq!(code, Some(0), "{yaml}");
    assert_eq!(
        yaml.matches("\nkind: ").count(),
        1,
        "one object is enough: {yaml}"
    );
    assert!(
        yaml.contains("\nkind: CDI\n") && yaml.contains("without it 7 tiers stay stuck"),
        "{yaml}"
    );
    let report = json(&home(), &arguments);
    let cluster = &report["clusters"][0];
    assert_eq!(cluster["objects"][0]["manifest"]["kind"], "CDI");
    assert_eq!(cluster["still_stuck"], serde_json::json!([]));
}

#[test]
fn what_no_object_helps_says_so() {
    let arguments = [
        "order",
        "--root",
        "cases/b13-depends-on-itself/repo",
        "clusters/prod",
        "--pre-apply",
    ];
    let (code, text) = run(&workspace(), &arguments);
    assert_eq!(code, Some(1));
    assert!(
        text.contains("the files have to change") && !text.contains("\nkind: "),
        "{text}"
    );
}

#[test]
fn values_of_a_secret_stay_unseen() {
    let scratch = Scratch::new("order-secret", "");
    let case = workspace().join("cases/d14-variables-of-its-own-tier/repo");
    for file in [
        "clusters/prod/flux-system.yaml",
        "clusters/prod/apps.yaml",
        "apps/kustomization.yaml",
        "apps/namespace.yaml",
        "apps/motd.yaml",
    ] {
        let text = std::fs::read_to_string(case.join(file)).unwrap();
        scratch.write(
            file,
            text.replace(
                "kind: ConfigMap\n        name: apps-settings",
                "kind: Secret\n        name: apps-settings",
            ),
        );
    }
    scratch.write(
        "apps/settings.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: apps-settings\n  namespace: flux-system\nstringData:\n  GREETING: hush-hush\n",
    );
    let root = scratch.root.display().to_string();
    let arguments = ["order", "--root", &root, "clusters/prod", "--pre-apply"];
    let (code, yaml) = run(&workspace(), &arguments);
    assert_eq!(code, Some(0), "{yaml}");
    assert!(
        yaml.contains("Secret/flux-system/apps-settings") && yaml.contains("-f apps/settings.yaml"),
        "{yaml}"
    );
    let report = json(&workspace(), &arguments).to_string();
    let coded = "aHVzaC1odXNo";
    for secret in ["hush-hush", coded] {
        assert!(!yaml.contains(secret) && !report.contains(secret), "{secret}");
    }
}
