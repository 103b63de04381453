//! HelmReleases (reference section 11).

use std::sync::Arc;

use firstpass_apiserver::{Duration, Request, Target};
use firstpass_controllers::ReleaseRecord;
use firstpass_object::{ObjectExt, ObjectId, TierName};
use firstpass_sim::World;
use serde_json::{Value, json};

use crate::common::{contents, hour, kustomization, world_of};
use crate::{is_ready, live, message};

fn repository() -> Value {
    json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "HelmRepository",
        "metadata": {"name": "own", "namespace": "flux-system"},
        "spec": {"interval": "1h", "url": "https://charts.example.com"},
    })
}

fn oci() -> Value {
    json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository",
        "metadata": {"name": "chart", "namespace": "default"},
        "spec": {"interval": "1h", "url": "oci://charts.example.com/thing", "ref": {"tag": "1.2.3"}},
    })
}

/// A HelmRelease `default/thing` of a chart that nothing is known of: it brings one Deployment of its name.
fn release(spec: Value) -> Value {
    let mut release = json!({
        "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
        "metadata": {"name": "thing", "namespace": "default"},
        "spec": {
            "interval": "30m", "timeout": "1m",
            "chart": {"spec": {"chart": "thing", "version": "1.x",
                "sourceRef": {"kind": "HelmRepository", "name": "own", "namespace": "flux-system"}}},
        },
    });
    for (key, value) in spec.as_object().unwrap() {
        release["spec"][key] = value.clone();
    }
    release
}

/// A claim whose class never comes: pods that mount it never start.
fn claim() -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "default"},
        "spec": {"storageClassName": "never", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    })
}

fn class() -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "never"}, "provisioner": "x.example.com"})
}

/// Values with which the chart's pods never start.
fn stuck() -> Value {
    json!({"persistence": {"existingClaim": "data"}})
}

fn play(flux: &str, objects: Vec<Value>) -> World {
    let mut all = vec![repository(), oci(), claim()];
    all.extend(objects);
    let spec = json!({"interval": "1h", "timeout": "10m"});
    let paths = [
        ("root", vec![kustomization("a", spec)]),
        ("a", all),
        ("unused", vec![class()]),
    ];
    let mut world = world_of(Arc::new(contents("main@sha1:1", &paths)), flux, 0);
    world.run_until_quiet(hour(3));
    world
}

fn name() -> TierName {
    TierName::new("default", "thing")
}

fn record(world: &World) -> &ReleaseRecord {
    &world.releases.releases()[&name()]
}

fn release_of(world: &World) -> Arc<Value> {
    let id = ObjectId::new("helm.toolkit.fluxcd.io", "HelmRelease", Some("default"), "thing");
    Arc::clone(world.server.object(&id).unwrap())
}

/// Status, reason and message of a condition.
fn condition(world: &World, kind: &str) -> (String, String, String) {
    let object = release_of(world);
    let condition = object.condition(kind).cloned().unwrap_or_default();
    let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    (text("status"), text("reason"), text("message"))
}

fn deployment(world: &World) -> Option<Arc<Value>> {
    world
        .server
        .object(&ObjectId::new("apps", "Deployment", Some("default"), "thing"))
        .cloned()
}

fn lines(world: &World, what: &str) -> Vec<f64> {
    let lines = world.journal().iter();
    lines
        .filter(|line| line.subject == "HelmRelease/default/thing" && line.what.starts_with(what))
        .map(|line| line.at.as_secs_f64())
        .collect()
}

fn patch(world: &mut World, patch: Value) {
    let target = Target::of(&release_of(world));
    world
        .intervene(|server| {
            server.call(&Request::Patch {
                target,
                patch,
                manager: "person".into(),
            })
        })
        .unwrap();
}

#[test]
fn a_chart_of_a_repository_gets_a_helm_chart_beside_it() {
    // F-1000, F-1001, F-1043
    let world = play("2.9", vec![release(json!({}))]);
    let chart = ObjectId::new(
        "source.toolkit.fluxcd.io",
        "HelmChart",
        Some("flux-system"),
        "default-thing",
    );
    assert!(world.server.object(&chart).is_some());
    let (status, reason, text) = condition(&world, "Ready");
    assert_eq!((status.as_str(), reason.as_str()), ("True", "InstallSucceeded"));
    assert_eq!(
        text,
        "Helm install succeeded for release default/thing.v1 with chart thing@1.x"
    );
}

