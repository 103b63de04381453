//! What the CRDs of Flux say about `spec`, by version.
//!
//! `schemas/` holds the schemas of Flux 2.9 (`config/crd/bases` of kustomize-controller 1.9.6, helm-controller 1.6.3 and
//! source-controller 1.9.6) without their descriptions. Older versions lack the fields and values of [`FIELDS`] and
//! [`VALUES`] (F-1702 to F-1704).

use firstpass_object::{GroupKind, ObjectExt};
use serde_json::Value;

use crate::{FluxVersion, names};

/// The first minor of each field that is younger than 2.5: kind, path, minor. What came with 2.5 is let pass on 2.4, and without
/// effect there: a repository for newer versions can still be played on the oldest.
const FIELDS: [(&str, &str, u32); 22] = [
    ("Kustomization", "decryption.serviceAccountName", 6),
    ("Kustomization", "dependsOn.readyExpr", 7),
    ("Kustomization", "ignoreMissingComponents", 7),
    ("Kustomization", "kubeConfig.configMapRef", 7),
    ("Kustomization", "ignore", 9),
    ("Kustomization", "buildMetadata", 9),
    ("Kustomization", "postBuild.substituteStrategy", 9),
    ("HelmRelease", "dependsOn.readyExpr", 7),
    ("HelmRelease", "commonMetadata", 7),
    ("HelmRelease", "install.strategy", 7),
    ("HelmRelease", "upgrade.strategy", 7),
    ("HelmRelease", "kubeConfig.configMapRef", 7),
    ("HelmRelease", "waitStrategy", 8),
    ("HelmRelease", "healthCheckExprs", 8),
    ("HelmRelease", "install.serverSideApply", 8),
    ("HelmRelease", "upgrade.serverSideApply", 8),
    ("HelmRelease", "rollback.serverSideApply", 8),
    ("HelmRelease", "postRenderStrategy", 9),
    ("HelmRelease", "upgrade.chartNameChangeStrategy", 9),
    ("HelmRelease", "valuesFrom.literal", 9),
    ("GitRepository", "sparseCheckout", 6),
    ("GitRepository", "serviceAccountName", 7),
];

/// The first minor of each value of an enumeration that is younger than 2.5: kind, path, value, minor.
const VALUES: [(&str, &str, &str, u32); 4] = [
    ("Kustomization", "deletionPolicy", "WaitForTermination", 6),
    ("Kustomization", "sourceRef.kind", "ExternalArtifact", 7),
    ("HelmRelease", "chartRef.kind", "ExternalArtifact", 7),
    ("GitRepository", "provider", "aws", 9),
];

/// The OpenAPI schema of `spec` of the stable version of a Flux kind, as the CRD of this Flux has it; `None` for kinds and
/// API versions that are not known by their fields.
pub fn spec_schema(kind: &GroupKind, api_version: &str, flux: FluxVersion) -> Option<Value> {
    let (stable, text) = match (kind.group.as_str(), kind.kind.as_str()) {
        (names::KUSTOMIZE_GROUP, "Kustomization") => ("v1", include_str!("../schemas/kustomization.json")),
        (names::HELM_GROUP, "HelmRelease") => ("v2", include_str!("../schemas/helmrelease.json")),
        (names::SOURCE_GROUP, "GitRepository") => ("v1", include_str!("../schemas/gitrepository.json")),
        (names::SOURCE_GROUP, "HelmRepository") => ("v1", include_str!("../schemas/helmrepository.json")),
        (names::SOURCE_GROUP, "HelmChart") => ("v1", include_str!("../schemas/helmchart.json")),
        (names::SOURCE_GROUP, "OCIRepository") => ("v1", include_str!("../schemas/ocirepository.json")),
        (names::SOURCE_GROUP, "Bucket") => ("v1", include_str!("../schemas/bucket.json")),
        _ => return None,
    };
    if api_version != stable {
        return None;
    }
    let mut schema: Value = serde_json::from_str(text).ok()?;
    for (_, path, _) in FIELDS
        .iter()
        .filter(|(of, _, first)| *of == kind.kind && !flux.at_least(*first))
    {
        remove_field(&mut schema, path);
    }
    for (_, path, value, _) in VALUES
        .iter()
        .filter(|(of, _, _, first)| *of == kind.kind && !flux.at_least(*first))
    {
        let values = below(&mut schema, path).and_then(|field| field.get_mut("enum")?.as_array_mut());
        if let Some(values) = values {
            values.retain(|known| known.as_str() != Some(value));
        }
    }
    Some(schema)
}

