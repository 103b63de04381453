//! The dependency check (reference section 2.3).

use std::sync::Arc;

use firstpass_apiserver::Duration;
use firstpass_flux::KustomizeGate;
use serde_json::{Value, json};

use crate::common::{config_map, contents, hour, kustomization, settings, tier, world, world_of, world_with};
use crate::{attempts, has, is_ready, live, ready, record, request, times_of};

/// A health check for an object that never comes.
fn stuck() -> Value {
    json!({"timeout": "30s", "interval": "1h", "healthChecks": [{"kind": "Deployment", "name": "none", "namespace": "default"}]})
}

fn with(mut spec: Value, field: &str, value: Value) -> Value {
    spec[field] = value;
    spec
}

#[test]
fn the_first_dependency_in_the_list_that_fails_decides_the_message() {
    // F-120, F-121, F-123, F-134
    let depends = json!([{"name": "ready"}, {"name": "stuck"}, {"name": "nobody"}]);
    let reverse = json!([{"name": "nobody"}, {"name": "stuck"}]);
    let paths = [
        (
            "root",
            vec![
                kustomization("ready", json!({})),
                kustomization("stuck", stuck()),
                kustomization("a", json!({"dependsOn": depends})),
                kustomization("b", json!({"dependsOn": reverse})),
            ],
        ),
        ("ready", vec![config_map("ready")]),
        ("stuck", vec![config_map("stuck")]),
        ("a", vec![]),
        ("b", vec![]),
    ];
    let mut world = world(&paths, "2.9");
    world.run_for(Duration::from_secs(300));
    let (_, reason, text) = ready(&world, "a");
    assert_eq!(reason, "DependencyNotReady");
    assert_eq!(text, "dependency 'flux-system/stuck' is not ready");
    assert_eq!(
        ready(&world, "b").2,
        "dependency 'flux-system/nobody' not found: kustomizations.kustomize.toolkit.fluxcd.io \"nobody\" not found"
    );
}

#[test]
fn on_the_same_source_a_dependency_must_be_at_our_revision() {
    // F-105, F-122, F-1300: all are woken at once, the first applies, and each next one comes back 30 s after its check.
    let at = |revision: &str| {
        let root = vec![
            kustomization("a", json!({"interval": "1h"})),
            kustomization("b", json!({"interval": "1h", "dependsOn": [{"name": "a"}]})),
        ];
        Arc::new(contents(
            revision,
            &[
                ("root", root),
                ("a", vec![config_map("a")]),
                ("b", vec![config_map("b")]),
            ],
        ))
    };
    let mut world = world_of(at("main@sha1:1"), "2.9", 0);
    world.run_until_quiet(hour(1));
    world.move_to(at("main@sha1:2"));
    world.run_for(Duration::from_secs(10));
    assert_eq!(ready(&world, "b").1, "DependencyNotReady");
    let refused = *times_of(&world, "b", "DependencyNotReady").last().unwrap();
    world.run_for(Duration::from_secs(60));
    let applied = *times_of(&world, "b", "attempt at main@sha1:2").last().unwrap();
    assert!((applied - refused - 30.0).abs() < 1e-6, "{refused} {applied}");
}

#[test]
fn a_ready_expression_alone_decides_unless_the_gate_adds_it() {
    // F-010, F-124, F-1204; readyExpr since 2.7 (F-1715).
    let expression = "dep.metadata.name == 'stuck' && self.metadata.name == 'b'";
    let depends = json!([{"name": "stuck", "readyExpr": expression}]);
    let play = |flux: &str, gate: bool| {
        let root = vec![
            kustomization("stuck", stuck()),
            kustomization("b", json!({"dependsOn": depends})),
        ];
        let paths = [
            ("root", root),
            ("stuck", vec![config_map("s")]),
            ("b", vec![config_map("b")]),
        ];
        let mut settings = settings(flux);
        settings.set_gate(KustomizeGate::AdditiveCelDependencyCheck, gate);
        let mut world = world_with(Arc::new(contents("main@sha1:1", &paths)), settings, 0);
        world.run_for(Duration::from_secs(300));
        is_ready(&world, "b")
    };
    assert!(play("2.9", false));
    assert!(!play("2.9", true));
    assert!(!play("2.6", false));
}

