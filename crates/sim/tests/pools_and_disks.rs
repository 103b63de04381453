//! Load-balancer addresses in the order in which they are asked for, and disks that are cloned.

#![allow(clippy::needless_pass_by_value, reason = "literals read better as they are")]

#[allow(dead_code, reason = "each test file uses its part")]
mod common;

use common::{hour, kustomization, world};
use firstpass_apiserver::{CrdSketch, Scope};
use firstpass_knowledge::Knowledge;
use firstpass_object::ObjectId;
use firstpass_sim::{End, World};
use serde_json::{Value, json};

fn crd(group: &str, kind: &str, version: &str) -> Value {
    CrdSketch {
        group: group.to_owned(),
        kind: kind.to_owned(),
        plural: None,
        scope: Scope::Cluster,
        versions: vec![version.to_owned()],
    }
    .to_crd()
}

/// Plays two tiers, the second after the first.
fn play(first: Vec<Value>, second: Vec<Value>) -> World {
    let root = vec![
        kustomization("a", json!({"wait": true})),
        kustomization("b", json!({"dependsOn": [{"name": "a"}]})),
    ];
    let mut world = world(&[("root", root), ("a", first), ("b", second)], "2.9");
    assert_eq!(world.run_until_quiet(hour(24)), End::Quiet);
    world
}

fn balanced(name: &str, pin: Option<&str>) -> Value {
    let mut service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]},
    });
    if let Some(pin) = pin {
        service["metadata"]["annotations"] = json!({"lbipam.cilium.io/ips": pin});
    }
    service
}

fn address(world: &World, name: &str) -> Option<String> {
    let id = ObjectId::new("", "Service", Some("default"), name);
    world.addresses.claims()[&id]
        .got
        .map(|address| address.to_string())
}

#[test]
fn addresses_are_given_in_the_order_of_asking_and_a_pin_may_come_too_late() {
    let pool = json!({
        "apiVersion": "cilium.io/v2", "kind": "CiliumLoadBalancerIPPool", "metadata": {"name": "pool"},
        "spec": {"blocks": [{"start": "10.0.0.10", "stop": "10.0.0.12"}]},
    });
    let first = vec![
        crd("cilium.io", "CiliumLoadBalancerIPPool", "v2"),
        pool.clone(),
        balanced("early", None),
    ];
    let world = play(
        first,
        vec![balanced("late", None), balanced("pinned", Some("10.0.0.10"))],
    );
    assert_eq!(address(&world, "early").as_deref(), Some("10.0.0.10"));
    assert_eq!(address(&world, "late").as_deref(), Some("10.0.0.11"));
    assert_eq!(address(&world, "pinned"), None, "somebody has it already");
    // The other way round everybody gets what they want.
    let first = vec![
        crd("cilium.io", "CiliumLoadBalancerIPPool", "v2"),
        pool,
        balanced("pinned", Some("10.0.0.10")),
    ];
    let world = play(first, vec![balanced("late", None)]);
    assert_eq!(address(&world, "pinned").as_deref(), Some("10.0.0.10"));
    assert_eq!(address(&world, "late").as_deref(), Some("10.0.0.11"));
}

fn class(name: &str, provisioner: &str) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
        "provisioner": provisioner, "volumeBindingMode": "Immediate",
    })
}

/// CDI, its classes, and a claim to clone.
fn cdi(objects: Vec<Value>) -> Vec<Value> {
    let known = |kind: &str| {
        let def = Knowledge::builtin();
        firstpass_controllers::made::crd(
            def.custom_kind("cdi.kubevirt.io", kind).unwrap(),
            &["v1beta1"],
            &[],
        )
    };
    let mut all = vec![
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "cdi-operator", "namespace": "default"},
            "spec": {
                "selector": {"matchLabels": {"app": "cdi-operator"}},
                "template": {
                    "metadata": {"labels": {"app": "cdi-operator"}},
                    "spec": {"containers": [{"name": "operator", "image": "quay.io/kubevirt/cdi-operator:v1.62.0"}]},
                },
            },
        }),
        known("CDI"),
        crd("snapshot.storage.k8s.io", "VolumeSnapshotClass", "v1"),
        json!({"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "CDI", "metadata": {"name": "cdi"}}),
        class("fast", "driver.example.com"),
        class("slow", "other.example.com"),
    ];
    for name in ["fast", "slow"] {
        all.push(json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "default"},
            "spec": {"storageClassName": name, "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        }));
    }
    all.extend(objects);
    all
}

fn clone_of(source: &str, mode: &str) -> Value {
    json!({
        "apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume", "metadata": {"name": "copy", "namespace": "default"},
        "spec": {
            "source": {"pvc": {"namespace": "default", "name": source}},
            "storage": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"], "volumeMode": mode, "resources": {"requests": {"storage": "1Gi"}}},
        },
    })
}

fn way(world: &World) -> Option<String> {
    let id = ObjectId::new("cdi.kubevirt.io", "DataVolume", Some("default"), "copy");
    world.disks.stamps()[&id].clone.clone()
}

#[test]
fn a_smart_clone_needs_a_snapshot_class_of_the_driver_and_a_source_on_the_same() {
    let snapshots = |driver: &str| json!({"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotClass", "metadata": {"name": "snap"}, "driver": driver, "deletionPolicy": "Delete"});
    let with = |snapshots: Vec<Value>, source: &str, mode: &str| {
        way(&play(cdi(snapshots), vec![clone_of(source, mode)]))
    };
    assert_eq!(
        with(vec![snapshots("driver.example.com")], "fast", "Filesystem").as_deref(),
        Some("snapshot")
    );
    assert_eq!(with(vec![], "fast", "Filesystem").as_deref(), Some("copy"));
    assert_eq!(
        with(vec![snapshots("other.example.com")], "fast", "Filesystem").as_deref(),
        Some("copy")
    );
    assert_eq!(
        with(vec![snapshots("driver.example.com")], "slow", "Filesystem").as_deref(),
        Some("copy")
    );
    assert_eq!(
        with(vec![snapshots("driver.example.com")], "fast", "Block").as_deref(),
        Some("copy")
    );
}
