//! Flux's rules as a running world shows them. Each test names the facts that it holds.

#[allow(
    dead_code,
    clippy::needless_pass_by_value,
    reason = "each test file uses its part; literals read better as they are"
)]
mod common;

use std::sync::Arc;

use common::{config_map, contents, deployment, hour, kustomization, tier, world, world_of};
use firstpass_apiserver::{CrdSketch, Duration, Request, Scope, Target, Time};
use firstpass_controllers::kustomization::{Obstacle, OutcomeResult};
use firstpass_object::{ObjectExt, ObjectId};
use firstpass_sim::{End, World, trace};
use serde_json::{Value, json};

fn id(kind: &str, name: &str) -> ObjectId {
    ObjectId::new("", kind, Some("default"), name)
}

fn widget(name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name, "namespace": "default"}})
}

fn widget_crd() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    })
}

fn secs(at: Time) -> f64 {
    at.as_secs_f64()
}

fn times_of(world: &World, name: &str, what: &str) -> Vec<f64> {
    let subject = format!("Kustomization/flux-system/{name}");
    world
        .journal()
        .iter()
        .filter(|line| line.subject == subject && line.what.contains(what))
        .map(|line| secs(line.at))
        .collect()
}

#[test]
fn a_new_kustomization_is_looked_at_after_750_ms() {
    // F-110, F-1301, F-1105
    let mut world = world(
        &[
            ("root", vec![kustomization("a", json!({}))]),
            ("a", vec![config_map("a")]),
        ],
        "2.9",
    );
    world.run_until_quiet(hour(1));
    let created = times_of(&world, "a", "created")[0];
    let attempt = times_of(&world, "a", "attempt at")[0];
    assert!(
        (attempt - created - 0.75).abs() < 1e-6,
        "created at {created}, first attempt at {attempt}"
    );
}

#[test]
fn dependents_look_again_every_30_seconds() {
    // F-106, F-126: nothing wakes them earlier.
    let mut world = world(
        &[
            (
                "root",
                vec![
                    kustomization("b", json!({"dependsOn": [{"name": "a"}]})),
                    kustomization("a", json!({"wait": true})),
                ],
            ),
            ("a", vec![deployment("slow")]),
            ("b", vec![config_map("b")]),
        ],
        "2.9",
    );
    world.run_until_quiet(hour(1));
    let refused = times_of(&world, "b", "DependencyNotReady")[0];
    let ready = times_of(&world, "b", "attempt at")[0];
    assert!((ready - refused - 30.0).abs() < 1e-6, "{refused} {ready}");
}

#[test]
fn failures_come_back_after_the_retry_interval_and_without_one_after_the_interval() {
    // F-004, F-139
    let paths = [
        (
            "root",
            vec![
                kustomization("a", json!({"retryInterval": "2m"})),
                kustomization("b", json!({"interval": "7m"})),
            ],
        ),
        ("a", vec![widget("a")]),
        ("b", vec![widget("b")]),
    ];
    let mut world = world(&paths, "2.9");
    world.run_for(Duration::from_secs(20 * 60));
    let gaps = |name: &str| -> Vec<f64> {
        let failed = times_of(&world, name, "Ready=False ReconciliationFailed");
        let began = times_of(&world, name, "attempt at");
        failed
            .iter()
            .zip(&began[1..])
            .map(|(failed, began)| began - failed)
            .collect()
    };
    assert!(
        gaps("a").iter().all(|gap| (gap - 120.0).abs() < 1e-6),
        "{:?}",
        gaps("a")
    );
    assert!(
        gaps("b").iter().all(|gap| (gap - 420.0).abs() < 1e-6),
        "{:?}",
        gaps("b")
    );
    assert!(gaps("a").len() > 3);
}

