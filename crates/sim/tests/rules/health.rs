//! Health checks (reference section 6).

use std::sync::Arc;

use firstpass_apiserver::Duration;
use firstpass_object::ObjectExt;
use serde_json::{Value, json};

use crate::common::{config_map, contents, deployment, hour, kustomization, world_of};
use crate::{
    attempts, crd, custom, is_ready, live, message, patch, play, ready, request, times_of, write_status,
};

fn condition(kind: &str, status: &str) -> Value {
    json!({"conditions": [{"type": kind, "status": status, "reason": "Test", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
}

/// A Kustomization `a` with one Widget, applied and Ready without any check so far.
fn with_widget(flux: &str, spec: Value, status: Value) -> firstpass_sim::World {
    let widget = custom("example.com/v1", "Widget", "w");
    let root = vec![
        crd("example.com", "Widget", &["v1"]),
        kustomization("a", json!({"interval": "1h"})),
    ];
    let paths = [("root", root), ("a", vec![widget.clone(), config_map("c")])];
    let mut world = world_of(Arc::new(contents("main@sha1:1", &paths)), flux, 0);
    world.run_until_quiet(hour(1));
    if !status.is_null() {
        write_status(&mut world, &widget, status);
    }
    patch(&mut world, "a", json!({"spec": spec}));
    world
}

#[test]
fn nothing_is_checked_unless_it_is_asked_for() {
    // F-500
    let mut world = with_widget(
        "2.9",
        json!({"wait": true, "timeout": "1m"}),
        condition("Ready", "True"),
    );
    world.run_for(Duration::from_secs(30));
    assert!(live(&world, "a").condition_is_true("Healthy"));
    patch(&mut world, "a", json!({"spec": {"wait": false}}));
    world.run_for(Duration::from_secs(30));
    assert_eq!(ready(&world, "a").0, "True");
    assert!(live(&world, "a").condition("Healthy").is_none());
}

#[test]
fn waiting_covers_all_and_a_list_of_checks_what_it_names() {
    // F-500, F-506: at the timeout everything that is not Current is listed.
    let in_progress = condition("Ready", "False");
    let check =
        json!([{"apiVersion": "example.com/v9", "kind": "Widget", "name": "w", "namespace": "default"}]);
    for spec in [
        json!({"wait": true, "timeout": "30s"}),
        json!({"healthChecks": check, "timeout": "30s"}),
    ] {
        let mut world = with_widget("2.9", spec, in_progress.clone());
        world.run_for(Duration::from_secs(60));
        assert_eq!(
            message(&world, "a"),
            "health check failed after 30s: timeout waiting for: [Widget/default/w status: 'InProgress']"
        );
    }
    // What is listed may belong to others, and what is applied is then not looked at.
    let other = json!([{"kind": "ConfigMap", "apiVersion": "v1", "name": "c", "namespace": "default"}]);
    let mut world = with_widget(
        "2.9",
        json!({"healthChecks": other, "timeout": "30s"}),
        in_progress,
    );
    world.run_for(Duration::from_secs(60));
    assert_eq!(ready(&world, "a").0, "True");
}

#[test]
fn a_check_without_a_namespace_is_an_error() {
    // F-501
    let check = json!([{"kind": "Deployment", "name": "web"}]);
    let world = play(
        "2.9",
        json!({"healthChecks": check, "interval": "1h"}),
        vec![deployment("web")],
    );
    assert_eq!(
        message(&world, "a"),
        "health check failed after 0s: resource Deployment web is namespace scoped, but namespace is not set"
    );
}

#[test]
fn oneself_is_skipped() {
    // F-502, F-1754
    let me = json!([{"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "name": "a", "namespace": "flux-system"}]);
    let world = play(
        "2.9",
        json!({"healthChecks": me, "interval": "1h"}),
        vec![config_map("a")],
    );
    assert_eq!(ready(&world, "a").0, "True");
}

#[test]
fn polls_are_five_seconds_apart() {
    // F-503, F-1106, F-1303
    let mut world = with_widget(
        "2.9",
        json!({"wait": true, "timeout": "5m"}),
        condition("Ready", "False"),
    );
    world.run_for(Duration::from_secs(61));
    let widget = custom("example.com/v1", "Widget", "w");
    write_status(&mut world, &widget, condition("Ready", "True"));
    world.run_for(Duration::from_secs(60));
    let message = live(&world, "a").condition("Healthy").unwrap()["message"].clone();
    let seconds = message
        .as_str()
        .unwrap()
        .strip_prefix("Health check passed in ")
        .unwrap();
    let seconds: firstpass_flux::Duration = seconds.parse().unwrap();
    assert_eq!(seconds.as_nanos() % 5_000_000_000, 0, "{message}");
    assert!(seconds.as_nanos() > 0);
}

#[test]
fn failed_objects_end_the_wait_and_are_listed_alone() {
    // F-504, F-506, F-508, F-512: at the first poll, while another object is still in progress.
    let spec = json!({"wait": true, "timeout": "5m"});
    let mut world = with_widget("2.9", spec, condition("Stalled", "True"));
    world.run_for(Duration::from_secs(30));
    assert_eq!(
        message(&world, "a"),
        "health check failed after 0s: failed early due to stalled resources: [Widget/default/w status: 'Failed']"
    );
    assert_eq!(
        live(&world, "a").condition("Healthy").unwrap()["reason"],
        "HealthCheckFailed"
    );
}

#[test]
fn a_job_that_goes_by_itself_counts_as_done() {
    // F-507; since 2.8 (F-1751).
    for (flux, is_done) in [("2.9", true), ("2.7", false)] {
        let mut job = crate::job("x:1");
        job["spec"]["ttlSecondsAfterFinished"] = json!(0);
        let mut held = custom("example.com/v1", "Widget", "w");
        held["metadata"]["name"] = json!("w");
        let root = vec![
            crd("example.com", "Widget", &["v1"]),
            held.clone(),
            kustomization("a", json!({"wait": true, "timeout": "2m", "interval": "1h"})),
        ];
        let paths = [("root", root), ("a", vec![held.clone(), job.clone()])];
        let mut world = world_of(Arc::new(contents("main@sha1:1", &paths)), flux, 0);
        world.run_for(Duration::from_secs(1));
        world.run_for(Duration::from_secs(5));
        // The TTL controller takes it away.
        let target = firstpass_apiserver::Target::of(&job);
        world
            .intervene(|server| server.call(&firstpass_apiserver::Request::delete(target)))
            .unwrap();
        world.run_for(Duration::from_secs(150));
        assert_eq!(is_ready(&world, "a"), is_done, "{flux}");
    }
}

#[test]
fn a_kind_with_rules_of_its_own_is_read_by_them_and_others_by_their_ready_condition() {
    // F-513, F-514, F-515
    let mut world = with_widget("2.9", json!({"wait": true, "timeout": "30s"}), Value::Null);
    world.run_for(Duration::from_secs(20));
    assert_eq!(ready(&world, "a").0, "True");
    let mut world = with_widget(
        "2.9",
        json!({"wait": true, "timeout": "30s"}),
        condition("Ready", "Unknown"),
    );
    world.run_for(Duration::from_secs(60));
    assert_eq!(ready(&world, "a").1, "HealthCheckFailed");
    // A Deployment says Available and Progressing, and no Ready.
    let world = play("2.9", json!({"wait": true}), vec![deployment("web")]);
    assert_eq!(ready(&world, "a").0, "True");
    assert!(!times_of(&world, "a", "Ready=True").is_empty());
}

#[test]
fn expressions_are_chosen_by_group_and_kind() {
    // F-533, F-534: the version does not matter; a whole group since 2.9 (F-1752).
    let spec = |check: Value| json!({"wait": true, "timeout": "30s", "healthCheckExprs": [check]});
    let of_kind =
        json!({"apiVersion": "example.com/v7", "kind": "Widget", "current": "status.phase == 'Up'"});
    let of_group = json!({"apiVersion": "example.com/v1", "current": "status.phase == 'Up'"});
    for (flux, check, status, expected) in [
        ("2.9", &of_kind, json!({"phase": "Up"}), true),
        ("2.9", &of_kind, json!({"phase": "Down"}), false),
        ("2.9", &of_group, json!({"phase": "Up"}), true),
        ("2.9", &of_group, json!({"phase": "Down"}), false),
        ("2.8", &of_group, json!({"phase": "Down"}), true),
    ] {
        let mut world = with_widget(flux, spec(check.clone()), status.clone());
        world.run_for(Duration::from_secs(90));
        assert_eq!(
            ready(&world, "a").0 == "True",
            expected,
            "{flux} {check} {status}"
        );
    }
    // Built-in kinds can be meant as well.
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "current": "data.a == 'never'"});
    let world = play(
        "2.9",
        json!({"wait": true, "timeout": "30s", "interval": "1h", "healthCheckExprs": [config]}),
        vec![config_map("a")],
    );
    assert!(message(&world, "a").contains("ConfigMap/default/a status: 'InProgress'"));
    // Twice the same kind is terminal since 2.8.
    let twice = json!({"wait": true, "interval": "1h", "healthCheckExprs": [of_kind.clone(), of_kind]});
    let world = play("2.9", twice.clone(), vec![config_map("a")]);
    assert_eq!(ready(&world, "a").1, "InvalidCELExpression");
    let world = play("2.7", twice, vec![config_map("a")]);
    assert_eq!(ready(&world, "a").0, "True");
}

#[test]
fn a_generation_that_is_not_an_integer_is_no_generation() {
    // F-533, F-511
    let check =
        json!([{"apiVersion": "example.com/v1", "kind": "Widget", "current": "status.phase == 'Up'"}]);
    let spec = json!({"wait": true, "timeout": "30s", "healthCheckExprs": check});
    for (observed, expected) in [(json!(7), false), (json!("7"), true), (json!(1), true)] {
        let status = json!({"phase": "Up", "observedGeneration": observed});
        let mut world = with_widget("2.9", spec.clone(), status);
        world.run_for(Duration::from_secs(90));
        assert_eq!(ready(&world, "a").0 == "True", expected, "{observed}");
    }
}

#[test]
fn jobs_are_read_as_jobs_unless_the_client_is_ones_own() {
    // F-528, F-535: an expression for Jobs counts only with an own client; 2.5 reads Jobs first everywhere (F-1752).
    let check = json!([{"apiVersion": "batch/v1", "kind": "Job", "current": "metadata.name == 'other'"}]);
    for (flux, account, expected) in [
        ("2.9", None, true),
        ("2.9", Some("deployer"), false),
        ("2.5", Some("deployer"), true),
    ] {
        let mut spec = json!({"wait": true, "timeout": "2m", "interval": "1h", "healthCheckExprs": check});
        if let Some(account) = account {
            spec["serviceAccountName"] = json!(account);
        }
        let world = play(flux, spec, vec![crate::job("x:1")]);
        assert_eq!(is_ready(&world, "a"), expected, "{flux} {account:?}");
    }
}

#[test]
fn a_source_that_cannot_fetch_is_in_progress_and_a_stalled_one_has_failed() {
    // F-537
    let source = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": "held", "namespace": "flux-system"},
        "spec": {"interval": "1m", "url": "https://git.example.com/held.git", "suspend": true},
    });
    let play = |conditions: Value| {
        let spec = json!({"wait": true, "timeout": "30s", "interval": "1h"});
        let root = vec![source.clone(), kustomization("a", json!({"interval": "1h"}))];
        let paths = [("root", root), ("a", vec![source.clone()])];
        let mut world = world_of(Arc::new(contents("main@sha1:1", &paths)), "2.9", 0);
        world.run_until_quiet(hour(1));
        write_status(
            &mut world,
            &source,
            json!({"observedGeneration": 1, "conditions": conditions["conditions"]}),
        );
        patch(&mut world, "a", json!({"spec": spec}));
        world.run_for(Duration::from_secs(60));
        message(&world, "a")
    };
    assert!(
        play(condition("Reconciling", "True"))
            .ends_with("[GitRepository/flux-system/held status: 'InProgress']")
    );
    assert!(
        play(condition("Stalled", "True")).ends_with("[GitRepository/flux-system/held status: 'Failed']")
    );
}

#[test]
fn a_child_that_fails_for_good_never_reads_failed() {
    // F-536, F-1302: the parent holds its worker and waits for the whole timeout.
    let child = kustomization("child", json!({"interval": "1h", "retryInterval": "1m"}));
    let paths = [
        (
            "root",
            vec![kustomization(
                "a",
                json!({"wait": true, "timeout": "5m", "interval": "1h"}),
            )],
        ),
        ("a", vec![child]),
        ("child", vec![custom("example.com/v1", "Gadget", "g")]),
    ];
    let mut world = world_of(Arc::new(contents("main@sha1:1", &paths)), "2.9", 0);
    world.run_for(Duration::from_secs(120));
    assert_eq!(world.kustomizations.running().len(), 1);
    world.run_for(Duration::from_secs(240));
    assert_eq!(
        message(&world, "a"),
        "health check failed after 5m0s: timeout waiting for: [Kustomization/flux-system/child status: 'InProgress']"
    );
    request(&mut world, "child", "1");
    world.run_for(Duration::from_secs(10));
    assert!(attempts(&world, "child") > 4);
}
