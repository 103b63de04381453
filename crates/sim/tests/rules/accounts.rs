//! Applying as a service account or to another cluster (F-137, F-166, F-167, F-223).

use std::sync::Arc;

use firstpass_apiserver::Duration;
use firstpass_sim::World;
use serde_json::{Value, json};

use crate::common::{config_map, contents, hour, kustomization, settings, tier, world_of, world_with};
use crate::{has, is_ready, message, ready, request, times_of};

const GROUP: &str = "rbac.authorization.k8s.io/v1";

fn account() -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "deployer", "namespace": "flux-system"}})
}

fn binding(kind: &str, name: &str, role_kind: &str, role: &str) -> Value {
    let mut binding = json!({
        "apiVersion": GROUP, "kind": kind, "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": "deployer", "namespace": "flux-system"}],
    });
    if kind == "RoleBinding" {
        binding["metadata"]["namespace"] = json!("default");
    }
    binding
}

fn cluster_role(rules: Value) -> Value {
    json!({"apiVersion": GROUP, "kind": "ClusterRole", "metadata": {"name": "limited"}, "rules": rules})
}

fn play(granted: Vec<Value>, objects: Vec<Value>, flags: &[&str]) -> World {
    let spec = json!({"serviceAccountName": "deployer", "interval": "1h", "retryInterval": "5m", "dependsOn": [{"name": "tenants"}]});
    let root = vec![
        account(),
        kustomization("tenants", json!({})),
        kustomization("a", spec),
    ];
    let paths = [("root", root), ("tenants", granted), ("a", objects)];
    let mut contents = contents("main@sha1:1", &paths);
    contents.granted.push(tier("deployer"));
    let mut settings = settings("2.9");
    settings.apply_args(firstpass_flux::Controller::Kustomize, flags.iter().copied());
    let mut world = world_with(Arc::new(contents), settings, 0);
    world.run_until_quiet(hour(1));
    world
}

#[test]
fn an_account_can_do_what_its_roles_grant() {
    // F-166
    let limited = |rules: Value| {
        vec![
            cluster_role(rules),
            binding("ClusterRoleBinding", "b", "ClusterRole", "limited"),
        ]
    };
    let config_maps =
        |verbs: Value| json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}]);
    let allowed = play(limited(config_maps(json!(["*"]))), vec![config_map("a")], &[]);
    assert!(is_ready(&allowed, "a"));
    let refused = play(
        limited(config_maps(json!(["get", "list"]))),
        vec![config_map("a")],
        &[],
    );
    assert_eq!(
        message(&refused, "a"),
        "ConfigMap/default/a dry-run failed (Forbidden): configmaps \"a\" is forbidden: User \"system:serviceaccount:flux-system:deployer\" cannot patch resource \"configmaps\" in API group \"\" in the namespace \"default\""
    );
    let no_create = play(
        limited(config_maps(json!(["get", "patch"]))),
        vec![config_map("a")],
        &[],
    );
    assert!(message(&no_create, "a").contains("cannot create resource"));
    // In its namespace an account bound to `cluster-admin` may do everything, outside of it nothing.
    let tenant = vec![binding("RoleBinding", "b", "ClusterRole", "cluster-admin")];
    assert!(is_ready(&play(tenant.clone(), vec![config_map("a")], &[]), "a"));
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "media"}});
    let outside = play(tenant, vec![namespace], &[]);
    assert!(
        message(&outside, "a")
            .ends_with("cannot patch resource \"namespaces\" in API group \"\" at the cluster scope")
    );
}

#[test]
fn an_account_without_any_binding_in_sight_is_taken_to_have_one() {
    let spec = json!({"serviceAccountName": "deployer", "interval": "1h"});
    let world = crate::play("2.9", spec, vec![config_map("a")]);
    assert!(is_ready(&world, "a"));
}

