//! Stages and dry-runs (reference sections 3.1 to 3.3).

use std::sync::Arc;

use firstpass_apiserver::{Duration, Request, Target};
use firstpass_flux::KustomizeGate;
use firstpass_object::ObjectId;
use serde_json::{Value, json};

use crate::common::{config_map, contents, hour, kustomization, settings, world_of, world_with};
use crate::{
    apply, attempts, crd, custom, has, is_ready, job, live, message, namespace, play, play_move, ready,
    request, times_of, write_status,
};

#[test]
fn a_stage_without_kinds_is_skipped_and_the_last_always_runs() {
    // F-201, F-403, F-804: nothing to apply is a success.
    let world = play("2.9", json!({}), vec![]);
    assert_eq!(ready(&world, "a").0, "True");
    assert_eq!(live(&world, "a")["status"]["inventory"], json!({"entries": []}));
}

#[test]
fn a_namespace_comes_before_what_is_in_it_and_nobody_makes_one_that_is_missing() {
    // F-303, F-302
    let mut inside = config_map("a");
    inside["metadata"]["namespace"] = json!("media");
    let world = play("2.9", json!({}), vec![inside.clone(), namespace("media")]);
    assert!(is_ready(&world, "a"));
    assert_eq!(attempts(&world, "a"), 1);
    let world = play(
        "2.9",
        json!({"targetNamespace": "media", "interval": "1h"}),
        vec![inside],
    );
    assert_eq!(
        message(&world, "a"),
        "ConfigMap/media/a not found: namespaces \"media\" not found"
    );
}

#[test]
fn a_class_that_says_that_it_is_not_ready_fails_the_attempt_after_a_minute() {
    // F-202, F-204, F-1107, F-1106; up to 2.6 the Kustomization's own timeout is the limit (F-1731).
    for (flux, limit) in [("2.9", 60.0), ("2.6", 180.0)] {
        let spec = json!({"timeout": "3m", "interval": "1h"});
        let class = custom("example.com/v1", "WidgetClass", "c");
        let plain = custom("example.com/v1", "GadgetClass", "g");
        let root = vec![
            crd("example.com", "WidgetClass", &["v1"]),
            crd("example.com", "GadgetClass", &["v1"]),
            kustomization("a", spec),
        ];
        let paths = [("root", root), ("a", vec![class.clone(), plain, config_map("a")])];
        let mut world = world_of(Arc::new(contents("main@sha1:1", &paths)), flux, 0);
        world.run_until_quiet(hour(1));
        // A class without a Ready condition passes.
        assert!(is_ready(&world, "a"), "{flux}");
        let status = json!({"conditions": [{"type": "Ready", "status": "False", "reason": "No", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]});
        write_status(&mut world, &class, status);
        request(&mut world, "a", "1");
        world.run_for(Duration::from_secs(300));
        assert_eq!(
            message(&world, "a"),
            "timeout waiting for: [WidgetClass/default/c status: 'InProgress']"
        );
        let began = times_of(&world, "a", "attempt at")[1];
        let ended = times_of(&world, "a", "ReconciliationFailed")[0];
        let took = ended - began;
        assert!((took - limit).abs() < 6.0, "{flux}: {took}");
    }
}

#[test]
fn a_definition_that_is_skipped_and_not_there_is_waited_for_in_vain() {
    // F-205
    let mut crd = crd("example.com", "Widget", &["v1"]);
    crd["metadata"]["annotations"] = json!({"kustomize.toolkit.fluxcd.io/ssa": "ignore"});
    let world = play("2.9", json!({"interval": "1h"}), vec![crd]);
    assert_eq!(
        message(&world, "a"),
        "timeout waiting for: [CustomResourceDefinition/widgets.example.com status: 'NotFound']"
    );
}

#[test]
fn a_namespace_that_is_being_deleted_fails_the_attempt_after_a_minute() {
    // F-203, F-304, F-510
    let mut world = play(
        "2.9",
        json!({"interval": "1h", "timeout": "5m"}),
        vec![namespace("media")],
    );
    let mut held = config_map("held");
    held["metadata"]["namespace"] = json!("media");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    apply(&mut world, held);
    let target = Target::of(&namespace("media"));
    world
        .intervene(|server| server.call(&Request::delete(target)))
        .unwrap();
    request(&mut world, "a", "1");
    world.run_for(Duration::from_secs(120));
    assert_eq!(
        message(&world, "a"),
        "timeout waiting for: [Namespace/media status: 'Terminating']"
    );
}

#[test]
fn one_refusal_and_nothing_of_the_stage_is_applied_but_what_was_forced_is_gone() {
    // F-211, F-212, F-213, F-1306: deletions by force happen before the stage is known to fail.
    let spec = json!({"force": true, "interval": "1h"});
    let bad = custom("example.com/v1", "Gadget", "g");
    let world = play_move(
        "2.9",
        spec,
        vec![job("x:1"), config_map("a")],
        vec![job("x:2"), config_map("b"), bad],
    );
    let job = ObjectId::new("batch", "Job", Some("default"), "j");
    assert!(world.server.object(&job).is_none());
    assert!(!has(&world, "ConfigMap", "b"));
    assert!(has(&world, "ConfigMap", "a"));
}

#[test]
fn what_is_refused_when_it_is_really_applied_leaves_the_earlier_objects() {
    // F-215: two objects of one identity both pass their dry-runs, since nothing is there yet.
    let class = |provisioner: &str| json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "c"}, "provisioner": provisioner});
    let world = play(
        "2.9",
        json!({"interval": "1h"}),
        vec![
            class("one.example.com"),
            class("two.example.com"),
            config_map("a"),
        ],
    );
    assert!(
        message(&world, "a").starts_with("StorageClass/c apply failed"),
        "{}",
        message(&world, "a")
    );
    let class = ObjectId::new("storage.k8s.io", "StorageClass", None, "c");
    assert_eq!(
        world.server.object(&class).unwrap()["provisioner"],
        "one.example.com"
    );
    assert!(!has(&world, "ConfigMap", "a"));
    assert!(live(&world, "a")["status"].get("inventory").is_none());
}

