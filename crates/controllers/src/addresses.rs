//! Load-balancer addresses: who gets which of a pool, in the order in which they ask.
//!
//! Cilium's LB IPAM and MetalLB both give the address that an object pins, if it is free and in a pool, and else the lowest
//! free one (Cilium `operator/pkg/lbipam`, MetalLB `internal/allocator`). So an object that pins nothing gets what is left
//! when it comes, and may take what another one pins.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

use firstpass_apiserver::{Request, Target, Time};
use firstpass_object::{GroupKind, ObjectExt, ObjectId};
use serde_json::{Value, json};

use crate::context::{Context, Controller};
use crate::timers::Timers;

const ACTOR: &str = "load-balancer";

/// Annotations by which a Service pins its addresses.
const PINS: [&str; 5] = [
    "lbipam.cilium.io/ips",
    "io.cilium/lb-ipam-ips",
    "metallb.io/loadBalancerIPs",
    "metallb.universe.tf/loadBalancerIPs",
    "kube-vip.io/loadbalancerIPs",
];

/// Pools larger than this many addresses are cut off: nobody fills them.
const POOL_MAX: u32 = 4096;

/// The model of address pools.
#[derive(Clone, Debug, Default)]
pub struct AddressController {
    timers: Timers<ObjectId>,
    claims: BTreeMap<ObjectId, AddressClaim>,
}

/// An object that wants an address of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressClaim {
    /// The addresses that it pins.
    pub pins: Vec<Ipv4Addr>,
    /// The address that it got.
    pub got: Option<Ipv4Addr>,
    /// The pool that it came from.
    pub pool: Option<ObjectId>,
    /// Who has the pinned address already.
    pub taken_by: Option<ObjectId>,
}

/// The addresses of a pool, lowest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// The object that declares it.
    pub id: ObjectId,
    /// Its ranges, both ends included.
    pub ranges: Vec<(Ipv4Addr, Ipv4Addr)>,
    /// Whether it only serves those who pin an address of it.
    pinned_only: bool,
}

impl Pool {
    /// Whether an address is one of the pool's.
    pub fn holds(&self, address: Ipv4Addr) -> bool {
        self.ranges
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&address))
    }
}

impl AddressController {
    /// Who wants an address, and what became of it.
    pub fn claims(&self) -> &BTreeMap<ObjectId, AddressClaim> {
        &self.claims
    }

    fn plan(&mut self, id: &ObjectId, context: &Context<'_>) {
        let delay = context.delays.delay("load-balancer-address", &id.to_string(), 0);
        self.timers.set(context.now + delay, id.clone());
    }

    fn assign(&mut self, id: &ObjectId, context: &mut Context<'_>) {
        let Some(object) = context.server.object(id).cloned() else {
            return;
        };
        let Some(mut claim) = self.claims.get(id).filter(|claim| claim.got.is_none()).cloned() else {
            return;
        };
        let used: BTreeMap<Ipv4Addr, &ObjectId> = self
            .claims
            .iter()
            .filter_map(|(id, claim)| Some((claim.got?, id)))
            .collect();
        let pools = pools(context);
        let found = match claim.pins.first() {
            Some(pin) => {
                claim.taken_by = used.get(pin).map(|id| (*id).clone());
                let free = claim.taken_by.is_none();
                let pool = pools.iter().find(|pool| pool.holds(*pin)).filter(|_| free);
                pool.map(|pool| (*pin, pool.id.clone()))
            }
            None => pools
                .iter()
                .filter(|pool| !pool.pinned_only)
                .find_map(|pool| Some((lowest_free(pool, &used)?, pool.id.clone()))),
        };
        if let Some((address, pool)) = found {
            claim.got = Some(address);
            claim.pool = Some(pool);
            context.note(ACTOR, id, format!("got {address}"));
            let patch = if id.kind == "Service" {
                json!({"loadBalancer": {"ingress": [{"ip": address.to_string()}]}})
            } else {
                json!({"addresses": [{"type": "IPAddress", "value": address.to_string()}]})
            };
            let request = Request::PatchStatus {
                target: Target::of(&object),
                patch,
                manager: ACTOR.into(),
            };
            let _gone_meanwhile = context.server.call(&request);
        } else if let Some(holder) = &claim.taken_by {
            context.note(
                ACTOR,
                id,
                format!("gets no address: `{holder}` has the one that it pins"),
            );
        }
        self.claims.insert(id.clone(), claim);
    }
}

