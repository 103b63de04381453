//! Addresses of one environment in another.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_object::ObjectId;
use firstpass_render::{RenderedObject, Tier};

use crate::fleet::{Overlay, others};
use crate::input::At as _;
use crate::{Context, Rule, Status, uses};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "foreign-address",
    summary: "an address from the network of another cluster",
    severity: Severity::Warning,
    verdict: Some(Verdict::Hazard),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/foreign-address.md"),
    check,
};

/// A plain address stands for the network of so many bits around it.
const BITS_OF_A_LAN: u32 = 24;

fn check(input: &Context<'_>) -> Vec<Finding> {
    let Some(own) = Overlay::of(input, input.cluster) else {
        return Vec::new();
    };
    let Some(vars) = own.vars_id() else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let here = Networks::of(&own, &vars);
    for other in others(input) {
        let Some(theirs) = Overlay::of(input, other) else {
            continue;
        };
        let there = Networks::of(&theirs, &vars);
        let foreign: BTreeSet<Network> = there
            .home()
            .into_iter()
            .filter(|network| !here.home().contains(network))
            .collect();
        if foreign.is_empty() {
            continue;
        }
        let entry = other.entry.path();
        for (tier, object) in input.cluster.objects() {
            findings.extend(finding(input, tier, object, &vars, &foreign, entry));
        }
    }
    findings
}

/// A network by its first address and the number of its bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Network {
    first: u32,
    bits: u32,
}

impl Network {
    fn around(address: Ipv4Addr, bits: u32) -> Network {
        let mask = u32::MAX.checked_shl(32 - bits).unwrap_or_default();
        Network {
            first: u32::from(address) & mask,
            bits,
        }
    }

    fn has(self, address: Ipv4Addr) -> bool {
        Network::around(address, self.bits) == self
    }
}

impl std::fmt::Display for Network {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", Ipv4Addr::from(self.first), self.bits)
    }
}

/// The private networks that the values of a cluster speak of, with how often they do.
struct Networks(BTreeMap<Network, usize>);

impl Networks {
    /// Only values that the cluster sets itself say where it lives.
    fn of(overlay: &Overlay<'_>, vars: &ObjectId) -> Networks {
        let mut counts = BTreeMap::new();
        let data = overlay
            .own
            .get(vars)
            .and_then(|object| object.object.get("data")?.as_object());
        for (name, value) in data.into_iter().flatten() {
            let value = value.as_str().unwrap_or_default();
            if Overlay::value(&overlay.base, vars, name) == Some(value) {
                continue;
            }
            for (address, bits) in addresses(value) {
                let bits = bits
                    .filter(|bits| (16..=BITS_OF_A_LAN).contains(bits))
                    .unwrap_or(BITS_OF_A_LAN);
                *counts.entry(Network::around(address, bits)).or_default() += 1;
            }
        }
        Networks(counts)
    }

    /// The networks that the cluster lives in: those that most of its addresses are of. One address of a foreign network
    /// among many of the own is what this rule looks for.
    fn home(&self) -> BTreeSet<Network> {
        let most = self.0.values().copied().max().unwrap_or_default();
        let often = |count: usize| count * 2 >= most;
        self.0
            .iter()
            .filter(|(_, count)| often(**count))
            .map(|(network, _)| *network)
            .collect()
    }
}

fn finding(
    input: &Context<'_>,
    tier: &Tier,
    object: &RenderedObject,
    vars: &ObjectId,
    foreign: &BTreeSet<Network>,
    entry: &str,
) -> Option<Finding> {
    let mut found: Option<(String, Network)> = None;
    uses::strings(&object.object, &mut |text| {
        if found.is_some() || !text.contains('.') {
            return;
        }
        let hit = addresses(text).into_iter().find_map(|(address, _)| {
            let network = foreign.iter().find(|network| network.has(address))?;
            Some((address.to_string(), *network))
        });
        found = hit;
    });
    let (address, network) = found?;
    let id = object.id();
    let place = if id == *vars {
        let data = object
            .object
            .get("data")
            .and_then(serde_json::Value::as_object)
            .into_iter()
            .flatten();
        let mut keys = data.filter(|(_, value)| value.as_str().is_some_and(|value| value.contains(&address)));
        keys.next()
            .and_then(|(key, _)| input.place_of_key(&object.origin, &["data", key]))
    } else {
        input.repository.locate_text(&object.origin, &address)
    };
    Some(
        RULE.finding(format!("`{id}` has {address}, an address of the network of `{entry}`"))
            .with_tier(&tier.name)
            .with_object(&id)
            .with_why(format!(
                "the values of `{entry}` lie in {network}, and none of `{}` does. Nothing refuses the address: it is simply not \
                 there, or belongs to the other cluster",
                input.cluster.entry.path()
            ))
            .with_help(format!("make the address a variable of `{vars}`, with a value per cluster"))
            .at(place),
    )
}

/// The private addresses in a text, each with the bits behind its slash.
fn addresses(text: &str) -> Vec<(Ipv4Addr, Option<u32>)> {
    let is_part = |letter: char| letter.is_ascii_digit() || letter == '.';
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let before = rest[..start].chars().next_back();
        let word: &str = &rest[start..];
        let end = word.find(|letter: char| !is_part(letter)).unwrap_or(word.len());
        let (word, tail) = word.split_at(end);
        let joined = before.is_some_and(|letter| letter.is_alphanumeric() || letter == '-');
        if !joined && let Ok(address) = word.trim_end_matches('.').parse::<Ipv4Addr>() {
            let bits = tail.strip_prefix('/').and_then(|tail| {
                let digits: String = tail.chars().take_while(char::is_ascii_digit).collect();
                digits.parse().ok()
            });
            if address.is_private() {
                found.push((address, bits));
            }
        }
        rest = tail;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_found_in_text() {
        let shown = |text: &str| {
            let found = addresses(text);
            found
                .iter()
                .map(|(address, bits)| format!("{address} {bits:?}"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        assert_eq!(shown("http://192.168.40.5:9000/x"), "192.168.40.5 None");
        assert_eq!(shown("10.1.0.0/16,10.2.0.1"), "10.1.0.0 Some(16), 10.2.0.1 None");
        assert_eq!(shown("1.2.3 v10.1.2.3 8.8.8.8 10.1.2.3.4"), "");
    }

    #[test]
    fn a_cluster_lives_where_most_of_its_addresses_are() {
        let network = |text: &str| Network::around(text.parse().unwrap(), 24);
        let counts = [(network("192.168.20.0"), 5), (network("192.168.40.0"), 1)];
        let home = Networks(counts.into_iter().collect()).home();
        assert_eq!(
            home.into_iter()
                .map(|network| network.to_string())
                .collect::<Vec<_>>(),
            ["192.168.20.0/24"]
        );
    }
}