#[test]
fn an_unknown_kind_is_reported_by_the_dry_run_on_every_attempt() {
    // F-216, F-221, F-224, F-225: the read's error is swallowed; a miss is never remembered.
    let root = vec![kustomization(
        "a",
        json!({"interval": "1h", "retryInterval": "1m"}),
    )];
    let paths = [
        ("root", root),
        ("a", vec![custom("example.com/v1", "Widget", "w")]),
    ];
    let mut world = world_of(Arc::new(contents("main@sha1:1", &paths)), "2.9", 0);
    world.run_for(Duration::from_secs(90));
    assert_eq!(
        message(&world, "a"),
        "Widget/default/w dry-run failed: no matches for kind \"Widget\" in version \"example.com/v1\""
    );
    apply(&mut world, crd("example.com", "Widget", &["v1"]));
    world.run_for(Duration::from_secs(90));
    assert!(is_ready(&world, "a"));
}

#[test]
fn the_controllers_client_never_forgets_a_kind_and_one_of_ones_own_knows_none() {
    // F-226, F-227, F-301, F-166, F-1720
    let widget = || custom("example.com/v1", "Widget", "w");
    let text = |flux: &str, spec: Value| {
        let root = vec![kustomization("a", spec)];
        let paths = [("root", root), ("a", vec![widget()])];
        let mut world = world_of(Arc::new(contents("main@sha1:1", &paths)), flux, 0);
        apply(&mut world, crd("example.com", "Widget", &["v1"]));
        world.run_until_quiet(hour(1));
        assert!(is_ready(&world, "a"));
        let target = Target::of(&crd("example.com", "Widget", &["v1"]));
        world
            .intervene(|server| server.call(&Request::delete(target)))
            .unwrap();
        world.run_for(Duration::from_secs(10));
        request(&mut world, "a", "1");
        world.run_for(Duration::from_secs(30));
        message(&world, "a")
    };
    let gone = "Widget/default/w not found: the server could not find the requested resource (patch widgets.example.com w)";
    let unknown =
        "Widget/default/w dry-run failed: no matches for kind \"Widget\" in version \"example.com/v1\"";
    let own = json!({"interval": "1h"});
    let other = json!({"interval": "1h", "serviceAccountName": "deployer"});
    assert_eq!(text("2.9", own.clone()), gone);
    assert_eq!(text("2.9", other), unknown);
    assert_eq!(text("2.5", own), unknown);
}

#[test]
fn the_identity_of_an_object_is_the_one_in_the_servers_answer() {
    // F-217
    let mut role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "r", "namespace": "media"}, "rules": [],
    });
    role["metadata"]["namespace"] = json!("media");
    let world = play("2.9", json!({}), vec![role]);
    assert_eq!(
        live(&world, "a")["status"]["inventory"]["entries"][0],
        json!({"id": "_r_rbac.authorization.k8s.io_ClusterRole", "v": "v1"})
    );
}