#[test]
fn a_failure_without_retries_is_the_end() {
    // F-1007, F-1008, F-1009, F-1040, F-1115: no interval brings it back; a Kustomization that waits fails at once.
    let mut world = play("2.9", vec![release(json!({"values": stuck()}))]);
    assert_eq!(record(&world).attempts, 1);
    assert_eq!(condition(&world, "Ready").1, "InstallFailed");
    assert_eq!(
        condition(&world, "Stalled"),
        (
            "True".to_owned(),
            "RetriesExceeded".to_owned(),
            "Failed to install after 1 attempt(s)".to_owned()
        )
    );
    assert_eq!(world.releases.due(&name()), None);
    // Nothing is undone.
    assert!(deployment(&world).is_some());
    world.run_for(Duration::from_secs(3 * 3600));
    assert_eq!(record(&world).attempts, 1);
    let waiting = json!({"wait": true, "timeout": "5m"});
    crate::patch(&mut world, "a", json!({"spec": waiting}));
    world.run_for(Duration::from_secs(60));
    assert!(
        message(&world, "a").contains("[HelmRelease/default/thing status: 'Failed']"),
        "{}",
        message(&world, "a")
    );
}

#[test]
fn a_failed_install_is_taken_away_and_tried_again() {
    // F-1009: two retries are three attempts; the last failure stays.
    let world = play(
        "2.9",
        vec![release(
            json!({"values": stuck(), "install": {"remediation": {"retries": 2}}}),
        )],
    );
    assert_eq!(record(&world).attempts, 3);
    assert_eq!(lines(&world, "install begins").len(), 3);
    assert_eq!(lines(&world, "UninstallSucceeded").len(), 2);
    assert!(deployment(&world).is_some());
    assert_eq!(condition(&world, "Stalled").1, "RetriesExceeded");
    // The last failure as well, if asked for.
    let remediation = json!({"retries": 1, "remediateLastFailure": true});
    let world = play(
        "2.9",
        vec![release(
            json!({"values": stuck(), "install": {"remediation": remediation}}),
        )],
    );
    assert_eq!(lines(&world, "UninstallSucceeded").len(), 2);
    assert!(deployment(&world).is_none());
    assert_eq!(condition(&world, "Remediated").1, "UninstallSucceeded");
    assert_eq!(condition(&world, "Ready").1, "InstallFailed");
}

#[test]
fn the_strategy_to_retry_upgrades_the_failed_release_every_time() {
    // F-1011; since 2.7 (F-1783).
    let install = json!({"strategy": {"name": "RetryOnFailure", "retryInterval": "3m"}});
    let spec = json!({"values": stuck(), "install": install, "upgrade": install});
    let world = play("2.9", vec![release(spec.clone())]);
    assert_eq!(lines(&world, "install begins").len(), 1);
    let upgrades = lines(&world, "upgrade begins");
    assert!(!upgrades.is_empty());
    assert_eq!(condition(&world, "Stalled").0, "");
    assert!(world.releases.due(&name()).is_some());
    let world = play("2.6", vec![release(spec)]);
    assert_eq!(condition(&world, "Stalled").1, "RetriesExceeded");
}

#[test]
fn counters_start_anew_with_other_values() {
    // F-1012
    let mut world = play("2.9", vec![release(json!({"values": stuck()}))]);
    assert_eq!(record(&world).failures(), 1);
    patch(&mut world, json!({"spec": {"values": {"persistence": null}}}));
    world.run_until_quiet(hour(6));
    assert_eq!(condition(&world, "Ready").1, "UpgradeSucceeded");
    assert_eq!(record(&world).failures(), 0);
    assert_eq!(condition(&world, "Stalled").0, "");
}

#[test]
fn a_change_is_an_upgrade_and_nothing_goes_meanwhile() {
    // F-1005, F-1041
    let mut world = play("2.9", vec![release(json!({"values": {"a": 1}}))]);
    let uid = deployment(&world).unwrap()["metadata"]["uid"].clone();
    patch(&mut world, json!({"spec": {"values": {"a": 2}}}));
    world.run_until_quiet(hour(6));
    assert_eq!(lines(&world, "install begins").len(), 1);
    assert_eq!(lines(&world, "upgrade begins").len(), 1);
    assert_eq!(
        condition(&world, "Ready").2,
        "Helm upgrade succeeded for release default/thing.v2 with chart thing@1.x"
    );
    assert_eq!(deployment(&world).unwrap()["metadata"]["uid"], uid);
    // A change that does not touch the release is none.
    patch(&mut world, json!({"spec": {"interval": "20m"}}));
    world.run_for(Duration::from_secs(60));
    assert_eq!(record(&world).attempts, 2);
    let object = release_of(&world);
    assert_eq!(
        object["status"]["observedGeneration"],
        object["metadata"]["generation"]
    );
}

