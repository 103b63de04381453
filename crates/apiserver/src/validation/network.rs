//! Services, Ingresses, NetworkPolicies.

use std::collections::BTreeSet;

use firstpass_object::ObjectExt;
use serde_json::Value;

use super::selector::label_selector;
use super::{Checker, Path, metadata, names};

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

pub(super) fn check_service(checker: &mut Checker<'_>, object: &Value) {
    let spec = &object["spec"];
    let path = Path::ROOT.field("spec");
    let text = |field: &str| spec.text_at(&[field]).unwrap_or_default();
    checker.field_one_of(
        spec,
        &path,
        "type",
        &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"],
    );
    let service_type = if text("type").is_empty() {
        "ClusterIP"
    } else {
        text("type")
    };
    let is_headless = text("clusterIP") == "None";
    match service_type {
        "ExternalName" => {
            let name = text("externalName").trim_end_matches('.');
            if name.is_empty() {
                checker.required(path.field("externalName"), "");
            } else {
                checker.text(path.field("externalName"), name, names::dns1123_subdomain(name));
            }
        }
        "LoadBalancer" | "NodePort" if is_headless => {
            checker.invalid_text(
                path.field("clusterIPs").index(0),
                "None",
                format!("may not be set to 'None' for {service_type} services"),
            );
        }
        _ => {
            if spec.items_at(&["ports"]).is_empty() && !is_headless {
                checker.required(path.field("ports"), "");
            }
        }
    }
    if !matches!(text("clusterIP"), "" | "None") {
        checker.text(
            path.field("clusterIPs").index(0),
            text("clusterIP"),
            names::ip(text("clusterIP")),
        );
    }
    metadata::labels(checker, &spec["selector"], &path.field("selector"));
    checker.field_one_of(spec, &path, "sessionAffinity", &["ClientIP", "None"]);
    checker.field_one_of(spec, &path, "internalTrafficPolicy", &["Cluster", "Local"]);
    if let Some(policy) = spec
        .text_at(&["externalTrafficPolicy"])
        .filter(|policy| !policy.is_empty())
    {
        if matches!(service_type, "LoadBalancer" | "NodePort") || !spec.items_at(&["externalIPs"]).is_empty()
        {
            checker.one_of(path.field("externalTrafficPolicy"), policy, &["Cluster", "Local"]);
        } else {
            checker.invalid_text(
                path.field("externalTrafficPolicy"),
                policy,
                "may only be set for externally-accessible services",
            );
        }
    }
    let ranges = path.field("loadBalancerSourceRanges");
    for (index, range) in spec.items_at(&["loadBalancerSourceRanges"]).iter().enumerate() {
        let range = range.as_str().unwrap_or_default().trim();
        checker.text(ranges.index(index), range, names::cidr(range));
    }
    let addresses = path.field("externalIPs");
    for (index, address) in spec.items_at(&["externalIPs"]).iter().enumerate() {
        let address = address.as_str().unwrap_or_default();
        checker.text(addresses.index(index), address, names::ip(address));
    }
    service_ports(checker, spec, &path.field("ports"));
}

fn service_ports(checker: &mut Checker<'_>, spec: &Value, path: &Path<'_>) {
    let ports = spec.items_at(&["ports"]);
    let mut seen_names = BTreeSet::new();
    let mut seen_ports = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let path = path.index(index);
        match port.text_at(&["name"]).unwrap_or_default() {
            "" if ports.len() > 1 => checker.required(path.field("name"), ""),
            "" => {}
            name => {
                checker.text(path.field("name"), name, names::dns1123_label(name));
                if !seen_names.insert(name) {
                    checker.duplicate(path.field("name"), &Value::from(name));
                }
            }
        }
        checker.field_one_of(port, &path, "protocol", &PROTOCOLS);
        match port.get("port") {
            None | Some(Value::Null) => checker.required(path.field("port"), ""),
            Some(number) => {
                for message in number.as_i64().map(names::port_number).unwrap_or_default() {
                    checker.invalid(path.field("port"), number, message);
                }
                let protocol = port.text_at(&["protocol"]).unwrap_or("TCP");
                if let Some(number) = number.as_i64()
                    && !seen_ports.insert((number, protocol))
                {
                    checker.push(
                        path,
                        format!("Duplicate value: {{\"port\":{number},\"protocol\":\"{protocol}\"}}"),
                    );
                }
            }
        }
        match &port["targetPort"] {
            Value::String(name) => checker.text(path.field("targetPort"), name, names::port_name(name)),
            number => {
                for message in number
                    .as_i64()
                    .filter(|n| *n != 0)
                    .map(names::port_number)
                    .unwrap_or_default()
                {
                    checker.invalid(path.field("targetPort"), number, message);
                }
            }
        }
        if let Some(number) = port
            .get("nodePort")
            .and_then(Value::as_i64)
            .filter(|number| *number != 0)
            && !(30000..=32767).contains(&number)
        {
            checker.invalid(
                path.field("nodePort"),
                &Value::from(number),
                "provided port is not in the valid range. The range of valid ports is 30000-32767",
            );
        }
    }
}

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
        match item.text_at(&["pathType"]).unwrap_or_default() {
            "" => checker.required(path.field("pathType"), "pathType must be specified"),
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
        (false, true) => return,
        (false, false) => {
            checker.required(path, "port name or number is required");
            return;
        }
        (true, false) => {}
    }
    let path = path.field("service");
    if let Some(name) = checker.required_text(service, &path, "name") {
        checker.text(path.field("name"), name, names::dns1035_label(name));
    }
    let port = &service["port"];
    let port_path = path.field("port");
    match (
        port.text_at(&["name"]).unwrap_or_default(),
        port["number"].as_i64().unwrap_or(0),
    ) {
        ("", 0) if port["number"].is_string() => {}
        ("", 0) => checker.required(path, "port name or number is required"),
        ("", number) => {
            for message in names::port_number(number) {
                checker.invalid(port_path.field("number"), &Value::from(number), message);
            }
        }
        (name, 0) => checker.text(port_path.field("name"), name, names::port_name(name)),
        _ => checker.invalid_text(path, "", "cannot set both port name & port number"),
    }
}

pub(super) fn check_policy(checker: &mut Checker<'_>, object: &Value) {
    let spec = &object["spec"];
    let path = Path::ROOT.field("spec");
    label_selector(checker, &spec["podSelector"], &path.field("podSelector"));
    let types = path.field("policyTypes");
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
        checker.field_one_of(port, &path, "protocol", &PROTOCOLS);
        match &port["port"] {
            Value::String(name) => checker.text(path.field("port"), name, names::port_name(name)),
            number => {
                for message in number.as_i64().map(names::port_number).unwrap_or_default() {
                    checker.invalid(path.field("port"), number, message);
                }
            }
        }
        if let Some(end) = port["endPort"].as_i64()
            && port["port"].as_i64().is_some_and(|start| end < start)
        {
            checker.invalid(
                path.field("endPort"),
                &Value::from(end),
                "must be greater than or equal to `port`",
            );
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
