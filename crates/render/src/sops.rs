//! SOPS: what is encrypted, and what is known of it without the keys (F-700 to F-712).
//!
//! Keys are known, values are not: an encrypted value reads as [`UNKNOWN_VALUE`] once Flux would have decrypted it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use firstpass_flux::names;
use firstpass_object::ObjectExt;
use serde_json::{Map, Value};

use crate::UNKNOWN_VALUE;

/// How an encrypted value begins.
const CIPHERTEXT: &str = "ENC[";
/// How SOPS writes a value, cipher included.
const ENCRYPTED_VALUE: &str = "ENC[AES256_GCM,data:";

/// Whether a built object is encrypted as a whole: it has the block that SOPS adds (F-704).
pub(crate) fn is_encrypted(object: &Value) -> bool {
    object.text_at(&["sops", "mac"]).is_some()
}

/// Whether the annotation keeps Flux from decrypting, and from refusing, the object (F-268).
pub(crate) fn decryption_is_disabled(object: &Value) -> bool {
    object
        .annotation(names::DECRYPT)
        .is_some_and(|value| value.eq_ignore_ascii_case(names::DISABLED))
}

/// Does to a built object what Flux's decryption does, values apart. Says whether it did anything.
pub(crate) fn decrypt_object(object: &mut Value) -> bool {
    if is_encrypted(object) {
        remove_block(object);
        hide_values(object);
        return true;
    }
    if object.kind() != "Secret" {
        return false;
    }
    let Some(Value::Object(data)) = object.get_mut("data") else {
        return false;
    };
    let mut found = false;
    for value in data.values_mut() {
        if is_encrypted_file(&decode(value)) {
            *value = Value::from(STANDARD.encode(UNKNOWN_VALUE));
            found = true;
        }
    }
    found
}

/// Whether the data of a Secret was encrypted in a way that keeps Flux's guard awake: under `data`, where ciphertext is
/// no base64 (F-709). Under `stringData` the block is lost before anybody looks (F-710).
pub(crate) fn guard_notices(secret: &Value) -> bool {
    let data = secret.get("data").and_then(Value::as_object);
    data.is_some_and(|data| data.values().any(|value| base64_of(value).is_none()))
}

/// Whether a ConfigMap or Secret without the block of SOPS has values that SOPS encrypted: a generator read an encrypted file.
pub(crate) fn holds_ciphertext(object: &Value) -> bool {
    let decoded = match object.kind() {
        "Secret" => true,
        "ConfigMap" => false,
        _ => return false,
    };
    let data = object.get("data").and_then(Value::as_object);
    data.into_iter().flat_map(Map::values).any(|value| {
        let text = if decoded {
            decode(value)
        } else {
            value.as_str().unwrap_or_default().to_owned()
        };
        text.starts_with(ENCRYPTED_VALUE) || is_encrypted_file(&text)
    })
}

/// Takes out the block that SOPS adds.
pub(crate) fn remove_block(object: &mut Value) {
    if let Value::Object(map) = object {
        map.remove("sops");
    }
}

/// Whether a text is a file that SOPS encrypted, in any of its formats.
pub(crate) fn is_encrypted_file(text: &str) -> bool {
    let has_ciphertext = text.contains(CIPHERTEXT);
    let yaml = text.lines().any(|line| line.trim_end() == "sops:");
    let json = text.contains("\"sops\"");
    let dotenv = text.lines().any(|line| line.starts_with("sops_mac="));
    let ini = text.lines().any(|line| line.trim() == "[sops]");
    has_ciphertext && (yaml || json || dotenv || ini)
}

/// What an encrypted file is known to say once it is decrypted.
pub(crate) fn decrypted_file(text: &str, kind: FileKind) -> String {
    match kind {
        FileKind::Dotenv => {
            let lines = text.lines().filter(|line| !line.starts_with("sops_"));
            let hidden = lines.map(|line| match line.split_once('=') {
                Some((key, value)) if value.contains(CIPHERTEXT) => format!("{key}={UNKNOWN_VALUE}\n"),
                _ => format!("{line}\n"),
            });
            hidden.collect()
        }
        FileKind::Yaml => match firstpass_yaml::parse_all(text) {
            Ok(documents) => {
                let values = documents
                    .into_iter()
                    .filter_map(|document| document.root.to_json().ok());
                let hidden: Vec<Value> = values
                    .map(|mut value| {
                        remove_block(&mut value);
                        hide_values(&mut value);
                        value
                    })
                    .collect();
                firstpass_yaml::emit_all(&hidden)
            }
            Err(_) => UNKNOWN_VALUE.to_owned(),
        },
        FileKind::Other => UNKNOWN_VALUE.to_owned(),
    }
}

/// What firstpass can say about the contents of an encrypted file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Lines of `KEY=VALUE`: the keys are known.
    Dotenv,
    /// YAML or JSON: the structure is known.
    Yaml,
    /// Nothing but that it is there.
    Other,
}

fn hide_values(value: &mut Value) {
    hide_below(value, false);
}

/// Replaces ciphertext; below a Secret's `data` the replacement is base64, as its values have to be.
fn hide_below(value: &mut Value, base64: bool) {
    match value {
        Value::String(text) if text.starts_with(CIPHERTEXT) => {
            *text = if base64 {
                STANDARD.encode(UNKNOWN_VALUE)
            } else {
                UNKNOWN_VALUE.to_owned()
            };
        }
        Value::Array(items) => items.iter_mut().for_each(|item| hide_below(item, base64)),
        Value::Object(map) => {
            let is_secret = map.get("kind").and_then(Value::as_str) == Some("Secret");
            for (key, item) in map.iter_mut() {
                hide_below(item, base64 || is_secret && key == "data");
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn decode(value: &Value) -> String {
    let bytes = base64_of(value).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// What base64 stands for; line breaks, which kustomize puts into long values, do not count.
fn base64_of(value: &Value) -> Option<Vec<u8>> {
    let text = value.as_str().unwrap_or_default().replace(['\n', '\r'], "");
    STANDARD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn secret(field: &str) -> Value {
        json!({"kind": "Secret", "metadata": {"name": "s"}, field: {"token": "ENC[AES256_GCM,data:x]", "plain": "eA=="}, "sops": {"mac": "ENC[x]"}})
    }

    /// F-704, F-709, F-710.
    #[test]
    fn encrypted_secrets_are_recognised() {
        assert!(guard_notices(&secret("data")));
        assert!(!guard_notices(&secret("stringData")));
        let mut object = secret("data");
        assert!(decrypt_object(&mut object));
        assert_eq!(object.get("sops"), None);
        assert_eq!(object["data"]["token"], STANDARD.encode(UNKNOWN_VALUE));
        assert_eq!(object["data"]["plain"], "eA==");
    }

    #[test]
    fn encrypted_generator_inputs_keep_their_keys() {
        let text = "A=ENC[x]\nB=plain\nsops_mac=ENC[y]\nsops_version=3.9\n";
        assert!(is_encrypted_file(text));
        assert_eq!(
            decrypted_file(text, FileKind::Dotenv),
            format!("A={UNKNOWN_VALUE}\nB=plain\n")
        );
        assert!(!is_encrypted_file("A=ENC[x]\n"));
        let mut generated =
            json!({"kind": "Secret", "data": {"f": STANDARD.encode("x: ENC[a]\nsops:\n    mac: ENC[b]\n")}});
        assert!(decrypt_object(&mut generated));
        assert_eq!(generated["data"]["f"], STANDARD.encode(UNKNOWN_VALUE));
    }
}
