//! Claims and volumes: which class, which volume, and when.

#![allow(clippy::needless_pass_by_value, reason = "literals read better as they are")]

#[allow(dead_code, reason = "each test file uses its part")]
mod common;

use common::{config_map, deployment, hour, kustomization, tier, world};
use firstpass_controllers::ClaimWait;
use firstpass_object::{ObjectExt, ObjectId};
use firstpass_sim::{End, World};
use serde_json::{Value, json};

fn claim(spec: Value) -> Value {
    let mut claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}},
    });
    for (key, value) in spec.as_object().unwrap() {
        claim["spec"][key] = value.clone();
    }
    claim
}

fn class(name: &str, provisioner: &str, binding: &str, default: bool) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": name, "annotations": {"storageclass.kubernetes.io/is-default-class": default.to_string()}},
        "provisioner": provisioner, "volumeBindingMode": binding,
    })
}

fn volume(name: &str, spec: Value) -> Value {
    let mut volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name, "labels": {"disk": name}},
        "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "10Gi"}, "nfs": {"server": "nas.example.com", "path": "/x"}},
    });
    for (key, value) in spec.as_object().unwrap() {
        volume["spec"][key] = value.clone();
    }
    volume
}

/// Plays one tier after another; each waits, and the second depends on the first if there are two.
fn play(first: Vec<Value>, second: Vec<Value>) -> World {
    let root = vec![
        kustomization("a", json!({"wait": true, "timeout": "2m"})),
        kustomization("b", json!({"wait": true, "timeout": "2m"})),
    ];
    let mut world = world(&[("root", root), ("a", first), ("b", second)], "2.9");
    assert_eq!(world.run_until_quiet(hour(24)), End::Quiet);
    world
}

fn claim_id() -> ObjectId {
    ObjectId::new("", "PersistentVolumeClaim", Some("default"), "data")
}

fn wait(world: &World) -> Option<ClaimWait> {
    world.storage.claims()[&claim_id()].waits_for.clone()
}

fn is_bound(world: &World) -> bool {
    world
        .server
        .object(&claim_id())
        .unwrap()
        .text_at(&["status", "phase"])
        == Some("Bound")
}

#[test]
fn of_several_default_classes_the_newest_counts() {
    // Kubernetes, GetDefaultClass: newest first, then by name.
    let late = || class("a-late", "driver.example.com", "WaitForFirstConsumer", true);
    let now = || class("b-now", "driver.example.com", "Immediate", true);
    // Both at once: the first by name.
    let world = play(vec![late(), now(), claim(json!({}))], vec![config_map("b")]);
    assert_eq!(
        wait(&world),
        Some(ClaimWait::Consumer {
            class: "a-late".to_owned()
        })
    );
    let world = play(
        vec![
            class("a-late", "driver.example.com", "WaitForFirstConsumer", false),
            now(),
            claim(json!({})),
        ],
        vec![config_map("b")],
    );
    assert!(is_bound(&world));
}

#[test]
fn a_claim_without_a_class_waits_for_a_default_class_that_comes_later() {
    let mut root = vec![
        kustomization("a", json!({"wait": true})),
        kustomization("b", json!({"dependsOn": [{"name": "c"}]})),
    ];
    root.push(kustomization("c", json!({})));
    let now = class("now", "driver.example.com", "Immediate", true);
    let mut world = world(
        &[
            ("root", root),
            ("a", vec![claim(json!({}))]),
            ("b", vec![now]),
            ("c", vec![config_map("c")]),
        ],
        "2.9",
    );
    assert_eq!(world.run_until_quiet(hour(24)), End::Quiet);
    let ready = |name: &str| world.kustomizations.tiers()[&tier(name)].ready_at.unwrap();
    assert!(ready("a") > ready("b"), "{} {}", ready("a"), ready("b"));
}

#[test]
fn a_volume_that_was_made_by_hand_has_to_fit() {
    let fits = |claim_spec: Value, volume_spec: Value| {
        let none = json!({"storageClassName": ""});
        let merged = |mut own: Value| {
            for (key, value) in none.as_object().unwrap() {
                own[key] = own.get(key).cloned().unwrap_or_else(|| value.clone());
            }
            own
        };
        let world = play(
            vec![volume("disk", merged(volume_spec)), claim(merged(claim_spec))],
            vec![config_map("b")],
        );
        assert_eq!(is_bound(&world), wait(&world).is_none());
        is_bound(&world)
    };
    assert!(fits(json!({}), json!({})));
    assert!(fits(json!({}), json!({"capacity": {"storage": "1Ti"}})));
    assert!(!fits(json!({}), json!({"capacity": {"storage": "9Gi"}})));
    assert!(!fits(json!({"accessModes": ["ReadWriteMany"]}), json!({})));
    assert!(fits(
        json!({}),
        json!({"accessModes": ["ReadWriteMany", "ReadWriteOnce"]})
    ));
    assert!(!fits(json!({"volumeMode": "Block"}), json!({})));
    assert!(!fits(json!({}), json!({"storageClassName": "other"})));
    assert!(fits(
        json!({"selector": {"matchLabels": {"disk": "disk"}}}),
        json!({})
    ));
    assert!(!fits(
        json!({"selector": {"matchLabels": {"disk": "none"}}}),
        json!({})
    ));
    assert!(!fits(
        json!({}),
        json!({"claimRef": {"name": "data", "namespace": "elsewhere"}})
    ));
    assert!(fits(
        json!({}),
        json!({"claimRef": {"name": "data", "namespace": "default"}})
    ));
}

