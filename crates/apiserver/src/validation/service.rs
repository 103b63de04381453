//! Services.

use std::collections::BTreeSet;

use firstpass_object::ObjectExt;
use serde_json::Value;

use super::{Checker, Path, metadata, names};

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30000..=32767;

pub(super) fn check(checker: &mut Checker<'_>, object: &Value) {
    let spec = &object["spec"];
    let path = Path::ROOT.field("spec");
    let text = |field: &str| spec.text_at(&[field]).unwrap_or_default();
    checker.field_one_of(spec, &path, "type", &TYPES);
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
    addresses(checker, spec, &path);
    metadata::labels(checker, &spec["selector"], &path.field("selector"));
    affinity(checker, spec, &path);
    load_balancer(checker, spec, &path, service_type);
    traffic(checker, spec, &path, service_type);
    ports(checker, spec, &path.field("ports"), service_type);
}

fn addresses(checker: &mut Checker<'_>, spec: &Value, path: &Path<'_>) {
    let address = spec.text_at(&["clusterIP"]).unwrap_or_default();
    if !matches!(address, "" | "None") {
        checker.text(path.field("clusterIPs").index(0), address, names::ip(address));
    }
    let families = path.field("ipFamilies");
    let mut seen = BTreeSet::new();
    for (index, family) in spec.items_at(&["ipFamilies"]).iter().enumerate() {
        let family = family.as_str().unwrap_or_default();
        checker.one_of(families.index(index), family, &["IPv4", "IPv6"]);
        if !seen.insert(family) {
            checker.duplicate(families.index(index), &Value::from(family));
        }
    }
    checker.pointer_one_of(
        spec,
        path,
        "ipFamilyPolicy",
        &["PreferDualStack", "RequireDualStack", "SingleStack"],
    );
    let external = path.field("externalIPs");
    for (index, address) in spec.items_at(&["externalIPs"]).iter().enumerate() {
        let address = address.as_str().unwrap_or_default();
        checker.text(external.index(index), address, names::ip(address));
    }
}

fn affinity(checker: &mut Checker<'_>, spec: &Value, path: &Path<'_>) {
    checker.field_one_of(spec, path, "sessionAffinity", &["ClientIP", "None"]);
    let path = path.field("sessionAffinityConfig");
    let path = path.field("clientIP");
    let client = &spec["sessionAffinityConfig"]["clientIP"];
    if let Some(seconds) = checker
        .number(client, "timeoutSeconds")
        .filter(|seconds| !(1..=86400).contains(seconds))
    {
        checker.invalid(
            path.field("timeoutSeconds"),
            &Value::from(seconds),
            "must be greater than 0 and less than 86400",
        );
    }
}

fn load_balancer(checker: &mut Checker<'_>, spec: &Value, path: &Path<'_>, service_type: &str) {
    let is_balanced = service_type == "LoadBalancer";
    let only = "may only be used when `type` is 'LoadBalancer'";
    // Kubernetes writes this one with a capital letter.
    let ranges_path = path.field("LoadBalancerSourceRanges");
    let ranges = spec.items_at(&["loadBalancerSourceRanges"]);
    if !ranges.is_empty() && !is_balanced {
        checker.forbidden(ranges_path, only);
    }
    for (index, range) in ranges.iter().enumerate().filter(|_| is_balanced) {
        let range = range.as_str().unwrap_or_default().trim();
        checker.text(ranges_path.index(index), range, names::cidr(range));
    }
    let class_path = path.field("loadBalancerClass");
    for field in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
        if !is_balanced && spec.get(field).is_some_and(|value| !value.is_null()) {
            checker.forbidden(path.field(field), only);
        }
    }
    if let Some(class) = spec.text_at(&["loadBalancerClass"]).filter(|_| is_balanced) {
        checker.text(class_path, class, names::qualified_name(class));
    }
}

fn traffic(checker: &mut Checker<'_>, spec: &Value, path: &Path<'_>, service_type: &str) {
    checker.pointer_one_of(spec, path, "internalTrafficPolicy", &["Cluster", "Local"]);
    checker.pointer_one_of(
        spec,
        path,
        "trafficDistribution",
        &["PreferClose", "PreferSameZone", "PreferSameNode"],
    );
    let policy = spec.text_at(&["externalTrafficPolicy"]).unwrap_or_default();
    let is_external = matches!(service_type, "LoadBalancer" | "NodePort");
    if !policy.is_empty() {
        let path = path.field("externalTrafficPolicy");
        if is_external || !spec.items_at(&["externalIPs"]).is_empty() {
            checker.one_of(path, policy, &["Cluster", "Local"]);
        } else {
            checker.invalid_text(path, policy, "may only be set for externally-accessible services");
        }
    }
    if let Some(number) = checker
        .number(spec, "healthCheckNodePort")
        .filter(|number| *number != 0)
    {
        let path = path.field("healthCheckNodePort");
        for message in names::port_number(number) {
            checker.invalid(path, &Value::from(number), message);
        }
        if service_type != "LoadBalancer" || policy != "Local" {
            let message =
                "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            checker.invalid(path, &Value::from(number), message);
        }
    }
}

fn ports(checker: &mut Checker<'_>, spec: &Value, path: &Path<'_>, service_type: &str) {
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
        if let Some(protocol) = port.text_at(&["appProtocol"]) {
            checker.text(
                path.field("appProtocol"),
                protocol,
                names::qualified_name(protocol),
            );
        }
        let number = checker.number(port, "port").unwrap_or(0);
        if !port["port"].is_string() {
            for message in names::port_number(number) {
                checker.invalid(path.field("port"), &Value::from(number), message);
            }
            let protocol = port.text_at(&["protocol"]).unwrap_or("TCP");
            if !seen_ports.insert((number, protocol)) {
                checker.push(
                    path,
                    format!("Duplicate value: {{\"port\":{number},\"protocol\":\"{protocol}\"}}"),
                );
            }
        }
        match &port["targetPort"] {
            Value::String(name) if name.is_empty() => {}
            Value::String(name) => checker.text(path.field("targetPort"), name, names::port_name(name)),
            Value::Null if number != 0 => {}
            _ => {
                let target = checker.number(port, "targetPort").unwrap_or(0);
                let is_open = target == 0 && number != 0;
                for message in names::port_number(target).into_iter().filter(|_| !is_open) {
                    checker.invalid(path.field("targetPort"), &Value::from(target), message);
                }
            }
        }
        if let Some(number) = checker.number(port, "nodePort").filter(|number| *number != 0) {
            if service_type == "ClusterIP" {
                checker.forbidden(
                    path.field("nodePort"),
                    "may not be used when `type` is 'ClusterIP'",
                );
            } else if !NODE_PORTS.contains(&number) {
                checker.invalid(
                    path.field("nodePort"),
                    &Value::from(number),
                    "provided port is not in the valid range. The range of valid ports is 30000-32767",
                );
            }
        }
    }
}
