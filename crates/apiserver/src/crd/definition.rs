//! What a CRD object says, read once.

use std::collections::BTreeMap;
use std::sync::Arc;

use firstpass_object::ObjectExt;
use serde_json::Value;

use super::Structural;
use crate::discovery::{Resource, Scope, compare_versions};

/// A CRD, read.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Name of the CRD: `plural.group`.
    pub name: String,
    /// The kind with its served versions.
    pub resource: Arc<Resource>,
    /// The version that objects are stored in.
    pub storage_version: String,
    /// Namespace and name of the Service that converts between versions, if one does, and the path it is called at.
    pub converter: Option<(String, String, String)>,
    /// The schema of each served version that has one.
    pub schemas: BTreeMap<String, Arc<Structural>>,
}

impl Definition {
    /// Reads a CRD; the error says which field is missing or wrong.
    pub fn read(crd: &Value) -> Result<Definition, String> {
        let required = |path: &[&str]| {
            crd.text_at(path)
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
                .ok_or_else(|| format!("{}: Required value", path.join(".")))
        };
        let group = required(&["spec", "group"])?;
        let kind = required(&["spec", "names", "kind"])?;
        let plural = required(&["spec", "names", "plural"])?;
        let scope = match required(&["spec", "scope"])?.as_str() {
            "Namespaced" => Scope::Namespaced,
            "Cluster" => Scope::Cluster,
            other => {
                return Err(format!(
                    "spec.scope: Unsupported value: \"{other}\": supported values: \"Cluster\", \"Namespaced\""
                ));
            }
        };
        let mut versions = Vec::new();
        let mut schemas = BTreeMap::new();
        let mut storage_version = None;
        let mut has_status = false;
        for version in crd.items_at(&["spec", "versions"]) {
            let name = version.text_at(&["name"]).unwrap_or_default();
            if version.get("storage").and_then(Value::as_bool) == Some(true) {
                storage_version = Some(name.to_owned());
            }
            if version.get("served").and_then(Value::as_bool) != Some(true) {
                continue;
            }
            versions.push(name.to_owned());
            has_status |= version.at(&["subresources", "status"]).is_some();
            if let Some(schema) = version.at(&["schema", "openAPIV3Schema"]) {
                let schema = Structural::read(schema)
                    .map_err(|error| format!("spec.versions[{name}].schema.openAPIV3Schema.{error}"))?;
                schemas.insert(name.to_owned(), Arc::new(schema));
            }
        }
        versions.sort_by(|a, b| compare_versions(a, b));
        let converter = crd.at(&["spec", "conversion"]).and_then(|conversion| {
            let service = conversion.at(&["webhook", "clientConfig", "service"])?;
            let text = |field: &str| service.text_at(&[field]).unwrap_or_default().to_owned();
            let is_webhook = conversion.text_at(&["strategy"]) == Some("Webhook");
            is_webhook.then(|| (text("namespace"), text("name"), text("path")))
        });
        Ok(Definition {
            converter,
            name: crd.name().to_owned(),
            resource: Arc::new(Resource {
                group: group.into(),
                kind: kind.into(),
                plural,
                scope,
                versions,
                has_status,
                has_generation: true,
                crd: Some(crd.name().to_owned()),
            }),
            storage_version: storage_version.ok_or(
                "spec.versions: Invalid value: must have exactly one version marked as storage version",
            )?,
            schemas,
        })
    }
}
