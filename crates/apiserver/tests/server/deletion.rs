//! Namespaces that terminate, finalizers, owners.

use firstpass_apiserver::Propagation;
use serde_json::json;

use super::*;

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "media"}})
}

#[test]
fn a_namespace_takes_its_contents_with_it() {
    // F-304
    let mut server = server();
    apply(&mut server, &namespace("media")).unwrap();
    assert!(exists(&server, "", "ServiceAccount", Some("media"), "default"));
    apply(&mut server, &config_map("a")).unwrap();
    delete(&mut server, &namespace("media"));
    assert_eq!(
        refused(&mut server, &config_map("b")),
        "configmaps \"b\" is forbidden: unable to create new content in namespace media because it is being terminated"
    );
    settle(&mut server);
    assert!(get(&server, &config_map("a")).is_none());
    assert!(get(&server, &namespace("media")).is_none());
}

#[test]
fn a_finalizer_holds_its_object_and_the_namespace() {
    let mut server = server();
    apply(&mut server, &namespace("media")).unwrap();
    let mut held = config_map("held");
    held["metadata"]["finalizers"] = json!(["example.com/keep"]);
    apply(&mut server, &held).unwrap();
    delete(&mut server, &namespace("media"));
    settle(&mut server);
    let live = get(&server, &held).unwrap();
    assert!(live.text_at(&["metadata", "deletionTimestamp"]).is_some());
    assert_eq!(
        get(&server, &namespace("media")).unwrap()["status"]["phase"],
        json!("Terminating")
    );
    let release = Request::Patch {
        target: Target::of(&held),
        patch: json!({"metadata": {"finalizers": null}}),
        manager: "keeper".into(),
    };
    server.call(&release).unwrap();
    assert!(get(&server, &held).is_none());
    settle(&mut server);
    assert!(get(&server, &namespace("media")).is_none());
}

fn owned_by(owner: &Value, name: &str, blocks: bool) -> Value {
    let mut object = config_map(name);
    object["metadata"]["ownerReferences"] = json!([{
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "blockOwnerDeletion": blocks,
    }]);
    object
}

fn family() -> (ApiServer, Value) {
    let mut server = server();
    apply(&mut server, &namespace("media")).unwrap();
    apply(&mut server, &config_map("owner")).unwrap();
    let owner = (*get(&server, &config_map("owner")).unwrap()).clone();
    apply(&mut server, &owned_by(&owner, "child", true)).unwrap();
    (server, owner)
}

fn delete_with(server: &mut ApiServer, object: &Value, propagation: Propagation) {
    server
        .call(&Request::Delete {
            target: Target::of(object),
            propagation,
            uid: None,
            by: "delete".into(),
        })
        .unwrap();
}

#[test]
fn background_the_owner_goes_first() {
    let (mut server, owner) = family();
    delete_with(&mut server, &owner, Propagation::Background);
    assert!(get(&server, &owner).is_none());
    assert!(get(&server, &config_map("child")).is_some());
    settle(&mut server);
    assert!(get(&server, &config_map("child")).is_none());
}

#[test]
fn foreground_the_owner_goes_last() {
    let (mut server, owner) = family();
    delete_with(&mut server, &owner, Propagation::Foreground);
    assert!(
        get(&server, &owner)
            .unwrap()
            .text_at(&["metadata", "deletionTimestamp"])
            .is_some()
    );
    settle(&mut server);
    assert!(get(&server, &config_map("child")).is_none());
    assert!(get(&server, &owner).is_none());
}

#[test]
fn orphans_stay() {
    let (mut server, owner) = family();
    delete_with(&mut server, &owner, Propagation::Orphan);
    settle(&mut server);
    assert!(get(&server, &owner).is_none());
    assert!(get(&server, &config_map("child")).is_some());
}

#[test]
fn an_owner_that_never_existed_dooms_its_dependents() {
    let (mut server, mut owner) = family();
    owner["metadata"]["uid"] = json!("someone-else");
    apply(&mut server, &owned_by(&owner, "stray", false)).unwrap();
    settle(&mut server);
    assert!(get(&server, &config_map("stray")).is_none());
    assert!(get(&server, &config_map("child")).is_some());
}

#[test]
fn an_aggregated_api_that_is_down_holds_namespaces() {
    let api = yaml(
        "apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: v1beta1.metrics.example.com}\n\
         spec: {group: metrics.example.com, version: v1beta1, groupPriorityMinimum: 100, versionPriority: 100, \
         service: {namespace: default, name: metrics}}",
    );
    let service = yaml(
        "apiVersion: v1\nkind: Service\nmetadata: {name: metrics, namespace: default}\nspec: {ports: [{port: 443}]}",
    );
    let namespace = yaml("apiVersion: v1\nkind: Namespace\nmetadata: {name: media}");
    let mut server = server();
    // A Service that nobody has seen is taken to answer.
    apply(&mut server, &api).unwrap();
    assert_eq!(server.unavailable_api(), None);
    apply(&mut server, &service).unwrap();
    assert_eq!(
        server.unavailable_api().unwrap().name,
        "v1beta1.metrics.example.com"
    );
    apply(&mut server, &namespace).unwrap();
    delete(&mut server, &namespace);
    settle(&mut server);
    let held = get(&server, &namespace).expect("the namespace stays");
    let condition = held.condition("NamespaceDeletionDiscoveryFailure").unwrap();
    assert_eq!(condition["reason"], "DiscoveryFailed");
    server.set_service_serving("default", "metrics", true);
    settle(&mut server);
    assert!(get(&server, &namespace).is_none());
    // Without the API there is nothing to wait for.
    server.set_service_serving("default", "metrics", false);
    apply(&mut server, &namespace).unwrap();
    delete(&mut server, &namespace);
    settle(&mut server);
    assert!(get(&server, &namespace).is_some());
    delete(&mut server, &api);
    settle(&mut server);
    assert!(get(&server, &namespace).is_none());
}
