//! One object as Flux sends it to the API server, with what firstpass knows of how it came about.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use firstpass_object::{ObjectExt, ObjectId, Origin};
use serde_json::Value;

use crate::UNKNOWN_VALUE;

/// One object of a tier: exactly what is sent to the API server, owner labels and `commonMetadata` included (F-116).
#[derive(Clone, Debug, PartialEq)]
pub struct RenderedObject {
    /// The object.
    pub object: Arc<Value>,
    /// Where it came from.
    pub origin: Arc<Origin>,
    /// The object before substitution, if substitution changed it.
    pub template: Option<Arc<Value>>,
    /// Variables without a known value; their `${NAME}` stays in the object.
    pub unknown_variables: Vec<UnknownVariable>,
    /// Whether it came out of an encrypted file.
    pub encryption: Encryption,
}

/// A variable whose value is known only in the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnknownVariable {
    /// Its name.
    pub name: String,
    /// The object that holds it, as `Secret/flux-system/cluster-secrets`.
    pub from: String,
}

/// What encryption did to an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encryption {
    /// Nothing.
    #[default]
    None,
    /// Flux decrypts it; values that were encrypted read as [`UNKNOWN_VALUE`].
    Decrypted,
    /// Nobody decrypts it: what is applied is ciphertext (F-710).
    Ciphertext,
}

impl RenderedObject {
    /// An object that no tier builds, such as one that a bootstrap seeds.
    pub fn seed(object: Value, origin: Origin) -> RenderedObject {
        RenderedObject {
            object: Arc::new(object),
            origin: Arc::new(origin),
            template: None,
            unknown_variables: Vec::new(),
            encryption: Encryption::None,
        }
    }

    /// Whether group and kind are these.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.object.kind() == kind && firstpass_object::group_of(self.object.api_version()) == group
    }

    /// The object's identity.
    pub fn id(&self) -> ObjectId {
        self.object.id()
    }

    /// Whether the value at a path holds nothing that is known only in the cluster. A missing value is certain.
    pub fn is_certain(&self, path: &[&str]) -> bool {
        let plain = self.unknown_variables.is_empty() && self.encryption != Encryption::Decrypted;
        plain
            || self
                .object
                .at(path)
                .is_none_or(|value| !self.holds_unknown(value))
    }

    fn holds_unknown(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => {
                text.contains(UNKNOWN_VALUE)
                    || self.encryption == Encryption::Decrypted && *text == STANDARD.encode(UNKNOWN_VALUE)
                    || self
                        .unknown_variables
                        .iter()
                        .any(|variable| text.contains(&format!("${{{}", variable.name)))
            }
            Value::Array(items) => items.iter().any(|item| self.holds_unknown(item)),
            Value::Object(map) => map.values().any(|item| self.holds_unknown(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
}
