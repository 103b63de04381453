//! Server-side apply and what comes with it.

use firstpass_apiserver::{Cursor, EventType, Operation};
use serde_json::json;

use super::*;

fn config_map(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "default"}, "data": data})
}

fn deployment(containers: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}},
        },
    })
}

#[test]
fn created_configured_unchanged() {
    let mut server = server();
    assert_eq!(
        apply(&mut server, &config_map(&json!({"a": "1"}))),
        Ok(Outcome::Created)
    );
    assert_eq!(
        apply(&mut server, &config_map(&json!({"a": "1"}))),
        Ok(Outcome::Unchanged)
    );
    assert_eq!(
        apply(&mut server, &config_map(&json!({"a": "2"}))),
        Ok(Outcome::Configured)
    );
    assert_eq!(
        apply(&mut server, &config_map(&json!({"b": "2"}))),
        Ok(Outcome::Configured)
    );
    let live = get(&server, &config_map(&json!({}))).unwrap();
    assert_eq!(live["data"], json!({"b": "2"}), "what we no longer state goes");
}

#[test]
fn a_dry_run_answers_and_stores_nothing() {
    let mut server = server();
    let before = server.log().head();
    let response = dry_run(&mut server, &config_map(&json!({"a": "1"}))).unwrap();
    assert_eq!(response.outcome(), Some(Outcome::Created));
    let object = response.object().unwrap();
    // F-217: "created" is read off the missing resource version.
    assert_eq!(object.text_at(&["metadata", "resourceVersion"]), None);
    assert!(object.text_at(&["metadata", "uid"]).is_some());
    assert_eq!(get(&server, object), None);
    assert_eq!(server.log().head(), before);
}

#[test]
fn fields_of_other_managers_survive() {
    // F-219, F-245
    let mut server = server();
    apply(&mut server, &config_map(&json!({"ours": "1"}))).unwrap();
    let theirs = Apply::forced(Arc::new(config_map(&json!({"theirs": "1"}))), "somebody");
    server.call(&Request::Apply(theirs)).unwrap();
    apply(&mut server, &config_map(&json!({}))).unwrap();
    let live = get(&server, &config_map(&json!({}))).unwrap();
    assert_eq!(live["data"], json!({"theirs": "1"}));
}

#[test]
fn without_force_a_field_of_another_manager_is_a_conflict() {
    let mut server = server();
    apply(&mut server, &config_map(&json!({"a": "1", "b": "1"}))).unwrap();
    let attempt = |data: Value| {
        let mut apply = Apply::forced(Arc::new(config_map(&data)), "somebody");
        apply.force = false;
        Request::Apply(apply)
    };
    let error = server.call(&attempt(json!({"a": "2"}))).unwrap_err();
    assert_eq!(error.code, 409);
    assert_eq!(
        error.message,
        "Apply failed with 1 conflict: conflict with \"kustomize-controller\": .data.a"
    );
    let error = server.call(&attempt(json!({"a": "2", "b": "2"}))).unwrap_err();
    assert_eq!(
        error.message,
        "Apply failed with 2 conflicts: conflicts with \"kustomize-controller\":\n- .data.a\n- .data.b"
    );
    // Stating the same value is shared ownership, not a conflict.
    server.call(&attempt(json!({"a": "1"}))).unwrap();
    let forced = Apply::forced(Arc::new(config_map(&json!({"a": "2"}))), "somebody");
    server.call(&Request::Apply(forced)).unwrap();
    let managers = server.managers(&config_map(&json!({})).id()).unwrap();
    let ours = managers.get("kustomize-controller", Operation::Apply).unwrap();
    let paths: Vec<String> = ours
        .fields
        .paths()
        .iter()
        .map(|path| path.iter().map(ToString::to_string).collect())
        .collect();
    assert_eq!(paths, [".data.b"]);
}

#[test]
fn keyed_lists_merge_by_their_keys() {
    let mut server = server();
    let web = json!({"name": "web", "image": "web:1", "ports": [{"containerPort": 80}]});
    apply(&mut server, &deployment(&json!([web]))).unwrap();
    let sidecar = deployment(&json!([{"name": "proxy", "image": "proxy:1"}]));
    server
        .call(&Request::Apply(Apply::forced(Arc::new(sidecar), "injector")))
        .unwrap();
    let web = json!({"name": "web", "image": "web:2", "ports": [{"containerPort": 80}]});
    assert_eq!(
        apply(&mut server, &deployment(&json!([web]))),
        Ok(Outcome::Configured)
    );
    let live = get(&server, &deployment(&json!([]))).unwrap();
    let images: Vec<&str> = live
        .items_at(&["spec", "template", "spec", "containers"])
        .iter()
        .filter_map(|container| container.text_at(&["image"]))
        .collect();
    assert_eq!(images, ["web:2", "proxy:1"]);
}

