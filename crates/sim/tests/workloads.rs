//! Workloads by their needs: what their pods wait for, what refuses them, and what is healthy without doing anything.

#![allow(clippy::needless_pass_by_value, reason = "literals read better as they are")]

#[allow(dead_code, reason = "each test file uses its part")]
mod common;

use common::{config_map, contents, deployment, hour, kustomization, tier, world, world_of};
use firstpass_apiserver::Duration;
use firstpass_object::{ObjectExt, ObjectId};
use firstpass_sim::{End, World};
use serde_json::{Value, json};

/// Plays a tier that waits for its objects, beside one that never applies but holds what may come later.
fn play(objects: Vec<Value>, later: Vec<Value>) -> World {
    let root = vec![
        kustomization("a", json!({"wait": true, "timeout": "2m", "retryInterval": "1m"})),
        kustomization("later", json!({"suspend": true})),
    ];
    let mut world = world(&[("root", root), ("a", objects), ("later", later)], "2.9");
    assert_eq!(world.run_until_quiet(hour(24)), End::Quiet);
    world
}

fn is_ready(world: &World) -> bool {
    world.kustomizations.tiers()[&tier("a")].ready_at.is_some()
}

fn failure(world: &World) -> String {
    let record = &world.kustomizations.tiers()[&tier("a")];
    record
        .failures
        .last()
        .map_or_else(String::new, |failed| failed.failure.message.clone())
}

fn of_pods(mut workload: Value, spec: Value) -> Value {
    for (key, value) in spec.as_object().unwrap() {
        workload["spec"]["template"]["spec"][key] = value.clone();
    }
    workload
}

fn job(spec: Value) -> Value {
    let mut job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "task", "namespace": "default"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "registry.example.com/task:1"}]}}},
    });
    for (key, value) in spec.as_object().unwrap() {
        job["spec"][key] = value.clone();
    }
    job
}

fn pod(spec: Value) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "alone", "namespace": "default"},
        "spec": {"containers": [{"name": "main", "image": "registry.example.com/main:1"}]},
    });
    for (key, value) in spec.as_object().unwrap() {
        pod["spec"][key] = value.clone();
    }
    pod
}

fn record<'w>(
    world: &'w World,
    group: &str,
    kind: &str,
    name: &str,
) -> &'w firstpass_controllers::WorkloadRecord {
    &world.workloads.workloads()[&ObjectId::new(group, kind, Some("default"), name)]
}

#[test]
fn what_says_nothing_about_itself_is_healthy_when_it_is_stored() {
    // F-515, F-526, F-529: no metrics server, no pods to protect, no address, no controller of ingresses.
    let objects = vec![
        json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a", "namespace": "default"},
            "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"}},
        }),
        json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b", "namespace": "default"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "none"}}},
        }),
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "c", "namespace": "default"},
            "spec": {"type": "LoadBalancer", "selector": {"app": "none"}, "ports": [{"port": 80}]},
        }),
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "d", "namespace": "default"},
            "spec": {"defaultBackend": {"service": {"name": "c", "port": {"number": 80}}}},
        }),
        json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "e", "namespace": "default"},
            "spec": {"hard": {"pods": "10"}},
        }),
        json!({
            "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "f", "namespace": "default"},
            "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": "registry.example.com/task:1", "envFrom": [{"secretRef": {"name": "never"}}]}],
            }}}}},
        }),
    ];
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "never", "namespace": "default"}});
    let world = play(objects, vec![secret]);
    assert!(is_ready(&world), "{}", failure(&world));
    assert!(
        world.workloads.workloads().is_empty(),
        "a CronJob starts nothing when it is applied"
    );
}

#[test]
fn a_key_that_is_not_there_keeps_a_container_from_starting() {
    let env = |optional: bool| {
        let reference = json!({"name": "settings", "key": "missing", "optional": optional});
        json!({"containers": [{"name": "main", "image": "registry.example.com/main:1",
            "env": [{"name": "X", "valueFrom": {"configMapKeyRef": reference}}]}]})
    };
    let files = |key: &str| json!({"volumes": [{"name": "x", "projected": {"sources": [{"configMap": {"name": "settings", "items": [{"key": key, "path": "x"}]}}]}}]});
    assert!(is_ready(&play(
        vec![of_pods(deployment("web"), env(true)), config_map("settings")],
        vec![]
    )));
    assert!(is_ready(&play(
        vec![of_pods(deployment("web"), files("a")), config_map("settings")],
        vec![]
    )));
    for needs in [env(false), files("missing")] {
        let world = play(
            vec![of_pods(deployment("web"), needs), config_map("settings")],
            vec![],
        );
        assert!(!is_ready(&world));
        assert_eq!(
            record(&world, "apps", "Deployment", "web").missing_texts(),
            ["missing in ConfigMap/default/settings"]
        );
    }
}

