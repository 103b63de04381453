//! IP addresses, networks and URLs.

use std::collections::BTreeMap;
use std::net::IpAddr;

use cel::common::types::{CelBool, CelInt, CelString, STRING_TYPE};
use cel::{DeclarationError, Env};
use serde_json::{Value, json};

use super::{Answer, argument, fail, owned, text};
use crate::cel::typed;
use crate::cel::values::{CIDR, Cidr, IP, Ip, URL, Url};

pub(super) fn kubernetes(env: &mut Env) -> Result<(), DeclarationError> {
    ips(env)?;
    cidrs(env)?;
    urls(env)
}

fn ips(env: &mut Env) -> Result<(), DeclarationError> {
    let string = || STRING_TYPE.to_owned();
    let ip = || IP.to_owned();
    env.add_type(ip())?;
    env.add_overload("ip", "string_to_ip", vec![string()], |args| {
        let text = text(&args, 0)?;
        match Ip::parse(text) {
            Some(ip) => owned(ip),
            None => fail(
                "ip",
                format!("IP Address {text:?} parse error during conversion from string"),
            ),
        }
    })?;
    env.add_overload("isIP", "is_ip", vec![string()], |args| {
        owned(CelBool::from(Ip::parse(text(&args, 0)?).is_some()))
    })?;
    env.add_overload("ip.isCanonical", "ip_is_canonical", vec![string()], |args| {
        let text = text(&args, 0)?;
        match Ip::parse(text) {
            Some(ip) => owned(CelBool::from(ip.0.to_string() == text)),
            None => fail("ip.isCanonical", "no address"),
        }
    })?;
    env.add_overload("string", "ip_to_string", vec![ip()], |args| {
        owned(CelString::from(argument::<Ip>(&args, 0)?.0.to_string()))
    })?;
    env.add_member_overload("family", "ip_family", ip(), vec![], |args| {
        let is_v4 = argument::<Ip>(&args, 0)?.0.is_ipv4();
        owned(CelInt::from(if is_v4 { 4 } else { 6 }))
    })?;
    macro_rules! tests {
        ($($name:literal => $test:expr),*) => {
            $(
                env.add_member_overload($name, concat!("ip_", $name), ip(), vec![], |args| {
                    let test: fn(&IpAddr) -> bool = $test;
                    owned(CelBool::from(test(&argument::<Ip>(&args, 0)?.0)))
                })?;
            )*
        };
    }
    tests! {
        "isUnspecified" => IpAddr::is_unspecified,
        "isLoopback" => IpAddr::is_loopback,
        "isLinkLocalMulticast" => is_link_local_multicast,
        "isLinkLocalUnicast" => is_link_local,
        "isGlobalUnicast" => is_global_unicast
    }
    Ok(())
}

