//! The laws: each has something to look at, holds in runs of every sort, and is broken by whoever breaks it.

#[allow(dead_code, reason = "each test file uses its part")]
mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::{config_map, contents, deployment, hour, kustomization, tier, world, world_of};
use firstpass_apiserver::{Apply, Duration, Request, Target};
use firstpass_object::{ObjectExt, ObjectId};
use firstpass_sim::faults::{Fault, FaultKind, FluxController};
use firstpass_sim::laws::{Law, Laws};
use firstpass_sim::{End, World};
use serde_json::{Value, json};

/// Plays under the eyes of the laws until it is quiet.
fn watch(world: &mut World, laws: &mut Laws) {
    laws.look(world);
    let limit = world.now() + Duration::from_secs(24 * 3600);
    let end = world.run_watched(limit, |world| laws.look(world));
    assert_eq!(end, End::Quiet);
    assert_eq!(laws.broken(), []);
}

/// Two tiers in a row, one that never gets past its dry-run, and one that loses an object with the next revision.
fn paths(revision: &str) -> common::Paths {
    let mut kept = vec![deployment("web"), config_map("kept")];
    if revision == "main@sha1:1" {
        kept.push(config_map("stale"));
    }
    let mut refused = config_map("refused");
    refused["metadata"]["namespace"] = json!("nowhere");
    contents(
        revision,
        &[
            (
                "root",
                vec![
                    kustomization(
                        "a",
                        json!({"wait": true, "timeout": "3m", "retryInterval": "30s"}),
                    ),
                    kustomization("b", json!({"dependsOn": [{"name": "a"}]})),
                    kustomization("c", json!({"retryInterval": "1m"})),
                ],
            ),
            ("a", kept),
            ("b", vec![config_map("b")]),
            ("c", vec![config_map("fine"), refused]),
        ],
    )
}

fn faults() -> Vec<Fault> {
    let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
    let web = ObjectId::new("apps", "Deployment", Some("default"), "web");
    let fault = |kind, begins, lasts| Fault {
        kind,
        begins: minutes(begins),
        lasts: Some(minutes(lasts)),
    };
    vec![
        fault(FaultKind::SourceDown(None), 0, 3),
        fault(FaultKind::CrashLoop(web.clone()), 2, 12),
        fault(FaultKind::SlowImage(Some(web)), 1, 4),
        fault(FaultKind::RemoteBaseSlow([tier("b")].into()), 0, 20),
        fault(FaultKind::RestartController(FluxController::Kustomize), 4, 1),
        fault(FaultKind::RestartController(FluxController::Source), 5, 1),
    ]
}

#[test]
fn every_law_of_a_run_has_cases_and_holds_under_faults_in_many_schedules() {
    let mut cases: BTreeMap<Law, u64> = BTreeMap::new();
    for seed in 0..12 {
        let mut world = world_of(Arc::new(paths("main@sha1:1")), "2.9", seed);
        if seed % 2 == 1 {
            world.suffer(faults());
        }
        let mut laws = Laws::of(&world);
        watch(&mut world, &mut laws);
        world.move_to(Arc::new(paths("main@sha1:2")));
        watch(&mut world, &mut laws);
        assert_eq!(laws.deletions().len(), 1, "the stale object goes");
        for (law, count) in laws.cases() {
            *cases.entry(*law).or_default() += count;
        }
    }
    // The last law compares two runs, see crate `rehearse`.
    for law in Law::ALL.into_iter().filter(|law| *law != Law::HealsAlike) {
        assert!(
            cases.contains_key(&law),
            "{} never had a case: {cases:?}",
            law.text()
        );
    }
}

/// A world at rest, watched from now on.
fn at_rest() -> (World, Laws) {
    let mut world = world(
        &[
            (
                "root",
                vec![
                    kustomization("a", json!({"wait": true})),
                    kustomization("b", json!({"dependsOn": [{"name": "a"}]})),
                ],
            ),
            ("a", vec![deployment("web"), config_map("kept")]),
            ("b", vec![config_map("b")]),
        ],
        "2.9",
    );
    assert_eq!(world.run_until_quiet(hour(24)), End::Quiet);
    let laws = Laws::of(&world);
    (world, laws)
}

