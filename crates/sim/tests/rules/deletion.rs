//! Deleting a Kustomization (reference section 5.4).

use std::sync::Arc;

use firstpass_apiserver::{Duration, Request, Target};
use firstpass_sim::World;
use serde_json::{Value, json};

use crate::common::{config_map, contents, hour, kustomization, world_of};
use crate::{crd, custom, has, id, kustomization_id, times_of};

/// A Kustomization `a` with objects that is then taken out of git.
fn removed(flux: &str, spec: Value, objects: Vec<Value>) -> World {
    let before = [("root", vec![kustomization("a", spec)]), ("a", objects)];
    let mut world = world_of(Arc::new(contents("main@sha1:1", &before)), flux, 0);
    world.run_until_quiet(hour(1));
    world.move_to(Arc::new(contents("main@sha1:2", &[("root", vec![])])));
    world.run_for(Duration::from_secs(20));
    world
}

fn exists(world: &World) -> bool {
    world.server.object(&kustomization_id("a")).is_some()
}

fn held(name: &str) -> Value {
    let mut object = config_map(name);
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    object
}

fn release(world: &mut World, name: &str) {
    let target = Target::of(&config_map(name));
    world
        .intervene(|server| {
            server.call(&Request::Patch {
                target,
                patch: json!({"metadata": {"finalizers": null}}),
                manager: "person".into(),
            })
        })
        .unwrap();
}

#[test]
fn policies_say_whether_objects_go_along() {
    // F-430, F-1747
    for (flux, spec, goes) in [
        ("2.9", json!({"prune": true}), true),
        ("2.9", json!({"prune": false}), false),
        ("2.9", json!({"prune": false, "deletionPolicy": "Delete"}), true),
        ("2.9", json!({"prune": true, "deletionPolicy": "Orphan"}), false),
        ("2.4", json!({"prune": true, "deletionPolicy": "Orphan"}), true),
    ] {
        let world = removed(flux, spec.clone(), vec![config_map("a")]);
        assert!(!exists(&world));
        assert_eq!(!has(&world, "ConfigMap", "a"), goes, "{flux} {spec}");
    }
}

#[test]
fn waiting_for_termination_keeps_the_kustomization_until_its_objects_are_gone() {
    // F-432; since 2.6 (F-1747).
    let spec = json!({"deletionPolicy": "WaitForTermination", "timeout": "2m"});
    let mut world = removed("2.9", spec.clone(), vec![held("a")]);
    assert!(exists(&world));
    release(&mut world, "a");
    world.run_for(Duration::from_secs(3));
    assert!(!exists(&world));
    assert!(!has(&world, "ConfigMap", "a"));

    // At the timeout it lets go all the same.
    let mut world = removed("2.9", spec, vec![held("a")]);
    world.run_for(Duration::from_secs(90));
    assert!(exists(&world));
    world.run_for(Duration::from_secs(30));
    assert!(!exists(&world));
    assert!(has(&world, "ConfigMap", "a"));
    assert_eq!(
        times_of(&world, "a", "failed to wait for ConfigMap/default/a").len(),
        1
    );

    // Nobody else waits.
    let world = removed("2.9", json!({"deletionPolicy": "Delete"}), vec![held("a")]);
    assert!(!exists(&world));
}

#[test]
fn an_error_keeps_the_finalizer_and_is_tried_again_with_growing_pauses() {
    // F-431, F-414, F-1105: the kind is unknown to a client of one's own.
    let spec = json!({"serviceAccountName": "deployer"});
    let root = |with: bool| {
        let mut root = vec![crd("example.com", "Widget", &["v1"])];
        if with {
            root.push(kustomization("a", spec.clone()));
        }
        root
    };
    let paths = [
        ("root", root(true)),
        (
            "a",
            vec![custom("example.com/v1", "Widget", "w"), config_map("a")],
        ),
    ];
    let mut world = world_of(Arc::new(contents("main@sha1:1", &paths)), "2.9", 0);
    world.run_until_quiet(hour(1));
    let target = Target::of(&crd("example.com", "Widget", &["v1"]));
    world
        .intervene(|server| server.call(&Request::delete(target)))
        .unwrap();
    world.run_for(Duration::from_secs(5));
    let target = Target::of(&crate::live(&world, "a"));
    world
        .intervene(|server| server.call(&Request::delete(target)))
        .unwrap();
    world.run_for(Duration::from_secs(30));
    assert!(exists(&world));
    assert!(!has(&world, "ConfigMap", "a"));
    let tries = times_of(&world, "a", "pruning for deleted resource failed");
    let gaps: Vec<f64> = tries.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.len() > 3);
    assert!(
        gaps.windows(2).all(|pair| (pair[1] / pair[0] - 2.0).abs() < 1e-3),
        "{gaps:?}"
    );
}

#[test]
fn without_its_account_a_kustomization_leaves_its_objects_behind() {
    // F-433: the account goes in the same commit, and before it.
    let mut account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "deployer"}});
    account["metadata"]["namespace"] = json!("flux-system");
    let spec = json!({"serviceAccountName": "deployer"});
    let before = [
        ("root", vec![account.clone(), kustomization("a", spec)]),
        ("a", vec![config_map("a")]),
    ];
    let mut world = world_of(Arc::new(contents("main@sha1:1", &before)), "2.9", 0);
    world.run_until_quiet(hour(1));
    let target = Target::of(&account);
    world
        .intervene(|server| server.call(&Request::delete(target)))
        .unwrap();
    world.move_to(Arc::new(contents("main@sha1:2", &[("root", vec![])])));
    world.run_for(Duration::from_secs(60));
    assert!(!exists(&world));
    assert!(world.server.object(&id("ConfigMap", "a")).is_some());
    assert_eq!(times_of(&world, "a", "the service account is gone").len(), 1);
}
