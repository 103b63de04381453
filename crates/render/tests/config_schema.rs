//! The published JSON Schema of `firstpass.yaml` and the program that reads the file agree.

use firstpass_render::{CONFIG_FILE, Config};
use serde_json::Value;

const FULL: &str = r#"
clusters:
  dev: {path: clusters/dev}
  prod:
    path: clusters/prod
    kubernetes: "1.36"
    flux: "2.9"
    design_only: true
    baseline:
      distribution: k3s
      bootstrap: [bootstrap/helmfile.yaml]
      manifests: [bootstrap/extra/*.yaml]
      secrets: {flux-system/cluster-secrets: [SECRET_DOMAIN]}
      nodes: {one: {labels: {disk: ssd}, taints: ["gpu=yes:NoSchedule"]}, two: {}}
    sources: {GitRepository/flux-system/infra: {path: ../infra}}
overlays: {base: clusters/base, vars: ConfigMap/flux-system/cluster-vars, may_patch: [spec.decryption]}
invariants:
  - {name: vip, expr: "true", message: a VIP, severity: warning}
pins:
  - {name: talos, places: [{file: talos/*.yaml, pattern: "v([0-9.]+)"}]}
knowledge: [knowledge/*.yaml]
rules: {remote-base: warning, unrendered: "off"}
suppress:
  - {rule: remote-base, file: "apps/**", tier: flux-system/apps, object: ConfigMap/a/b, cluster: prod, reason: it is so}
"#;

fn validator() -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(include_str!("../../../schemas/config.schema.json")).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

fn is_valid(text: &str) -> bool {
    validator().is_valid(&firstpass_yaml::parse_one(text).unwrap().to_config().unwrap())
}

fn is_read(text: &str) -> bool {
    Config::parse(text.as_bytes(), CONFIG_FILE).is_ok()
}

#[test]
fn both_take_the_whole_format() {
    assert!(is_valid(FULL));
    assert!(is_read(FULL));
}

#[test]
fn both_refuse_the_same_mistakes() {
    for (right, wrong) in [
        ("clusters:", "cluster:"),
        ("path: clusters/prod", "paths: clusters/prod"),
        ("distribution: k3s", "distribution: k8s"),
        ("gpu=yes:NoSchedule", "gpu=yes:Never"),
        ("labels: {disk: ssd}", "label: {disk: ssd}"),
        ("flux: \"2.9\"", "flux: latest"),
        ("design_only: true", "design_only: maybe"),
        ("{path: ../infra}", "{}"),
        ("remote-base: warning", "remote-base: loud"),
        ("base: clusters/base", "bases: clusters/base"),
        ("pattern: ", "regex: "),
        (", reason: it is so", ""),
        ("object: ConfigMap/a/b", "objects: ConfigMap/a/b"),
        (
            "file: \"apps/**\", tier: flux-system/apps, object: ConfigMap/a/b, ",
            "",
        ),
    ] {
        assert!(FULL.contains(right), "{right}");
        let broken = FULL.replacen(right, wrong, 1);
        assert!(!is_valid(&broken), "the schema takes `{wrong}`");
        assert!(!is_read(&broken), "the program takes `{wrong}`");
    }
}
