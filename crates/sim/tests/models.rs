//! Workloads, claims, charts and operators, as a running world shows them.

#[allow(
    dead_code,
    clippy::needless_pass_by_value,
    reason = "each test file uses its part; literals read better as they are"
)]
mod common;

use common::{config_map, deployment, hour, kustomization, tier, world};
use firstpass_apiserver::Duration;
use firstpass_controllers::ClaimWait;
use firstpass_object::{ObjectExt, ObjectId, TierName};
use firstpass_sim::{End, World};
use serde_json::{Value, json};

fn claim(class: Option<&str>) -> Value {
    let mut claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    if let Some(class) = class {
        claim["spec"]["storageClassName"] = json!(class);
    }
    claim
}

fn class(name: &str, binding: &str) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
        "provisioner": "driver.example.com", "volumeBindingMode": binding,
    })
}

fn mounting(mut deployment: Value) -> Value {
    deployment["spec"]["template"]["spec"]["volumes"] =
        json!([{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]);
    deployment
}

fn repository(name: &str, url: &str) -> Value {
    json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "HelmRepository",
        "metadata": {"name": name, "namespace": "flux-system"}, "spec": {"interval": "1h", "url": url},
    })
}

#[expect(clippy::needless_pass_by_value, reason = "literals read better as they are")]
fn release(name: &str, chart: &str, version: &str, repository: &str, spec: Value) -> Value {
    let mut release = json!({
        "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "interval": "30m",
            "chart": {"spec": {"chart": chart, "version": version,
                "sourceRef": {"kind": "HelmRepository", "name": repository, "namespace": "flux-system"}}},
        },
    });
    for (key, value) in spec.as_object().unwrap() {
        release["spec"][key] = value.clone();
    }
    release
}

fn claim_id() -> ObjectId {
    ObjectId::new("", "PersistentVolumeClaim", Some("default"), "data")
}

fn is_ready(world: &World, name: &str) -> bool {
    world.kustomizations.tiers()[&tier(name)].ready_at.is_some()
}

fn play(objects: Vec<Value>) -> World {
    let mut world = world(
        &[
            (
                "root",
                vec![kustomization("a", json!({"wait": true, "timeout": "3m"}))],
            ),
            ("a", objects),
        ],
        "2.9",
    );
    assert_eq!(world.run_until_quiet(hour(24)), End::Quiet);
    world
}

#[test]
fn a_claim_of_a_late_class_waits_for_its_first_consumer() {
    // F-525
    let class = class("late", "WaitForFirstConsumer");
    let alone = play(vec![class.clone(), claim(Some("late"))]);
    assert!(!is_ready(&alone, "a"));
    let wait = alone.storage.claims()[&claim_id()].waits_for.clone();
    assert_eq!(
        wait,
        Some(ClaimWait::Consumer {
            class: "late".to_owned()
        })
    );
    let used = play(vec![class, claim(Some("late")), mounting(deployment("web"))]);
    assert!(is_ready(&used, "a"));
}

#[test]
fn a_claim_of_an_immediate_class_binds_alone() {
    let world = play(vec![class("now", "Immediate"), claim(Some("now"))]);
    assert!(is_ready(&world, "a"));
    let bound = world.server.object(&claim_id()).unwrap();
    assert_eq!(bound.text_at(&["status", "phase"]), Some("Bound"));
}

#[test]
fn what_nothing_brings_is_taken_to_exist() {
    // Unknown is not bad.
    let mut web = deployment("web");
    web["spec"]["template"]["spec"]["containers"][0]["envFrom"] =
        json!([{"secretRef": {"name": "from-somewhere"}}]);
    let world = play(vec![web, claim(Some("class-from-somewhere"))]);
    assert!(is_ready(&world, "a"));
    let assumed: Vec<String> = world
        .workloads
        .assumed()
        .keys()
        .map(ToString::to_string)
        .collect();
    assert_eq!(assumed, ["Secret/default/from-somewhere"]);
    assert!(world.storage.assumed().contains_key("class-from-somewhere"));
}

#[test]
fn pods_wait_for_what_comes_later() {
    let mut web = deployment("web");
    web["spec"]["template"]["spec"]["containers"][0]["envFrom"] =
        json!([{"configMapRef": {"name": "later"}}]);
    let paths = [
        (
            "root",
            vec![
                kustomization("a", json!({"wait": true})),
                kustomization("b", json!({"dependsOn": [{"name": "c"}]})),
                kustomization("c", json!({})),
            ],
        ),
        ("a", vec![web]),
        ("b", vec![config_map("later")]),
        ("c", vec![config_map("c")]),
    ];
    let mut world = world(&paths, "2.9");
    assert_eq!(world.run_until_quiet(hour(24)), End::Quiet);
    let ready = |name: &str| world.kustomizations.tiers()[&tier(name)].ready_at.unwrap();
    assert!(ready("a") > ready("b"));
    assert!(world.kustomizations.tiers()[&tier("a")].failures.is_empty());
}