fn lowest_free(pool: &Pool, used: &BTreeMap<Ipv4Addr, &ObjectId>) -> Option<Ipv4Addr> {
    pool.ranges.iter().find_map(|(first, last)| {
        let (first, last) = (u32::from(*first), u32::from(*last));
        let last = last.min(first.saturating_add(POOL_MAX));
        (first..=last)
            .map(Ipv4Addr::from)
            .find(|address| !used.contains_key(address))
    })
}

/// The pools of the cluster, in the order in which they are asked: by name.
fn pools(context: &Context<'_>) -> Vec<Pool> {
    let kinds = [
        GroupKind::new("cilium.io", "CiliumLoadBalancerIPPool"),
        GroupKind::new("metallb.io", "IPAddressPool"),
    ];
    let objects = kinds.iter().flat_map(|kind| context.server.objects(kind, None));
    objects.filter_map(|(id, object)| pool(id, object)).collect()
}

/// A pool, if it is open to everybody: one with a selector is left out, since nobody here evaluates it.
fn pool(id: &ObjectId, object: &Value) -> Option<Pool> {
    let spec = object.get("spec")?;
    if spec.get("serviceSelector").is_some()
        || spec.get("serviceAllocation").is_some()
        || spec.get("disabled") == Some(&Value::Bool(true))
    {
        return None;
    }
    let blocks = ["blocks", "cidrs"]
        .into_iter()
        .flat_map(|field| spec.items_at(&[field]));
    let of_cilium = blocks.filter_map(|block| match block.text_at(&["cidr"]) {
        Some(cidr) => range(cidr),
        None => Some((
            block.text_at(&["start"])?.parse().ok()?,
            block.text_at(&["stop"])?.parse().ok()?,
        )),
    });
    let of_metallb = spec
        .items_at(&["addresses"])
        .iter()
        .filter_map(|range_text| range(range_text.as_str()?));
    let ranges: Vec<(Ipv4Addr, Ipv4Addr)> = of_cilium
        .chain(of_metallb)
        .filter(|(first, last)| first <= last)
        .collect();
    (!ranges.is_empty()).then(|| Pool {
        id: id.clone(),
        ranges,
        pinned_only: spec.get("autoAssign") == Some(&Value::Bool(false)),
    })
}

/// `10.0.0.0/24` or `10.0.0.1-10.0.0.9`.
fn range(text: &str) -> Option<(Ipv4Addr, Ipv4Addr)> {
    if let Some((first, last)) = text.split_once('-') {
        return Some((first.trim().parse().ok()?, last.trim().parse().ok()?));
    }
    let (address, length) = text.split_once('/')?;
    let (address, length): (Ipv4Addr, u32) = (address.trim().parse().ok()?, length.trim().parse().ok()?);
    let mask = u32::MAX.checked_shl(32_u32.checked_sub(length)?).unwrap_or(0);
    let first = u32::from(address) & mask;
    Some((Ipv4Addr::from(first), Ipv4Addr::from(first | !mask)))
}

/// What an object asks for: `None` if it wants no address of a pool.
fn wants(object: &Value) -> Option<Vec<Ipv4Addr>> {
    let id = object.id();
    let parse = |text: &str| -> Vec<Ipv4Addr> {
        text.split(',')
            .filter_map(|one| one.trim().parse().ok())
            .collect()
    };
    if id.is("", "Service") {
        let is_balanced = object.text_at(&["spec", "type"]) == Some("LoadBalancer");
        // A class of its own is served by somebody else.
        if !is_balanced {
            return None;
        }
        let field = object.text_at(&["spec", "loadBalancerIP"]);
        let annotation = PINS.iter().find_map(|name| object.annotation(name));
        return Some(annotation.or(field).map(parse).unwrap_or_default());
    }
    if !id.is("gateway.networking.k8s.io", "Gateway") {
        return None;
    }
    // Implementations that make a LoadBalancer Service for each Gateway.
    let class = object.text_at(&["spec", "gatewayClassName"]).unwrap_or_default();
    if !["cilium", "envoy", "istio"]
        .iter()
        .any(|known| class.contains(known))
    {
        return None;
    }
    let listed = object.items_at(&["spec", "addresses"]).iter();
    let mut pins: Vec<Ipv4Addr> = listed
        .filter_map(|address| address.text_at(&["value"])?.parse().ok())
        .collect();
    let annotations = object.at(&["spec", "infrastructure", "annotations"]);
    let annotated = PINS.iter().find_map(|name| annotations?.get(*name)?.as_str());
    pins.extend(annotated.map(parse).unwrap_or_default());
    Some(pins)
}

