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
