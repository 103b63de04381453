//! Faults: while they last nothing happens that must not, and after they have healed the cluster comes up.

#[allow(dead_code, reason = "each test file uses its part")]
mod common;

use common::{config_map, deployment, hour, kustomization, tier, world};
use firstpass_apiserver::{Duration, Time};
use firstpass_controllers::kustomization::TierRecord;
use firstpass_object::{ObjectExt, ObjectId};
use firstpass_sim::faults::{Fault, FaultKind, FluxController};
use firstpass_sim::{End, World};
use serde_json::{Value, json};

fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(minutes * 60)
}

fn fault(kind: FaultKind, begins: u64, lasts: Option<u64>) -> Fault {
    Fault {
        kind,
        begins: minutes(begins),
        lasts: lasts.map(minutes),
    }
}

fn web() -> ObjectId {
    ObjectId::new("apps", "Deployment", Some("default"), "web")
}

fn record<'w>(world: &'w World, name: &str) -> &'w TierRecord {
    &world.kustomizations.tiers()[&tier(name)]
}

fn ready_s(world: &World, name: &str) -> Option<u64> {
    record(world, name).ready_at.map(|at| at.as_micros() / 1_000_000)
}

/// Two tiers in a row, the first with a Deployment that it waits for.
fn two_tiers() -> World {
    tiers_with(deployment("web"))
}

fn tiers_with(workload: Value) -> World {
    let first = json!({"wait": true, "timeout": "3m", "retryInterval": "30s"});
    let second = json!({"dependsOn": [{"name": "a"}]});
    let root = vec![kustomization("a", first), kustomization("b", second)];
    world(
        &[
            ("root", root),
            ("a", vec![workload]),
            ("b", vec![config_map("b")]),
        ],
        "2.9",
    )
}

fn play(faults: Vec<Fault>) -> World {
    let mut world = two_tiers();
    world.suffer(faults);
    assert_eq!(world.run_until_quiet(hour(24)), End::Quiet);
    world
}

#[test]
fn a_source_that_is_down_delays_and_no_more() {
    // F-537, F-1105
    let calm = play(Vec::new());
    let world = play(vec![fault(FaultKind::SourceDown(None), 0, Some(10))]);
    assert!(ready_s(&calm, "b").unwrap() < 120);
    assert!(ready_s(&world, "root").unwrap() >= 600);
    assert!(record(&world, "b").failures.is_empty());
}

#[test]
fn a_source_that_fails_later_takes_nothing_away() {
    let world = play(vec![fault(FaultKind::SourceDown(None), 2, Some(10))]);
    assert!(ready_s(&world, "b").unwrap() < 120);
    let deleted = world.journal().iter().any(|line| line.what == "gone");
    assert!(!deleted);
}

#[test]
fn a_crash_loop_holds_its_tier_and_heals() {
    let world = play(vec![fault(FaultKind::CrashLoop(web()), 0, Some(10))]);
    assert!(!record(&world, "a").failures.is_empty());
    assert!(ready_s(&world, "a").unwrap() >= 600);
    assert!(ready_s(&world, "b").is_some());
}

#[test]
fn a_crash_loop_for_ever_ends_the_run() {
    let world = play(vec![fault(FaultKind::CrashLoop(web()), 0, None)]);
    assert_eq!(ready_s(&world, "a"), None);
    assert_eq!(ready_s(&world, "b"), None);
    assert!(world.now() < hour(2), "{}", world.now());
    assert!(world.workloads.workloads()[&web()].is_crashing());
}

#[test]
fn a_crashing_stateful_set_fails_the_wait_at_once_and_a_deployment_does_not() {
    // F-530, F-520
    let mut set = deployment("web");
    set["kind"] = "StatefulSet".into();
    set["spec"]["serviceName"] = "web".into();
    for (workload, kind, early) in [
        (deployment("web"), "Deployment", false),
        (set, "StatefulSet", true),
    ] {
        let mut world = tiers_with(workload);
        let id = ObjectId::new("apps", kind, Some("default"), "web");
        world.suffer(vec![fault(FaultKind::CrashLoop(id), 0, Some(30))]);
        world.run_for(minutes(8));
        let failure = &record(&world, "a").failures[0];
        let text = &failure.failure.message;
        assert_eq!(
            text.contains("failed early due to stalled resources"),
            early,
            "{text}"
        );
        assert_eq!(failure.ended_at.since(failure.began_at) < minutes(1), early);
        let pod = ObjectId::new("", "Pod", Some("default"), "web-0");
        assert_eq!(world.server.object(&pod).is_some(), early);
        assert_eq!(world.run_until_quiet(hour(24)), End::Quiet);
        assert!(ready_s(&world, "b").is_some());
        assert!(world.server.object(&pod).is_none());
    }
}

#[test]
fn a_job_gives_up_after_its_last_retry() {
    // F-528
    let mut job = deployment("web");
    job["apiVersion"] = "batch/v1".into();
    job["kind"] = "Job".into();
    job["spec"].as_object_mut().unwrap().remove("selector");
    job["spec"]["backoffLimit"] = 2.into();
    job["spec"]["template"]["spec"]["restartPolicy"] = "Never".into();
    let mut world = tiers_with(job);
    let id = ObjectId::new("batch", "Job", Some("default"), "web");
    world.suffer(vec![fault(FaultKind::CrashLoop(id.clone()), 0, Some(60))]);
    assert_eq!(world.run_until_quiet(hour(24)), End::Quiet);
    let job = world.server.object(&id).unwrap();
    assert!(job.condition_is_true("Failed"));
    assert_eq!(ready_s(&world, "a"), None);
    let text = &record(&world, "a").failures[0].failure.message;
    assert!(text.contains("failed early"), "{text}");
}

#[test]
fn slow_images_delay_until_they_are_there() {
    let world = play(vec![fault(FaultKind::SlowImage(None), 0, Some(20))]);
    let ready = ready_s(&world, "a").unwrap();
    assert!((1200..1320).contains(&ready), "{ready}");
}

#[test]
fn a_restarted_controller_goes_on_where_the_cluster_is() {
    // F-109
    for controller in FluxController::ALL {
        let world = play(vec![Fault {
            kind: FaultKind::RestartController(controller),
            begins: Duration::from_secs(4),
            lasts: None,
        }]);
        assert!(ready_s(&world, "b").is_some(), "{}", controller.name());
    }
}

#[test]
fn a_world_is_not_at_rest_while_a_fault_is_to_come() {
    let world = play(vec![fault(FaultKind::CrashLoop(web()), 30, Some(10))]);
    assert!(world.now() >= Time::from_secs(40 * 60));
    let ready = world.server.object(&web()).unwrap();
    assert!(ready.condition_is_true("Available"));
}

#[test]
fn faults_are_written_as_they_are_typed() {
    let texts = [
        (
            fault(FaultKind::SourceDown(None), 0, Some(10)),
            "source-down@0s+10m",
        ),
        (
            fault(FaultKind::CrashLoop(web()), 1, None),
            "crash-loop=Deployment/default/web@1m+never",
        ),
        (
            fault(FaultKind::RestartController(FluxController::Helm), 5, None),
            "restart-controller=helm-controller@5m",
        ),
    ];
    for (fault, text) in texts {
        assert_eq!(fault.to_string(), text);
    }
}
