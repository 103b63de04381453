//! The status poller's table of kinds, as a wait shows it (reference section 3.3).

use std::sync::Arc;

use firstpass_apiserver::Duration;
use firstpass_sim::World;
use serde_json::{Value, json};

use crate::common::{contents, hour, kustomization, world_of};
use crate::{crd, custom, is_ready, message, request};

/// One tier waits for a kind of a group; then another kind of the group comes in a version that the group did not have,
/// and a second tier waits for that.
fn play(flux: &str, spec: Value) -> World {
    let root = vec![
        crd("example.com", "Widget", &["v1"]),
        kustomization("first", json!({"wait": true, "interval": "1h"})),
        kustomization(
            "later",
            json!({"dependsOn": [{"name": "first"}], "interval": "1h"}),
        ),
        kustomization("a", spec),
    ];
    let paths = [
        ("root", root),
        ("first", vec![custom("example.com/v1", "Widget", "w")]),
        ("later", vec![crd("example.com", "Gadget", &["v1alpha1"])]),
        ("a", vec![custom("example.com/v1alpha1", "Gadget", "g")]),
    ];
    let mut world = world_of(Arc::new(contents("main@sha1:1", &paths)), flux, 0);
    world.run_until_quiet(hour(1));
    world
}

fn waiting(extra: Value) -> Value {
    let mut spec = json!({
        "dependsOn": [{"name": "later"}], "wait": true, "timeout": "1m", "interval": "1h", "retryInterval": "1m",
    });
    for (key, value) in extra.as_object().unwrap() {
        spec[key] = value.clone();
    }
    spec
}

#[test]
fn a_wait_does_not_find_a_kind_in_a_version_that_its_group_did_not_have() {
    // F-228, F-230: applied, and never seen by the poller.
    let mut world = play("2.9", waiting(json!({})));
    assert!(!is_ready(&world, "a"));
    assert_eq!(
        message(&world, "a"),
        "health check failed after 1m0s: timeout waiting for: [Gadget/default/g status: 'Unknown': no matches for kind \"Gadget\" in group \"example.com\"]"
    );
    // A look at a kind of an unknown group lists everything anew.
    let other = crd("other.example.com", "Thing", &["v1"]);
    crate::apply(&mut world, other);
    let spec = json!({"interval": "1h", "timeout": "30s", "healthChecks": [
        {"apiVersion": "other.example.com/v1", "kind": "Thing", "name": "t", "namespace": "default"},
    ]});
    crate::patch(&mut world, "later", json!({"spec": spec}));
    world.run_for(Duration::from_secs(40));
    crate::patch(&mut world, "later", json!({"spec": {"healthChecks": null}}));
    world.run_for(Duration::from_secs(120));
    request(&mut world, "a", "1");
    world.run_for(Duration::from_secs(120));
    assert!(is_ready(&world, "a"));
}

#[test]
fn clients_of_their_own_and_old_controllers_see_it() {
    // F-227, F-1720
    assert!(is_ready(
        &play("2.9", waiting(json!({"serviceAccountName": "deployer"}))),
        "a"
    ));
    assert!(is_ready(&play("2.5", waiting(json!({}))), "a"));
}

#[test]
fn a_wait_keeps_asking_for_a_version_that_is_gone() {
    // F-231
    let root = |versions: &[&str]| {
        vec![
            crd("example.com", "Widget", versions),
            kustomization("a", json!({"wait": true, "timeout": "30s", "interval": "1h"})),
        ]
    };
    let of = |revision: &str, version: &str| {
        let widget = custom(&format!("example.com/{version}"), "Widget", "w");
        Arc::new(contents(
            revision,
            &[("root", root(&[version])), ("a", vec![widget])],
        ))
    };
    let mut world = world_of(of("main@sha1:1", "v1beta1"), "2.9", 0);
    world.run_until_quiet(hour(1));
    assert!(is_ready(&world, "a"));
    world.move_to(of("main@sha1:2", "v1"));
    world.run_for(Duration::from_secs(120));
    request(&mut world, "a", "1");
    world.run_for(Duration::from_secs(120));
    let failures = &crate::record(&world, "a").failures;
    assert!(
        failures
            .last()
            .unwrap()
            .failure
            .message
            .ends_with("[Widget/default/w status: 'NotFound']"),
        "{failures:?}"
    );
}