impl Controller for AddressController {
    fn observe(&mut self, old: Option<&Arc<Value>>, new: Option<&Arc<Value>>, context: &mut Context<'_>) {
        let Some(object) = new.or(old) else { return };
        let id = object.id();
        if id.group == "cilium.io" || id.group == "metallb.io" {
            let is_pool = matches!(id.kind.as_str(), "CiliumLoadBalancerIPPool" | "IPAddressPool");
            if is_pool && old.is_none() {
                let waiting: BTreeSet<ObjectId> = self
                    .claims
                    .iter()
                    .filter(|(_, claim)| claim.got.is_none())
                    .map(|(id, _)| id.clone())
                    .collect();
                for id in waiting {
                    self.plan(&id, context);
                }
            }
            return;
        }
        if !matches!(id.kind.as_str(), "Service" | "Gateway") {
            return;
        }
        let Some(new) = new else {
            self.claims.remove(&id);
            return;
        };
        if old.is_some_and(|old| {
            old.get("spec") == new.get("spec")
                && old.at(&["metadata", "annotations"]) == new.at(&["metadata", "annotations"])
        }) {
            return;
        }
        let Some(pins) = wants(new) else {
            self.claims.remove(&id);
            return;
        };
        let claim = self.claims.entry(id.clone()).or_default();
        if claim.got.is_none() || claim.pins != pins {
            *claim = AddressClaim {
                pins,
                ..AddressClaim::default()
            };
            self.plan(&id, context);
        }
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        while let Some(id) = self.timers.pop_due(context.now, context.delays) {
            self.assign(&id, context);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.timers.next()
    }

    fn is_working(&self) -> bool {
        self.timers.next().is_some()
    }
}

/// The pools that a cluster's objects declare, for explanations.
pub fn pools_of<'o>(objects: impl Iterator<Item = (&'o ObjectId, &'o Value)>) -> Vec<Pool> {
    objects.filter_map(|(id, object)| pool(id, object)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_both_write_them() {
        let address = |text: &str| -> Ipv4Addr { text.parse().unwrap() };
        assert_eq!(
            range("10.0.0.8/30"),
            Some((address("10.0.0.8"), address("10.0.0.11")))
        );
        assert_eq!(
            range("10.0.0.1-10.0.0.9"),
            Some((address("10.0.0.1"), address("10.0.0.9")))
        );
        assert_eq!(
            range("10.0.0.7/32"),
            Some((address("10.0.0.7"), address("10.0.0.7")))
        );
        assert_eq!(range("fd00::/64"), None);
        assert_eq!(range("10.0.0.0/99"), None);
    }

    #[test]
    fn pins_are_found_where_each_kind_has_them() {
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "annotations": {"lbipam.cilium.io/ips": "10.0.0.7, 10.0.0.8"}},
            "spec": {"type": "LoadBalancer"},
        });
        assert_eq!(wants(&service).unwrap().len(), 2);
        let gateway = json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": "g"},
            "spec": {"gatewayClassName": "cilium", "infrastructure": {"annotations": {"lbipam.cilium.io/ips": "10.0.0.9"}}},
        });
        assert_eq!(
            wants(&gateway).unwrap(),
            ["10.0.0.9".parse::<Ipv4Addr>().unwrap()]
        );
        assert_eq!(
            wants(&json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "b"}, "spec": {}})),
            None
        );
    }
}
