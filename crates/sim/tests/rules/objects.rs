//! Force, field managers and the switches of single objects (reference sections 3.4 and 3.5).

use firstpass_apiserver::{Duration, Request};
use serde_json::{Value, json};

use crate::common::config_map;
use crate::{apply, attempts, has, id, is_ready, message, play, play_move, record, request};

fn data(world: &firstpass_sim::World, name: &str) -> Value {
    world.server.object(&id("ConfigMap", name)).unwrap()["data"].clone()
}

/// A ConfigMap with a switch as an annotation or a label.
fn switched(field: &str, key: &str, value: &str, content: &str) -> Value {
    let mut object = config_map("a");
    object["metadata"][field] = json!({format!("kustomize.toolkit.fluxcd.io/{key}"): value});
    object["data"] = json!({"a": content});
    object
}

#[test]
fn force_takes_any_invalid_change_for_an_immutable_field() {
    // F-241, F-242: the object is gone and its successor is refused as well.
    let service = |port: i64| {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"},
            "spec": {"ports": [{"port": port}]},
        })
    };
    let spec = json!({"force": true, "interval": "1h"});
    let world = play_move("2.9", spec, vec![service(80)], vec![service(80_000)]);
    assert!(!has(&world, "Service", "s"));
    assert!(
        message(&world, "a").starts_with("Service/default/s dry-run failed (Invalid): "),
        "{}",
        message(&world, "a")
    );
    let kept = play_move(
        "2.9",
        json!({"interval": "1h"}),
        vec![service(80)],
        vec![service(80_000)],
    );
    assert!(has(&kept, "Service", "s"));
}

#[test]
fn force_waits_for_finalizers_without_end() {
    // F-242, F-1109
    let job = |image: &str| {
        let mut job = crate::job(image);
        job["metadata"]["finalizers"] = json!(["example.com/hold"]);
        job
    };
    let spec = json!({"force": true, "interval": "1h", "timeout": "1m"});
    let mut world = play_move("2.9", spec, vec![job("x:1")], vec![job("x:2")]);
    world.run_for(Duration::from_secs(3600));
    assert_eq!(world.kustomizations.running().len(), 1);
    assert!(record(&world, "a").failures.is_empty());
}

#[test]
fn what_does_not_exist_is_never_forced() {
    // F-243
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"},
        "spec": {"ports": [{"port": 80_000}]},
    });
    let world = play("2.9", json!({"force": true, "interval": "1h"}), vec![service]);
    assert!(message(&world, "a").starts_with("Service/default/s dry-run failed (Invalid): "));
    assert!(crate::subjects(&world, "deleted, to be created again").is_empty());
}

#[test]
fn fields_of_kubectl_go_when_git_does_not_state_them() {
    // F-246, F-247; F-263: `ssa: Merge` keeps them.
    for (manager, merge, is_kept) in [
        ("kubectl-client-side-apply", false, false),
        ("kubectl", false, false),
        ("flux-client-side-apply", false, true),
        ("kubectl", true, true),
    ] {
        let mut object = config_map("a");
        if merge {
            object["metadata"]["annotations"] = json!({"kustomize.toolkit.fluxcd.io/ssa": "Merge"});
        }
        let mut world = play("2.9", json!({"interval": "1h"}), vec![object]);
        let mut theirs = config_map("a");
        theirs["data"] = json!({"theirs": "1", "a": "b"});
        theirs["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/last-applied-configuration": "{}"});
        world
            .intervene(|server| {
                let live = server.object(&id("ConfigMap", "a")).unwrap();
                theirs["metadata"]["labels"] = live["metadata"]["labels"].clone();
                if merge {
                    theirs["metadata"]["annotations"]["kustomize.toolkit.fluxcd.io/ssa"] = json!("Merge");
                }
                server.call(&Request::Update {
                    object: theirs.into(),
                    manager: manager.into(),
                })
            })
            .unwrap();
        request(&mut world, "a", "1");
        world.run_for(Duration::from_secs(60));
        assert_eq!(attempts(&world, "a"), 2);
        assert_eq!(
            data(&world, "a").get("theirs").is_some(),
            is_kept,
            "{manager} {merge}"
        );
        let live = world.server.object(&id("ConfigMap", "a")).unwrap();
        let mark = live.pointer("/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration");
        assert_eq!(mark.is_some(), merge, "{manager} {merge}");
    }
}

#[test]
fn the_finalizer_of_a_child_is_no_field_of_kubectl() {
    // F-246: the controller writes it under its other name, so the parent leaves it alone.
    let mut world = play("2.9", json!({"interval": "1h"}), vec![config_map("a")]);
    request(&mut world, "root", "1");
    world.run_for(Duration::from_secs(60));
    assert_eq!(
        crate::live(&world, "a")["metadata"]["finalizers"],
        json!(["finalizers.fluxcd.io"])
    );
}

