//! Admission webhooks that nobody answers.

use firstpass_apiserver::{Cause, Webhook};
use serde_json::json;

use super::*;

fn configuration(policy: &str) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "guard"},
        "webhooks": [{
            "name": "guard.example.com",
            "failurePolicy": policy,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {"namespace": "default", "name": "guard", "path": "/validate"}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}],
            "namespaceSelector": {"matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]},
            ]},
        }],
    })
}

fn config_map(namespace: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": namespace}})
}

#[test]
fn a_webhook_nobody_serves_refuses_what_it_watches() {
    let mut server = server();
    apply(&mut server, &configuration("Fail")).unwrap();
    let error = apply(&mut server, &config_map("default")).unwrap_err();
    assert_eq!(error.cause, Some(Cause::WebhookUnreachable));
    assert_eq!(
        error.message,
        "Internal error occurred: failed calling webhook \"guard.example.com\": failed to call webhook: \
         Post \"https://guard.default.svc:443/validate?timeout=10s\": service \"guard\" not found"
    );
    apply(&mut server, &config_map("kube-system")).expect("the selector leaves this namespace out");
    server.set_service_serving("default", "guard", true);
    apply(&mut server, &config_map("default")).expect("somebody answers now");
}

#[test]
fn a_webhook_that_fails_open_refuses_nothing() {
    let mut server = server();
    apply(&mut server, &configuration("Ignore")).unwrap();
    apply(&mut server, &config_map("default")).unwrap();
}

#[test]
fn webhooks_of_charts_are_registered_without_objects() {
    let mut server = server();
    server.register_webhook(Webhook {
        name: "guard.example.com".into(),
        service: Some(("guard".into(), "guard".into())),
        path: "/".into(),
        fails_closed: true,
        rules: vec![json!({"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["configmaps"]})],
        namespace_selector: None,
        object_selector: None,
        match_conditions: vec![],
        is_exact: false,
        timeout_s: 10,
    });
    assert!(apply(&mut server, &config_map("default")).is_err());
    server.remove_webhook("guard.example.com");
    apply(&mut server, &config_map("default")).unwrap();
}

#[test]
fn match_conditions_leave_requests_out() {
    let with = |expression: &str| {
        let mut configuration = configuration("Fail");
        configuration["webhooks"][0]["matchConditions"] = json!([{"name": "c", "expression": expression}]);
        let mut server = server();
        apply(&mut server, &configuration).unwrap();
        apply(&mut server, &config_map("default")).is_err()
    };
    for (expression, is_asked) in [
        (
            "request.resource.group == '' && object.metadata.name == 'a'",
            true,
        ),
        ("request.resource.resource != 'configmaps'", false),
        ("!('system:nodes' in request.userInfo.groups)", true),
        ("request.operation == 'CREATE' && oldObject == null", true),
        (
            "has(object.metadata.labels) && 'a' in object.metadata.labels",
            false,
        ),
        // Beyond us, and so no refusal.
        (
            "authorizer.group('').resource('pods').check('get').allowed()",
            false,
        ),
    ] {
        assert_eq!(with(expression), is_asked, "{expression}");
    }
}
