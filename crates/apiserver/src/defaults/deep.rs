//! Defaults that nobody stores here, and that count all the same when two states of an object are compared: to the real
//! server an object that writes a default out is the same as one that leaves it open.

use firstpass_object::ObjectExt;
use serde_json::{Map, Value, json};

use super::{open, open_text};

const RBAC: &str = "rbac.authorization.k8s.io";

/// Fills in all that an object of a built-in kind leaves open. It has the defaults of [`super::set`] already.
pub(crate) fn complete(object: &mut Value) {
    let gvk = object.gvk();
    let Value::Object(fields) = object else { return };
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("", "Pod") => pod_spec(in_map(fields, "spec")),
        ("", "Service") => service(in_map(fields, "spec")),
        ("", "Endpoints") => {
            for subset in maps(fields, "subsets") {
                maps(subset, "ports").for_each(|port| open_text(port, "protocol", "TCP"));
            }
        }
        ("discovery.k8s.io", "EndpointSlice") => {
            maps(fields, "ports").for_each(|port| open_text(port, "protocol", "TCP"));
        }
        ("apps", kind) => workload(in_map(fields, "spec"), kind),
        ("batch", "Job") => job(in_map(fields, "spec")),
        ("batch", "CronJob") => {
            let spec = in_map(fields, "spec");
            open(spec, "successfulJobsHistoryLimit", || json!(3));
            open(spec, "failedJobsHistoryLimit", || json!(1));
            template(in_map(in_map(in_map(spec, "jobTemplate"), "spec"), "template"));
        }
        (RBAC, "RoleBinding" | "ClusterRoleBinding") => {
            open_text(in_map(fields, "roleRef"), "apiGroup", RBAC);
            for subject in maps(fields, "subjects") {
                if subject.get("kind") != Some(&json!("ServiceAccount")) {
                    open_text(subject, "apiGroup", RBAC);
                }
            }
        }
        ("networking.k8s.io", "NetworkPolicy") => network_policy(in_map(fields, "spec")),
        ("autoscaling", "HorizontalPodAutoscaler") => {
            let behavior = in_map(in_map(fields, "spec"), "behavior");
            for rules in behavior.values_mut().filter_map(Value::as_object_mut) {
                open(rules, "selectPolicy", || json!("Max"));
            }
        }
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => {
            maps(fields, "webhooks").for_each(webhook);
        }
        ("apiregistration.k8s.io", "APIService") => {
            if let Some(service) = in_map(fields, "spec")
                .get_mut("service")
                .and_then(Value::as_object_mut)
            {
                open(service, "port", || json!(443));
            }
        }
        _ => {}
    }
}

/// A map in a map, made if it is missing.
fn in_map<'m>(fields: &'m mut Map<String, Value>, name: &str) -> &'m mut Map<String, Value> {
    let place = fields.entry(name.to_owned()).or_insert(Value::Null);
    if !place.is_object() {
        *place = json!({});
    }
    place.as_object_mut().expect("made one above")
}

/// The maps in a list.
fn maps<'m>(
    fields: &'m mut Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = &'m mut Map<String, Value>> {
    let items = fields.get_mut(name).and_then(Value::as_array_mut);
    items.into_iter().flatten().filter_map(Value::as_object_mut)
}

