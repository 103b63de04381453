//! What the field `crds` tells: in which fields of custom resources labels, annotations and names are.
//!
//! The files are not CustomResourceDefinitions but OpenAPI definitions by type name, with `x-kubernetes-*` extensions.

use serde_json::{Map, Value};

use super::{Conflict, FieldSpecs, NameReference, TransformerConfig};
use crate::Error;
use crate::file::FieldSpec;
use crate::resid::Gvk;

/// How deep types may refer to each other.
const DEPTH_MAX: usize = 64;

type Types<'a> = std::collections::BTreeMap<&'a str, &'a Map<String, Value>>;

/// Reads a file of the `crds` field.
pub(crate) fn from_crds(definitions: &Value) -> Result<TransformerConfig, Error> {
    let malformed = |what: &str| {
        Error::new(format!("unable to parse open API definition: {what}")).help(
            "`crds` wants OpenAPI definitions by type name; list a CustomResourceDefinition under `resources` instead",
        )
    };
    let Value::Object(definitions) = definitions else {
        return Err(malformed("it is no mapping"));
    };
    let mut types = Types::new();
    for (name, definition) in definitions {
        let Value::Object(definition) = definition else {
            return Err(malformed(&format!("`{name}` is no definition")));
        };
        if let Some(properties) = properties(definition) {
            types.insert(name, properties);
        }
    }
    let mut config = TransformerConfig::default();
    for (name, properties) in &types {
        let is_kind = ["kind", "apiVersion", "metadata"]
            .iter()
            .all(|field| properties.contains_key(*field));
        if is_kind {
            let mut found = TransformerConfig::default();
            let kind = name.rsplit('.').next().unwrap_or_default();
            visit(&mut found, kind, &types, properties, &mut Vec::new())?;
            config.merge(&found).map_err(Conflict::into_error)?;
        }
    }
    Ok(config)
}

/// The properties of a definition, which are below its schema.
fn properties(definition: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let schema = definition
        .iter()
        .find(|(key, _)| key.eq_ignore_ascii_case("schema"))
        .map(|(_, schema)| schema)?;
    schema.get("properties")?.as_object()
}

fn visit<'a>(
    config: &mut TransformerConfig,
    kind: &str,
    types: &Types<'a>,
    properties: &'a Map<String, Value>,
    path: &mut Vec<&'a str>,
) -> Result<(), Error> {
    if path.len() > DEPTH_MAX {
        return Err(Error::new(format!(
            "the types of `{kind}` refer to each other more than {DEPTH_MAX} levels deep"
        )));
    }
    for (name, property) in properties {
        let extension = |key: &str| property.get(key).and_then(Value::as_str);
        path.push(name);
        let add = |specs: &mut FieldSpecs, tail: Option<&str>| {
            specs.merge(&spec(kind, path, tail)).map_err(Conflict::into_error)
        };
        if extension("x-kubernetes-annotation").is_some() {
            add(&mut config.common_annotations, None)?;
        }
        if extension("x-kubernetes-label-selector").is_some() {
            add(&mut config.common_labels, None)?;
        }
        if extension("x-kubernetes-identity").is_some() {
            add(&mut config.name_prefix, None)?;
        }
        if let (Some(version), Some(referral)) = (
            extension("x-kubernetes-object-ref-api-version"),
            extension("x-kubernetes-object-ref-kind"),
        ) {
            let key = extension("x-kubernetes-object-ref-name-key").unwrap_or("name");
            let reference = NameReference {
                referral: Gvk {
                    group: String::new(),
                    version: version.to_owned(),
                    kind: referral.to_owned(),
                },
                referrers: FieldSpecs(vec![spec(kind, path, Some(key))]),
            };
            config.add_reference(&reference).map_err(Conflict::into_error)?;
        }
        if let Some(properties) = extension("$ref").and_then(|name| types.get(name)) {
            visit(config, kind, types, properties, path)?;
        }
        path.pop();
    }
    Ok(())
}

fn spec(kind: &str, path: &[&str], tail: Option<&str>) -> FieldSpec {
    let parts: Vec<&str> = path.iter().copied().chain(tail).collect();
    FieldSpec {
        gvk: Gvk {
            kind: kind.to_owned(),
            ..Gvk::default()
        },
        path: parts.join("/"),
        create: false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn extensions_become_field_specs() {
        let config = from_crds(&json!({
            "example.com/v1.Bee": {"Schema": {"properties": {
                "apiVersion": {}, "kind": {}, "metadata": {},
                "spec": {"$ref": "example.com/v1.BeeSpec"},
            }}},
            "example.com/v1.BeeSpec": {"Schema": {"properties": {
                "hive": {
                    "x-kubernetes-object-ref-api-version": "v1",
                    "x-kubernetes-object-ref-kind": "Hive",
                },
                "marks": {"x-kubernetes-label-selector": ""},
            }}},
        }))
        .unwrap();
        assert_eq!(config.common_labels.0, [spec("Bee", &["spec", "marks"], None)]);
        assert_eq!(config.name_reference[0].referral.kind, "Hive");
        assert_eq!(
            config.name_reference[0].referrers.0,
            [spec("Bee", &["spec", "hive"], Some("name"))]
        );
    }

    #[test]
    fn a_custom_resource_definition_is_refused() {
        let error = from_crds(&json!({"apiVersion": "apiextensions.k8s.io/v1"})).unwrap_err();
        assert!(error.help.unwrap().contains("resources"));
    }

    #[test]
    fn types_that_contain_themselves_end() {
        let error = from_crds(&json!({"v1.Loop": {"schema": {"properties": {
            "apiVersion": {}, "kind": {}, "metadata": {}, "next": {"$ref": "v1.Loop"},
        }}}}));
        assert!(error.is_err());
    }
}