#[test]
fn a_deployment_that_makes_no_progress_fails_after_its_deadline() {
    // F-520
    let mut web = deployment("web");
    web["spec"]["template"]["spec"]["containers"][0]["envFrom"] =
        json!([{"configMapRef": {"name": "never"}}]);
    let paths = [
        (
            "root",
            vec![
                kustomization("a", json!({"wait": true, "timeout": "30m"})),
                kustomization("b", json!({"suspend": true})),
            ],
        ),
        ("a", vec![web]),
        ("b", vec![config_map("never")]),
    ];
    let mut world = world(&paths, "2.9");
    world.run_for(Duration::from_secs(700));
    let failure = &world.kustomizations.tiers()[&tier("a")].failures[0].failure;
    assert!(
        failure
            .message
            .contains("failed early due to stalled resources: [Deployment/default/web status: 'Failed']"),
        "{}",
        failure.message
    );
}

#[test]
fn a_chart_brings_its_kinds_and_what_waits_for_it_comes_after() {
    // F-1001, F-1006, F-1040
    let objects = vec![
        repository("jetstack", "https://charts.jetstack.io"),
        release(
            "cert-manager",
            "cert-manager",
            "v1.17.x",
            "jetstack",
            json!({"values": {"crds": {"enabled": true}}}),
        ),
    ];
    let world = play(objects);
    assert!(is_ready(&world, "a"));
    let crd = ObjectId::new(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        None,
        "clusterissuers.cert-manager.io",
    );
    assert!(world.server.object(&crd).is_some());
    let record = &world.releases.releases()[&TierName::new("default", "cert-manager")];
    assert!(record.ready_at.is_some());
    assert!(world.kustomizations.tiers()[&tier("a")].ready_at >= record.ready_at);
    assert!(world.server.is_service_serving("default", "cert-manager-webhook"));
}

#[test]
fn an_unknown_chart_installs_and_is_noted() {
    let objects = vec![
        repository("own", "https://charts.example.com"),
        release("thing", "thing", "1.x", "own", json!({})),
    ];
    let world = play(objects);
    assert!(is_ready(&world, "a"));
    assert_eq!(world.releases.unknown_charts().len(), 1);
}

#[test]
fn releases_wait_for_their_dependencies() {
    // F-1002
    let objects = vec![
        repository("own", "https://charts.example.com"),
        release("first", "thing", "1.x", "own", json!({})),
        release(
            "second",
            "thing",
            "1.x",
            "own",
            json!({"dependsOn": [{"name": "first"}]}),
        ),
        release(
            "third",
            "thing",
            "1.x",
            "own",
            json!({"dependsOn": [{"name": "none"}]}),
        ),
    ];
    let world = play(objects);
    let ready = |name: &str| world.releases.releases()[&TierName::new("default", name)].ready_at;
    assert!(ready("second") > ready("first"));
    assert_eq!(ready("third"), None);
    assert!(!is_ready(&world, "a"));
}

#[test]
fn a_release_into_a_missing_namespace_fails_unless_it_makes_it() {
    // F-1010
    for makes in [false, true] {
        let install = json!({"targetNamespace": "elsewhere", "install": {"createNamespace": makes}});
        let objects = vec![
            repository("own", "https://charts.example.com"),
            release("thing", "thing", "1.x", "own", install),
        ];
        assert_eq!(is_ready(&play(objects), "a"), makes);
    }
}

#[test]
fn an_operator_brings_kinds_after_it_has_seen_an_object() {
    // cdi-operator creates StorageProfile and the rest only after it reconciles a CDI.
    let operator = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "cdi-operator", "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": {"app": "cdi-operator"}},
            "template": {
                "metadata": {"labels": {"app": "cdi-operator"}},
                "spec": {"containers": [{"name": "operator", "image": "quay.io/kubevirt/cdi-operator:v1.62.0"}]},
            },
        },
    });
    let crd = firstpass_controllers::made::crd(
        firstpass_knowledge::Knowledge::builtin()
            .custom_kind("cdi.kubevirt.io", "CDI")
            .unwrap(),
        &["v1beta1"],
        &[],
    );
    let profiles = ObjectId::new(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        None,
        "storageprofiles.cdi.kubevirt.io",
    );
    let without = play(vec![operator.clone(), crd.clone()]);
    assert!(without.server.object(&profiles).is_none());
    let cdi = json!({"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "CDI", "metadata": {"name": "cdi"}});
    let with = play(vec![operator, crd, cdi, class("fast", "Immediate")]);
    assert!(with.server.object(&profiles).is_some());
    let cdi = with
        .server
        .object(&ObjectId::new("cdi.kubevirt.io", "CDI", None, "cdi"))
        .unwrap();
    assert_eq!(cdi.text_at(&["status", "phase"]), Some("Deployed"));
    // One profile per class.
    let profile = ObjectId::new("cdi.kubevirt.io", "StorageProfile", None, "fast");
    assert!(with.server.object(&profile).is_some());
}
