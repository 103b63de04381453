//! What enqueues a Kustomization, and how a look goes (reference sections 2.1 and 2.2).

use std::sync::Arc;

use firstpass_apiserver::Duration;
use serde_json::{Value, json};

use crate::common::{
    config_map, contents, deployment, hour, kustomization, settings, world, world_of, world_with,
};
use crate::{apply, attempts, live, patch, play, ready, request, times_of, write_status};

/// Another source beside `flux-system`.
fn git_repository(name: &str) -> Value {
    json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": name, "namespace": "flux-system"},
        "spec": {"interval": "1m", "url": "https://git.example.com/other.git"},
    })
}

#[test]
fn own_events_are_creation_generation_and_requests() {
    // F-100
    let mut world = play("2.9", json!({"interval": "1h"}), vec![config_map("a")]);
    assert_eq!(attempts(&world, "a"), 1);
    patch(
        &mut world,
        "a",
        json!({"metadata": {"annotations": {"note": "x"}}}),
    );
    world.run_for(Duration::from_secs(60));
    assert_eq!(attempts(&world, "a"), 1);
    request(&mut world, "a", "1");
    world.run_for(Duration::from_secs(60));
    assert_eq!(attempts(&world, "a"), 2);
    patch(&mut world, "a", json!({"spec": {"retryInterval": "3m"}}));
    world.run_for(Duration::from_secs(60));
    assert_eq!(attempts(&world, "a"), 3);
}

#[test]
fn only_a_new_revision_wakes_the_users_of_a_source() {
    // F-101, F-908
    let paths = |name: &str| {
        [
            ("root", vec![kustomization("a", json!({"interval": "1h"}))]),
            ("a", vec![config_map(name)]),
        ]
    };
    let mut world = world_of(Arc::new(contents("main@sha1:1", &paths("x"))), "2.9", 0);
    world.run_until_quiet(hour(1));
    let before = attempts(&world, "a");
    world.move_to(Arc::new(contents("main@sha1:1", &paths("y"))));
    world.run_for(Duration::from_secs(120));
    assert_eq!(attempts(&world, "a"), before);
    world.move_to(Arc::new(contents("main@sha1:2", &paths("y"))));
    world.run_for(Duration::from_secs(120));
    assert_eq!(attempts(&world, "a"), before + 1);
}

#[test]
fn a_source_event_looks_at_the_dependencies_of_its_users_too() {
    // F-102, F-103, F-122; up to 2.6 only members of the set are enqueued (F-1710).
    let root = vec![
        git_repository("other"),
        kustomization(
            "d",
            json!({"interval": "1h", "sourceRef": {"kind": "GitRepository", "name": "other"}}),
        ),
        kustomization("u", json!({"interval": "1h", "dependsOn": [{"name": "d"}]})),
    ];
    for (flux, looks_at_d) in [("2.9", 1), ("2.6", 0)] {
        let at = |revision: &str| {
            let paths = [
                ("root", root.clone()),
                ("d", vec![config_map("d")]),
                ("u", vec![config_map("u")]),
            ];
            let mut contents = contents(revision, &paths);
            contents
                .revisions
                .insert("other".to_owned(), "main@sha1:o".to_owned());
            Arc::new(contents)
        };
        let mut world = world_of(at("main@sha1:1"), flux, 0);
        world.run_until_quiet(hour(1));
        let before = (attempts(&world, "d"), attempts(&world, "u"));
        world.move_to(at("main@sha1:2"));
        world.run_for(Duration::from_secs(120));
        assert_eq!(attempts(&world, "d"), before.0 + looks_at_d, "{flux}");
        // Another source: its revision is not compared.
        assert_eq!(attempts(&world, "u"), before.1 + 1, "{flux}");
        assert_eq!(live(&world, "u")["status"]["lastAppliedRevision"], "main@sha1:2");
    }
}

#[test]
fn a_cycle_keeps_a_source_event_from_everybody() {
    // F-104; up to 2.6 a dependency on oneself goes unnoticed (F-1711).
    for (flux, is_woken) in [("2.9", false), ("2.6", true)] {
        let at = |revision: &str| {
            let root = vec![
                kustomization("me", json!({"interval": "1h", "dependsOn": [{"name": "me"}]})),
                kustomization("free", json!({"interval": "1h"})),
            ];
            let paths = [
                ("root", root),
                ("me", vec![config_map("me")]),
                ("free", vec![config_map("free")]),
            ];
            Arc::new(contents(revision, &paths))
        };
        let mut world = world_of(at("main@sha1:1"), flux, 0);
        world.run_for(Duration::from_secs(60));
        let before = attempts(&world, "free");
        assert_eq!(before, 1);
        world.move_to(at("main@sha1:2"));
        world.run_for(Duration::from_secs(60));
        assert_eq!(attempts(&world, "free") > before, is_woken, "{flux}");
    }
}

#[test]
fn labelled_variables_wake_their_users() {
    // F-107; since 2.7 (F-1713).
    let with = |value: &str, watch: bool| {
        let mut object = config_map("vars");
        object["metadata"]["namespace"] = json!("flux-system");
        object["data"] = json!({"a": value});
        if watch {
            object["metadata"]["labels"] = json!({"reconcile.fluxcd.io/watch": "Enabled"});
        }
        object
    };
    for (flux, watch, is_woken) in [("2.9", true, true), ("2.9", false, false), ("2.6", true, false)] {
        let spec = json!({"interval": "1h", "postBuild": {"substituteFrom": [{"kind": "ConfigMap", "name": "vars"}]}});
        let mut world = play(flux, spec, vec![config_map("a")]);
        apply(&mut world, with("1", watch));
        world.run_for(Duration::from_secs(60));
        let before = attempts(&world, "a");
        apply(&mut world, with("2", watch));
        world.run_for(Duration::from_secs(60));
        assert_eq!(attempts(&world, "a") > before, is_woken, "{flux} {watch}");
    }
}

