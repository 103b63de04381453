//! How attempts end (reference section 2.4).

use std::sync::Arc;

use firstpass_apiserver::Duration;
use serde_json::{Value, json};

use crate::common::{config_map, contents, hour, kustomization, settings, tier, world, world_of, world_with};
use crate::{attempts, custom, live, message, play, play_move, ready, record, times_of};

/// Times between the ends of looks that failed, by their line in the journal, and the next look.
fn due_after_failure(world: &firstpass_sim::World, name: &str) -> f64 {
    let failed = *times_of(world, name, "Ready=False").last().unwrap();
    world.kustomizations.due(&tier(name)).unwrap().as_secs_f64() - failed
}

#[test]
fn a_foreign_source_can_be_out_of_bounds() {
    // F-131; up to 2.6 it is tried again (F-1716).
    let spec = json!({
        "sourceRef": {"kind": "GitRepository", "name": "flux-system", "namespace": "other"},
        "retryInterval": "2m",
    });
    for (flux, is_terminal) in [("2.9", true), ("2.6", false)] {
        let paths = [("root", vec![kustomization("a", spec.clone())]), ("a", vec![])];
        let mut settings = settings(flux);
        settings.no_cross_namespace_refs = true;
        let mut world = world_with(Arc::new(contents("main@sha1:1", &paths)), settings, 0);
        world.run_for(Duration::from_secs(60));
        assert_eq!(ready(&world, "a").1, "AccessDenied");
        assert_eq!(
            ready(&world, "a").2,
            "can't access 'GitRepository/other/flux-system', cross-namespace references have been blocked"
        );
        assert_eq!(
            world.kustomizations.due(&tier("a")).is_none(),
            is_terminal,
            "{flux}"
        );
    }
    // F-1205: a gate lets ExternalArtifacts in.
    let spec = json!({"sourceRef": {"kind": "ExternalArtifact", "name": "x"}});
    let world = play("2.9", spec, vec![]);
    assert_eq!(ready(&world, "a").1, "AccessDenied");
}

#[test]
fn a_source_that_cannot_be_read_is_tried_again_with_growing_pauses() {
    // F-132, F-1105: nothing serves Buckets here.
    let spec = json!({"sourceRef": {"kind": "Bucket", "name": "x"}, "interval": "1h"});
    let mut world = world(&[("root", vec![kustomization("a", spec)]), ("a", vec![])], "2.9");
    world.run_for(Duration::from_secs(600));
    let (_, reason, text) = ready(&world, "a");
    assert_eq!(reason, "ArtifactFailed");
    assert_eq!(
        text,
        "no matches for kind \"Bucket\" in version \"source.toolkit.fluxcd.io/v1\""
    );
    let looks = world.kustomizations.tiers()[&tier("a")].clone();
    let due = world.kustomizations.due(&tier("a")).unwrap();
    let pause = due.since(looks.last.unwrap().ended_at);
    // 750 ms doubled nine times.
    assert_eq!(pause, Duration::from_millis(750 * 512));
}

#[test]
fn a_source_without_an_artifact_is_asked_every_30_seconds() {
    // F-133
    let source = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": "held", "namespace": "flux-system"},
        "spec": {"interval": "1m", "url": "https://git.example.com/held.git", "suspend": true},
    });
    let spec = json!({"sourceRef": {"kind": "GitRepository", "name": "held"}, "interval": "1h"});
    let paths = [("root", vec![source, kustomization("a", spec)]), ("a", vec![])];
    let mut world = world(&paths, "2.9");
    world.run_for(Duration::from_secs(300));
    assert_eq!(ready(&world, "a").2, "Source artifact not found, retrying in 30s");
    let last = record(&world, "a").last.clone().unwrap();
    let due = world.kustomizations.due(&tier("a")).unwrap();
    assert_eq!(due.since(last.ended_at), Duration::from_secs(30));
}

