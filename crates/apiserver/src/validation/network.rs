//! Ingresses and NetworkPolicies.

use firstpass_object::ObjectExt;
use serde_json::Value;

use super::selector::label_selector;
use super::{Checker, Path, names};

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

pub(super) fn check_ingress(checker: &mut Checker<'_>, object: &Value) {
    let spec = &object["spec"];
    let path = Path::ROOT.field("spec");
    let rules = spec.items_at(&["rules"]);
    if rules.is_empty() && !spec["defaultBackend"].is_object() {
        let shown = if spec.is_null() {
            "{}".to_owned()
        } else {
            spec.to_string()
        };
        checker.push(
            path,
            format!("Invalid value: {shown}: either `defaultBackend` or `rules` must be specified"),
        );
    }
    if spec["defaultBackend"].is_object() {
        backend(checker, &spec["defaultBackend"], &path.field("defaultBackend"));
    }
    if let Some(class) = spec.text_at(&["ingressClassName"]) {
        checker.text(
            path.field("ingressClassName"),
            class,
            names::dns1123_subdomain(class),
        );
    }
    let rules_path = path.field("rules");
    for (index, rule) in rules.iter().enumerate() {
        let path = rules_path.index(index);
        host(
            checker,
            rule.text_at(&["host"]).unwrap_or_default(),
            &path.field("host"),
        );
        if rule["http"].is_object() {
            let http = path.field("http");
            paths(checker, &rule["http"], &http);
        }
    }
    let tls_path = path.field("tls");
    for (index, tls) in spec.items_at(&["tls"]).iter().enumerate() {
        let path = tls_path.index(index);
        let hosts = path.field("hosts");
        for (index, name) in tls.items_at(&["hosts"]).iter().enumerate() {
            let name = name.as_str().unwrap_or_default();
            checker.text(hosts.index(index), name, host_messages(name));
        }
        if let Some(secret) = tls.text_at(&["secretName"]).filter(|secret| !secret.is_empty()) {
            checker.text(path.field("secretName"), secret, names::dns1123_subdomain(secret));
        }
    }
}

fn host_messages(host: &str) -> Vec<String> {
    if host.contains('*') {
        names::wildcard_subdomain(host)
    } else {
        names::dns1123_subdomain(host)
    }
}

fn host(checker: &mut Checker<'_>, host: &str, path: &Path<'_>) {
    if host.is_empty() {
        return;
    }
    if names::ip(host).is_empty() {
        checker.invalid_text(path, host, "must be a DNS name, not an IP address");
    } else {
        checker.text(path, host, host_messages(host));
    }
}

fn paths(checker: &mut Checker<'_>, http: &Value, path: &Path<'_>) {
    let list = path.field("paths");
    let paths = http.items_at(&["paths"]);
    if paths.is_empty() {
        checker.required(list, "");
    }
    for (index, item) in paths.iter().enumerate() {
        let path = list.index(index);
        let text = item.text_at(&["path"]).unwrap_or_default();
        let Some(path_type) = item.text_at(&["pathType"]) else {
            checker.required(path.field("pathType"), "pathType must be specified");
            continue;
        };
        match path_type {
            "Exact" | "Prefix" => exact_path(checker, text, &path.field("path")),
            "ImplementationSpecific" if text.is_empty() || text.starts_with('/') => {}
            "ImplementationSpecific" => {
                checker.invalid_text(path.field("path"), text, "must be an absolute path");
            }
            other => checker.one_of(
                path.field("pathType"),
                other,
                &["Exact", "ImplementationSpecific", "Prefix"],
            ),
        }
        backend(checker, &item["backend"], &path.field("backend"));
    }
}

fn exact_path(checker: &mut Checker<'_>, text: &str, path: &Path<'_>) {
    if !text.starts_with('/') {
        checker.invalid_text(path, text, "must be an absolute path");
    }
    for sequence in ["//", "/./", "/../", "%2f", "%2F"] {
        if text.contains(sequence) {
            checker.invalid_text(path, text, format!("must not contain '{sequence}'"));
        }
    }
    for suffix in ["/..", "/."] {
        if text.ends_with(suffix) {
            checker.invalid_text(path, text, format!("cannot end with '{suffix}'"));
        }
    }
}

fn backend(checker: &mut Checker<'_>, backend: &Value, path: &Path<'_>) {
    let service = &backend["service"];
    match (service.is_object(), backend["resource"].is_object()) {
        (true, true) => {
            checker.invalid_text(path, "", "cannot set both resource and service backends");
            return;
        }
        (false, true) => return typed_reference(checker, &backend["resource"], &path.field("resource")),
        (false, false) => {
            checker.invalid_text(path, "", "resource or service backend is required");
            return;
        }
        (true, false) => {}
    }
    let backend_path = path;
    let path = path.field("service");
    if let Some(name) = checker.required_text(service, &path, "name") {
        let messages = if checker.minor < 36 {
            names::dns1035_label(name)
        } else {
            names::dns1123_label(name)
        };
        checker.text(path.field("name"), name, messages);
    }
    let port = &service["port"];
    let port_path = path.field("port");
    match (
        port.text_at(&["name"]).unwrap_or_default(),
        checker.number(port, "number").unwrap_or(0),
    ) {
        ("", 0) if port["number"].is_string() => {}
        ("", 0) => checker.required(backend_path, "port name or number is required"),
        ("", number) => {
            for message in names::port_number(number) {
                checker.invalid(port_path.field("number"), &Value::from(number), message);
            }
        }
        (name, 0) => checker.text(port_path.field("name"), name, names::port_name(name)),
        _ => checker.invalid_text(backend_path, "", "cannot set both port name & port number"),
    }
}

