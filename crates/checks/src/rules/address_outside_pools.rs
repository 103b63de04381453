//! A pinned load-balancer address that is in no pool of the cluster.

use std::net::Ipv4Addr;

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_object::ObjectExt;
use firstpass_render::{RenderedObject, Tier};
use serde_json::Value;

use crate::input::At as _;
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "address-outside-pools",
    summary: "a load balancer that asks for an address which no address pool of the cluster has",
    severity: Severity::Warning,
    verdict: Some(Verdict::Hazard),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/address-outside-pools.md"),
    check,
};

/// The annotations by which Cilium and MetalLB are asked for addresses.
const PINS: [&str; 3] = [
    "lbipam.cilium.io/ips",
    "metallb.io/loadBalancerIPs",
    "metallb.universe.tf/loadBalancerIPs",
];

/// Addresses from the first to the last, both included.
#[derive(Clone, Copy)]
struct Range(u32, u32);

fn check(input: &Context<'_>) -> Vec<Finding> {
    let unknowns = &input.graph.unknowns;
    if !unknowns.tiers.is_empty() || !unknowns.makers.is_empty() || unknowns.bootstrap {
        return Vec::new();
    }
    let Some(pools) = pools(input).filter(|pools| !pools.is_empty()) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for (tier, object) in input.cluster.objects() {
        for (address, path) in pinned(&object.object) {
            let number = u32::from(address);
            if !pools.iter().any(|pool| (pool.0..=pool.1).contains(&number)) {
                findings.push(finding(input, tier, object, address, &path, &pools));
            }
        }
    }
    findings
}

/// The ranges of all pools; nothing if one of them cannot be read.
fn pools(input: &CheckInput<'_>) -> Option<Vec<Range>> {
    let mut pools = Vec::new();
    for (_, object) in input.cluster.objects() {
        let content = &*object.object;
        let id = object.id();
        if id.is("metallb.io", "IPAddressPool") {
            for entry in content.items_at(&["spec", "addresses"]) {
                pools.extend(range(entry.as_str()?)?);
            }
        } else if id.is("cilium.io", "CiliumLoadBalancerIPPool") {
            for block in ["blocks", "cidrs"]
                .iter()
                .flat_map(|list| content.items_at(&["spec", list]))
            {
                let text = match (block.text_at(&["cidr"]), block.text_at(&["start"])) {
                    (Some(network), _) => network.to_owned(),
                    (None, Some(start)) => {
                        format!("{start}-{}", block.text_at(&["stop"]).unwrap_or(start))
                    }
                    (None, None) => return None,
                };
                pools.extend(range(&text)?);
            }
        }
    }
    Some(pools)
}

/// `a-b`, a network or one address. The outer `None` is a text that says nothing, the inner one an IPv6 range.
#[expect(
    clippy::option_option,
    reason = "unreadable and of no concern are two answers"
)]
fn range(text: &str) -> Option<Option<Range>> {
    if text.contains("::") {
        return Some(None);
    }
    if let Some((first, last)) = text.split_once('-') {
        let number = |text: &str| text.trim().parse::<Ipv4Addr>().ok().map(u32::from);
        return Some(Some(Range(number(first)?, number(last)?)));
    }
    let (base, bits) = text.trim().split_once('/').unwrap_or((text.trim(), "32"));
    let base = u32::from(base.parse::<Ipv4Addr>().ok()?);
    let bits: u32 = bits.parse().ok().filter(|bits| *bits <= 32)?;
    let hosts = u32::MAX.checked_shr(bits).unwrap_or(0);
    Some(Some(Range(base & !hosts, base | hosts)))
}

/// The IPv4 addresses that an object asks for, and where it says so.
fn pinned(object: &Value) -> Vec<(Ipv4Addr, Vec<String>)> {
    let is_service = object.kind() == "Service" && object.api_version() == "v1";
    let annotations: &[&str] = match object.kind() {
        "Service" if is_service => &["metadata", "annotations"],
        "Gateway" if object.api_version().starts_with("gateway.networking.k8s.io/") => {
            &["spec", "infrastructure", "annotations"]
        }
        _ => return Vec::new(),
    };
    let balances = object.text_at(&["spec", "type"]) == Some("LoadBalancer");
    let by_another = object.at(&["spec", "loadBalancerClass"]).is_some();
    if is_service && (!balances || by_another) {
        return Vec::new();
    }
    let place = |path: &[&str]| path.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>();
    let mut texts: Vec<(&str, Vec<String>)> = Vec::new();
    for pin in PINS {
        let path: Vec<&str> = annotations.iter().copied().chain([pin]).collect();
        texts.extend(object.text_at(&path).map(|text| (text, place(&path))));
    }
    if is_service {
        let path = ["spec", "loadBalancerIP"];
        texts.extend(object.text_at(&path).map(|text| (text, place(&path))));
    }
    texts
        .into_iter()
        .flat_map(|(text, path)| {
            let addresses = text.split(',').filter_map(|part| part.trim().parse().ok());
            addresses
                .map(move |address| (address, path.clone()))
                .collect::<Vec<_>>()
        })
        .collect()
}

fn finding(
    input: &CheckInput<'_>,
    tier: &Tier,
    object: &RenderedObject,
    address: Ipv4Addr,
    path: &[String],
    pools: &[Range],
) -> Finding {
    let id = object.id();
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let ranges: Vec<String> = pools
        .iter()
        .map(|pool| format!("{} to {}", Ipv4Addr::from(pool.0), Ipv4Addr::from(pool.1)))
        .collect();
    RULE.finding(format!(
        "`{id}` asks for {address}, which is in no address pool of the cluster"
    ))
    .with_tier(&tier.name)
    .with_object(&id)
    .with_why(format!(
        "a load balancer gives addresses of its pools alone ({}). The object never gets one, nobody answers at {address}, and Flux \
         is green all the same: it does not look at the address of a Service",
        ranges.join(", ")
    ))
    .with_help("correct the address, or widen the pool")
    .at(input.repository.locate(&object.origin, &path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_the_balancers_write_them() {
        let table = [
            ("192.0.2.10-192.0.2.20", Some((0xC000_020A, 0xC000_0214))),
            ("192.0.2.0/30", Some((0xC000_0200, 0xC000_0203))),
            ("192.0.2.7", Some((0xC000_0207, 0xC000_0207))),
            ("0.0.0.0/0", Some((0, u32::MAX))),
        ];
        for (text, expected) in table {
            let found = range(text).flatten().map(|range| (range.0, range.1));
            assert_eq!(found, expected, "{text}");
        }
        assert!(range("2001:db8::/64").is_some_and(|range| range.is_none()));
        assert!(range("${POOL}").is_none());
    }
}
