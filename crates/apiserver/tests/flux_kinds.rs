//! Flux's own kinds are judged without their CRDs: misspelt fields and values that cannot be read are refused.

use firstpass_apiserver::validate;
use serde_json::{Value, json};

fn kustomization(change: impl FnOnce(&mut Value)) -> Value {
    let mut object = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": "apps", "namespace": "flux-system"},
        "spec": {"interval": "10m", "prune": true, "path": "./apps", "wait": true,
            "sourceRef": {"kind": "GitRepository", "name": "flux-system"}},
    });
    change(&mut object["spec"]);
    object
}

fn refused(object: &Value) -> Vec<String> {
    validate(object, 37, &[])
        .into_iter()
        .map(|error| error.path)
        .collect()
}

#[test]
fn mistakes_in_a_kustomization_are_refused() {
    assert!(refused(&kustomization(|_| {})).is_empty());
    assert_eq!(
        refused(&kustomization(|spec| spec["waits"] = json!(true))),
        ["spec.waits"]
    );
    assert_eq!(
        refused(&kustomization(|spec| spec["interval"] = json!("soon"))),
        ["spec.interval"]
    );
    assert_eq!(
        refused(&kustomization(|spec| spec["wait"] = json!("tru"))),
        ["spec.wait"]
    );
    assert_eq!(
        refused(&kustomization(|spec| spec["timeout"] = json!(5))),
        ["spec.timeout"]
    );
    assert_eq!(
        refused(&kustomization(|spec| {
            spec.as_object_mut().unwrap().remove("prune");
        })),
        ["spec.prune"]
    );
}

#[test]
fn mistakes_in_a_release_are_refused() {
    let mut release = json!({
        "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
        "metadata": {"name": "web", "namespace": "apps"},
        "spec": {"interval": "1h", "chartRef": {"kind": "OCIRepository", "name": "web"}},
    });
    assert!(refused(&release).is_empty());
    release["spec"]["valuez"] = json!({});
    assert_eq!(refused(&release), ["spec.valuez"]);
}

#[test]
fn what_is_unknown_is_not_judged() {
    let object = kustomization(|spec| spec["interval"] = json!("${INTERVAL}"));
    assert!(validate(&object, 37, &["${INTERVAL".to_owned()]).is_empty());
}