#[test]
fn pods_without_their_account_or_class_are_never_made() {
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "web", "namespace": "default"}});
    let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1});
    let runtime = json!({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "gvisor"}, "handler": "runsc"});
    for (spec, what) in [
        (json!({"serviceAccountName": "web"}), account),
        (json!({"priorityClassName": "high"}), class),
        (json!({"runtimeClassName": "gvisor"}), runtime),
    ] {
        let world = play(vec![of_pods(deployment("web"), spec.clone())], vec![what.clone()]);
        assert!(!is_ready(&world));
        let web = world
            .server
            .object(&ObjectId::new("apps", "Deployment", Some("default"), "web"))
            .unwrap();
        assert_eq!(record(&world, "apps", "Deployment", "web").missing.len(), 1);
        assert!(web.condition("Progressing").unwrap()["reason"] == "ProgressDeadlineExceeded");
        // With it in the same tier, and where nobody brings it, all is well.
        assert!(is_ready(&play(
            vec![of_pods(deployment("web"), spec.clone()), what],
            vec![]
        )));
        assert!(is_ready(&play(vec![of_pods(deployment("web"), spec)], vec![])));
    }
    let system =
        json!({"priorityClassName": "system-cluster-critical", "imagePullSecrets": [{"name": "pull"}]});
    let pull =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull", "namespace": "default"}});
    assert!(
        is_ready(&play(vec![of_pods(deployment("web"), system)], vec![pull])),
        "the kubelet tries without"
    );
}

#[test]
fn a_pod_of_its_own_is_refused_with_its_whole_stage() {
    // F-212; Kubernetes admission plugins ServiceAccount, Priority, RuntimeClass.
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "web", "namespace": "default"}});
    let world = play(
        vec![pod(json!({"serviceAccountName": "web"})), config_map("beside")],
        vec![account],
    );
    let text = failure(&world);
    assert!(
        text.starts_with(
            "Pod/default/alone dry-run failed (Forbidden): pods \"alone\" is forbidden: error looking up service account \
             default/web: serviceaccount \"web\" not found"
        ),
        "{text}"
    );
    assert!(world.server.object(&config_map("beside").id()).is_none());
    let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1});
    let world = play(vec![pod(json!({"priorityClassName": "high"}))], vec![class]);
    assert!(
        failure(&world).contains("no PriorityClass with name high was found"),
        "{}",
        failure(&world)
    );
}

#[test]
fn a_pod_without_a_node_has_failed_after_a_while_and_one_without_its_settings_has_not() {
    // F-524
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    let volumes = json!({"volumes": [{"name": "x", "persistentVolumeClaim": {"claimName": "data"}}]});
    let world = play(vec![pod(volumes)], vec![claim]);
    assert!(
        failure(&world)
            .contains("failed early due to stalled resources: [Pod/default/alone status: 'Failed']"),
        "{}",
        failure(&world)
    );
    let env = json!({"containers": [{"name": "main", "image": "registry.example.com/main:1", "envFrom": [{"configMapRef": {"name": "later"}}]}]});
    let world = play(vec![pod(env)], vec![config_map("later")]);
    assert!(
        failure(&world).contains("timeout waiting for: [Pod/default/alone status: 'InProgress']"),
        "{}",
        failure(&world)
    );
}

#[test]
fn selectors_find_nodes_that_are_listed_and_any_where_none_is() {
    let node = |taints: Value| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one", "labels": {"disk": "ssd"}}, "spec": {"taints": taints}});
    let picky = |disk: &str| of_pods(deployment("web"), json!({"nodeSelector": {"disk": disk}}));
    let world = play(vec![picky("hdd")], vec![]);
    assert!(is_ready(&world));
    assert!(world.workloads.assumed_nodes().contains_key("disk=hdd"));
    assert!(is_ready(&play(vec![node(json!([])), picky("ssd")], vec![])));
    let world = play(vec![node(json!([])), picky("hdd")], vec![]);
    assert!(!is_ready(&world));
    let why = record(&world, "apps", "Deployment", "web")
        .unplaced
        .clone()
        .unwrap();
    assert_eq!(why, "no node of the configuration has disk=hdd and takes it");
    let tainted = node(json!([{"key": "gpu", "effect": "NoSchedule"}]));
    assert!(!is_ready(&play(vec![tainted.clone(), deployment("web")], vec![])));
    let tolerant = of_pods(
        deployment("web"),
        json!({"tolerations": [{"key": "gpu", "operator": "Exists"}]}),
    );
    assert!(is_ready(&play(vec![tainted, tolerant], vec![])));
}