#[test]
fn a_missing_source_hides_missing_dependencies() {
    // F-111, F-130
    let spec = json!({
        "sourceRef": {"kind": "GitRepository", "name": "none"},
        "dependsOn": [{"name": "nobody"}], "retryInterval": "2m",
    });
    let mut world = world(&[("root", vec![kustomization("a", spec)]), ("a", vec![])], "2.9");
    world.run_for(Duration::from_secs(600));
    let (status, reason, text) = ready(&world, "a");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "ArtifactFailed"));
    assert_eq!(text, "GitRepository.source.toolkit.fluxcd.io \"none\" not found");
}

#[test]
fn a_failing_source_with_an_old_artifact_is_still_applied() {
    // F-112, F-911
    let mut world = play("2.9", json!({"interval": "1h"}), vec![config_map("a")]);
    let source = git_repository("flux-system");
    let condition = json!({
        "type": "Ready", "status": "False", "reason": "GitOperationFailed", "message": "down",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    write_status(&mut world, &source, json!({"conditions": [condition]}));
    request(&mut world, "a", "1");
    world.run_for(Duration::from_secs(60));
    assert_eq!(attempts(&world, "a"), 2);
    assert_eq!(ready(&world, "a").0, "True");
}

#[test]
fn during_every_attempt_the_kustomization_is_not_ready() {
    // F-113, F-114, F-1307
    let mut world = play("2.9", json!({"interval": "1h"}), vec![config_map("a")]);
    assert_eq!(ready(&world, "a").0, "True");
    request(&mut world, "a", "1");
    while world.kustomizations.running().is_empty() {
        let limit = world.now() + Duration::from_secs(1);
        world.step(limit);
    }
    let object = live(&world, "a");
    let conditions = object["status"]["conditions"].as_array().unwrap();
    let seen: Vec<(&str, &str, &str)> = conditions
        .iter()
        .map(|condition| {
            let text = |field: &str| condition[field].as_str().unwrap();
            (text("type"), text("status"), text("reason"))
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("Reconciling", "True", "Progressing"),
            ("Ready", "Unknown", "Progressing")
        ]
    );
}

#[test]
fn builds_never_overlap() {
    // F-163
    let names = ["a", "b", "c", "d"];
    let mut paths = vec![(
        "root",
        names
            .iter()
            .map(|name| kustomization(name, json!({})))
            .collect::<Vec<_>>(),
    )];
    paths.extend(names.map(|name| (name, vec![config_map(name)])));
    let mut world = world(&paths, "2.9");
    world.run_until_quiet(hour(1));
    let mut applied: Vec<f64> = names.map(|name| times_of(&world, name, "applied")[0]).into();
    applied.sort_by(f64::total_cmp);
    // A build takes 300 ms in the middle, and never less than 50.
    assert!(
        applied.windows(2).all(|pair| pair[1] - pair[0] > 0.049),
        "{applied:?}"
    );
}

#[test]
fn a_dry_run_of_a_stage_is_four_wide_and_the_applies_are_one_by_one() {
    // F-164, F-1101: what the journal shows is the time.
    let objects = |count: usize| {
        (0..count)
            .map(|n| config_map(&format!("c{n}")))
            .collect::<Vec<_>>()
    };
    let span = |count: usize| {
        let world = play("2.9", json!({}), objects(count));
        times_of(&world, "a", "applied")[0] - times_of(&world, "a", "attempt at")[0]
    };
    let (few, many) = (span(4), span(104));
    // 100 more objects: 25 more dry-runs in a row and 100 more applies, 10 ms each in the middle.
    assert!(many - few > 25.0 * 0.002 + 100.0 * 0.002, "{few} {many}");
}

#[test]
fn a_new_revision_waits_for_the_running_health_check_unless_the_gate_is_on() {
    // F-160, F-161, F-142, F-1203, F-1718
    let at = |revision: &str| {
        let root = vec![kustomization(
            "a",
            json!({"wait": true, "timeout": "10m", "interval": "1h"}),
        )];
        Arc::new(contents(
            revision,
            &[
                ("root", root),
                ("a", vec![with_missing_config(deployment("web"))]),
                ("unused", vec![config_map("a-later")]),
            ],
        ))
    };
    for gate in [false, true] {
        let mut settings = settings("2.9");
        settings.set_gate(
            firstpass_flux::KustomizeGate::CancelHealthCheckOnNewRevision,
            gate,
        );
        let mut world = world_with(at("main@sha1:1"), settings, 0);
        world.run_for(Duration::from_secs(60));
        assert_eq!(attempts(&world, "a"), 1);
        world.move_to(at("main@sha1:2"));
        world.run_for(Duration::from_secs(120));
        assert_eq!(attempts(&world, "a"), if gate { 2 } else { 1 });
        let canceled = times_of(
            &world,
            "a",
            "HealthCheckCanceled: New reconciliation triggered by GitRepository/flux-system/flux-system",
        );
        assert_eq!(canceled.len(), usize::from(gate));
        // F-154
        assert!(live(&world, "a")["status"].get("lastAppliedRevision").is_none());
    }
}

/// A Deployment whose pods never start.
fn with_missing_config(mut deployment: Value) -> Value {
    deployment["spec"]["template"]["spec"]["containers"][0]["envFrom"] =
        json!([{"configMapRef": {"name": "a-later"}}]);
    deployment
}