#[test]
fn a_failed_upgrade_goes_back_to_the_release_before() {
    // F-1009: with retries the last failure is undone as well.
    let upgrade = json!({"remediation": {"retries": 1}});
    let mut world = play(
        "2.9",
        vec![release(json!({"values": {"a": 1}, "upgrade": upgrade}))],
    );
    patch(&mut world, json!({"spec": {"values": stuck()}}));
    world.run_until_quiet(hour(6));
    assert_eq!(lines(&world, "upgrade begins").len(), 2);
    assert_eq!(lines(&world, "RollbackSucceeded").len(), 2);
    assert_eq!(
        condition(&world, "Stalled").2,
        "Failed to upgrade after 2 attempt(s)"
    );
    assert_eq!(condition(&world, "Remediated").0, "True");
    let volumes = deployment(&world).unwrap()["spec"]["template"]["spec"]["volumes"].clone();
    assert!(volumes.as_array().is_none_or(Vec::is_empty), "{volumes}");
    // Without retries nothing is undone.
    let mut world = play("2.9", vec![release(json!({"values": {"a": 1}}))]);
    patch(&mut world, json!({"spec": {"values": stuck()}}));
    world.run_until_quiet(hour(6));
    assert!(lines(&world, "RollbackSucceeded").is_empty());
    assert_eq!(condition(&world, "Ready").1, "UpgradeFailed");
}

#[test]
fn a_rollback_that_fails_is_repeated_for_ever() {
    // F-1009: only upgrades count, and while a rollback fails none comes.
    let spec = json!({"values": stuck(), "install": {"disableWait": true}, "upgrade": {"remediation": {"retries": 1}}});
    let mut world = play("2.9", vec![release(spec)]);
    patch(
        &mut world,
        json!({"spec": {"values": {"a": 1, "persistence": {"existingClaim": "data"}}}}),
    );
    world.run_for(Duration::from_secs(3600));
    assert_eq!(lines(&world, "upgrade begins").len(), 1);
    assert!(lines(&world, "RollbackFailed").len() > 5);
    assert_eq!(condition(&world, "Stalled").0, "");
    assert_eq!(condition(&world, "Remediated").0, "False");
}

#[test]
fn a_release_that_waits_in_vain_for_its_cache_holds_its_worker() {
    // F-1044, F-1105: ten seconds after an attempt that is repeated at once and has stored a release.
    let world = play(
        "2.9",
        vec![release(
            json!({"values": stuck(), "install": {"remediation": {"retries": 1}}}),
        )],
    );
    let (begins, undone) = (
        lines(&world, "install begins"),
        lines(&world, "UninstallSucceeded"),
    );
    assert!(
        (begins[1] - undone[0] - 10.75).abs() < 0.3,
        "{begins:?} {undone:?}"
    );
}

#[test]
fn without_a_wait_the_release_is_ready_before_its_pods() {
    // F-1008
    let world = play(
        "2.9",
        vec![release(
            json!({"values": stuck(), "install": {"disableWait": true}}),
        )],
    );
    assert_eq!(condition(&world, "Ready").0, "True");
    assert_eq!(
        deployment(&world).unwrap()["status"]["availableReplicas"]
            .as_i64()
            .unwrap_or(0),
        0
    );
}

#[test]
fn a_chart_that_is_not_there_is_asked_for_every_half_minute() {
    // F-1003; up to 2.6 after the whole interval (F-1782).
    let chart = json!({"spec": {"chart": "thing", "version": "1.x",
        "sourceRef": {"kind": "HelmRepository", "name": "none", "namespace": "flux-system"}}});
    for (flux, pause) in [("2.9", 30), ("2.6", 1800)] {
        let world = play(flux, vec![release(json!({"chart": chart}))]);
        assert_eq!(condition(&world, "Ready").1, "SourceNotReady");
        let looked_at = record(&world).looked_at.unwrap();
        let due = world.releases.due(&name()).unwrap();
        assert_eq!(due.since(looked_at), Duration::from_secs(pause), "{flux}");
        // F-1041: waiting is not observing.
        assert_eq!(release_of(&world)["status"]["observedGeneration"], -1);
    }
}

#[test]
fn values_that_are_not_there_are_asked_for_with_growing_pauses() {
    // F-1004: a missing key is as bad as a missing object; `optional` tolerates both.
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "vars", "namespace": "default"}, "data": {"other.yaml": "a: 1"}});
    let from =
        |optional: bool| json!({"valuesFrom": [{"kind": "ConfigMap", "name": "vars", "optional": optional}]});
    let mut world = play("2.9", vec![config.clone(), release(from(false))]);
    let (_, reason, text) = condition(&world, "Ready");
    assert_eq!(reason, "ValuesError");
    assert_eq!(
        text,
        "could not resolve ConfigMap chart values reference 'default/vars' with key 'values.yaml': key not found"
    );
    world.run_for(Duration::from_secs(3600));
    let due = world.releases.due(&name()).unwrap();
    assert_eq!(
        due.since(record(&world).looked_at.unwrap()),
        Duration::from_secs(15 * 60)
    );
    assert_eq!(
        condition(&play("2.9", vec![config, release(from(true))]), "Ready").0,
        "True"
    );
}

