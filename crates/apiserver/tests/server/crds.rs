//! Kinds that come and go with their CRDs.

use firstpass_apiserver::{CrdSketch, Delays, Duration, Scope};
use serde_json::json;

use super::*;

fn sketch() -> CrdSketch {
    CrdSketch {
        group: "cdi.kubevirt.io".into(),
        kind: "StorageProfile".into(),
        plural: None,
        scope: Scope::Cluster,
        versions: vec!["v1beta1".into()],
    }
}

fn profile() -> Value {
    json!({"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "StorageProfile", "metadata": {"name": "longhorn"}, "spec": {}})
}

#[test]
fn a_kind_is_known_when_discovery_lists_it() {
    // F-224, F-229
    let mut server = ApiServer::new(Options {
        minor: 36,
        delays: Delays {
            discovery_lag: Duration::from_millis(200),
            ..Delays::default()
        },
    });
    let crd = sketch().to_crd();
    apply(&mut server, &crd).unwrap();
    assert!(apply(&mut server, &profile()).unwrap_err().is_no_kind_match());
    let established = server.next_wakeup().unwrap();
    server.advance(established);
    assert!(get(&server, &crd).unwrap().condition_is_true("Established"));
    assert!(
        apply(&mut server, &profile()).unwrap_err().is_no_kind_match(),
        "discovery lags behind"
    );
    settle(&mut server);
    assert_eq!(apply(&mut server, &profile()), Ok(Outcome::Created));
}

#[test]
fn the_objects_of_a_crd_go_with_it() {
    // F-416
    let mut server = server();
    let crd = sketch().to_crd();
    apply(&mut server, &crd).unwrap();
    settle(&mut server);
    apply(&mut server, &profile()).unwrap();
    delete(&mut server, &crd);
    assert!(get(&server, &crd).is_some(), "it waits for its objects");
    settle(&mut server);
    assert!(get(&server, &profile()).is_none());
    assert!(get(&server, &crd).is_none());
    assert!(apply(&mut server, &profile()).unwrap_err().is_no_kind_match());
    // F-226: a client that knows the path gets a plain 404.
    let request = Request::Apply(Apply::forced(Arc::new(profile()), "kustomize-controller"));
    let error = server.execute(&request).unwrap_err();
    assert_eq!(error.message, "the server could not find the requested resource");
}

#[test]
fn a_kind_that_is_taken_is_not_accepted() {
    let mut server = server();
    apply(&mut server, &sketch().to_crd()).unwrap();
    settle(&mut server);
    let rival = CrdSketch {
        plural: Some("profiles".into()),
        ..sketch()
    }
    .to_crd();
    apply(&mut server, &rival).unwrap();
    settle(&mut server);
    let rival = get(&server, &rival).unwrap();
    assert!(!rival.condition_is_true("NamesAccepted"));
    assert!(!rival.condition_is_true("Established"));
}

fn versions(list: &[(&str, bool)]) -> Value {
    let mut crd = sketch().to_crd();
    // A CRD as a project ships it.
    crd["metadata"] = json!({"name": sketch().crd_name()});
    crd["spec"]["versions"] = list
        .iter()
        .map(|(name, storage)| {
            json!({
                "name": name, "served": true, "storage": storage,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            })
        })
        .collect();
    crd
}

fn profile_in(version: &str) -> Value {
    json!({"apiVersion": format!("cdi.kubevirt.io/{version}"), "kind": "StorageProfile", "metadata": {"name": "longhorn"}, "spec": {}})
}

#[test]
fn an_object_is_the_same_in_all_versions() {
    let mut server = server();
    apply(&mut server, &versions(&[("v1beta1", true), ("v1", false)])).unwrap();
    settle(&mut server);
    apply(&mut server, &profile_in("v1beta1")).unwrap();
    // Only the record of who owns what changes.
    assert_eq!(apply(&mut server, &profile_in("v1")), Ok(Outcome::Configured));
    assert_eq!(apply(&mut server, &profile_in("v1")), Ok(Outcome::Unchanged));
    let read = server.call(&Request::Get(Target::of(&profile_in("v1")))).unwrap();
    assert_eq!(read.object().unwrap().api_version(), "cdi.kubevirt.io/v1");
    assert_eq!(read.object().unwrap()["metadata"]["generation"], json!(1));
}

#[test]
fn a_storage_version_must_stay() {
    let mut server = server();
    apply(&mut server, &versions(&[("v1alpha1", true)])).unwrap();
    settle(&mut server);
    apply(&mut server, &versions(&[("v1alpha1", false), ("v1beta1", true)])).unwrap();
    let crd = get(&server, &sketch().to_crd()).unwrap();
    assert_eq!(crd["status"]["storedVersions"], json!(["v1alpha1", "v1beta1"]));
    let refusal = refused(&mut server, &versions(&[("v1beta1", true)]));
    assert!(
        refusal.starts_with(
            "CustomResourceDefinition.apiextensions.k8s.io \"storageprofiles.cdi.kubevirt.io\" is invalid: status.storedVersions[0]: Invalid value: \"v1alpha1\": missing from spec.versions"
        ),
        "{refusal}"
    );
}

#[test]
fn a_version_that_nobody_converts_cannot_be_had() {
    let mut server = server();
    let mut crd = versions(&[("v1", true), ("v1beta1", false)]);
    crd["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": "cdi", "name": "cdi-api", "path": "/convert"}},
    }});
    apply(&mut server, &crd).unwrap();
    settle(&mut server);
    assert_eq!(
        refused(&mut server, &profile_in("v1beta1")),
        "conversion webhook for cdi.kubevirt.io/v1beta1, Kind=StorageProfile failed: Post \"https://cdi-api.cdi.svc:443/convert?timeout=30s\": service \"cdi-api\" not found"
    );
    apply(&mut server, &profile_in("v1")).expect("the stored version takes no conversion");
    server.set_service_serving("cdi", "cdi-api", true);
    apply(&mut server, &profile_in("v1beta1")).expect("somebody converts now");
}

#[test]
fn a_real_crd_may_differ_from_the_sketch_before_it() {
    let mut server = server();
    apply(&mut server, &sketch().to_crd()).unwrap();
    settle(&mut server);
    let real = Apply::forced(Arc::new(versions(&[("v1", true)])), "helm");
    server.call(&Request::Apply(real)).unwrap();
    settle(&mut server);
    apply(&mut server, &profile_in("v1")).unwrap();
}
