//! The inventory, pruning, and objects that move (reference sections 5.1 to 5.3).

use std::sync::Arc;

use firstpass_apiserver::Duration;
use firstpass_object::{ObjectExt, ObjectId};
use serde_json::{Value, json};

use crate::common::{config_map, contents, hour, kustomization, world_of};
use crate::{attempts, crd, custom, has, id, is_ready, live, patch, play_move, ready, request, subjects};

/// Two Kustomizations `a` and `b`, whose contents change with a second revision.
fn move_between(
    a: (Value, Value),
    b: (Value, Value),
    before: (Vec<Value>, Vec<Value>),
    after: (Vec<Value>, Vec<Value>),
) -> firstpass_sim::World {
    let of = |revision: &str, a: Value, b: Value, objects: (Vec<Value>, Vec<Value>)| {
        let root = vec![kustomization("a", a), kustomization("b", b)];
        Arc::new(contents(
            revision,
            &[("root", root), ("a", objects.0), ("b", objects.1)],
        ))
    };
    let mut world = world_of(of("main@sha1:1", a.0, b.0, before), "2.9", 0);
    world.run_until_quiet(hour(1));
    world.move_to(of("main@sha1:2", a.1, b.1, after));
    world.run_for(Duration::from_secs(180));
    world
}

fn owner(world: &firstpass_sim::World, name: &str) -> String {
    let object = world.server.object(&id("ConfigMap", name)).unwrap();
    object
        .label("kustomize.toolkit.fluxcd.io/name")
        .unwrap()
        .to_owned()
}

fn uid(world: &firstpass_sim::World, name: &str) -> String {
    let object = world.server.object(&id("ConfigMap", name)).unwrap();
    object["metadata"]["uid"].as_str().unwrap().to_owned()
}

#[test]
fn an_emptied_directory_prunes_everything() {
    // F-403, F-804, F-411: in the reverse order of the apply.
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "media"}});
    let world = play_move(
        "2.9",
        json!({"interval": "1h"}),
        vec![namespace, secret, config_map("a")],
        vec![],
    );
    assert_eq!(
        subjects(&world, "pruned"),
        ["Secret/default/s", "ConfigMap/default/a", "Namespace/media"]
    );
    assert_eq!(ready(&world, "a").0, "True");
}

#[test]
fn without_prune_stale_objects_are_forgotten_for_good() {
    // F-410
    let mut world = play_move(
        "2.9",
        json!({"prune": false, "interval": "1h"}),
        vec![config_map("a"), config_map("b")],
        vec![config_map("b")],
    );
    assert!(has(&world, "ConfigMap", "a"));
    patch(&mut world, "a", json!({"spec": {"prune": true}}));
    world.run_for(Duration::from_secs(60));
    assert!(has(&world, "ConfigMap", "a"));
    assert_eq!(attempts(&world, "a"), 3);
}

#[test]
fn pruning_comes_before_health() {
    // F-410, F-154
    let spec = json!({"timeout": "30s", "interval": "1h", "healthChecks": [{"kind": "Deployment", "name": "none", "namespace": "default"}]});
    let root = |spec: Value| vec![kustomization("a", spec)];
    let before = [
        ("root", root(json!({"interval": "1h"}))),
        ("a", vec![config_map("a"), config_map("b")]),
    ];
    let after = [("root", root(spec)), ("a", vec![config_map("b")])];
    let mut world = world_of(Arc::new(contents("main@sha1:1", &before)), "2.9", 0);
    world.run_until_quiet(hour(1));
    world.move_to(Arc::new(contents("main@sha1:2", &after)));
    world.run_for(Duration::from_secs(120));
    assert_eq!(ready(&world, "a").1, "HealthCheckFailed");
    assert!(!has(&world, "ConfigMap", "a"));
}