fn service(spec: &mut Map<String, Value>) {
    let kind = spec
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    if kind != "ExternalName" {
        open(spec, "internalTrafficPolicy", || json!("Cluster"));
    }
    if matches!(kind.as_str(), "LoadBalancer" | "NodePort") {
        open_text(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        open(spec, "allocateLoadBalancerNodePorts", || json!(true));
    }
    if spec.get("sessionAffinity") == Some(&json!("ClientIP")) {
        let client = in_map(in_map(spec, "sessionAffinityConfig"), "clientIP");
        open(client, "timeoutSeconds", || json!(10800));
    }
}

fn workload(spec: &mut Map<String, Value>, kind: &str) {
    template(in_map(spec, "template"));
    if kind != "ReplicaSet" {
        open(spec, "revisionHistoryLimit", || json!(10));
    }
    match kind {
        "Deployment" => {
            let strategy = in_map(spec, "strategy");
            if strategy.get("type") == Some(&json!("RollingUpdate")) {
                let rolling = in_map(strategy, "rollingUpdate");
                open(rolling, "maxUnavailable", || json!("25%"));
                open(rolling, "maxSurge", || json!("25%"));
            }
        }
        "DaemonSet" => {
            let strategy = in_map(spec, "updateStrategy");
            open_text(strategy, "type", "RollingUpdate");
            if strategy.get("type") == Some(&json!("RollingUpdate")) {
                let rolling = in_map(strategy, "rollingUpdate");
                open(rolling, "maxUnavailable", || json!(1));
                open(rolling, "maxSurge", || json!(0));
            }
        }
        "StatefulSet" => {
            let retention = in_map(spec, "persistentVolumeClaimRetentionPolicy");
            open_text(retention, "whenDeleted", "Retain");
            open_text(retention, "whenScaled", "Retain");
            for claim in maps(spec, "volumeClaimTemplates") {
                open(in_map(claim, "spec"), "volumeMode", || json!("Filesystem"));
                open(claim, "apiVersion", || json!("v1"));
                open(claim, "kind", || json!("PersistentVolumeClaim"));
            }
        }
        _ => {}
    }
}

fn job(spec: &mut Map<String, Value>) {
    open(spec, "completionMode", || json!("NonIndexed"));
    open(spec, "manualSelector", || json!(false));
    let has_policy = spec.get("podFailurePolicy").is_some_and(Value::is_object);
    let replacement = if has_policy {
        "Failed"
    } else {
        "TerminatingOrFailed"
    };
    open(spec, "podReplacementPolicy", || json!(replacement));
    if has_policy {
        for rule in maps(in_map(spec, "podFailurePolicy"), "rules") {
            maps(rule, "onPodConditions").for_each(|condition| open_text(condition, "status", "True"));
        }
    }
    template(in_map(spec, "template"));
}

fn network_policy(spec: &mut Map<String, Value>) {
    for direction in ["ingress", "egress"] {
        for rule in maps(spec, direction) {
            maps(rule, "ports").for_each(|port| open(port, "protocol", || json!("TCP")));
        }
    }
    let has_egress = spec
        .get("egress")
        .and_then(Value::as_array)
        .is_some_and(|rules| !rules.is_empty());
    let types = if has_egress {
        json!(["Ingress", "Egress"])
    } else {
        json!(["Ingress"])
    };
    open(spec, "policyTypes", || types);
}

fn webhook(webhook: &mut Map<String, Value>) {
    open(webhook, "failurePolicy", || json!("Fail"));
    open(webhook, "matchPolicy", || json!("Equivalent"));
    open(webhook, "timeoutSeconds", || json!(10));
    open(webhook, "namespaceSelector", || json!({}));
    open(webhook, "objectSelector", || json!({}));
    open(webhook, "reinvocationPolicy", || json!("Never"));
    maps(webhook, "rules").for_each(|rule| open(rule, "scope", || json!("*")));
    let client = in_map(webhook, "clientConfig");
    if let Some(service) = client.get_mut("service").and_then(Value::as_object_mut) {
        open(service, "port", || json!(443));
    }
}

fn template(template: &mut Map<String, Value>) {
    pod_spec(in_map(template, "spec"));
}

fn pod_spec(spec: &mut Map<String, Value>) {
    open_text(spec, "restartPolicy", "Always");
    open_text(spec, "dnsPolicy", "ClusterFirst");
    open_text(spec, "schedulerName", "default-scheduler");
    open(spec, "terminationGracePeriodSeconds", || json!(30));
    open(spec, "securityContext", || json!({}));
    open(spec, "enableServiceLinks", || json!(true));
    // The old name of the field always says the same.
    let account = spec.get("serviceAccountName").cloned();
    match account.or_else(|| spec.get("serviceAccount").cloned()) {
        Some(account) if account != "" => {
            spec.insert("serviceAccountName".to_owned(), account.clone());
            spec.insert("serviceAccount".to_owned(), account);
        }
        _ => {}
    }
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        maps(spec, list).for_each(container);
    }
    maps(spec, "volumes").for_each(volume);
}