#[test]
fn a_missing_path_leaves_the_attempted_revision_alone() {
    // F-115, F-136, F-815
    let spec = json!({"path": "elsewhere", "retryInterval": "4m"});
    let mut world = world(&[("root", vec![kustomization("a", spec)])], "2.9");
    world.run_for(Duration::from_secs(60));
    assert_eq!(ready(&world, "a").1, "ArtifactFailed");
    assert!(ready(&world, "a").2.starts_with("kustomization path not found"));
    let status = live(&world, "a")["status"].clone();
    assert!(status.get("lastAttemptedRevision").is_none());
    assert!(status.get("history").is_none());
    // F-1304: failures of the body come back after the retry interval.
    assert!((due_after_failure(&world, "a") - 240.0).abs() < 1e-6);
}

#[test]
fn a_build_that_fails_has_been_attempted() {
    // F-115, F-138; without a build there is no history (F-007).
    let broken = json!({"apiVersion": "v1", "kind": "Broken", "metadata": {"name": "x"}});
    let mut world = world(
        &[
            ("root", vec![kustomization("a", json!({"retryInterval": "4m"}))]),
            ("a", vec![broken]),
        ],
        "2.9",
    );
    world.run_for(Duration::from_secs(60));
    assert_eq!(ready(&world, "a").1, "BuildFailed");
    let status = live(&world, "a")["status"].clone();
    assert_eq!(status["lastAttemptedRevision"], "main@sha1:1");
    assert!(status.get("history").is_none());
    let reconciling = live(&world, "a");
    let reconciling = firstpass_object::ObjectExt::condition(&*reconciling, "Reconciling")
        .unwrap()
        .clone();
    assert_eq!(reconciling["reason"], "ProgressingWithRetry");
    assert!((due_after_failure(&world, "a") - 240.0).abs() < 1e-6);
}

#[test]
fn success_says_so_and_comes_back_after_the_jittered_interval() {
    // F-144, F-1103, F-006
    let world = play("2.9", json!({"interval": "10m"}), vec![config_map("a")]);
    let (status, reason, text) = ready(&world, "a");
    assert_eq!(
        (status.as_str(), reason.as_str(), text.as_str()),
        ("True", "ReconciliationSucceeded", "Applied revision: main@sha1:1")
    );
    let object = live(&world, "a");
    let kinds: Vec<&Value> = object["status"]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|condition| &condition["type"])
        .collect();
    assert_eq!(kinds, ["Ready"]);
    let last = record(&world, "a").last.clone().unwrap();
    let pause = world.kustomizations.due(&tier("a")).unwrap().since(last.ended_at);
    let seconds = pause.as_secs_f64();
    assert!((570.0..=630.0).contains(&seconds), "{seconds}");
    let history = &object["status"]["history"];
    assert_eq!(history[0]["metadata"]["revision"], "main@sha1:1");
    assert_eq!(history[0]["lastReconciledStatus"], "ReconciliationSucceeded");
}

#[test]
fn routine_runs_are_counted_in_the_history() {
    // F-007, F-1308; since 2.7 (F-1719).
    let mut world = play("2.9", json!({"interval": "1m"}), vec![config_map("a")]);
    world.run_for(Duration::from_secs(300));
    let history = live(&world, "a")["status"]["history"].clone();
    assert_eq!(history.as_array().unwrap().len(), 1);
    assert_eq!(
        history[0]["totalReconciliations"].as_u64().unwrap(),
        attempts(&world, "a") as u64
    );
    let old = play("2.6", json!({}), vec![config_map("a")]);
    assert!(live(&old, "a")["status"].get("history").is_none());
}

#[test]
fn an_apply_error_ends_with_what_was_applied_before() {
    // F-156, F-139; up to 2.6 errors of earlier stages are bare (F-1735).
    let objects = || {
        vec![
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "media"}}),
            custom("example.com/v1", "Gadget", "g"),
        ]
    };
    for flux in ["2.4", "2.9"] {
        let world = play(flux, json!({"interval": "1h"}), objects());
        assert_eq!(ready(&world, "a").1, "ReconciliationFailed");
        let failure = &record(&world, "a").failures[0].failure.message;
        assert_eq!(
            failure,
            "Gadget/default/g dry-run failed: no matches for kind \"Gadget\" in version \"example.com/v1\"\nNamespace/media created"
        );
    }
    let bad = || vec![json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "Media"}})];
    let text = |flux: &str| {
        let world = play(flux, json!({"interval": "1h"}), bad());
        record(&world, "a").failures[0].failure.message.clone()
    };
    assert!(text("2.9").ends_with('\n'));
    assert!(!text("2.6").ends_with('\n'));
}