#[test]
fn ignored_fields_are_no_drift_and_keep_their_live_value() {
    // F-251; since 2.9 (F-1702).
    for (flux, kept) in [("2.9", "theirs"), ("2.8", "b")] {
        let spec =
            json!({"interval": "1h", "ignore": [{"paths": ["/data/a"], "target": {"kind": "ConfigMap"}}]});
        let mut other = config_map("a");
        other["data"]["new"] = json!("1");
        let mut world = play(flux, spec, vec![config_map("a")]);
        world
            .intervene(|server| {
                let mut theirs = (**server.object(&id("ConfigMap", "a")).unwrap()).clone();
                theirs["data"]["a"] = json!("theirs");
                server.call(&Request::Update {
                    object: theirs.into(),
                    manager: "person".into(),
                })
            })
            .unwrap();
        request(&mut world, "a", "1");
        world.run_for(Duration::from_secs(60));
        assert_eq!(data(&world, "a")["a"], kept, "{flux}");
        let paths = [("root", vec![crate::live_spec(&world, "a")]), ("a", vec![other])];
        world.move_to(std::sync::Arc::new(crate::common::contents(
            "main@sha1:2",
            &paths,
        )));
        world.run_for(Duration::from_secs(60));
        assert_eq!(data(&world, "a"), json!({"a": kept, "new": "1"}), "{flux}");
    }
}

#[test]
fn what_is_switched_off_is_left_alone_by_apply_and_prune() {
    // F-260, F-261, F-270, F-271: labels and annotations both count; the value's case does not.
    for (field, key, value) in [
        ("annotations", "reconcile", "disabled"),
        ("labels", "reconcile", "Disabled"),
        ("annotations", "ssa", "ignore"),
    ] {
        let spec = json!({"interval": "1h"});
        // Switched off in git after it was applied: the live object never hears of it, and is pruned later.
        let mut world = play_move(
            "2.9",
            spec.clone(),
            vec![config_map("a")],
            vec![switched(field, key, value, "changed")],
        );
        assert_eq!(data(&world, "a"), json!({"a": "b"}), "{key}");
        let entries = crate::live(&world, "a")["status"]["inventory"]["entries"].clone();
        assert_eq!(entries.as_array().unwrap().len(), 1);
        let paths = [("root", vec![crate::live_spec(&world, "a")]), ("a", vec![])];
        let empty = std::sync::Arc::new(crate::common::contents("main@sha1:3", &paths));
        world.move_to(empty.clone());
        world.run_for(Duration::from_secs(60));
        assert!(!has(&world, "ConfigMap", "a"), "{key}");

        // Switched off on the live object: neither changed nor pruned, whatever git says.
        let mut world = play("2.9", spec, vec![config_map("a")]);
        apply(&mut world, switched(field, key, value, "theirs"));
        request(&mut world, "a", "1");
        world.run_for(Duration::from_secs(60));
        assert_eq!(data(&world, "a"), json!({"a": "theirs"}), "{key}");
        world.move_to(empty);
        world.run_for(Duration::from_secs(60));
        assert!(has(&world, "ConfigMap", "a"), "{key}");
        assert!(is_ready(&world, "a"));
    }
}

#[test]
fn if_not_present_is_applied_once_and_pruned_all_the_same() {
    // F-262, F-1740
    let object = |content: &str| switched("annotations", "ssa", "IfNotPresent", content);
    let mut world = play_move(
        "2.9",
        json!({"interval": "1h"}),
        vec![object("1")],
        vec![object("2")],
    );
    assert_eq!(data(&world, "a"), json!({"a": "1"}));
    let paths = [("root", vec![crate::live_spec(&world, "a")]), ("a", vec![])];
    world.move_to(std::sync::Arc::new(crate::common::contents(
        "main@sha1:3",
        &paths,
    )));
    world.run_for(Duration::from_secs(60));
    assert!(!has(&world, "ConfigMap", "a"));
}

#[test]
fn merge_and_override_apply_as_always() {
    // F-263, F-264
    for value in ["Merge", "Override"] {
        let object = |content: &str| switched("annotations", "ssa", value, content);
        let world = play_move(
            "2.9",
            json!({"interval": "1h"}),
            vec![object("1")],
            vec![object("2")],
        );
        assert_eq!(data(&world, "a"), json!({"a": "2"}), "{value}");
    }
}

#[test]
fn one_object_can_be_forced() {
    // F-265, F-240
    let job = |image: &str, field: &str| {
        let mut job = crate::job(image);
        job["metadata"][field] = json!({"kustomize.toolkit.fluxcd.io/force": "Enabled"});
        job
    };
    for field in ["labels", "annotations"] {
        let world = play_move(
            "2.9",
            json!({"interval": "1h"}),
            vec![job("x:1", field)],
            vec![job("x:2", field)],
        );
        assert_eq!(
            record(&world, "a").revision.as_deref(),
            Some("main@sha1:2"),
            "{field}"
        );
    }
}

#[test]
fn prune_disabled_counts_on_the_live_object_alone() {
    // F-266, F-412, F-270
    let spec = json!({"interval": "1h"});
    let protected = switched("labels", "prune", "disabled", "1");
    let world = play_move("2.9", spec.clone(), vec![protected], vec![]);
    assert!(has(&world, "ConfigMap", "a"));
    assert_eq!(
        crate::live(&world, "a")["status"]["inventory"],
        json!({"entries": []})
    );
    let world = play_move("2.9", spec, vec![config_map("a")], vec![]);
    assert!(!has(&world, "ConfigMap", "a"));
}