#[test]
fn a_volume_serves_one_claim() {
    let mut other = claim(json!({"storageClassName": ""}));
    other["metadata"]["name"] = json!("other");
    let objects = vec![
        volume("disk", json!({"storageClassName": ""})),
        claim(json!({"storageClassName": ""})),
        other,
    ];
    let world = play(objects, vec![config_map("b")]);
    let bound = world
        .storage
        .claims()
        .values()
        .filter(|record| record.waits_for.is_none())
        .count();
    assert_eq!(bound, 1);
}

#[test]
fn a_reserved_volume_is_bound_without_a_consumer() {
    let late = class("late", "driver.example.com", "WaitForFirstConsumer", false);
    let mine = volume(
        "disk",
        json!({"storageClassName": "late", "claimRef": {"name": "data", "namespace": "default"}}),
    );
    let free = volume("disk", json!({"storageClassName": "late"}));
    assert!(is_bound(&play(
        vec![late.clone(), mine, claim(json!({"storageClassName": "late"}))],
        vec![config_map("b")]
    )));
    let world = play(
        vec![late, free, claim(json!({"storageClassName": "late"}))],
        vec![config_map("b")],
    );
    assert_eq!(
        wait(&world),
        Some(ClaimWait::Consumer {
            class: "late".to_owned()
        })
    );
}

#[test]
fn a_claim_that_names_its_volume_waits_for_that_one() {
    let named = || claim(json!({"storageClassName": "", "volumeName": "disk"}));
    // It comes with the other tier.
    assert!(is_bound(&play(
        vec![named()],
        vec![volume("disk", json!({"storageClassName": ""}))]
    )));
    // Nobody brings it: taken to exist.
    assert!(is_bound(&play(vec![named()], vec![config_map("b")])));
    let small = volume(
        "disk",
        json!({"storageClassName": "", "capacity": {"storage": "1Gi"}}),
    );
    let world = play(vec![small, named()], vec![config_map("b")]);
    assert_eq!(
        wait(&world).unwrap().to_string(),
        "names PersistentVolume/disk, which is too small"
    );
    let foreign = volume(
        "disk",
        json!({"storageClassName": "", "claimRef": {"name": "other", "namespace": "default"}}),
    );
    let world = play(vec![foreign, named()], vec![config_map("b")]);
    assert_eq!(
        wait(&world).unwrap().to_string(),
        "names PersistentVolume/disk, which is bound to a different claim"
    );
}

#[test]
fn a_provisioner_for_one_node_refuses_a_claim_for_many() {
    let local = || class("local-path", "rancher.io/local-path", "Immediate", false);
    let many = |mode: &str| claim(json!({"storageClassName": "local-path", "accessModes": [mode]}));
    assert!(is_bound(&play(
        vec![local(), many("ReadWriteOncePod")],
        vec![config_map("b")]
    )));
    let world = play(vec![local(), many("ReadWriteMany")], vec![config_map("b")]);
    assert_eq!(
        wait(&world).unwrap().to_string(),
        "asks for ReadWriteMany, which the provisioner of StorageClass/local-path refuses"
    );
    assert!(world.kustomizations.tiers()[&tier("a")].ready_at.is_none());
    let mut shared = config_map("local-path-config");
    shared["data"]["config.json"] = json!("{\"sharedFileSystemPath\": \"/mnt/nfs\"}");
    assert!(is_bound(&play(
        vec![local(), shared, many("ReadWriteMany")],
        vec![config_map("b")]
    )));
}

#[test]
fn a_stateful_set_makes_a_claim_per_replica_and_its_pods_consume_them() {
    let mut set = deployment("db");
    set["kind"] = json!("StatefulSet");
    set["spec"]["serviceName"] = json!("db");
    set["spec"]["replicas"] = json!(2);
    set["spec"]["volumeClaimTemplates"] = json!([{
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "late", "resources": {"requests": {"storage": "1Gi"}}},
    }]);
    let late = class("late", "driver.example.com", "WaitForFirstConsumer", false);
    let world = play(vec![late, set], vec![config_map("b")]);
    for name in ["data-db-0", "data-db-1"] {
        let id = ObjectId::new("", "PersistentVolumeClaim", Some("default"), name);
        assert_eq!(
            world.server.object(&id).unwrap().text_at(&["status", "phase"]),
            Some("Bound")
        );
    }
    assert!(world.kustomizations.tiers()[&tier("a")].ready_at.is_some());
}
