//! Bad input: each a clear finding with a position, none a panic or a hang, and the other tiers rendered.

mod common;

use std::path::PathBuf;
use std::time::Duration;

use common::{firstpass, json, loud_findings};
use serde_json::Value;

/// A repository with one tier that is fine and one whose files a test breaks.
struct Repository {
    root: PathBuf,
}

impl Repository {
    fn new(name: &str) -> Repository {
        let root = std::env::temp_dir().join(format!("firstpass-bad-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        let repository = Repository { root };
        repository.write("firstpass.yaml", "clusters: {prod: {path: clusters/prod}}\n");
        for tier in ["good", "bad"] {
            let flux = format!(
                "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
                 metadata: {{name: {tier}, namespace: flux-system}}\n\
                 spec:\n  interval: 10m\n  path: ./{tier}\n  prune: true\n  \
                 sourceRef: {{kind: GitRepository, name: flux-system}}\n"
            );
            repository.write(&format!("clusters/prod/{tier}.yaml"), flux);
        }
        repository.write("good/kustomization.yaml", "resources: [settings.yaml]\n");
        repository.write(
            "good/settings.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\ndata: {a: b}\n",
        );
        repository
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// The finding about the bad tier, once the good one is known to be fine and the call to have been quick.
    #[expect(clippy::disallowed_methods, reason = "a hang is what this test looks for")]
    fn finding(&self) -> Value {
        let begun = std::time::Instant::now();
        let report = json(&self.root, &["rehearse", "clusters/prod"]);
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "took {:?}",
            begun.elapsed()
        );
        let tiers = report["clusters"][0]["tiers"].as_array().unwrap();
        let good = tiers
            .iter()
            .find(|tier| tier["name"] == "flux-system/good")
            .expect("the good tier is there");
        assert_eq!(good["state"], "ready", "{report:#}");
        let findings = loud_findings(&report);
        let bad = findings
            .iter()
            .find(|finding| finding["tier"] == "flux-system/bad");
        (**bad.unwrap_or_else(|| panic!("nothing said about the bad tier: {report:#}"))).clone()
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// The bad tier is refused, with a place in this file.
fn check(name: &str, break_it: impl Fn(&Repository), file: &str) {
    let repository = Repository::new(name);
    break_it(&repository);
    let finding = repository.finding();
    assert_eq!(finding["verdict"], "invalid", "{name}: {finding:#}");
    assert_eq!(finding["location"]["file"], file, "{name}: {finding:#}");
    assert!(
        finding["location"]["line"].as_u64().unwrap() > 0,
        "{name}: {finding:#}"
    );
    for part in ["message", "why", "help"] {
        assert!(
            !finding[part].as_str().unwrap().is_empty(),
            "{name}: no {part} in {finding:#}"
        );
    }
}

fn object(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: default}}\n")
}

#[test]
fn a_missing_path() {
    check("missing-path", |_| {}, "clusters/prod/bad.yaml");
}

#[test]
fn a_missing_resource() {
    check(
        "missing-resource",
        |r| r.write("bad/kustomization.yaml", "resources:\n- a.yaml\n"),
        "bad/kustomization.yaml",
    );
}

#[test]
fn a_cycle_of_bases() {
    check(
        "cycle",
        |r| {
            r.write("bad/kustomization.yaml", "resources: [base]\n");
            r.write("bad/base/kustomization.yaml", "resources: [../../bad]\n");
        },
        "bad/base/kustomization.yaml",
    );
}

#[test]
fn a_kustomization_that_lists_itself() {
    check(
        "itself",
        |r| r.write("bad/kustomization.yaml", "resources:\n- kustomization.yaml\n"),
        "bad/kustomization.yaml",
    );
    check(
        "own-directory",
        |r| r.write("bad/kustomization.yaml", "resources:\n- .\n"),
        "bad/kustomization.yaml",
    );
}

#[test]
fn tabs() {
    check(
        "tabs",
        |r| {
            r.write("bad/kustomization.yaml", "resources: [a.yaml]\n");
            r.write("bad/a.yaml", format!("{}data:\n\ta: b\n", object("a")));
        },
        "bad/a.yaml",
    );
}

#[test]
fn an_alias_bomb() {
    let mut bomb = object("a") + "data:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for level in 1..30 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb.push_str(&format!("  a{level}: &a{level} [{aliases}]\n"));
    }
    check(
        "bomb",
        |r| {
            r.write("bad/kustomization.yaml", "resources: [a.yaml]\n");
            r.write("bad/a.yaml", &bomb);
        },
        "bad/a.yaml",
    );
}

#[test]
fn deep_nesting() {
    for (name, deep) in [
        ("flow", format!("{}{}", "[".repeat(10_000), "]".repeat(10_000))),
        (
            "block",
            (0..10_000)
                .map(|depth| format!("\n{}a:", " ".repeat(depth + 4)))
                .collect::<String>(),
        ),
    ] {
        check(
            name,
            |r| {
                r.write("bad/kustomization.yaml", "resources: [a.yaml]\n");
                r.write("bad/a.yaml", format!("{}data:\n  a: {deep}\n", object("a")));
            },
            "bad/a.yaml",
        );
    }
}

#[test]
fn invalid_utf_8() {
    check(
        "utf-8",
        |r| {
            r.write("bad/kustomization.yaml", "resources: [a.yaml]\n");
            r.write(
                "bad/a.yaml",
                [object("a").as_bytes(), b"data: {a: \"\xff\xfe\"}\n"].concat(),
            );
        },
        "bad/a.yaml",
    );
}

#[cfg(unix)]
#[test]
fn a_symlink_out_of_the_repository() {
    check(
        "symlink",
        |r| {
            r.write("bad/kustomization.yaml", "resources:\n- passwd.yaml\n");
            std::os::unix::fs::symlink("/etc/passwd", r.root.join("bad/passwd.yaml")).unwrap();
        },
        "bad/kustomization.yaml",
    );
}

#[test]
fn a_path_out_of_the_repository() {
    check(
        "outside",
        |r| r.write("bad/kustomization.yaml", "resources:\n- ../../../../etc/passwd\n"),
        "bad/kustomization.yaml",
    );
}

#[test]
fn carriage_returns_are_fine() {
    let repository = Repository::new("crlf");
    repository.write("bad/kustomization.yaml", "resources:\r\n- a.yaml\r\n");
    repository.write(
        "bad/a.yaml",
        format!("{}data: {{a: b}}\n", object("a")).replace('\n', "\r\n"),
    );
    let report = json(&repository.root, &["rehearse", "clusters/prod"]);
    assert_eq!(report["clusters"][0]["verdict"], "converges", "{report:#}");
}

#[test]
fn a_large_file_builds_and_the_limit_can_be_set() {
    let repository = Repository::new("large");
    repository.write("bad/kustomization.yaml", "resources: [a.yaml]\n");
    let line = format!("    {}\n", "x".repeat(95));
    repository.write(
        "bad/a.yaml",
        format!("{}data:\n  a: |\n{}", object("a"), line.repeat(200_000)),
    );
    let built = firstpass(&repository.root, &["build", "clusters/prod", "--tier", "bad"]);
    assert_eq!(
        built.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    assert!(built.stdout.len() > 19_000_000);
    let limited = firstpass(
        &repository.root,
        &[
            "build",
            "clusters/prod",
            "--tier",
            "bad",
            "--file-limit",
            "1000000",
        ],
    );
    assert_eq!(limited.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&limited.stderr).contains("limit"),
        "{}",
        String::from_utf8_lossy(&limited.stderr)
    );
}

#[test]
fn wrong_usage_is_exit_2_with_help() {
    let repository = Repository::new("usage");
    for arguments in [
        &["rehearse", "clusters/none"][..],
        &["check", "--root", "/nowhere"],
        &["rehearse", "clusters/prod", "--flux-version", "latest"],
        &["rehearse", "--no-such-option"],
        &["build", "clusters/prod", "--tier", "none"],
    ] {
        let output = firstpass(&repository.root, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(
            output.stdout.is_empty() && !output.stderr.is_empty(),
            "{arguments:?}"
        );
    }
    repository.write("firstpass.yaml", "cluster: {}\n");
    let output = firstpass(&repository.root, &["check", "clusters/prod"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("did you mean `clusters`"));
}

#[test]
fn an_entry_that_is_empty_or_outside_is_refused() {
    let repository = Repository::new("entry-outside");
    for (entry, expected) in [
        ("", "an entry is empty"),
        ("../../..", "the entry `../../..` lies outside the repository"),
        ("/etc", "the entry `/etc` lies outside the repository"),
    ] {
        let text = said(&repository, &[entry]);
        assert!(text.contains(expected), "{entry:?}: {text}");
    }
}

/// What `check` of these arguments says when it refuses them, on standard error.
fn said(repository: &Repository, arguments: &[&str]) -> String {
    let output = firstpass(
        &repository.root,
        &[&["check", "clusters/prod"], arguments].concat(),
    );
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn files_that_options_name_are_told_by_the_name_that_was_typed() {
    let repository = Repository::new("named");
    for (text, message) in [
        ("charts: {\n", ":1:9: unclosed bracket '{'"),
        (
            "charts: []\ncharts: []\n",
            ":2:1: the key `charts` is there twice, first in line 1",
        ),
    ] {
        repository.write("own/knowledge.yaml", text);
        let file = repository.root.join("own/knowledge.yaml");
        let file = file.to_str().unwrap();
        assert_eq!(
            said(&repository, &["--knowledge", file]),
            format!("error: {file}{message}\n")
        );
    }
    repository.write("own/config.yaml", "clusters:\n  a: {path: a}\n  a: {path: b}\n");
    let file = repository.root.join("own/config.yaml");
    let file = file.to_str().unwrap();
    assert_eq!(
        said(&repository, &["--config", file]),
        format!("error: {file}:3:3: `clusters`: the key `a` is there twice, first in line 2\n")
    );
}

#[cfg(unix)]
#[test]
fn a_file_without_an_end_is_refused() {
    let repository = Repository::new("endless");
    for option in ["--knowledge", "--config"] {
        let said = said(&repository, &[option, "/dev/zero", "--file-limit", "100000"]);
        assert!(
            said.contains("`/dev/zero` has more bytes than the limit of 100000"),
            "{said}"
        );
    }
}