fn container(container: &mut Map<String, Value>) {
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    let name = image.rsplit('/').next().unwrap_or_default();
    let is_latest = !name.contains('@') && name.split_once(':').is_none_or(|(_, tag)| tag == "latest");
    let policy = if is_latest { "Always" } else { "IfNotPresent" };
    open_text(container, "imagePullPolicy", policy);
    open_text(container, "terminationMessagePath", "/dev/termination-log");
    open_text(container, "terminationMessagePolicy", "File");
    open(container, "resources", || json!({}));
    maps(container, "ports").for_each(|port| open_text(port, "protocol", "TCP"));
    for variable in maps(container, "env") {
        if let Some(source) = variable.get_mut("valueFrom").and_then(Value::as_object_mut) {
            field_source(source);
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(name).and_then(Value::as_object_mut) {
            open(probe, "timeoutSeconds", || json!(1));
            open(probe, "periodSeconds", || json!(10));
            open(probe, "successThreshold", || json!(1));
            open(probe, "failureThreshold", || json!(3));
            handler(probe);
        }
    }
    if let Some(lifecycle) = container.get_mut("lifecycle").and_then(Value::as_object_mut) {
        lifecycle
            .values_mut()
            .filter_map(Value::as_object_mut)
            .for_each(handler);
    }
}

fn handler(handler: &mut Map<String, Value>) {
    if let Some(get) = handler.get_mut("httpGet").and_then(Value::as_object_mut) {
        open_text(get, "path", "/");
        open_text(get, "scheme", "HTTP");
    }
    if let Some(grpc) = handler.get_mut("grpc").and_then(Value::as_object_mut) {
        open(grpc, "service", || json!(""));
    }
}

/// Where a variable or a file gets its content from, of the pod's own fields.
fn field_source(source: &mut Map<String, Value>) {
    if let Some(field) = source.get_mut("fieldRef").and_then(Value::as_object_mut) {
        open_text(field, "apiVersion", "v1");
    }
    if let Some(resource) = source.get_mut("resourceFieldRef").and_then(Value::as_object_mut) {
        open(resource, "divisor", || json!("0"));
    }
}

fn volume(volume: &mut Map<String, Value>) {
    if volume.keys().all(|name| name == "name") {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
    for (name, source) in volume.iter_mut() {
        let Value::Object(source) = source else { continue };
        match name.as_str() {
            "secret" | "configMap" => open(source, "defaultMode", || json!(420)),
            "downwardAPI" => {
                open(source, "defaultMode", || json!(420));
                maps(source, "items").for_each(field_source);
            }
            "projected" => {
                open(source, "defaultMode", || json!(420));
                for part in maps(source, "sources") {
                    if let Some(token) = part.get_mut("serviceAccountToken").and_then(Value::as_object_mut) {
                        open(token, "expirationSeconds", || json!(3600));
                    }
                    if let Some(down) = part.get_mut("downwardAPI").and_then(Value::as_object_mut) {
                        maps(down, "items").for_each(field_source);
                    }
                }
            }
            "hostPath" => open(source, "type", || json!("")),
            "ephemeral" => {
                let claim = in_map(in_map(source, "volumeClaimTemplate"), "spec");
                open(claim, "volumeMode", || json!("Filesystem"));
            }
            _ => {}
        }
    }
}