#[test]
fn an_expression_that_cannot_be_evaluated_is_not_ready_and_one_that_cannot_be_compiled_is_terminal() {
    // F-125, F-143
    let play = |expression: &str| {
        let root = vec![
            kustomization("a", json!({})),
            kustomization(
                "b",
                json!({"dependsOn": [{"name": "a", "readyExpr": expression}]}),
            ),
        ];
        let mut world = world(
            &[
                ("root", root),
                ("a", vec![config_map("a")]),
                ("b", vec![config_map("b")]),
            ],
            "2.9",
        );
        world.run_for(Duration::from_secs(120));
        let due = world.kustomizations.due(&tier("b")).is_some();
        (ready(&world, "b").1, due)
    };
    let reason = |reason: &str, due: bool| (reason.to_owned(), due);
    assert_eq!(
        play("dep.status.nothing == 'x'"),
        reason("DependencyNotReady", true)
    );
    assert_eq!(
        play("dep.status.nothing =="),
        reason("InvalidCELExpression", false)
    );
    // Compiled with types: other names and other types than bool are known beforehand.
    assert_eq!(
        play("other.status.nothing == 'x'"),
        reason("InvalidCELExpression", false)
    );
    assert_eq!(play("'text'"), reason("InvalidCELExpression", false));
    assert_eq!(
        play("dep.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')"),
        reason("ReconciliationSucceeded", true)
    );
}

#[test]
fn a_routine_run_of_a_dependency_costs_its_dependents_30_seconds() {
    // F-127, F-1308
    let root = vec![
        kustomization("a", json!({"interval": "1h"})),
        kustomization("b", json!({"interval": "1h", "dependsOn": [{"name": "a"}]})),
    ];
    let mut world = world(
        &[
            ("root", root),
            ("a", vec![config_map("a")]),
            ("b", vec![config_map("b")]),
        ],
        "2.9",
    );
    world.run_until_quiet(hour(1));
    request(&mut world, "a", "1");
    request(&mut world, "b", "1");
    world.run_for(Duration::from_secs(10));
    assert_eq!(ready(&world, "a").0, "True");
    assert_eq!(ready(&world, "b").1, "DependencyNotReady");
    world.run_for(Duration::from_secs(40));
    assert_eq!(ready(&world, "b").0, "True");
}

#[test]
fn dependencies_order_no_deletion() {
    // F-129
    let of = |root: Vec<Value>, revision: &str| {
        let paths = [
            ("root", root),
            ("a", vec![config_map("a")]),
            ("b", vec![config_map("b")]),
        ];
        Arc::new(contents(revision, &paths))
    };
    let b = kustomization("b", json!({"dependsOn": [{"name": "a"}]}));
    let both = vec![kustomization("a", json!({})), b.clone()];
    let mut world = world_of(of(both, "main@sha1:1"), "2.9", 0);
    world.run_until_quiet(hour(1));
    world.move_to(of(vec![b], "main@sha1:2"));
    world.run_for(Duration::from_secs(120));
    assert!(!has(&world, "ConfigMap", "a"));
    assert!(has(&world, "ConfigMap", "b"));
}

#[test]
fn a_failing_dependency_does_not_take_its_dependents_along() {
    // F-129, F-150, F-154
    let at = |revision: &str, spec: Value| {
        let root = vec![
            kustomization("a", spec),
            kustomization("b", json!({"interval": "1h", "dependsOn": [{"name": "a"}]})),
        ];
        let paths = [
            ("root", root),
            ("a", vec![config_map("a")]),
            ("b", vec![config_map("b")]),
        ];
        Arc::new(contents(revision, &paths))
    };
    let mut world = world_of(at("main@sha1:1", json!({"interval": "1h"})), "2.9", 0);
    world.run_until_quiet(hour(1));
    let generation = |world: &firstpass_sim::World| {
        let object = live(world, "a");
        let number = |value: &Value| value.as_i64().unwrap();
        (
            number(&object["metadata"]["generation"]),
            number(&object["status"]["observedGeneration"]),
        )
    };
    assert_eq!(generation(&world), (1, 1));
    world.move_to(at("main@sha1:2", stuck()));
    world.run_for(Duration::from_secs(300));
    assert_eq!(ready(&world, "a").1, "HealthCheckFailed");
    assert_eq!(generation(&world), (2, 1));
    assert!(has(&world, "ConfigMap", "b"));
    assert!(record(&world, "b").revision.is_some());
}

#[test]
fn a_suspended_kustomization_that_was_ready_takes_over_its_new_generation() {
    // F-151, F-128
    let mut world = crate::play("2.9", json!({"interval": "1h"}), vec![config_map("a")]);
    crate::patch(
        &mut world,
        "a",
        json!({"spec": with(json!({"suspend": true}), "path", json!("elsewhere"))}),
    );
    world.run_for(Duration::from_secs(60));
    assert_eq!(attempts(&world, "a"), 1);
    let object = live(&world, "a");
    assert_eq!(
        object["status"]["observedGeneration"],
        object["metadata"]["generation"]
    );
    assert_eq!(object["metadata"]["generation"], 2);
    assert_eq!(ready(&world, "a").0, "True");
}
