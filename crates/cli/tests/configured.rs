//! Names in `firstpass.yaml` that mean nothing are errors that name the nearest which does.

mod common;

use common::{firstpass, json};
use firstpass_testing::{BOOTSTRAP, Scratch};

fn repository(name: &str, config: &str) -> Scratch {
    Scratch::new(
        name,
        &format!(
            "{BOOTSTRAP}--- clusters/prod/web.yaml
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings, namespace: default}}
--- firstpass.yaml
{config}
"
        ),
    )
}

#[test]
fn what_no_file_and_no_cluster_has_is_refused() {
    let table = [
        (
            "clusters: {prod: {path: clusters/prod, kubernetes: '1.99'}}",
            "there is no Kubernetes `1.99` yet",
            "write it like `1.37`",
        ),
        (
            "overlays: {base: clusters/prodd}",
            "`overlays.base`: there is no directory `clusters/prodd`",
            "did you mean `clusters/prod`?",
        ),
        (
            "suppress: [{rule: remote-base, cluster: clusters/prdo, file: '*', reason: so}]",
            "firstpass.yaml:1:12: `suppress`: there is no cluster `clusters/prdo`",
            "did you mean `clusters/prod`?",
        ),
    ];
    for (config, problem, help) in table {
        let repository = repository("configured-refused", config);
        let output = firstpass(&repository.root, &["check", "--root", "."]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(problem) && said.contains(help), "{said}");
    }
}

#[test]
fn suppressions_of_what_no_cluster_has_are_errors() {
    let config = "suppress: [{rule: remote-base, tier: flux-system/flux-sytem, object: ConfigMap/default/setings, reason: so}]";
    let repository = repository("configured-suppressions", config);
    let report = json(&repository.root, &["check", "--root", "."]);
    let findings = report["clusters"][0]["findings"].as_array().unwrap();
    let said: Vec<(&str, &str)> = findings
        .iter()
        .filter(|finding| finding["severity"] == "error")
        .map(|finding| {
            (
                finding["message"].as_str().unwrap(),
                finding["help"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        said,
        [
            (
                "no cluster has a tier `flux-system/flux-sytem`, so nothing is suppressed",
                "write `flux-system/flux-system`, if that is meant",
            ),
            (
                "no cluster has an object `ConfigMap/default/setings`, so nothing is suppressed",
                "write `ConfigMap/default/settings`, if that is meant",
            ),
        ]
    );
}
