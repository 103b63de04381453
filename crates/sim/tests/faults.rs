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

#[test]
fn a_source_that_is_too_slow_takes_its_timeout_and_fails() {
    // F-537, F-1105; `spec.timeout` is a minute where nothing else is said.
    let world = play(vec![fault(FaultKind::SourceSlow(None), 0, Some(10))]);
    let failed = world
        .journal()
        .iter()
        .find(|line| line.what.contains("context deadline exceeded"));
    let failed_at = failed.unwrap().at;
    assert!(
        failed_at >= Time::from_secs(60) && failed_at < Time::from_secs(61),
        "{failed_at}"
    );
    assert!(ready_s(&world, "root").unwrap() >= 600);
    assert!(ready_s(&world, "b").is_some());
    // A trouble that is over before anybody gives up costs what it lasts.
    let mut world = two_tiers();
    world.suffer(vec![Fault {
        kind: FaultKind::SourceSlow(None),
        begins: Duration::ZERO,
        lasts: Some(Duration::from_secs(20)),
    }]);
    assert_eq!(world.run_until_quiet(hour(24)), End::Quiet);
    assert!(
        !world
            .journal()
            .iter()
            .any(|line| line.what.contains("context deadline exceeded"))
    );
    assert!((20..40).contains(&ready_s(&world, "root").unwrap()));
}

#[test]
fn an_artifact_that_cannot_be_downloaded_is_asked_for_every_thirty_seconds() {
    // F-135
    let world = play(vec![fault(FaultKind::ArtifactGone(None), 0, Some(2))]);
    let failures = &record(&world, "root").failures;
    assert!(failures.len() >= 3, "{}", failures.len());
    for pair in failures.windows(2) {
        assert_eq!(pair[1].began_at.since(pair[0].ended_at), Duration::from_secs(30));
    }
    assert_eq!(
        failures[0].failure.message,
        "Source is not ready, artifact not found, retrying in 30s"
    );
    assert!((120..180).contains(&ready_s(&world, "root").unwrap()));
}

#[test]
fn a_remote_base_that_is_too_slow_fails_the_build_of_its_tier_alone() {
    let world = play(vec![fault(
        FaultKind::RemoteBaseSlow([common::tier("b")].into()),
        0,
        Some(5),
    )]);
    assert!(record(&world, "a").failures.is_empty());
    let failure = &record(&world, "b").failures[0];
    assert!(
        failure.failure.message.contains("hit 27s timeout"),
        "{}",
        failure.failure.message
    );
    assert!(failure.ended_at.since(failure.began_at) >= Duration::from_secs(27));
    assert!(ready_s(&world, "b").unwrap() >= 300);
}

#[test]
fn a_job_with_a_deadline_does_not_outlive_a_slow_image() {
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "activeDeadlineSeconds": 120,
            "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "registry.example.com/main:1"}]}},
        },
    });
    let mut world = tiers_with(job);
    let id = ObjectId::new("batch", "Job", Some("default"), "web");
    world.suffer(vec![fault(FaultKind::SlowImage(Some(id.clone())), 0, Some(10))]);
    assert_eq!(world.run_until_quiet(hour(24)), End::Quiet);
    let job = world.server.object(&id).unwrap();
    assert_eq!(job.condition("Failed").unwrap()["reason"], "DeadlineExceeded");
    assert_eq!(ready_s(&world, "a"), None);
}

/// A Deployment that serves an admission webhook, and a tier after it whose objects it is asked about.
#[test]
fn a_webhook_that_dies_refuses_until_it_is_back() {
    // F-230 and the like: a webhook that fails closed and does not answer refuses.
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 443}]},
    });
    let hook = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "hook"},
        "webhooks": [{
            "name": "hook.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
            "clientConfig": {"service": {"name": "web", "namespace": "default"}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
        }],
    });
    let first = json!({"wait": true, "timeout": "3m", "retryInterval": "30s"});
    let second = json!({"dependsOn": [{"name": "a"}], "retryInterval": "30s"});
    let root = vec![kustomization("a", first), kustomization("b", second)];
    let paths = [
        ("root", root),
        ("a", vec![deployment("web"), service, hook]),
        ("b", vec![config_map("b")]),
    ];
    let kind = FaultKind::WebhookDies {
        name: "hook.example.com".to_owned(),
        server: web(),
    };
    let play = |faults: Vec<Fault>| {
        let mut world = world(&paths, "2.9");
        world.suffer(faults);
        assert_eq!(world.run_until_quiet(hour(24)), End::Quiet);
        world
    };
    let calm = play(Vec::new());
    assert!(record(&calm, "b").failures.is_empty());
    // It dies between the two tiers.
    let begins = calm.kustomizations.tiers()[&common::tier("a")]
        .ready_at
        .unwrap()
        .since(calm.epoch())
        + Duration::from_secs(1);
    let world = play(vec![Fault {
        kind,
        begins,
        lasts: Some(minutes(5)),
    }]);
    let failures = &record(&world, "b").failures;
    assert!(
        failures
            .first()
            .is_some_and(|failed| failed.failure.message.contains("failed calling webhook")),
        "{failures:?}"
    );
    assert!(ready_s(&world, "b").unwrap() >= 300);
}

#[test]
fn whoever_controls_a_stuck_object_never_reports_it_well() {
    let world = play(vec![fault(FaultKind::Stuck(web()), 0, None)]);
    assert_eq!(ready_s(&world, "a"), None);
    assert_eq!(ready_s(&world, "b"), None);
}