#[test]
fn definitions_and_classes_stay_applied_although_the_last_stage_fails() {
    // F-200, F-203, F-212, F-220, F-1306; the inventory is untouched (F-155).
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "x.example.com"});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "media"}});
    let paths = [
        ("root", vec![kustomization("a", json!({}))]),
        (
            "a",
            vec![
                widget("a"),
                config_map("c"),
                class,
                namespace,
                widget_crd(),
                json!({"apiVersion": "other.example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}}),
            ],
        ),
    ];
    for flux in ["2.4", "2.9"] {
        let mut world = world(&paths, flux);
        world.run_until_quiet(hour(1));
        let has = |id: &ObjectId| world.server.object(id).is_some();
        assert!(has(&ObjectId::new(
            "storage.k8s.io",
            "StorageClass",
            None,
            "fast"
        )));
        assert!(has(&ObjectId::new("", "Namespace", None, "media")));
        assert!(has(&ObjectId::new(
            "apiextensions.k8s.io",
            "CustomResourceDefinition",
            None,
            "widgets.example.com"
        )));
        assert!(!has(&id("ConfigMap", "c")));
        assert!(!has(&ObjectId::new(
            "example.com",
            "Widget",
            Some("default"),
            "a"
        )));
        let object = world
            .server
            .object(&ObjectId::new(
                "kustomize.toolkit.fluxcd.io",
                "Kustomization",
                Some("flux-system"),
                "a",
            ))
            .unwrap();
        assert!(object.at(&["status", "inventory"]).is_none());
        let message = object.condition("Ready").unwrap()["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            message.starts_with(
                "Gadget/g dry-run failed: no matches for kind \"Gadget\" in version \"other.example.com/v1\""
            ),
            "{message}"
        );
    }
}

#[test]
fn a_crd_and_its_objects_apply_in_one_attempt() {
    // F-220
    let paths = [
        ("root", vec![kustomization("a", json!({}))]),
        ("a", vec![widget("a"), widget_crd()]),
    ];
    let mut world = world(&paths, "2.9");
    world.run_until_quiet(hour(1));
    assert_eq!(world.kustomizations.tiers()[&tier("a")].failures, []);
    assert!(world.kustomizations.tiers()[&tier("a")].ready_at.is_some());
}

