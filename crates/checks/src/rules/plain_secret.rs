//! A Secret that anybody who sees the repository can read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use firstpass_diagnostics::{Finding, Severity};
use firstpass_object::ObjectExt;
use firstpass_render::{Encryption, RenderedObject, Tier, UNKNOWN_VALUE};
use serde_json::Value;

use crate::input::At as _;
use crate::{CheckInput, Context, Rule, Status, wording};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "plain-secret",
    summary: "a Secret whose values are in the repository for everybody to read",
    severity: Severity::Warning,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/plain-secret.md"),
    check,
};

/// Words in keys whose values are secret.
const SECRET_WORDS: [&str; 13] = [
    "accesskey",
    "apikey",
    "auth",
    "credential",
    "dockerconfig",
    "identity",
    "passphrase",
    "passwd",
    "password",
    "private",
    "secret",
    "tls.key",
    "token",
];

/// Words in keys whose values are public, whatever else is in them.
const PUBLIC_WORDS: [&str; 9] = [
    "public", ".pub", "url", "name", "path", "realm", "method", "type", "endpoint",
];

/// Values that stand for a secret and are none.
const STAND_INS: [&str; 12] = [
    "change",
    "dummy",
    "example",
    "fixme",
    "not-used",
    "notused",
    "placeholder",
    "replace",
    "tbd",
    "test",
    "todo",
    "xxx",
];

/// Values that say where another program takes the secret from.
const REFERENCES: [&str; 7] = ["vault:", "ref+", "op://", "bws:", "<path:", "{{", "ENC["];

/// Secrets whose contents the cluster writes.
const WRITTEN_BY_THE_CLUSTER: [&str; 2] = ["kubernetes.io/service-account-token", "helm.sh/release.v1"];

fn check(input: &Context<'_>) -> Vec<Finding> {
    let objects = input.cluster.objects();
    objects
        .filter(|(_, object)| object.encryption == Encryption::None && object.id().is("", "Secret"))
        .filter_map(|(tier, object)| finding(input, tier, object))
        .collect()
}

fn finding(input: &CheckInput<'_>, tier: &Tier, object: &RenderedObject) -> Option<Finding> {
    let content = object.template.as_deref().unwrap_or(&object.object);
    if WRITTEN_BY_THE_CLUSTER.contains(&content.text_at(&["type"]).unwrap_or_default()) {
        return None;
    }
    let plain: Vec<(&str, &str)> = values(content)
        .into_iter()
        .filter(|(_, key)| is_secret(key))
        .collect();
    let (field, first) = plain.first()?;
    let keys: Vec<String> = plain.iter().map(|(_, key)| format!("`{key}`")).collect();
    let id = object.id();
    Some(
        RULE.finding(format!("`{id}` is not encrypted: {} can be read in the repository", wording::few(&keys)))
            .with_tier(&tier.name)
            .with_object(&id)
            .with_why(
                "base64 is no encryption, and what was committed once stays in the history. Whoever can read the repository can \
                 use the secret",
            )
            .with_help(
                "change the secret, then encrypt the file with SOPS and give the tier `spec.decryption`, or let an operator such as \
                 External Secrets bring it",
            )
            .at(input.repository.locate(&object.origin, &[field, first])),
    )
}

/// The entries whose value is written down here, as field and key.
fn values(secret: &Value) -> Vec<(&'static str, &str)> {
    let mut found = Vec::new();
    for field in ["stringData", "data"] {
        let entries = secret.get(field).and_then(Value::as_object).into_iter().flatten();
        for (key, value) in entries {
            let text = value.as_str().unwrap_or_default();
            let decoded = STANDARD
                .decode(text.replace(['\n', '\r', ' '], ""))
                .ok()
                .and_then(|bytes| String::from_utf8(bytes).ok());
            let plain = if field == "data" {
                decoded.as_deref().unwrap_or(text)
            } else {
                text
            };
            if is_written_down(plain) && !text.contains("${") {
                found.push((field, key.as_str()));
            }
        }
    }
    found
}

fn is_written_down(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    !lower.is_empty()
        && !matches!(lower.as_str(), "true" | "false" | "null" | "none")
        && !text.contains("${")
        && !text.contains(UNKNOWN_VALUE)
        && !STAND_INS.iter().any(|word| lower.contains(word))
        && !REFERENCES.iter().any(|start| text.trim().starts_with(start))
        && !lower.starts_with('<')
        && !lower.starts_with("-----begin certificate")
        && !lower.starts_with("-----begin public key")
}

/// Whether a key names a secret. Other values are often settings that a chart wants to have in a Secret.
fn is_secret(key: &str) -> bool {
    let lower = key.to_lowercase();
    let bare = lower.replace(['-', '_'], "");
    let is_secret = SECRET_WORDS
        .iter()
        .any(|word| bare.contains(word) || lower.contains(word));
    is_secret && !PUBLIC_WORDS.iter().any(|word| bare.ends_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_secrets_from_settings() {
        for key in [
            "password",
            "API_TOKEN",
            "client-secret",
            "tls.key",
            ".dockerconfigjson",
            "AWS_SECRET_ACCESS_KEY",
        ] {
            assert!(is_secret(key), "{key}");
        }
        for key in [
            "url",
            "username",
            "tls.crt",
            "token_url",
            "identity.pub",
            "secretName",
            "config.yaml",
        ] {
            assert!(!is_secret(key), "{key}");
        }
    }

    #[test]
    fn references_and_stand_ins_are_no_secrets() {
        assert!(is_written_down("hunter2"));
        for text in [
            "",
            "changeme",
            "${TOKEN}",
            "vault:kv/data/x#y",
            "<your token>",
            "-----BEGIN CERTIFICATE-----\nMII",
        ] {
            assert!(!is_written_down(text), "{text}");
        }
    }
}
