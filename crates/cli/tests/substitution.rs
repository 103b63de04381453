//! A variable that nobody defines, in the bundled example: what becomes of it under which Flux, and without substitution.

#![allow(
    clippy::disallowed_methods,
    reason = "overlays are made of the example's own files"
)]

mod common;

use std::path::{Path, PathBuf};

use common::{firstpass, json, loud_findings, workspace};
use serde_json::Value;

const PROFILES: &str = "platform/kubevirt/cdi-storageprofiles.yaml";
const TIER: &str = "clusters/base/platform-config-cdi.yaml";
const INSTANCE: &str = "bootstrap/values/flux-instance.yaml";
const NAME: &str = "flux-system/platform-config-cdi";

/// An overlay over the example, gone when the test is over.
struct Overlay(PathBuf);

impl Overlay {
    fn new(name: &str) -> Overlay {
        let directory = std::env::temp_dir().join(format!("firstpass-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        Overlay(directory)
    }

    /// The example with `${NOPE}` below the path of `platform-config-cdi`.
    fn with_undefined_variable(name: &str) -> Overlay {
        let overlay = Overlay::new(name);
        overlay.change(
            PROFILES,
            "metadata:\n",
            "metadata:\n  annotations:\n    example.net/owner: ${NOPE}\n",
        );
        overlay
    }

    fn change(&self, file: &str, from: &str, to: &str) {
        let text = std::fs::read_to_string(home().join(file)).unwrap();
        assert!(text.contains(from), "{file} has no {from}");
        self.write(file, &text.replacen(from, to, 1));
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn run(&self, verb: &str, more: &[&str]) -> Value {
        let overlay = self.0.to_str().unwrap();
        json(
            &home(),
            &[&[verb, "clusters/prod", "--overlay", overlay], more].concat(),
        )
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn home() -> PathBuf {
    workspace().join("examples/home-network")
}

/// The only loud finding of a report.
fn only(report: &Value) -> &Value {
    let findings = loud_findings(report);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    findings[0]
}

fn assert_fails(report: &Value) {
    assert_eq!(report["clusters"][0]["verdict"], "invalid");
    let finding = only(report);
    assert_eq!(finding["rule"], "undefined-variable", "{finding:#}");
    assert_eq!(finding["severity"], "error");
    assert_eq!(finding["tier"], NAME);
    assert_eq!(finding["object"], "StorageProfile/longhorn");
    assert_eq!(finding["location"]["file"], PROFILES);
    assert!(
        finding["message"].as_str().unwrap().contains("NOPE"),
        "{finding:#}"
    );
}

#[test]
fn an_undefined_variable_fails_under_flux_2_9() {
    let overlay = Overlay::with_undefined_variable("nope-strict");
    assert_fails(&overlay.run("check", &[]));
    let rehearsed = overlay.run("rehearse", &[]);
    assert_fails(&rehearsed);
    let tiers = rehearsed["clusters"][0]["tiers"].as_array().unwrap();
    let tier = tiers.iter().find(|tier| tier["name"] == NAME).unwrap();
    assert_eq!(tier["ready_at_s"], Value::Null);
}

#[test]
fn it_renders_empty_under_flux_2_4() {
    let overlay = Overlay::with_undefined_variable("nope-lenient");
    let report = overlay.run("check", &["--flux-version", "2.4"]);
    assert_eq!(report["clusters"][0]["verdict"], "hazard");
    let finding = only(&report);
    assert_eq!(
        (&finding["rule"], &finding["severity"]),
        (&Value::from("undefined-variable"), &Value::from("warning"))
    );
    assert_eq!(finding["tier"], NAME);
    let built = build(&overlay.0, "2.4");
    assert!(!built.contains("NOPE"), "{built}");
    assert!(
        built.contains("example.net/owner: null") || built.contains("example.net/owner: \"\""),
        "{built}"
    );
}

fn build(overlay: &Path, flux: &str) -> String {
    let overlay = overlay.to_str().unwrap();
    let arguments = [
        "build",
        "clusters/prod",
        "--tier",
        "platform-config-cdi",
        "--overlay",
        overlay,
        "--flux-version",
        flux,
    ];
    String::from_utf8(firstpass(&home(), &arguments).stdout).unwrap()
}

#[test]
fn it_fails_under_flux_2_4_with_the_gate_in_the_arguments_of_the_controller() {
    let overlay = Overlay::with_undefined_variable("nope-gate");
    let text = std::fs::read_to_string(home().join(INSTANCE)).unwrap();
    let patch = "  kustomize:
    patches:
      - target: {kind: Deployment, name: kustomize-controller}
        patch: |
          - op: add
            path: /spec/template/spec/containers/0/args/-
            value: --feature-gates=StrictPostBuildSubstitutions=true
";
    overlay.write(INSTANCE, &format!("{}\n{patch}", text.trim_end()));
    assert_fails(&overlay.run("check", &["--flux-version", "2.4"]));
}

#[test]
fn it_ships_literally_where_nothing_substitutes() {
    let overlay = Overlay::with_undefined_variable("nope-literal");
    let stanza = "  postBuild:\n    substituteFrom:\n      - kind: ConfigMap\n        name: cluster-vars\n";
    overlay.change(TIER, stanza, "");
    for flux in ["2.4", "2.9"] {
        let report = overlay.run("check", &["--flux-version", flux]);
        let finding = only(&report);
        assert_eq!(finding["rule"], "literal-variable", "{finding:#}");
        assert_eq!(finding["severity"], "error");
        assert_eq!(finding["tier"], NAME);
        assert_eq!(finding["object"], "StorageProfile/longhorn");
        assert!(build(&overlay.0, flux).contains("${NOPE}"));
        let coverage = report["clusters"][0]["coverage"].as_array().unwrap();
        let line = coverage.iter().find(|line| line["tier"] == NAME).unwrap();
        assert_eq!(
            (
                &line["covered"],
                &line["files"],
                &line["defined"],
                &line["hazards"]
            ),
            (
                &Value::from(false),
                &Value::from(2),
                &Value::from(0),
                &Value::from(1)
            ),
        );
    }
}

#[test]
fn coverage_is_one_line_per_path() {
    let output = firstpass(&home(), &["check", "clusters/prod"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("  path=./platform-config-cdi files=2 defined=0 hazards=0\n"),
        "{text}"
    );
    assert!(
        text.contains("outside substitution:\n  path=./clusters/prod "),
        "{text}"
    );
}