#[test]
fn labelled_values_wake_their_release() {
    // F-1012, F-107: since 2.7 (F-1713).
    let config = |value: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"values.yaml": value},
            "metadata": {"name": "vars", "namespace": "default", "labels": {"reconcile.fluxcd.io/watch": "Enabled"}},
        })
    };
    for (flux, upgrades) in [("2.9", 1), ("2.6", 0)] {
        let spec = json!({"interval": "5h", "valuesFrom": [{"kind": "ConfigMap", "name": "vars"}]});
        let mut world = play(flux, vec![config("a: 1"), release(spec)]);
        let mut changed = config("a: 2");
        changed["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/name"] = json!("a");
        changed["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/namespace"] = json!("flux-system");
        crate::apply(&mut world, changed);
        world.run_for(Duration::from_secs(120));
        assert_eq!(lines(&world, "upgrade begins").len(), upgrades, "{flux}");
    }
}

#[test]
fn a_tag_that_moves_upgrades() {
    // F-1013, F-902
    let spec = json!({"chart": null, "chartRef": {"kind": "OCIRepository", "name": "chart"}});
    let of = |revision: &str, release: Value| {
        let spec = json!({"interval": "1h"});
        let paths = [
            ("root", vec![kustomization("a", spec)]),
            ("a", vec![oci(), release]),
        ];
        let mut contents = contents("main@sha1:1", &paths);
        contents.revisions.insert("chart".to_owned(), revision.to_owned());
        Arc::new(contents)
    };
    let mut release = release(spec);
    release["spec"].as_object_mut().unwrap().remove("chart");
    let mut world = world_of(of("1.2.3@sha256:a", release.clone()), "2.9", 0);
    world.run_until_quiet(hour(1));
    assert_eq!(condition(&world, "Ready").0, "True");
    world.move_to(of("1.2.3@sha256:b", release));
    world.run_until_quiet(hour(2));
    assert_eq!(lines(&world, "upgrade begins").len(), 1);
}

#[test]
fn drift_is_corrected_only_if_asked_for() {
    // F-1014, F-1785
    for (mode, is_corrected) in [(None, false), (Some("warn"), false), (Some("enabled"), true)] {
        let mut spec = json!({"interval": "5m"});
        if let Some(mode) = mode {
            spec["driftDetection"] = json!({"mode": mode});
        }
        let mut world = play("2.9", vec![release(spec)]);
        world
            .intervene(|server| {
                let mut theirs = (**server
                    .object(&ObjectId::new("apps", "Deployment", Some("default"), "thing"))
                    .unwrap())
                .clone();
                theirs["spec"]["template"]["spec"]["containers"][0]["image"] = json!("theirs:1");
                server.call(&Request::Update {
                    object: theirs.into(),
                    manager: "person".into(),
                })
            })
            .unwrap();
        world.run_for(Duration::from_secs(900));
        let image = deployment(&world).unwrap()["spec"]["template"]["spec"]["containers"][0]["image"].clone();
        assert_eq!(image != "theirs:1", is_corrected, "{mode:?}");
        assert_eq!(record(&world).attempts, 1);
    }
}

#[test]
fn what_a_release_makes_is_not_in_the_inventory() {
    // F-1042
    let world = play("2.9", vec![release(json!({}))]);
    assert!(is_ready(&world, "a"));
    let inventory = live(&world, "a")["status"]["inventory"].to_string();
    assert!(inventory.contains("default_thing_helm.toolkit.fluxcd.io_HelmRelease"));
    assert!(!inventory.contains("Deployment"));
}

#[test]
fn crds_are_left_alone_if_the_policy_says_so() {
    // F-1005, F-1006: the folder `crds/` alone; installs create by default.
    let kps = |install: Value| {
        let chart = json!({"spec": {"chart": "kube-prometheus-stack", "version": "75.x",
            "sourceRef": {"kind": "HelmRepository", "name": "own", "namespace": "flux-system"}}});
        let world = play("2.9", vec![release(json!({"chart": chart, "install": install}))]);
        let crd = "servicemonitors.monitoring.coreos.com";
        world
            .server
            .object(&ObjectId::new(
                "apiextensions.k8s.io",
                "CustomResourceDefinition",
                None,
                crd,
            ))
            .is_some()
    };
    assert!(kps(json!({})));
    assert!(kps(json!({"skipCRDs": true})));
    assert!(!kps(json!({"crds": "Skip"})));
}