#[test]
fn error_texts_are_flux_s() {
    // F-222, F-300, F-302
    let mut no_namespace = config_map("n");
    no_namespace["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("namespace");
    let mut elsewhere = config_map("e");
    elsewhere["metadata"]["namespace"] = json!("nowhere");
    let paths = [
        (
            "root",
            vec![kustomization("a", json!({})), kustomization("b", json!({}))],
        ),
        ("a", vec![no_namespace]),
        ("b", vec![elsewhere]),
    ];
    let mut world = world(&paths, "2.9");
    world.run_until_quiet(hour(1));
    let message = |name: &str| {
        world.kustomizations.tiers()[&tier(name)].failures[0]
            .failure
            .message
            .clone()
    };
    assert_eq!(
        message("a").lines().next().unwrap(),
        "ConfigMap/n namespace not specified: the server could not find the requested resource"
    );
    assert_eq!(
        message("b").lines().next().unwrap(),
        "ConfigMap/nowhere/e not found: namespaces \"nowhere\" not found"
    );
}

#[test]
fn a_health_wait_keeps_its_worker() {
    // F-162: four stuck waits stop all others.
    let mut children: Vec<Value> = (0..4).map(|number| kustomization(&format!("stuck{number}"), json!({"timeout": "5m", "healthChecks": [{"kind": "Deployment", "name": "none", "namespace": "default"}]}))).collect();
    children.push(kustomization("z", json!({})));
    let mut paths = vec![("root", children), ("z", vec![config_map("z")])];
    for name in ["stuck0", "stuck1", "stuck2", "stuck3"] {
        paths.push((name, vec![config_map(name)]));
    }
    let mut world = world(&paths, "2.9");
    world.run_for(Duration::from_secs(60));
    assert!(world.kustomizations.is_starved(world.now()));
    assert!(world.kustomizations.tiers()[&tier("z")].ready_at.is_none());
    world.run_for(Duration::from_secs(300));
    assert!(world.kustomizations.tiers()[&tier("z")].ready_at.is_some());
    let failure = &world.kustomizations.tiers()[&tier("stuck0")].failures[0].failure;
    // F-505, F-141
    assert_eq!(failure.reason, "HealthCheckFailed");
    assert_eq!(
        failure.message,
        "health check failed after 5m0s: timeout waiting for: [Deployment/default/none status: 'NotFound']"
    );
}

#[test]
fn the_timeout_has_a_floor_of_30_seconds() {
    // F-002, F-108
    let spec = json!({"timeout": "10s", "healthChecks": [{"kind": "Deployment", "name": "none", "namespace": "default"}]});
    let mut world = world(
        &[
            ("root", vec![kustomization("a", spec)]),
            ("a", vec![config_map("a")]),
        ],
        "2.9",
    );
    world.run_for(Duration::from_secs(60));
    let message = &world.kustomizations.tiers()[&tier("a")].failures[0]
        .failure
        .message;
    assert!(
        message.starts_with("health check failed after 30s: "),
        "{message}"
    );
}

#[test]
fn waiting_for_an_object_that_reports_nothing_proves_nothing() {
    // F-515, F-1303: Current at the first poll.
    let paths = [
        ("root", vec![kustomization("a", json!({"wait": true}))]),
        ("a", vec![widget_crd(), widget("w")]),
    ];
    let mut world = world(&paths, "2.9");
    world.run_until_quiet(hour(1));
    let record = &world.kustomizations.tiers()[&tier("a")];
    assert_eq!(record.ready_at, record.applied_at);
}

#[test]
fn expressions_decide_about_health() {
    // F-533: until the status is there, the expression cannot be evaluated and the wait goes on.
    let crd = CrdSketch {
        group: "cdi.kubevirt.io".to_owned(),
        kind: "CDI".to_owned(),
        plural: None,
        scope: Scope::Cluster,
        versions: vec!["v1beta1".to_owned()],
    };
    let mut cdi =
        json!({"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "CDI", "metadata": {"name": "cdi"}});
    let spec = json!({
        "wait": true, "timeout": "1m",
        "healthCheckExprs": [{"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "CDI", "current": "status.phase == 'Deployed'"}],
    });
    let paths = [
        ("root", vec![kustomization("a", spec)]),
        ("a", vec![crd.to_crd(), cdi.clone()]),
    ];
    let mut world = world(&paths, "2.9");
    world.run_for(Duration::from_secs(20));
    assert!(world.kustomizations.tiers()[&tier("a")].ready_at.is_none());
    cdi["status"] = json!({"phase": "Deployed"});
    world
        .intervene(|server| {
            server.call(&Request::UpdateStatus {
                object: cdi.into(),
                manager: "operator".into(),
            })
        })
        .unwrap();
    world.run_for(Duration::from_secs(10));
    assert!(world.kustomizations.tiers()[&tier("a")].ready_at.is_some());
}

#[test]
fn bad_expressions_are_terminal() {
    // F-143, F-125
    let spec = json!({"wait": true, "healthCheckExprs": [{"apiVersion": "example.com/v1", "kind": "Widget", "current": "status.phase =="}]});
    let mut world = world(
        &[
            ("root", vec![kustomization("a", spec)]),
            ("a", vec![config_map("a")]),
        ],
        "2.9",
    );
    assert_eq!(world.run_until_quiet(hour(24)), End::Quiet);
    let object = world
        .server
        .object(&ObjectId::new(
            "kustomize.toolkit.fluxcd.io",
            "Kustomization",
            Some("flux-system"),
            "a",
        ))
        .unwrap();
    assert_eq!(
        object.condition("Ready").unwrap()["reason"],
        "InvalidCELExpression"
    );
    assert!(object.condition_is_true("Stalled"));
    assert_eq!(world.kustomizations.due(&tier("a")), None);
}

#[test]
fn what_is_no_longer_built_is_pruned_in_reverse_order() {
    // F-402, F-410 to F-412
    let before = contents(
        "main@sha1:1",
        &[
            ("root", vec![kustomization("a", json!({}))]),
            ("a", vec![config_map("keep"), config_map("b"), config_map("a")]),
        ],
    );
    let after = contents(
        "main@sha1:2",
        &[
            ("root", vec![kustomization("a", json!({}))]),
            ("a", vec![config_map("keep")]),
        ],
    );
    let mut world = world_of(Arc::new(before), "2.9", 0);
    world.run_until_quiet(hour(1));
    world.move_to(Arc::new(after));
    world.run_until_quiet(hour(2));
    assert!(world.server.object(&id("ConfigMap", "keep")).is_some());
    let pruned: Vec<&str> = world
        .journal()
        .iter()
        .filter(|line| line.what.starts_with("pruned"))
        .map(|line| line.subject.as_str())
        .collect();
    assert_eq!(
        pruned,
        ["ConfigMap/default/b", "ConfigMap/default/a"],
        "{}",
        trace::text(world.journal(), world.epoch())
    );
    assert_eq!(
        world.kustomizations.tiers()[&tier("a")].revision.as_deref(),
        Some("main@sha1:2")
    );
}

#[test]
fn a_removed_kustomization_takes_its_objects_along() {
    // F-430, F-434
    let before = contents(
        "main@sha1:1",
        &[
            (
                "root",
                vec![
                    kustomization("a", json!({})),
                    kustomization("b", json!({"deletionPolicy": "Orphan"})),
                ],
            ),
            ("a", vec![config_map("a")]),
            ("b", vec![config_map("b")]),
        ],
    );
    let after = contents("main@sha1:2", &[("root", vec![])]);
    let mut world = world_of(Arc::new(before), "2.9", 0);
    world.run_until_quiet(hour(1));
    assert!(world.server.object(&id("ConfigMap", "a")).is_some());
    world.move_to(Arc::new(after));
    world.run_until_quiet(hour(2));
    assert!(world.server.object(&id("ConfigMap", "a")).is_none());
    assert!(world.server.object(&id("ConfigMap", "b")).is_some());
    assert!(!world.kustomizations.tiers().contains_key(&tier("a")));
}

#[test]
fn a_suspended_kustomization_is_left_alone_and_holds_its_dependents() {
    // F-110, F-128
    let paths = [
        (
            "root",
            vec![
                kustomization("a", json!({"suspend": true})),
                kustomization("b", json!({"dependsOn": [{"name": "a"}]})),
            ],
        ),
        ("a", vec![config_map("a")]),
        ("b", vec![config_map("b")]),
    ];
    let mut world = world(&paths, "2.9");
    assert_eq!(world.run_until_quiet(hour(24)), End::Quiet);
    assert!(world.server.object(&id("ConfigMap", "a")).is_none());
    let last = world.kustomizations.tiers()[&tier("b")].last.clone().unwrap();
    let OutcomeResult::Failed(failure) = last.result else {
        panic!("b is not held")
    };
    assert!(matches!(failure.obstacles[..], [Obstacle::Dependency { .. }]));
}

#[test]
fn force_deletes_what_cannot_be_changed() {
    // F-240, F-242, F-244
    let job = |image: &str, force: bool| {
        let mut job = json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "default", "annotations": {}},
            "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": image}]}}},
        });
        if force {
            job["metadata"]["annotations"]["kustomize.toolkit.fluxcd.io/force"] = json!("enabled");
        }
        job
    };
    for force in [false, true] {
        let root = ("root", vec![kustomization("a", json!({"retryInterval": "1m"}))]);
        let before = contents("main@sha1:1", &[root.clone(), ("a", vec![job("x:1", force)])]);
        let after = contents("main@sha1:2", &[root, ("a", vec![job("x:2", force)])]);
        let mut world = world_of(Arc::new(before), "2.9", 0);
        world.run_until_quiet(hour(1));
        world.move_to(Arc::new(after));
        world.run_until_quiet(hour(2));
        let record = &world.kustomizations.tiers()[&tier("a")];
        assert_eq!(
            record.revision.as_deref() == Some("main@sha1:2"),
            force,
            "{}",
            trace::text(world.journal(), world.epoch())
        );
        if !force {
            let message = &record.failures[0].failure.message;
            assert!(
                message.starts_with("Job/default/j dry-run failed (Invalid): "),
                "{message}"
            );
        }
    }
}