/// The first minor of Flux 2 that knows a field below `spec` (`dependsOn.readyExpr`, without indices); `None` for fields that
/// all known minors have, or none.
pub fn field_since(kind: &str, path: &str) -> Option<u32> {
    let found = FIELDS.iter().find(|(of, field, _)| {
        let is_at = path.strip_prefix(field);
        *of == kind && is_at.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    });
    found.map(|(_, _, first)| *first)
}

/// Takes a field out of a schema, and the rules of its parent that speak of it.
fn remove_field(schema: &mut Value, path: &str) {
    let (parent, name) = match path.rsplit_once('.') {
        Some((parent, name)) => (below(schema, parent), name),
        None => (Some(schema), path),
    };
    let Some(parent) = parent else { return };
    if let Some(fields) = parent.get_mut("properties").and_then(Value::as_object_mut) {
        fields.remove(name);
    }
    if let Some(Value::Array(rules)) = parent.get_mut("x-kubernetes-validations") {
        let read = format!("self.{name}");
        rules.retain(|rule| {
            !rule
                .text_at(&["rule"])
                .is_some_and(|rule| rule.contains(read.as_str()))
        });
    }
}

/// The schema of a field; items of lists have no name of their own.
fn below<'s>(schema: &'s mut Value, path: &str) -> Option<&'s mut Value> {
    path.split('.').try_fold(schema, |schema, name| {
        let field = schema.get_mut("properties")?.get_mut(name)?;
        if field.get("items").is_some() {
            field.get_mut("items")
        } else {
            Some(field)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(group: &str, kind: &str, version: &str, minor: u32) -> Value {
        spec_schema(
            &GroupKind::new(group, kind),
            version,
            FluxVersion::latest_of(minor),
        )
        .unwrap()
    }

    #[test]
    fn every_young_field_and_value_is_one_of_the_newest_schema() {
        let group = |kind: &str| match kind {
            "Kustomization" => (names::KUSTOMIZE_GROUP, "v1"),
            "HelmRelease" => (names::HELM_GROUP, "v2"),
            _ => (names::SOURCE_GROUP, "v1"),
        };
        for (kind, path, _) in FIELDS {
            let (of, version) = group(kind);
            assert!(
                below(&mut schema(of, kind, version, 9), path).is_some(),
                "{kind} {path}"
            );
            assert!(
                below(&mut schema(of, kind, version, 4), path).is_none(),
                "{kind} {path}"
            );
        }
        for (kind, path, value, _) in VALUES {
            let (of, version) = group(kind);
            let mut newest = schema(of, kind, version, 9);
            let values = below(&mut newest, path).unwrap().items_at(&["enum"]).to_vec();
            assert!(values.contains(&Value::from(value)), "{kind} {path}");
        }
    }

    #[test]
    fn a_rule_goes_with_the_field_that_it_speaks_of() {
        let rules = |minor| {
            let mut schema = schema(names::KUSTOMIZE_GROUP, "Kustomization", "v1", minor);
            below(&mut schema, "kubeConfig")
                .unwrap()
                .items_at(&["x-kubernetes-validations"])
                .len()
        };
        assert_eq!((rules(6), rules(7)), (0, 2));
    }
}
