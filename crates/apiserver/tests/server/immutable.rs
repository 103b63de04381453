//! What may not change. Each case applies two states of an object and gives the refusal of the second.

use super::*;

#[track_caller]
fn check(before: &str, after: &str, refusal: Option<&str>) {
    let mut server = server();
    apply(&mut server, &yaml(before)).expect("the first state is fine");
    match refusal {
        Some(refusal) => assert_eq!(refused(&mut server, &yaml(after)), refusal),
        None => assert_eq!(apply(&mut server, &yaml(after)), Ok(Outcome::Configured)),
    }
}

#[test]
fn the_template_of_a_job() {
    // F-244
    let job = |image: &str, parallelism: u32| {
        format!(
            "{{apiVersion: batch/v1, kind: Job, metadata: {{name: migrate, namespace: default}}, spec: {{parallelism: {parallelism}, template: {{spec: {{restartPolicy: Never, containers: [{{name: migrate, image: {image}}}]}}}}}}}}"
        )
    };
    check(
        &job("a", 1),
        &job("b", 1),
        Some(
            "Job.batch \"migrate\" is invalid: spec.template: Invalid value: {\"spec\":{\"containers\":[{\"image\":\"b\",\"name\":\"migrate\"}],\"restartPolicy\":\"Never\"}}: field is immutable",
        ),
    );
    check(&job("a", 1), &job("a", 2), None);
}

#[test]
fn selectors() {
    let deployment = |app: &str| {
        format!(
            "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, namespace: default}}, spec: {{selector: {{matchLabels: {{app: {app}}}}}, template: {{metadata: {{labels: {{app: {app}}}}}, spec: {{containers: [{{name: web, image: web}}]}}}}}}}}"
        )
    };
    check(
        &deployment("a"),
        &deployment("b"),
        Some(
            "Deployment.apps \"web\" is invalid: spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"b\"}}: field is immutable",
        ),
    );
}

#[test]
fn stateful_sets_but_for_some_fields() {
    let set = |service: &str, image: &str| {
        format!(
            "{{apiVersion: apps/v1, kind: StatefulSet, metadata: {{name: db, namespace: default}}, spec: {{serviceName: {service}, selector: {{matchLabels: {{app: db}}}}, template: {{metadata: {{labels: {{app: db}}}}, spec: {{containers: [{{name: db, image: {image}}}]}}}}}}}}"
        )
    };
    check(&set("a", "web:1"), &set("a", "web:2"), None);
    check(
        &set("a", "web:1"),
        &set("b", "web:1"),
        Some(
            "StatefulSet.apps \"db\" is invalid: spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        ),
    );
}

fn claim(class: &str, size: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: data, namespace: default}}, spec: {{storageClassName: {class}, accessModes: [ReadWriteOnce], resources: {{requests: {{storage: {size}}}}}}}}}"
    )
}

const CLAIM_IMMUTABLE: &str = "PersistentVolumeClaim \"data\" is invalid: spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";

#[test]
fn claims_before_and_after_binding() {
    check(&claim("a", "1Gi"), &claim("b", "1Gi"), Some(CLAIM_IMMUTABLE));
    check(&claim("a", "1Gi"), &claim("a", "2Gi"), Some(CLAIM_IMMUTABLE));
    let mut server = server();
    let object = yaml(&claim("a", "2Gi"));
    apply(&mut server, &object).unwrap();
    let bound = Request::PatchStatus {
        target: Target::of(&object),
        patch: serde_json::json!({"phase": "Bound"}),
        manager: "kube-controller-manager".into(),
    };
    server.call(&bound).unwrap();
    assert_eq!(
        apply(&mut server, &yaml(&claim("a", "3Gi"))),
        Ok(Outcome::Configured)
    );
    assert_eq!(
        refused(&mut server, &yaml(&claim("a", "1Gi"))),
        "PersistentVolumeClaim \"data\" is invalid: spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
    );
}

#[test]
fn addresses_of_services() {
    let service = |address: &str| {
        format!(
            "{{apiVersion: v1, kind: Service, metadata: {{name: web, namespace: default}}, spec: {{clusterIP: {address}, ports: [{{port: 80}}]}}}}"
        )
    };
    check(
        &service("10.43.1.1"),
        &service("None"),
        Some(
            "Service \"web\" is invalid: spec.clusterIPs[0]: Invalid value: [\"None\"]: may not change once set",
        ),
    );
}

#[test]
fn role_references_and_class_parameters() {
    let binding = |role: &str| {
        format!(
            "{{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {{name: a, namespace: default}}, roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: {role}}}}}"
        )
    };
    check(
        &binding("a"),
        &binding("b"),
        Some(
            "RoleBinding.rbac.authorization.k8s.io \"a\" is invalid: roleRef: Invalid value: {\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"Role\",\"name\":\"b\"}: cannot change roleRef",
        ),
    );
    let class = |replicas: u32| {
        format!(
            "{{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {{name: a}}, provisioner: driver.longhorn.io, parameters: {{numberOfReplicas: '{replicas}'}}}}"
        )
    };
    check(
        &class(2),
        &class(3),
        Some(
            "StorageClass.storage.k8s.io \"a\" is invalid: parameters: Forbidden: updates to parameters are forbidden.",
        ),
    );
}

#[test]
fn secrets_and_config_maps() {
    let secret = |kind: &str, value: &str| {
        format!(
            "{{apiVersion: v1, kind: Secret, metadata: {{name: a, namespace: default}}, type: {kind}, data: {{a: {value}}}}}"
        )
    };
    check(
        &secret("Opaque", "YQ=="),
        &secret("example.com/a", "YQ=="),
        Some("Secret \"a\" is invalid: type: Invalid value: \"example.com/a\": field is immutable"),
    );
    let config_map = |value: &str| {
        format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, namespace: default}}, immutable: true, data: {{a: {value}}}}}"
        )
    };
    check(
        &config_map("a"),
        &config_map("b"),
        Some("ConfigMap \"a\" is invalid: data: Forbidden: field is immutable when `immutable` is set"),
    );
}