#[test]
fn a_daemon_set_without_a_node_wants_no_pod_and_is_ready() {
    // F-522: the number that is wanted is that of the nodes that fit.
    let mut agent = of_pods(deployment("agent"), json!({"nodeSelector": {"gpu": "yes"}}));
    agent["kind"] = json!("DaemonSet");
    let node = |name: &str, gpu: &str| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"gpu": gpu}}});
    for (labels, wanted) in [(["no", "no"], 0), (["yes", "no"], 1), (["yes", "yes"], 2)] {
        let world = play(
            vec![node("one", labels[0]), node("two", labels[1]), agent.clone()],
            vec![],
        );
        assert!(is_ready(&world));
        let agent = world
            .server
            .object(&ObjectId::new("apps", "DaemonSet", Some("default"), "agent"))
            .unwrap();
        assert_eq!(
            agent.at(&["status", "desiredNumberScheduled"]),
            Some(&json!(wanted))
        );
    }
}

#[test]
fn a_job_that_takes_too_long_fails_with_its_reason() {
    let world = play(vec![job(json!({"activeDeadlineSeconds": 1}))], vec![]);
    assert!(!is_ready(&world));
    let done = world
        .server
        .object(&ObjectId::new("batch", "Job", Some("default"), "task"))
        .unwrap();
    assert_eq!(done.condition("Failed").unwrap()["reason"], "DeadlineExceeded");
    // One pod after another takes longer than all at once.
    let ready_s = |spec: Value| {
        let world = play(vec![job(spec)], vec![]);
        world.kustomizations.tiers()[&tier("a")].ready_at.unwrap()
    };
    assert!(ready_s(json!({"completions": 4})) > ready_s(json!({"completions": 4, "parallelism": 4})));
}

#[test]
fn an_autoscaler_raises_replicas_to_its_least_and_the_old_pods_answer_meanwhile() {
    let autoscaler = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"minReplicas": 3, "maxReplicas": 5, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
    });
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
    });
    let mut world = world(
        &[
            (
                "root",
                vec![
                    kustomization("a", json!({"wait": true})),
                    kustomization("b", json!({"dependsOn": [{"name": "a"}]})),
                ],
            ),
            ("a", vec![deployment("web"), service]),
            ("b", vec![autoscaler]),
        ],
        "2.9",
    );
    assert_eq!(world.run_until_quiet(hour(24)), End::Quiet);
    let id = ObjectId::new("apps", "Deployment", Some("default"), "web");
    let web = world.server.object(&id).unwrap();
    assert_eq!(web.at(&["status", "readyReplicas"]), Some(&json!(3)));
    assert!(
        world
            .journal()
            .iter()
            .any(|line| line.what == "scaled to 3 replicas")
    );
    assert!(world.server.is_service_serving("default", "web"));
    assert_eq!(world.server.serving_changes(), 1, "nobody was turned away");
}

#[test]
fn a_rolling_update_keeps_answering_and_a_recreation_does_not() {
    for (strategy, changes) in [("RollingUpdate", 1), ("Recreate", 3)] {
        let with_image = |image: &str, revision: &str| {
            let mut web = of_pods(
                deployment("web"),
                json!({"containers": [{"name": "main", "image": image}]}),
            );
            web["spec"]["strategy"] = json!({"type": strategy});
            let service = json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default"},
                "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
            });
            contents(
                revision,
                &[
                    ("root", vec![kustomization("a", json!({"wait": true}))]),
                    ("a", vec![web, service]),
                ],
            )
        };
        let mut world = world_of(
            with_image("registry.example.com/main:1", "main@sha1:1").into(),
            "2.9",
            0,
        );
        assert_eq!(world.run_until_quiet(hour(24)), End::Quiet);
        world.move_to(std::sync::Arc::new(with_image(
            "registry.example.com/main:2",
            "main@sha1:2",
        )));
        world.run_for(Duration::from_secs(600));
        assert!(is_ready(&world));
        assert_eq!(world.server.serving_changes(), changes, "{strategy}");
    }
}

#[test]
fn a_stateful_set_starts_its_pods_in_a_row_unless_told_otherwise() {
    let ready = |policy: &str| {
        let mut set = deployment("db");
        set["kind"] = json!("StatefulSet");
        set["spec"]["serviceName"] = json!("db");
        set["spec"]["replicas"] = json!(4);
        set["spec"]["podManagementPolicy"] = json!(policy);
        let world = play(vec![set], vec![]);
        world.kustomizations.tiers()[&tier("a")].ready_at.unwrap()
    };
    assert!(ready("OrderedReady") > ready("Parallel"));
}
