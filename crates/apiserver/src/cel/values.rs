//! Values of Kubernetes' own types: addresses, quantities, URLs, versions, formats.

use std::any::Any;
use std::net::IpAddr;

use cel::common::types::Type;
use cel::common::value::{StaticVal, Val};
use firstpass_object::quantity::Quantity;

pub(super) static IP: Type = Type::new_unspecified_type("net.IP");
pub(super) static CIDR: Type = Type::new_unspecified_type("net.CIDR");
pub(super) static QUANTITY: Type = Type::new_unspecified_type("kubernetes.Quantity");
pub(super) static URL: Type = Type::new_unspecified_type("kubernetes.URL");
pub(super) static SEMVER: Type = Type::new_unspecified_type("kubernetes.Semver");
pub(super) static FORMAT: Type = Type::new_unspecified_type("kubernetes.NamedFormat");

/// An IP address.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ip(pub(super) IpAddr);

/// A network: its address as written and the length of its prefix.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cidr(pub(super) IpAddr, pub(super) u8);

/// An amount.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Amount(pub(super) Quantity);

/// The parts of a URL.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Url {
    pub(super) scheme: String,
    /// Host and port.
    pub(super) host: String,
    pub(super) path: String,
    pub(super) query: String,
}

/// A version: major, minor, patch, and what follows a `-`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Semver(pub(super) u64, pub(super) u64, pub(super) u64, pub(super) String);

/// A named format.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Format(pub(super) &'static str);

macro_rules! val {
    ($name:ident, $type:ident) => {
        impl Val for $name {
            fn get_type(&self) -> &Type {
                &$type
            }

            fn cel_type() -> &'static Type {
                &$type
            }

            fn equals(&self, other: &dyn Val) -> bool {
                other.downcast_ref::<$name>() == Some(self)
            }

            fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v>
            where
                Self: 'v,
            {
                Box::new(self.clone())
            }

            fn as_any(&self) -> Option<&dyn Any> {
                Some(self)
            }
        }

        impl StaticVal for $name {}
    };
}

val!(Ip, IP);
val!(Cidr, CIDR);
val!(Amount, QUANTITY);
val!(Url, URL);
val!(Semver, SEMVER);
val!(Format, FORMAT);

impl Ip {
    pub(super) fn parse(text: &str) -> Option<Ip> {
        let address: IpAddr = text.parse().ok()?;
        // Kubernetes takes no IPv4 address in the clothes of an IPv6 one.
        let is_mapped = matches!(address, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some());
        (!is_mapped).then_some(Ip(address))
    }

    fn bits(&self) -> (u128, u8) {
        match self.0 {
            IpAddr::V4(v4) => (u128::from(u32::from(v4)) << 96, 32),
            IpAddr::V6(v6) => (u128::from(v6), 128),
        }
    }
}

impl Cidr {
    pub(super) fn parse(text: &str) -> Option<Cidr> {
        let (address, length) = text.split_once('/')?;
        let address = Ip::parse(address)?;
        let length: u8 = length
            .parse()
            .ok()
            .filter(|_| !length.starts_with(['+', '0']) || length == "0")?;
        (length <= address.bits().1).then_some(Cidr(address.0, length))
    }

    pub(super) fn contains(&self, address: &Ip) -> bool {
        let (own, width) = Ip(self.0).bits();
        let (bits, other_width) = address.bits();
        let mask = if self.1 == 0 {
            0
        } else {
            u128::MAX << (128 - u32::from(self.1))
        };
        width == other_width && (own ^ bits) & mask == 0
    }

    /// The network's own address: the address with nothing beyond the prefix.
    pub(super) fn masked(&self) -> Cidr {
        let (own, width) = Ip(self.0).bits();
        let mask = if self.1 == 0 {
            0
        } else {
            u128::MAX << (128 - u32::from(self.1))
        };
        let bits = own & mask;
        let address = if width == 32 {
            IpAddr::from(u32::try_from(bits >> 96).unwrap_or_default().to_be_bytes())
        } else {
            IpAddr::from(bits.to_be_bytes())
        };
        Cidr(address, self.1)
    }
}

impl Url {
    /// What Go's `url.ParseRequestURI` takes: an absolute URL with a host, or a path.
    pub(super) fn parse(text: &str) -> Option<Url> {
        if text.is_empty() || text.chars().any(|c| c.is_ascii_control() || c == ' ') {
            return None;
        }
        let (scheme, rest) = match text.split_once(':') {
            Some((scheme, rest)) if is_scheme(scheme) => (scheme.to_ascii_lowercase(), rest),
            _ => (String::new(), text),
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        if let Some(rest) = rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
            let end = rest.find('/').unwrap_or(rest.len());
            let (authority, path) = rest.split_at(end);
            let host = authority.rsplit('@').next().unwrap_or_default();
            return Some(Url {
                scheme,
                host: host.to_owned(),
                path: path.to_owned(),
                query: query.to_owned(),
            });
        }
        // Without a scheme only a path is left; with one, anything else is opaque.
        (rest.starts_with('/') || !scheme.is_empty()).then(|| Url {
            path: if rest.starts_with('/') {
                rest.to_owned()
            } else {
                String::new()
            },
            scheme,
            host: String::new(),
            query: query.to_owned(),
        })
    }

    /// The host without its port, and the port.
    pub(super) fn host_parts(&self) -> (&str, &str) {
        if let Some(rest) = self.host.strip_prefix('[') {
            let (host, rest) = rest.split_once(']').unwrap_or((rest, ""));
            return (host, rest.strip_prefix(':').unwrap_or_default());
        }
        self.host.split_once(':').unwrap_or((&self.host, ""))
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

impl Semver {
    pub(super) fn parse(text: &str) -> Option<Semver> {
        let (core, _build) = text.split_once('+').unwrap_or((text, ""));
        let (core, pre) = core.split_once('-').unwrap_or((core, ""));
        let mut numbers = core.split('.').map(|part| {
            let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            let is_short = part.len() == 1 || !part.starts_with('0');
            part.parse::<u64>().ok().filter(|_| is_number && is_short)
        });
        let version = Semver(
            numbers.next()??,
            numbers.next()??,
            numbers.next()??,
            pre.to_owned(),
        );
        numbers.next().is_none().then_some(version)
    }

    pub(super) fn compare(&self, other: &Semver) -> std::cmp::Ordering {
        let core = (self.0, self.1, self.2).cmp(&(other.0, other.1, other.2));
        core.then_with(|| match (self.3.is_empty(), other.3.is_empty()) {
            (true, false) => std::cmp::Ordering::Greater,
            (false, true) => std::cmp::Ordering::Less,
            _ => self.3.cmp(&other.3),
        })
    }
}