#[test]
fn labels_annotations_and_content_are_drift_other_metadata_is_not() {
    // F-218
    let before = vec![config_map("a")];
    let with = |field: &str, value: Value| {
        let mut object = config_map("a");
        object["metadata"][field] = value;
        vec![object]
    };
    let table = [
        ("labels", json!({"x": "y"}), true),
        ("annotations", json!({"x": "y"}), true),
        ("finalizers", json!(["example.com/hold"]), false),
        (
            "ownerReferences",
            json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "1"}]),
            false,
        ),
    ];
    for (field, value, is_drift) in table {
        let world = play_move(
            "2.9",
            json!({"interval": "1h"}),
            before.clone(),
            with(field, value.clone()),
        );
        assert_eq!(ready(&world, "a").2, "Applied revision: main@sha1:2");
        let live = &world.server.object(&crate::id("ConfigMap", "a")).unwrap()["metadata"];
        let found = match value.as_object() {
            Some(_) => live.get(field).is_some_and(|map| map["x"] == "y"),
            None => live.get(field).is_some(),
        };
        assert_eq!(found, is_drift, "{field}");
    }
}

#[test]
fn fields_of_others_stay_and_are_no_drift() {
    // F-219, F-245, F-1014
    let mut world = play("2.9", json!({"interval": "1h"}), vec![config_map("a")]);
    let mut theirs = config_map("a");
    theirs["data"] = json!({"theirs": "1", "a": "changed"});
    apply(&mut world, theirs);
    request(&mut world, "a", "1");
    world.run_for(Duration::from_secs(60));
    let data = world.server.object(&crate::id("ConfigMap", "a")).unwrap()["data"].clone();
    assert_eq!(data, json!({"theirs": "1", "a": "b"}));
    assert_eq!(attempts(&world, "a"), 2);
}

#[test]
fn kinds_can_have_a_stage_of_their_own() {
    // F-200, F-201: since 2.8 (F-1730), and without a wait.
    for (flux, applied) in [("2.9", true), ("2.7", false)] {
        let mut settings = settings(flux);
        let custom_kinds = if flux == "2.9" {
            vec!["v1/Secret".to_owned()]
        } else {
            vec![]
        };
        settings.custom_apply_stage_kinds =
            custom_kinds.iter().map(|kind| kind.replace("v1/", "/")).collect();
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}});
        let paths = [
            ("root", vec![kustomization("a", json!({"interval": "1h"}))]),
            ("a", vec![secret, custom("example.com/v1", "Gadget", "g")]),
        ];
        let mut world = world_with(Arc::new(contents("main@sha1:1", &paths)), settings, 0);
        world.run_until_quiet(hour(1));
        assert!(!is_ready(&world, "a"));
        assert_eq!(has(&world, "Secret", "s"), applied, "{flux}");
    }
}

#[test]
fn without_fail_fast_a_failed_object_is_waited_for() {
    // F-1202, F-504
    let stalled = json!({
        "conditions": [{"type": "Stalled", "status": "True", "reason": "No", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    });
    for (disabled, flux, took) in [(false, "2.9", 0.0), (true, "2.9", 0.0), (true, "2.7", 120.0)] {
        let spec = json!({"wait": true, "timeout": "2m", "interval": "1h"});
        let widget = custom("example.com/v1", "Widget", "w");
        let root = vec![crd("example.com", "Widget", &["v1"]), kustomization("a", spec)];
        let paths = [("root", root), ("a", vec![widget.clone()])];
        let mut settings = settings(flux);
        settings.set_gate(KustomizeGate::DisableFailFastBehavior, disabled);
        let mut world = world_with(Arc::new(contents("main@sha1:1", &paths)), settings, 0);
        world.run_until_quiet(hour(1));
        write_status(&mut world, &widget, stalled.clone());
        request(&mut world, "a", "1");
        world.run_for(Duration::from_secs(300));
        // F-1732: since 2.8 the wait ends when only Failed and Current ones are left.
        let text = message(&world, "a");
        let expected = if took == 0.0 {
            "health check failed after 0s: failed early due to stalled resources: [Widget/default/w status: 'Failed']"
        } else {
            "health check failed after 2m0s: timeout waiting for: [Widget/default/w status: 'Failed']"
        };
        assert_eq!(text, expected, "{disabled} {flux}");
    }
}