fn cidrs(env: &mut Env) -> Result<(), DeclarationError> {
    let string = || STRING_TYPE.to_owned();
    let cidr = || CIDR.to_owned();
    env.add_type(cidr())?;
    env.add_overload("cidr", "string_to_cidr", vec![string()], |args| {
        let text = text(&args, 0)?;
        match Cidr::parse(text) {
            Some(cidr) => owned(cidr),
            None => fail(
                "cidr",
                format!("network address parse error during conversion from string: {text:?}"),
            ),
        }
    })?;
    env.add_overload("isCIDR", "is_cidr", vec![string()], |args| {
        owned(CelBool::from(Cidr::parse(text(&args, 0)?).is_some()))
    })?;
    env.add_overload("string", "cidr_to_string", vec![cidr()], |args| {
        let Cidr(address, length) = argument::<Cidr>(&args, 0)?;
        owned(CelString::from(format!("{address}/{length}")))
    })?;
    env.add_member_overload(
        "containsIP",
        "cidr_contains_ip_string",
        cidr(),
        vec![string()],
        |args| match Ip::parse(text(&args, 1)?) {
            Some(ip) => owned(CelBool::from(argument::<Cidr>(&args, 0)?.contains(&ip))),
            None => fail("containsIP", "no address"),
        },
    )?;
    env.add_member_overload(
        "containsIP",
        "cidr_contains_ip_ip",
        cidr(),
        vec![IP.to_owned()],
        |args| {
            let ip = argument::<Ip>(&args, 1)?;
            owned(CelBool::from(argument::<Cidr>(&args, 0)?.contains(ip)))
        },
    )?;
    env.add_member_overload(
        "containsCIDR",
        "cidr_contains_cidr_string",
        cidr(),
        vec![string()],
        |args| match Cidr::parse(text(&args, 1)?) {
            Some(other) => contains_network(argument::<Cidr>(&args, 0)?, &other),
            None => fail("containsCIDR", "no network"),
        },
    )?;
    env.add_member_overload(
        "containsCIDR",
        "cidr_contains_cidr",
        cidr(),
        vec![cidr()],
        |args| contains_network(argument::<Cidr>(&args, 0)?, argument::<Cidr>(&args, 1)?),
    )?;
    env.add_member_overload("ip", "cidr_ip", cidr(), vec![], |args| {
        owned(Ip(argument::<Cidr>(&args, 0)?.0))
    })?;
    env.add_member_overload("masked", "cidr_masked", cidr(), vec![], |args| {
        owned(argument::<Cidr>(&args, 0)?.masked())
    })?;
    env.add_member_overload("prefixLength", "cidr_prefix_length", cidr(), vec![], |args| {
        owned(CelInt::from(i64::from(argument::<Cidr>(&args, 0)?.1)))
    })
}

fn contains_network<'b, 'v>(network: &Cidr, other: &Cidr) -> Answer<'b, 'v> {
    owned(CelBool::from(
        network.contains(&Ip(other.0)) && network.1 <= other.1,
    ))
}

fn urls(env: &mut Env) -> Result<(), DeclarationError> {
    let string = || STRING_TYPE.to_owned();
    env.add_type(URL.to_owned())?;
    env.add_overload("url", "string_to_url", vec![string()], |args| {
        let text = text(&args, 0)?;
        match Url::parse(text) {
            Some(url) => owned(url),
            None => fail(
                "url",
                format!("URL parse error during conversion from string: {text:?}"),
            ),
        }
    })?;
    env.add_overload("isURL", "is_url_string", vec![string()], |args| {
        owned(CelBool::from(Url::parse(text(&args, 0)?).is_some()))
    })?;
    macro_rules! parts {
        ($($name:literal => $part:expr),*) => {
            $(
                env.add_member_overload($name, concat!("url_", $name), URL.to_owned(), vec![], |args| {
                    let part: fn(&Url) -> &str = $part;
                    owned(CelString::from(part(argument::<Url>(&args, 0)?).to_owned()))
                })?;
            )*
        };
    }
    parts! {
        "getScheme" => |url| &url.scheme,
        "getHost" => |url| &url.host,
        "getHostname" => |url| url.host_parts().0,
        "getPort" => |url| url.host_parts().1,
        "getEscapedPath" => |url| &url.path
    }
    env.add_member_overload("getQuery", "url_getQuery", URL.to_owned(), vec![], |args| {
        let mut query: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let url = argument::<Url>(&args, 0)?;
        for pair in url.query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            query.entry(name).or_default().push(value);
        }
        let content: Value = json!(query);
        let mut budget = usize::MAX;
        match typed::plain(&content, &mut budget) {
            Some(map) => Ok(cel::common::value::CowVal::Owned(typed::detached(&*map))),
            None => fail("getQuery", "too big"),
        }
    })
}

fn is_link_local(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

fn is_link_local_multicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.octets()[..3] == [224, 0, 0],
        IpAddr::V6(v6) => v6.segments()[0] & 0xff0f == 0xff02,
    }
}

fn is_global_unicast(address: &IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    !is_broadcast
        && !address.is_unspecified()
        && !address.is_loopback()
        && !address.is_multicast()
        && !is_link_local(address)
}
