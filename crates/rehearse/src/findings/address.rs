//! Load-balancer addresses that somebody counts on and nobody pins.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use firstpass_controllers::{AddressClaim, Pool, pools_of};
use firstpass_diagnostics::{Finding, Location, Severity, Verdict};
use firstpass_object::ObjectId;
use serde_json::Value;

use super::Own;
use crate::explain::Explainer;

/// Objects without a pin that take what another one pins, or that may not get the address that others name.
pub(super) fn addresses(explainer: &Explainer<'_>) -> Vec<(ObjectId, Own)> {
    let claims = explainer.world.addresses.claims();
    let unpinned: Vec<(&ObjectId, &AddressClaim)> = claims
        .iter()
        .filter(|(_, claim)| claim.pins.is_empty() && claim.got.is_some())
        .collect();
    if unpinned.is_empty() {
        return Vec::new();
    }
    let pools = pools_of(
        explainer
            .world
            .server
            .all_objects()
            .map(|(id, object)| (id, &**object)),
    );
    let expected = expected(explainer, &pools);
    unpinned
        .into_iter()
        .filter_map(|(id, claim)| {
            let robbed = claims
                .iter()
                .find(|(_, other)| other.taken_by.as_ref() == Some(id));
            let own = match robbed {
                Some((victim, _)) => taken(explainer, id, claim, victim)?,
                None => uncertain(explainer, id, claim, &pools, &expected)?,
            };
            Some((id.clone(), own))
        })
        .collect()
}

/// It has what another one pins, which gets nothing.
fn taken(explainer: &Explainer<'_>, id: &ObjectId, claim: &AddressClaim, victim: &ObjectId) -> Option<Own> {
    let got = claim.got?;
    let finding = finding(
        explainer,
        id,
        format!("`{id}` pins no address and takes the one that `{victim}` pins"),
    )?;
    Some(Own {
        finding: finding.with_related([victim.to_string()]).with_why(
            "a pool gives the lowest free address to whoever asks first, and a pinned one only if it is free",
        ),
        evidence: format!("In the rehearsal `{id}` got {got} first, and `{victim}` gets no address."),
    })
}

/// Somebody names an address of its pool that nobody pins, and others take from the same pool.
fn uncertain(
    explainer: &Explainer<'_>,
    id: &ObjectId,
    claim: &AddressClaim,
    pools: &[Pool],
    expected: &[(Ipv4Addr, ObjectId)],
) -> Option<Own> {
    let got = claim.got?;
    let pool = pools.iter().find(|pool| Some(&pool.id) == claim.pool.as_ref())?;
    let rivals = explainer.world.addresses.claims().iter();
    let rivals = rivals.filter(|(other, claim)| {
        *other != id && claim.pins.is_empty() && claim.pool.as_ref() == Some(&pool.id)
    });
    let has_rivals = rivals.count() > 0;
    let (address, who) = expected.iter().find(|(address, _)| pool.holds(*address))?;
    if *address == got && !has_rivals {
        return None;
    }
    let finding = finding(
        explainer,
        id,
        format!("`{id}` pins no address, and may not get the one that others count on"),
    )?;
    Some(Own {
        finding: finding.with_related([who.to_string(), pool.id.to_string()]).with_why(format!(
            "`{who}` names {address}, which lies in `{}` and which nobody pins; the pool gives the lowest free address to \
             whoever asks first",
            pool.id
        )),
        evidence: format!("In the rehearsal `{id}` got {got}."),
    })
}

fn finding(explainer: &Explainer<'_>, id: &ObjectId, message: String) -> Option<Finding> {
    let tier = explainer.bringer(id)?;
    let mut finding = Finding::new("address-not-pinned", Severity::Warning, Some(Verdict::Hazard), message)
        .with_tier(tier)
        .with_object(id)
        .with_help(
            "pin its address, with `lbipam.cilium.io/ips` (Cilium) or `metallb.io/loadBalancerIPs` (MetalLB); on a Gateway \
             under `spec.infrastructure.annotations` or `spec.addresses`",
        );
    if let Some(rendered) = explainer.rendered(id) {
        finding.location = Some(Location::new(
            &rendered.origin.file,
            rendered.origin.line.max(1),
            1,
        ));
    }
    Some(finding)
}

/// Addresses of pools that objects of the repository name and that no object pins, with who names each. The ends of a
/// pool's ranges are left out where they are named once: that is to declare it.
fn expected(explainer: &Explainer<'_>, pools: &[Pool]) -> Vec<(Ipv4Addr, ObjectId)> {
    let pinned: BTreeSet<Ipv4Addr> = explainer
        .world
        .addresses
        .claims()
        .values()
        .flat_map(|claim| claim.pins.iter().copied())
        .collect();
    let ends: BTreeSet<Ipv4Addr> = pools
        .iter()
        .flat_map(|pool| &pool.ranges)
        .flat_map(|(first, last)| [*first, *last])
        .collect();
    let mut found: Vec<(Ipv4Addr, ObjectId)> = Vec::new();
    for (_, rendered) in explainer.script.cluster.objects() {
        let id = rendered.id();
        if pools.iter().any(|pool| pool.id == id) {
            continue;
        }
        let mut named = Vec::new();
        collect(&rendered.object, &mut named);
        for address in &named {
            let address = *address;
            // An end of a range is named once to declare it; named again, somebody counts on it.
            let times = named.iter().filter(|other| **other == address).count();
            let is_end = ends.contains(&address) && times < 2;
            let counts =
                pools.iter().any(|pool| pool.holds(address)) && !pinned.contains(&address) && !is_end;
            if counts && !found.iter().any(|(known, _)| *known == address) {
                found.push((address, id.clone()));
            }
        }
    }
    found
}

/// The addresses that stand in the texts of an object.
fn collect(value: &Value, found: &mut Vec<Ipv4Addr>) {
    match value {
        Value::String(text) => {
            let words = text.split(|letter: char| !letter.is_ascii_digit() && letter != '.');
            found.extend(
                words
                    .filter(|word| word.len() >= 7)
                    .filter_map(|word| word.trim_matches('.').parse::<Ipv4Addr>().ok()),
            );
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, found)),
        _ => {}
    }
}