/// A reference to an object of any kind, without its namespace.
fn typed_reference(checker: &mut Checker<'_>, reference: &Value, path: &Path<'_>) {
    if let Some(group) = reference.text_at(&["apiGroup"]) {
        checker.text(path.field("apiGroup"), group, names::dns1123_subdomain(group));
    }
    for field in ["kind", "name"] {
        if let Some(text) = checker.required_text(reference, path, field) {
            checker.text(path.field(field), text, names::path_segment(text));
        }
    }
}

pub(super) fn check_ingress_class(checker: &mut Checker<'_>, object: &Value) {
    let spec = &object["spec"];
    let path = Path::ROOT.field("spec");
    if let Some(controller) = checker.required_text(spec, &path, "controller") {
        let path = path.field("controller");
        match controller.split_once('/') {
            Some((domain, rest)) if !rest.is_empty() => {
                checker.text(path, domain, names::dns1123_subdomain(domain));
            }
            _ => checker.invalid_text(
                path,
                controller,
                "must be a domain-prefixed path (such as \"acme.io/foo\")",
            ),
        }
        if controller.len() > 250 {
            checker.push(path, "Too long: may not be more than 250 bytes");
        }
    }
    let parameters = &spec["parameters"];
    if !parameters.is_object() {
        return;
    }
    let path = path.field("parameters");
    typed_reference(checker, parameters, &path);
    let namespace = parameters.text_at(&["namespace"]);
    let at = path.field("namespace");
    match parameters.text_at(&["scope"]).unwrap_or("Cluster") {
        "Cluster" if namespace.is_some() => {
            checker.forbidden(at, "`parameters.scope` is set to 'Cluster'");
        }
        "Cluster" => {}
        "Namespace" => match namespace {
            None => checker.required(at, "`parameters.scope` is set to 'Namespace'"),
            Some(namespace) => checker.text(at, namespace, names::dns1123_label(namespace)),
        },
        other => checker.one_of(path.field("scope"), other, &["Cluster", "Namespace"]),
    }
}

pub(super) fn check_policy(checker: &mut Checker<'_>, object: &Value) {
    let spec = &object["spec"];
    let path = Path::ROOT.field("spec");
    label_selector(checker, &spec["podSelector"], &path.field("podSelector"));
    let types = path.field("policyTypes");
    if spec.items_at(&["policyTypes"]).len() > 2 {
        checker.invalid(
            types,
            &spec["policyTypes"],
            "may not specify more than two policyTypes",
        );
    }
    for (index, policy_type) in spec.items_at(&["policyTypes"]).iter().enumerate() {
        checker.one_of(
            types.index(index),
            policy_type.as_str().unwrap_or_default(),
            &["Egress", "Ingress"],
        );
    }
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        let rules = path.field(direction);
        for (index, rule) in spec.items_at(&[direction]).iter().enumerate() {
            let path = rules.index(index);
            policy_ports(checker, &rule["ports"], &path.field("ports"));
            let peers_path = path.field(peers);
            for (index, peer) in rule.items_at(&[peers]).iter().enumerate() {
                policy_peer(checker, peer, &peers_path.index(index));
            }
        }
    }
}

fn policy_ports(checker: &mut Checker<'_>, ports: &Value, path: &Path<'_>) {
    for (index, port) in ports.as_array().into_iter().flatten().enumerate() {
        let path = path.index(index);
        checker.pointer_one_of(port, &path, "protocol", &PROTOCOLS);
        match &port["port"] {
            Value::String(name) => checker.text(path.field("port"), name, names::port_name(name)),
            number => {
                for message in number.as_i64().map(names::port_number).unwrap_or_default() {
                    checker.invalid(path.field("port"), number, message);
                }
            }
        }
        if let Some(end) = checker.number(port, "endPort") {
            let path = path.field("endPort");
            match &port["port"] {
                Value::Null => checker.invalid(
                    path,
                    &Value::from(end),
                    "may not be specified when `port` is not specified",
                ),
                Value::String(_) => checker.invalid(
                    path,
                    &Value::from(end),
                    "may not be specified when `port` is non-numeric",
                ),
                start if start.as_i64().is_some_and(|start| end < start) => {
                    checker.invalid(path, start, "must be greater than or equal to `port`");
                }
                _ => {}
            }
            if !port["port"].is_null() {
                for message in names::port_number(end) {
                    checker.invalid(path, &Value::from(end), message);
                }
            }
        }
    }
}

fn policy_peer(checker: &mut Checker<'_>, peer: &Value, path: &Path<'_>) {
    let has = |field: &str| peer.get(field).is_some_and(|value| !value.is_null());
    let has_selector = has("podSelector") || has("namespaceSelector");
    match (has("ipBlock"), has_selector) {
        (false, false) => checker.required(path, "must specify a peer"),
        (true, true) => checker.forbidden(path, "may not specify both ipBlock and another peer"),
        (true, false) => {
            let block = &peer["ipBlock"];
            let path = path.field("ipBlock");
            if let Some(cidr) = checker.required_text(block, &path, "cidr") {
                checker.text(path.field("cidr"), cidr, names::cidr(cidr));
            }
            let except = path.field("except");
            for (index, cidr) in block.items_at(&["except"]).iter().enumerate() {
                let cidr = cidr.as_str().unwrap_or_default();
                checker.text(except.index(index), cidr, names::cidr(cidr));
            }
        }
        (false, true) => {
            for field in ["podSelector", "namespaceSelector"] {
                label_selector(checker, &peer[field], &path.field(field));
            }
        }
    }
}