#[test]
fn an_item_we_drop_goes_unless_another_owns_part_of_it() {
    let mut server = server();
    let containers = |names: &[&str]| {
        let items: Vec<Value> = names
            .iter()
            .map(|name| json!({"name": name, "image": "x"}))
            .collect();
        deployment(&Value::Array(items))
    };
    apply(&mut server, &containers(&["a", "b", "c"])).unwrap();
    let theirs = deployment(&json!([{"name": "b", "image": "x", "tty": true}]));
    server
        .call(&Request::Apply(Apply::forced(Arc::new(theirs), "somebody")))
        .unwrap();
    apply(&mut server, &containers(&["a"])).unwrap();
    let live = get(&server, &containers(&[])).unwrap();
    let left = live.items_at(&["spec", "template", "spec", "containers"]);
    assert_eq!(left.len(), 2);
    assert_eq!(left[1], json!({"name": "b", "image": "x", "tty": true}));
}

#[test]
fn generation_counts_what_is_wanted() {
    let mut server = server();
    let object = deployment(&json!([{"name": "web", "image": "web:1"}]));
    apply(&mut server, &object).unwrap();
    let generation = |server: &ApiServer| get(server, &object).unwrap()["metadata"]["generation"].as_u64();
    assert_eq!(generation(&server), Some(1));
    let status = Request::PatchStatus {
        target: Target::of(&object),
        patch: json!({"observedGeneration": 1}),
        manager: "kube-controller-manager".into(),
    };
    server.call(&status).unwrap();
    let mut labelled = object.clone();
    labelled["metadata"]["labels"] = json!({"a": "b"});
    apply(&mut server, &labelled).unwrap();
    assert_eq!(generation(&server), Some(1), "neither status nor metadata count");
    apply(
        &mut server,
        &deployment(&json!([{"name": "web", "image": "web:2"}])),
    )
    .unwrap();
    assert_eq!(generation(&server), Some(2));
    let live = get(&server, &object).unwrap();
    assert_eq!(
        live["status"]["observedGeneration"],
        json!(1),
        "an apply leaves the status alone"
    );
}

#[test]
fn events_tell_what_happened_in_order() {
    let mut server = server();
    let start = server.log().head();
    apply(&mut server, &config_map(&json!({"a": "1"}))).unwrap();
    apply(&mut server, &config_map(&json!({"a": "1"}))).unwrap();
    apply(&mut server, &config_map(&json!({"a": "2"}))).unwrap();
    delete(&mut server, &config_map(&json!({})));
    let seen: Vec<EventType> = server.events_since(start).map(|event| event.event_type).collect();
    assert_eq!(seen, [EventType::Added, EventType::Modified, EventType::Deleted]);
    let event = server.events_since(Cursor(start.0 + 1)).next().unwrap();
    assert_eq!(event.previous.as_ref().unwrap()["data"]["a"], json!("1"));
}

#[test]
fn paths_that_are_not_there() {
    let mut server = server();
    // F-300, F-302, F-221
    let no_namespace = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    assert_eq!(
        refused(&mut server, &no_namespace),
        "the server could not find the requested resource"
    );
    let missing =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "media"}});
    assert_eq!(refused(&mut server, &missing), "namespaces \"media\" not found");
    let unknown =
        json!({"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "StorageProfile", "metadata": {"name": "a"}});
    assert_eq!(
        refused(&mut server, &unknown),
        "no matches for kind \"StorageProfile\" in version \"cdi.kubevirt.io/v1beta1\""
    );
    let gone =
        json!({"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "a"}});
    assert_eq!(
        refused(&mut server, &gone),
        "no matches for kind \"PodDisruptionBudget\" in version \"policy/v1beta1\""
    );
}

#[test]
fn a_namespace_on_a_cluster_scoped_object_disappears() {
    // F-217
    let mut server = server();
    let object = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "reader", "namespace": "media"}, "rules": [],
    });
    apply(&mut server, &object).unwrap();
    let live = server
        .object(&ObjectId::new(
            "rbac.authorization.k8s.io",
            "ClusterRole",
            None,
            "reader",
        ))
        .unwrap();
    assert_eq!(live.namespace(), None);
}

#[test]
fn managers_hand_over_their_fields() {
    // F-246: after the hand-over the next apply removes what git does not state.
    let mut server = server();
    let create = Request::Create {
        object: Arc::new(config_map(&json!({"a": "1", "by-hand": "1"}))),
        manager: "kubectl-create".into(),
    };
    server.call(&create).unwrap();
    let id = config_map(&json!({})).id();
    assert!(server.absorb_managers(&id, "kustomize-controller", |entry| {
        entry.name.starts_with("kubectl")
    }));
    apply(&mut server, &config_map(&json!({"a": "1"}))).unwrap();
    assert_eq!(server.object(&id).unwrap()["data"], json!({"a": "1"}));
}

#[test]
fn forks_do_not_meet() {
    let mut server = server();
    apply(&mut server, &config_map(&json!({"a": "1"}))).unwrap();
    let mut fork = server.clone();
    apply(&mut fork, &config_map(&json!({"a": "2"}))).unwrap();
    assert_eq!(
        get(&server, &config_map(&json!({}))).unwrap()["data"]["a"],
        json!("1")
    );
    assert_eq!(
        get(&fork, &config_map(&json!({}))).unwrap()["data"]["a"],
        json!("2")
    );
}