#[test]
fn a_failed_apply_tracks_nothing_new() {
    // F-155: the namespace of the second revision is live and in no inventory, and stays when it is taken back.
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "media"}});
    let broken = vec![
        config_map("a"),
        namespace,
        custom("example.com/v1", "Gadget", "g"),
    ];
    let mut world = play_move("2.9", json!({"interval": "1h"}), vec![config_map("a")], broken);
    let media = ObjectId::new("", "Namespace", None, "media");
    assert!(world.server.object(&media).is_some());
    assert_eq!(
        live(&world, "a")["status"]["inventory"]["entries"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let paths = [
        ("root", vec![crate::live_spec(&world, "a")]),
        ("a", vec![config_map("a")]),
    ];
    world.move_to(Arc::new(contents("main@sha1:3", &paths)));
    world.run_for(Duration::from_secs(60));
    assert!(is_ready(&world, "a"));
    assert!(world.server.object(&media).is_some());
}

#[test]
fn a_version_that_is_no_longer_served_hides_an_object_from_pruning() {
    // F-415, F-402
    let root = |versions: &[&str]| {
        vec![
            crd("example.com", "Widget", versions),
            kustomization("a", json!({"interval": "1h"})),
        ]
    };
    let before = [
        ("root", root(&["v1beta1"])),
        (
            "a",
            vec![custom("example.com/v1beta1", "Widget", "w"), config_map("a")],
        ),
    ];
    let after = [("root", root(&["v1"])), ("a", vec![config_map("a")])];
    let mut world = world_of(Arc::new(contents("main@sha1:1", &before)), "2.9", 0);
    world.run_until_quiet(hour(1));
    // The CRD moves on first, with the parent.
    let with_crd = [("root", root(&["v1"])), before[1].clone()];
    let mut at_rest = contents("main@sha1:1", &with_crd);
    at_rest.revision = "main@sha1:1".to_owned();
    world.move_to(Arc::new(at_rest));
    request(&mut world, "root", "1");
    world.run_for(Duration::from_secs(60));
    world.move_to(Arc::new(contents("main@sha1:2", &after)));
    world.run_for(Duration::from_secs(60));
    assert_eq!(ready(&world, "a").0, "True");
    let widget = ObjectId::new("example.com", "Widget", Some("default"), "w");
    assert!(world.server.object(&widget).is_some());
}

#[test]
fn an_object_moves_without_a_gap_if_the_new_owner_comes_first() {
    // F-420, F-422: `a` waits for `b`, which takes the object and its labels.
    let spec = || json!({"interval": "1h"});
    let waits = || json!({"interval": "1h", "dependsOn": [{"name": "b"}]});
    let world = move_between(
        (waits(), waits()),
        (spec(), spec()),
        (vec![config_map("x")], vec![]),
        (vec![], vec![config_map("x")]),
    );
    assert!(subjects(&world, "pruned").is_empty());
    assert!(subjects(&world, "gone").is_empty());
    assert_eq!(owner(&world, "x"), "b");
}

#[test]
fn an_object_is_lost_for_a_while_if_the_old_owner_comes_first() {
    // F-421, F-422
    let spec = || json!({"interval": "1h"});
    let waits = || json!({"interval": "1h", "dependsOn": [{"name": "a"}]});
    let world = move_between(
        (spec(), spec()),
        (waits(), waits()),
        (vec![config_map("x")], vec![]),
        (vec![], vec![config_map("x")]),
    );
    assert_eq!(subjects(&world, "pruned"), ["ConfigMap/default/x"]);
    assert_eq!(owner(&world, "x"), "b");
}

#[test]
fn an_object_of_two_changes_hands_with_every_run() {
    // F-423
    let spec = || json!({"interval": "1h"});
    let both = || (vec![config_map("x")], vec![config_map("x")]);
    let mut world = move_between((spec(), spec()), (spec(), spec()), both(), both());
    let first = uid(&world, "x");
    for name in ["a", "b", "a"] {
        let token = world.now().as_micros().to_string();
        request(&mut world, name, &token);
        world.run_for(Duration::from_secs(60));
        assert_eq!(owner(&world, "x"), name);
        assert_eq!(ready(&world, name).0, "True");
    }
    assert_eq!(uid(&world, "x"), first);
}

#[test]
fn a_renamed_kustomization_takes_its_objects_along_only_if_the_new_one_is_first() {
    // F-424: here the parent applies the new one and then prunes the old one at once, before the new one has run.
    let of = |name: &str, revision: &str| {
        let root = vec![kustomization(name, json!({"interval": "1h", "path": "a"}))];
        Arc::new(contents(
            revision,
            &[("root", root), ("a", vec![config_map("x")])],
        ))
    };
    let mut world = world_of(of("old", "main@sha1:1"), "2.9", 0);
    world.run_until_quiet(hour(1));
    world.move_to(of("new", "main@sha1:2"));
    world.run_for(Duration::from_secs(120));
    assert!(subjects(&world, "pruned").contains(&"ConfigMap/default/x".to_owned()));
    assert_eq!(owner(&world, "x"), "new");
}