fn broken(world: &World, laws: &mut Laws) -> Vec<Law> {
    laws.look(world);
    laws.broken().iter().map(|broken| broken.law).collect()
}

/// Writes the status of a Flux Kustomization as its controller would.
fn set_status(world: &mut World, name: &str, change: impl Fn(&mut Value)) {
    let id = ObjectId::new(
        "kustomize.toolkit.fluxcd.io",
        "Kustomization",
        Some("flux-system"),
        name,
    );
    for ready in ["Unknown", "True"] {
        let mut object = (**world.server.object(&id).unwrap()).clone();
        for condition in object["status"]["conditions"].as_array_mut().unwrap() {
            if condition["type"] == "Ready" {
                condition["status"] = json!(ready);
            }
        }
        change(&mut object["status"]);
        let request = Request::UpdateStatus {
            object: object.into(),
            manager: "gotk-kustomize-controller".into(),
        };
        world.intervene(|server| server.call(&request).unwrap());
    }
}

#[test]
fn to_delete_what_nobody_owns_breaks_a_law() {
    let (mut world, mut laws) = at_rest();
    let foreign = config_map("foreign");
    let apply = Request::Apply(Apply::forced(foreign.clone().into(), "kubectl"));
    world.intervene(|server| server.call(&apply).unwrap());
    let delete = Request::delete_by(Target::of(&foreign), "kustomize-controller");
    world.intervene(|server| server.call(&delete).unwrap());
    assert_eq!(broken(&world, &mut laws), [Law::PruneOwned]);
}

#[test]
fn to_delete_what_is_built_breaks_a_law() {
    let (mut world, mut laws) = at_rest();
    let delete = Request::delete_by(Target::of(&config_map("kept")), "kustomize-controller");
    world.intervene(|server| server.call(&delete).unwrap());
    assert_eq!(broken(&world, &mut laws), [Law::PruneStale]);
    assert!(
        laws.broken()[0]
            .to_string()
            .starts_with("nothing is pruned that is still built: at ")
    );
}

#[test]
fn a_person_may_delete_what_they_like() {
    let (mut world, mut laws) = at_rest();
    let delete = Request::delete(Target::of(&config_map("kept")));
    world.intervene(|server| server.call(&delete).unwrap());
    assert_eq!(broken(&world, &mut laws), []);
}

#[test]
fn to_be_ready_at_a_revision_that_a_dependency_never_had_breaks_a_law() {
    let (mut world, mut laws) = at_rest();
    set_status(&mut world, "b", |status| {
        status["lastAppliedRevision"] = json!("main@sha1:9");
    });
    assert_eq!(broken(&world, &mut laws), [Law::DependenciesFirst]);
}

#[test]
fn to_forget_an_object_breaks_a_law() {
    let (mut world, mut laws) = at_rest();
    set_status(&mut world, "b", |status| {
        status["inventory"]["entries"] = json!([]);
    });
    assert_eq!(broken(&world, &mut laws), [Law::InventoryTrue]);
}

#[test]
fn to_be_ready_over_what_is_not_breaks_a_law() {
    let (mut world, mut laws) = at_rest();
    let web = ObjectId::new("apps", "Deployment", Some("default"), "web");
    let mut object = (**world.server.object(&web).unwrap()).clone();
    object["status"]["readyReplicas"] = json!(0);
    object["status"]["availableReplicas"] = json!(0);
    let request = Request::UpdateStatus {
        object: object.into(),
        manager: "kubelet".into(),
    };
    world.intervene(|server| server.call(&request).unwrap());
    laws.look(&world);
    world.run_for(Duration::from_secs(1));
    laws.look(&world);
    assert!(
        world
            .server
            .object(&web)
            .unwrap()
            .at(&["status", "readyReplicas"])
            == Some(&json!(0))
    );
    set_status(&mut world, "a", |_| {});
    assert_eq!(broken(&world, &mut laws), [Law::ReadyMeansHealthy]);
}
