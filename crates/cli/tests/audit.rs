//! `firstpass audit`, as people and scripts call it.

mod common;

use common::{json, workspace};
use serde_json::Value;

fn audit(more: &[&str]) -> Value {
    let home = workspace().join("examples/home-network");
    json(&home, &[&["audit", "clusters/prod"], more].concat())["clusters"][0].clone()
}

fn kind<'a>(audit: &'a Value, name: &str) -> &'a Value {
    let kinds = audit["kinds"].as_array().unwrap();
    kinds
        .iter()
        .find(|kind| kind["kind"] == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn second_order_kinds_come_first_with_who_brings_them() {
    let audit = audit(&[]);
    let classes: Vec<&str> = audit["kinds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|kind| kind["provider"].as_str().unwrap())
        .collect();
    assert_eq!(classes[0], "after-object");
    let order = [
        "after-object",
        "at-start",
        "nobody",
        "chart",
        "git",
        "baseline",
        "built-in",
    ];
    let places: Vec<usize> = classes
        .iter()
        .map(|class| order.iter().position(|known| known == class).unwrap())
        .collect();
    assert!(places.is_sorted(), "{classes:?}");
    let profile = kind(&audit, "StorageProfile.cdi.kubevirt.io");
    assert_eq!(profile["brought_by"][0]["object"], "CDI/cdi");
    assert_eq!(profile["brought_by"][0]["tier"], "flux-system/platform-config");
    assert_eq!(profile["used_by"][0]["tier"], "flux-system/platform-config-cdi");
    assert_eq!(
        (
            &profile["used_by"][0]["objects"],
            &profile["used_by"][0]["guaranteed"]
        ),
        (&Value::from(2), &Value::from(true))
    );
}

#[test]
fn a_kind_that_is_not_there_in_time_says_so() {
    let audit = audit(&["--overlay", "stories/first-repair"]);
    let profile = kind(&audit, "StorageProfile.cdi.kubevirt.io");
    assert_eq!(profile["used_by"][0]["guaranteed"], false, "{profile:#}");
}

#[test]
fn every_object_has_an_owner_after_a_rehearsal() {
    let audit = audit(&["--objects"]);
    let objects = audit["objects"].as_array().unwrap();
    let owner = |name: &str| {
        let object = objects.iter().find(|object| object["object"] == name);
        object.unwrap_or_else(|| panic!("no {name}"))["owner"].clone()
    };
    let table = [
        ("CDI/cdi", "tier", "flux-system/platform-config"),
        (
            "Deployment/cert-manager/cert-manager",
            "release",
            "cert-manager/cert-manager",
        ),
        (
            "CustomResourceDefinition/issuers.cert-manager.io",
            "release",
            "cert-manager/cert-manager",
        ),
        (
            "CustomResourceDefinition/storageprofiles.cdi.kubevirt.io",
            "operator",
            "cdi-operator",
        ),
        ("StorageProfile/longhorn-static", "operator", "cdi-controller"),
    ];
    for (object, kind, name) in table {
        assert_eq!(
            owner(object),
            serde_json::json!({"kind": kind, "name": name}),
            "{object}"
        );
    }
    let lost = objects
        .iter()
        .filter(|object| object["owner"]["kind"] == "labels-only");
    assert_eq!(lost.count(), 0, "every object with labels is in the inventory");
    // Two managers of one object, in the order in which they wrote.
    let profile = objects
        .iter()
        .find(|object| object["object"] == "StorageProfile/longhorn")
        .unwrap();
    assert_eq!(profile["managers"][0]["name"], "cdi-controller");
    assert_eq!(profile["managers"][1]["name"], "kustomize-controller");
}