#[test]
fn a_binding_to_a_role_of_the_same_stage_is_refused() {
    // F-223, F-1733: dry-runs see only what is live; a stage for Roles helps.
    let rules = json!([{"apiGroups": ["", "rbac.authorization.k8s.io"], "resources": ["configmaps", "roles", "rolebindings"], "verbs": ["*"]}]);
    let granted = || {
        // `bind` and `escalate` are not among the usual verbs.
        let mut rules = rules.clone();
        rules[0]["verbs"] = json!(["get", "list", "watch", "create", "update", "patch", "delete"]);
        vec![
            cluster_role(rules),
            binding("ClusterRoleBinding", "b", "ClusterRole", "limited"),
        ]
    };
    let role = json!({
        "apiVersion": GROUP, "kind": "Role", "metadata": {"name": "x-role", "namespace": "default"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}],
    });
    let objects = || vec![role.clone(), binding("RoleBinding", "x", "Role", "x-role")];
    let world = play(granted(), objects(), &[]);
    assert_eq!(
        message(&world, "a"),
        "RoleBinding/default/x not found: rolebindings.rbac.authorization.k8s.io \"x-role\" not found"
    );
    let staged = play(
        granted(),
        objects(),
        &["--custom-apply-stage-kinds=rbac.authorization.k8s.io/Role"],
    );
    assert!(is_ready(&staged, "a"), "{:?}", ready(&staged, "a"));
    // Nobody hands out more than they have.
    let mut greedy = role.clone();
    greedy["rules"][0]["resources"] = json!(["secrets"]);
    let world = play(granted(), vec![greedy], &[]);
    assert!(message(&world, "a").contains("is attempting to grant RBAC permissions not currently held"));
}

#[test]
fn an_account_that_gets_its_binding_later_fails_until_then() {
    let spec = json!({"serviceAccountName": "deployer", "interval": "1h", "retryInterval": "2m"});
    let root = vec![
        account(),
        kustomization("a", spec),
        kustomization("late", json!({"dependsOn": [{"name": "before"}]})),
        kustomization("before", json!({})),
    ];
    let paths = [
        ("root", root),
        ("a", vec![config_map("a")]),
        ("before", vec![]),
        (
            "late",
            vec![binding("ClusterRoleBinding", "b", "ClusterRole", "cluster-admin")],
        ),
    ];
    let mut contents = contents("main@sha1:1", &paths);
    contents.granted.push(tier("deployer"));
    let mut world = world_of(Arc::new(contents), "2.9", 0);
    world.run_until_quiet(hour(1));
    assert_eq!(times_of(&world, "a", "Ready=False ReconciliationFailed").len(), 1);
    assert!(is_ready(&world, "a"));
}

#[test]
fn the_client_for_another_cluster_needs_its_kubeconfig() {
    // F-137: what git brings later is missed until then.
    let spec =
        json!({"kubeConfig": {"secretRef": {"name": "edge"}}, "interval": "1h", "retryInterval": "2m"});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "edge", "namespace": "flux-system"}});
    let root = vec![
        kustomization("a", spec),
        kustomization("late", json!({"dependsOn": [{"name": "before"}]})),
        kustomization("before", json!({})),
    ];
    let paths = [
        ("root", root),
        ("a", vec![config_map("a")]),
        ("before", vec![]),
        ("late", vec![secret]),
    ];
    let mut world = world_of(Arc::new(contents("main@sha1:1", &paths)), "2.9", 0);
    world.run_for(Duration::from_secs(20));
    assert_eq!(ready(&world, "a").1, "ReconciliationFailed");
    assert_eq!(
        message(&world, "a"),
        "failed to build kube client: unable to read KubeConfig secret 'flux-system/edge' error: secrets \"edge\" not found"
    );
    world.run_until_quiet(hour(1));
    assert!(is_ready(&world, "a"));
}

#[test]
fn variables_are_read_with_the_controllers_own_client() {
    // F-167: an account that may not read ConfigMaps of the Flux namespace does not hinder the build.
    let granted = vec![binding("RoleBinding", "b", "ClusterRole", "cluster-admin")];
    let mut world = play(granted, vec![config_map("a")], &[]);
    let reference = json!([{"kind": "ConfigMap", "name": "vars"}]);
    crate::patch(
        &mut world,
        "a",
        json!({"spec": {"postBuild": {"substituteFrom": reference}}}),
    );
    request(&mut world, "a", "1");
    world.run_for(Duration::from_secs(60));
    assert!(has(&world, "ConfigMap", "a"));
    assert_eq!(ready(&world, "a").0, "True");
}