#[test]
fn a_prune_that_fails_keeps_its_entries_since_2_9() {
    // F-140, F-413, F-414, F-1745: a client of one's own does not know the kind any more. The account is held to nothing
    // here.
    let spec = json!({"serviceAccountName": "deployer", "interval": "1h", "retryInterval": "2m"});
    for (flux, is_kept) in [("2.9", true), ("2.8", false)] {
        let crd = crate::crd("example.com", "Widget", &["v1"]);
        let root = |with_crd: bool| {
            let mut root = vec![kustomization("a", spec.clone())];
            if with_crd {
                root.push(crd.clone());
            }
            root
        };
        let before = [
            ("root", root(true)),
            (
                "a",
                vec![config_map("a"), custom("example.com/v1", "Widget", "w")],
            ),
        ];
        let after = [("root", root(false)), ("a", vec![config_map("a")])];
        let mut world = world_of(Arc::new(contents("main@sha1:1", &before)), flux, 0);
        world.run_until_quiet(hour(1));
        // The CRD goes first, and its objects with it.
        let crd = crd.clone();
        world
            .intervene(|server| {
                let target = firstpass_apiserver::Target::of(&crd);
                server.call(&firstpass_apiserver::Request::delete(target))
            })
            .unwrap();
        world.run_for(Duration::from_secs(10));
        world.move_to(Arc::new(contents("main@sha1:2", &after)));
        world.run_for(Duration::from_secs(60));
        let (_, reason, text) = ready(&world, "a");
        assert_eq!(reason, "PruneFailed", "{flux}");
        assert_eq!(
            text,
            "delete failed, errors: Widget/default/w query failed: no matches for kind \"Widget\" in version \"example.com/v1\";"
        );
        let entries = live(&world, "a")["status"]["inventory"]["entries"]
            .as_array()
            .unwrap()
            .len();
        assert_eq!(entries, if is_kept { 2 } else { 1 }, "{flux}");
        world.run_for(Duration::from_secs(600));
        assert_eq!(ready(&world, "a").1 == "PruneFailed", is_kept, "{flux}");
    }
    // The controller's own client asks at the old address and takes the 404 for an answer.
    let spec = json!({"interval": "1h"});
    let crd = crate::crd("example.com", "Widget", &["v1"]);
    let before = vec![crd, custom("example.com/v1", "Widget", "w"), config_map("a")];
    let world = play_move("2.9", spec, before, vec![config_map("a")]);
    assert_eq!(ready(&world, "a").0, "True");
}

#[test]
fn the_inventory_moves_with_the_apply_and_the_revision_with_success() {
    // F-154, F-401: in the order of stages and of the sort.
    let spec = json!({"timeout": "30s", "interval": "1h", "healthChecks": [{"kind": "Deployment", "name": "none", "namespace": "default"}]});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "media"}});
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}});
    let mut world = world(
        &[
            ("root", vec![kustomization("a", spec)]),
            ("a", vec![secret, config_map("b"), config_map("a"), namespace]),
        ],
        "2.9",
    );
    world.run_for(Duration::from_secs(90));
    assert!(message(&world, "a").starts_with("health check failed after 30s"));
    let status = live(&world, "a")["status"].clone();
    assert!(status.get("lastAppliedRevision").is_none());
    let entries: Vec<&str> = status["inventory"]["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["id"].as_str().unwrap())
        .collect();
    assert_eq!(
        entries,
        [
            "_media__Namespace",
            "default_a__ConfigMap",
            "default_b__ConfigMap",
            "default_s__Secret"
        ]
    );
}