#[test]
fn same_seed_same_trace() {
    let paths = [
        (
            "root",
            vec![
                kustomization("a", json!({"wait": true})),
                kustomization("b", json!({"dependsOn": [{"name": "a"}], "wait": true})),
            ],
        ),
        ("a", vec![deployment("a"), widget_crd()]),
        ("b", vec![deployment("b"), widget("b")]),
    ];
    let play = |seed: u64| {
        let mut world = world_of(Arc::new(contents("main@sha1:1", &paths)), "2.9", seed);
        assert_eq!(world.run_until_quiet(hour(24)), End::Quiet);
        trace::text(world.journal(), world.epoch())
    };
    assert_eq!(play(0), play(0));
    assert_eq!(play(7), play(7));
    assert_ne!(play(7), play(8));
}

#[test]
fn a_fork_goes_its_own_way() {
    let paths = [
        ("root", vec![kustomization("a", json!({}))]),
        ("a", vec![config_map("a")]),
    ];
    let mut world = world(&paths, "2.9");
    world.run_for(Duration::from_secs(1));
    let mut fork = world.clone();
    fork.run_until_quiet(hour(1));
    assert!(fork.server.object(&id("ConfigMap", "a")).is_some());
    assert!(world.server.object(&id("ConfigMap", "a")).is_none());
    world
        .intervene(|server| {
            let target = Target::new(
                "kustomize.toolkit.fluxcd.io/v1",
                "Kustomization",
                Some("flux-system"),
                "root",
            );
            server.call(&Request::Patch {
                target,
                patch: json!({"spec": {"suspend": true}}),
                manager: "person".into(),
            })
        })
        .unwrap();
    world.run_until_quiet(hour(1));
    assert!(world.server.object(&id("ConfigMap", "a")).is_none());
}
