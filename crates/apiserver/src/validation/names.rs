//! The forms that names and other short texts may have. Each test gives the messages of what is wrong.

use std::net::{Ipv4Addr, Ipv6Addr};

const LABEL_FORM: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const LABEL_LENGTH_MAX: usize = 63;
const SUBDOMAIN_LENGTH_MAX: usize = 253;

fn is_lower_alphanumeric(c: u8) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

/// Whether a text starts and ends with `edge` characters and has only `inner` ones in it.
fn has_form(text: &str, edge: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    match (bytes.first(), bytes.last()) {
        (Some(first), Some(last)) => {
            edge(*first) && edge(*last) && bytes.iter().all(|c| edge(*c) || inner(*c))
        }
        _ => false,
    }
}

fn is_label(text: &str) -> bool {
    has_form(text, is_lower_alphanumeric, |c| c == b'-')
}

fn too_long(most: usize) -> String {
    format!("must be no more than {most} characters")
}

/// How texts of labels are measured.
fn too_many_bytes(most: usize) -> String {
    format!("must be no more than {most} bytes")
}

/// A lowercase RFC 1123 label: the name of a namespace, a container, a volume.
pub(crate) fn dns1123_label(text: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if text.len() > LABEL_LENGTH_MAX {
        messages.push(too_long(LABEL_LENGTH_MAX));
    }
    if !text.is_empty() && text.split('.').count() > 1 && text.split('.').all(is_label) {
        messages.push("must not contain dots".to_owned());
    } else if !is_label(text) {
        messages.push(format!(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{LABEL_FORM}')"
        ));
    }
    messages
}

/// A lowercase RFC 1123 subdomain: the name of most objects, a host.
pub(crate) fn dns1123_subdomain(text: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if text.len() > SUBDOMAIN_LENGTH_MAX {
        messages.push(too_long(SUBDOMAIN_LENGTH_MAX));
    }
    if !text.split('.').all(is_label) {
        messages.push(format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{LABEL_FORM}(\\.{LABEL_FORM})*')"
        ));
    }
    messages
}

/// A subdomain in which underscores may stand: where DNS is asked to look.
pub(super) fn search_path(text: &str) -> Vec<String> {
    let edge = |c: u8| is_lower_alphanumeric(c) || c == b'_';
    let mut messages = Vec::new();
    if text.len() > SUBDOMAIN_LENGTH_MAX {
        messages.push(too_long(SUBDOMAIN_LENGTH_MAX));
    }
    if !text.split('.').all(|part| has_form(part, edge, |c| c == b'-')) {
        messages.push(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9_]([-_a-z0-9]*[a-z0-9_])?(\\.[a-z0-9_]([-_a-z0-9]*[a-z0-9_])?)*')"
                .to_owned(),
        );
    }
    messages
}

/// A subdomain whose first label is `*`.
pub(super) fn wildcard_subdomain(text: &str) -> Vec<String> {
    match text.strip_prefix("*.") {
        Some(rest) if text.len() <= SUBDOMAIN_LENGTH_MAX && rest.split('.').all(is_label) => Vec::new(),
        _ => vec![format!(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.{LABEL_FORM}(\\.{LABEL_FORM})*')"
        )],
    }
}

/// A DNS-1035 label: the name of a Service.
pub(crate) fn dns1035_label(text: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if text.len() > LABEL_LENGTH_MAX {
        messages.push(too_long(LABEL_LENGTH_MAX));
    }
    if !is_label(text) || !text.as_bytes()[0].is_ascii_lowercase() {
        messages.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
                .to_owned(),
        );
    }
    messages
}

/// Part of a path, which is all that names of RBAC objects need to be.
pub(super) fn path_segment(text: &str) -> Vec<String> {
    if matches!(text, "." | "..") {
        return vec![format!("may not be '{text}'")];
    }
    ["/", "%"]
        .iter()
        .filter(|forbidden| text.contains(**forbidden))
        .map(|forbidden| format!("may not contain '{forbidden}'"))
        .collect()
}

fn has_name_form(text: &str) -> bool {
    has_form(
        text,
        |c| c.is_ascii_alphanumeric(),
        |c| matches!(c, b'-' | b'_' | b'.'),
    )
}

