//! What the server adds to what is applied.

use serde_json::json;

use super::*;

#[test]
fn kstatus_reads_defaults() {
    let mut server = server();
    let deployment = yaml(
        "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}",
    );
    apply(&mut server, &deployment).unwrap();
    let live = get(&server, &deployment).unwrap();
    // F-520 waives Progressing only where no deadline is set: on a real server one always is.
    assert_eq!(live["spec"]["progressDeadlineSeconds"], json!(600));
    assert_eq!(live["spec"]["replicas"], json!(1));
    assert_eq!(apply(&mut server, &deployment), Ok(Outcome::Unchanged));
}

#[test]
fn services_get_an_address_and_keep_it() {
    // F-526
    let mut server = server();
    let service = |port: u32| {
        yaml(&format!(
            "{{apiVersion: v1, kind: Service, metadata: {{name: web, namespace: default}}, spec: {{type: LoadBalancer, ports: [{{port: {port}}}]}}}}"
        ))
    };
    apply(&mut server, &service(80)).unwrap();
    let address = get(&server, &service(80)).unwrap()["spec"]["clusterIP"].clone();
    assert!(
        address
            .as_str()
            .is_some_and(|address| address.starts_with("10.43."))
    );
    apply(&mut server, &service(81)).unwrap();
    assert_eq!(get(&server, &service(81)).unwrap()["spec"]["clusterIP"], address);
    let headless = yaml(
        "{apiVersion: v1, kind: Service, metadata: {name: db, namespace: default}, spec: {clusterIP: None}}",
    );
    apply(&mut server, &headless).unwrap();
    assert_eq!(
        get(&server, &headless).unwrap()["spec"]["clusterIP"],
        json!("None")
    );
}

#[test]
fn secrets_keep_texts_as_base64() {
    let mut server = server();
    let secret = yaml(
        "{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: default}, stringData: {key: value}}",
    );
    apply(&mut server, &secret).unwrap();
    let live = get(&server, &secret).unwrap();
    assert_eq!(live["data"], json!({"key": "dmFsdWU="}));
    assert_eq!(live.get("stringData"), None);
    assert_eq!(live["type"], json!("Opaque"));
    assert_eq!(apply(&mut server, &secret), Ok(Outcome::Unchanged));
}

#[test]
fn a_claim_takes_the_newest_default_class() {
    let mut server = server();
    let class = |name: &str, is_default: bool| {
        yaml(&format!(
            "{{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {{name: {name}, annotations: {{storageclass.kubernetes.io/is-default-class: '{is_default}'}}}}, provisioner: example.com/{name}}}"
        ))
    };
    let claim = |name: &str| {
        yaml(&format!(
            "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: {name}, namespace: default}}, spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}}}"
        ))
    };
    let class_of = |server: &ApiServer, name: &str| {
        get(server, &claim(name)).unwrap()["spec"]
            .get("storageClassName")
            .cloned()
    };
    apply(&mut server, &claim("early")).unwrap();
    assert_eq!(class_of(&server, "early"), None);
    apply(&mut server, &class("old", true)).unwrap();
    apply(&mut server, &class("other", false)).unwrap();
    server.advance(Time::from_secs(10));
    apply(&mut server, &claim("first")).unwrap();
    apply(&mut server, &class("new", true)).unwrap();
    apply(&mut server, &claim("second")).unwrap();
    assert_eq!(class_of(&server, "first"), Some(json!("old")));
    assert_eq!(class_of(&server, "second"), Some(json!("new")));
}
