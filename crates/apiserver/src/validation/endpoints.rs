//! Endpoints and EndpointSlices.

use std::collections::BTreeSet;

use firstpass_object::ObjectExt;
use serde_json::Value;

use super::{Checker, Path, names};

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

pub(super) fn check_endpoints(checker: &mut Checker<'_>, object: &Value) {
    let path = Path::ROOT.field("subsets");
    for (index, subset) in object.items_at(&["subsets"]).iter().enumerate() {
        let path = path.index(index);
        let lists = ["addresses", "notReadyAddresses"];
        if lists.iter().all(|list| subset.items_at(&[list]).is_empty()) {
            checker.required(path, "must specify `addresses` or `notReadyAddresses`");
        }
        for list in lists {
            let addresses = path.field(list);
            for (index, address) in subset.items_at(&[list]).iter().enumerate() {
                let path = addresses.index(index);
                let ip = address.text_at(&["ip"]).unwrap_or_default();
                checker.text(path.field("ip"), ip, names::ip(ip));
                if !names::ip(ip).is_empty() {
                    checker.invalid_text(path.field("ip"), ip, "must be a valid IP address");
                }
                if let Some(hostname) = address.text_at(&["hostname"]).filter(|name| !name.is_empty()) {
                    checker.text(path.field("hostname"), hostname, names::dns1123_label(hostname));
                }
                node(checker, address, &path);
            }
        }
        let ports = subset.items_at(&["ports"]);
        let ports_path = path.field("ports");
        for (index, port) in ports.iter().enumerate() {
            let path = ports_path.index(index);
            match port.text_at(&["name"]).unwrap_or_default() {
                "" if ports.len() > 1 => checker.required(path.field("name"), ""),
                "" => {}
                name => checker.text(path.field("name"), name, names::dns1123_label(name)),
            }
            let number = checker.number(port, "port").unwrap_or(0);
            for message in names::port_number(number) {
                checker.invalid(path.field("port"), &Value::from(number), message);
            }
            checker.field_one_of(port, &path, "protocol", &PROTOCOLS);
            app_protocol(checker, port, &path);
        }
    }
}

pub(super) fn check_slice(checker: &mut Checker<'_>, object: &Value) {
    let root = Path::ROOT;
    let family = object.text_at(&["addressType"]).unwrap_or_default();
    match family {
        "" => checker.required(root.field("addressType"), ""),
        other => checker.one_of(root.field("addressType"), other, &["FQDN", "IPv4", "IPv6"]),
    }
    let endpoints = root.field("endpoints");
    for (index, endpoint) in object.items_at(&["endpoints"]).iter().enumerate() {
        let path = endpoints.index(index);
        let addresses_path = path.field("addresses");
        let addresses = endpoint.items_at(&["addresses"]);
        if addresses.is_empty() {
            checker.required(addresses_path, "must contain at least 1 address");
        }
        for (index, address) in addresses.iter().enumerate() {
            let address = address.as_str().unwrap_or_default();
            let path = addresses_path.index(index);
            match family {
                "IPv4" | "IPv6" => {
                    let messages = names::ip(address);
                    let is_ip = messages.is_empty();
                    checker.text(path, address, messages);
                    if is_ip && address.contains(':') != (family == "IPv6") {
                        let message = format!("must be an {family} address");
                        checker.invalid_text(path, address, message);
                    }
                }
                "FQDN" => checker.text(path, address, names::dns1123_subdomain(address)),
                _ => {}
            }
        }
        node(checker, endpoint, &path);
        if let Some(hostname) = endpoint.text_at(&["hostname"]) {
            checker.text(path.field("hostname"), hostname, names::dns1123_label(hostname));
        }
    }
    let ports = root.field("ports");
    let mut seen = BTreeSet::new();
    for (index, port) in object.items_at(&["ports"]).iter().enumerate() {
        let path = ports.index(index);
        let name = port.text_at(&["name"]).unwrap_or_default();
        if !name.is_empty() {
            checker.text(path.field("name"), name, names::dns1123_label(name));
        }
        if !seen.insert(name) {
            checker.duplicate(path.field("name"), &Value::from(name));
        }
        checker.pointer_one_of(port, &path, "protocol", &PROTOCOLS);
        app_protocol(checker, port, &path);
    }
}

fn node(checker: &mut Checker<'_>, endpoint: &Value, path: &Path<'_>) {
    if let Some(node) = endpoint.text_at(&["nodeName"]) {
        checker.text(path.field("nodeName"), node, names::dns1123_subdomain(node));
    }
}

fn app_protocol(checker: &mut Checker<'_>, port: &Value, path: &Path<'_>) {
    if let Some(protocol) = port.text_at(&["appProtocol"]) {
        checker.text(
            path.field("appProtocol"),
            protocol,
            names::qualified_name(protocol),
        );
    }
}