/// A key of a label or an annotation: an optional subdomain, and a name.
pub(crate) fn qualified_name(text: &str) -> Vec<String> {
    let mut messages = Vec::new();
    let name = match text.split_once('/') {
        None => text,
        Some((_, rest)) if rest.contains('/') => {
            return vec![
                "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
                    .to_owned(),
            ];
        }
        Some(("", name)) => {
            messages.push("prefix part must be non-empty".to_owned());
            name
        }
        Some((prefix, name)) => {
            messages.extend(
                dns1123_subdomain(prefix)
                    .into_iter()
                    .map(|message| format!("prefix part {message}")),
            );
            name
        }
    };
    if name.is_empty() {
        messages.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_LENGTH_MAX {
        messages.push(format!("name part {}", too_many_bytes(LABEL_LENGTH_MAX)));
    }
    if !has_name_form(name) {
        messages.push(
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                .to_owned(),
        );
    }
    messages
}

/// The value of a label.
pub(crate) fn label_value(text: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if text.len() > LABEL_LENGTH_MAX {
        messages.push(too_many_bytes(LABEL_LENGTH_MAX));
    }
    if !text.is_empty() && !has_name_form(text) {
        messages.push(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
                .to_owned(),
        );
    }
    messages
}

/// The name of a port.
pub(super) fn port_name(text: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if text.len() > 15 {
        messages.push(too_long(15));
    }
    if text.is_empty() || !text.bytes().all(|c| is_lower_alphanumeric(c) || c == b'-') {
        messages.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !text.bytes().any(|c| c.is_ascii_lowercase()) {
        messages.push("must contain at least one letter (a-z)".to_owned());
    }
    if text.contains("--") {
        messages.push("must not contain consecutive hyphens".to_owned());
    }
    if text.starts_with('-') || text.ends_with('-') {
        messages.push("must not begin or end with a hyphen".to_owned());
    }
    messages
}

/// The number of a port.
pub(super) fn port_number(number: i64) -> Vec<String> {
    if (1..=65535).contains(&number) {
        Vec::new()
    } else {
        vec!["must be between 1 and 65535, inclusive".to_owned()]
    }
}

/// A key of a ConfigMap or Secret, and of a mounted item.
pub(super) fn config_key(text: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if text.len() > SUBDOMAIN_LENGTH_MAX {
        messages.push(too_long(SUBDOMAIN_LENGTH_MAX));
    }
    let has_form = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    if text.is_empty() || !text.bytes().all(has_form) {
        messages.push(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
                .to_owned(),
        );
    }
    if matches!(text, "." | "..") {
        messages.push(format!("must not be '{text}'"));
    } else if text.starts_with("..") {
        messages.push("must not start with '..'".to_owned());
    }
    messages
}

/// The name of an environment variable; since 1.34 any printable ASCII text but `=`.
pub(super) fn env_var_name(text: &str, minor: u16) -> Vec<String> {
    if minor >= 34 {
        let fits = !text.is_empty() && text.bytes().all(|c| (0x20..0x7f).contains(&c) && c != b'=');
        return if fits {
            Vec::new()
        } else {
            vec!["a valid environment variable name must consist only of printable ASCII characters other than '='".to_owned()]
        };
    }
    let mut messages = Vec::new();
    let first_fits = text.bytes().next().is_some_and(|c| !c.is_ascii_digit());
    let fits = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    if !first_fits || !text.bytes().all(fits) {
        messages.push(
            "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')"
                .to_owned(),
        );
    }
    messages
}

/// An IP address, v4 or v6, without zone and without leading zeros.
pub(super) fn ip(text: &str) -> Vec<String> {
    if text.parse::<Ipv4Addr>().is_ok() || text.parse::<Ipv6Addr>().is_ok() {
        Vec::new()
    } else {
        vec!["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)".to_owned()]
    }
}

/// An address block: address, slash, length of the prefix.
pub(super) fn cidr(text: &str) -> Vec<String> {
    let fits = text.split_once('/').is_some_and(|(address, length)| {
        let plain = !length.is_empty()
            && length.bytes().all(|c| c.is_ascii_digit())
            && !(length.len() > 1 && length.starts_with('0'));
        let most = if address.parse::<Ipv4Addr>().is_ok() {
            32
        } else if address.parse::<Ipv6Addr>().is_ok() {
            128
        } else {
            return false;
        };
        plain && length.parse::<u8>().is_ok_and(|length| length <= most)
    });
    if fits {
        Vec::new()
    } else {
        vec!["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)".to_owned()]
    }
}

/// An integer or a percentage.
pub(super) fn is_percentage(text: &str) -> bool {
    text.strip_suffix('%')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_told_apart() {
        /// A test, texts it takes, texts it does not.
        type Row<'a> = (fn(&str) -> Vec<String>, &'a [&'a str], &'a [&'a str]);
        let table: &[Row<'_>] = &[
            (
                dns1123_label,
                &["a", "web-1", "1"],
                &["", "Web", "-a", "a.b", "a_b"],
            ),
            (
                dns1123_subdomain,
                &["a.b", "web"],
                &["", "a..b", "a.", "blog.${DOMAIN}", "A"],
            ),
            (wildcard_subdomain, &["*.example.com"], &["*", "a.*.b", "*.A"]),
            (dns1035_label, &["web", "w-1"], &["1web", "web.a", ""]),
            (
                qualified_name,
                &["app", "app.kubernetes.io/name", "A_b.c"],
                &["", "/a", "a/", "a/b/c", "-a", "A.b/c d"],
            ),
            (label_value, &["", "v1.2_3", "a"], &["a b", "-a", "https://x"]),
            (
                port_name,
                &["http", "h-2"],
                &["", "80", "Http", "a--b", "-a", "averyverylongname"],
            ),
            (config_key, &["a.b", "A_B"], &["a/b", ".", "..", "..a", ""]),
            (ip, &["10.0.0.1", "::1"], &["10.0.0", "10.0.0.01", "host"]),
            (
                cidr,
                &["10.0.0.0/8", "::/0"],
                &["10.0.0.0", "10.0.0.0/33", "10.0.0.0/08", "a/8"],
            ),
            (path_segment, &["system:node", "A b"], &["a/b", "..", "100%"]),
        ];
        for (test, good, bad) in table {
            for text in *good {
                assert_eq!(test(text), Vec::<String>::new(), "{text}");
            }
            for text in *bad {
                assert_ne!(test(text), Vec::<String>::new(), "{text}");
            }
        }
        assert!(!dns1123_label(&"a".repeat(64)).is_empty());
        assert!(env_var_name("a b", 34).is_empty());
        assert!(!env_var_name("a b", 30).is_empty());
        assert!(is_percentage("25%") && !is_percentage("%") && !is_percentage("25"));
    }
}
