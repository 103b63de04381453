//! Secrets and ConfigMaps that a controller makes in the cluster from an object of the repository.

use std::collections::BTreeSet;

use firstpass_object::{ObjectExt, group_of};
use serde_json::Value;

use crate::{Data, DataKind, Datum};

/// What an object makes a controller make: kind, name and what is known of the data. The namespace is the object's own.
pub(crate) fn made_by(object: &Value) -> Option<(DataKind, String, Data)> {
    match (group_of(object.api_version()), object.kind()) {
        ("external-secrets.io", "ExternalSecret") => {
            let spec = object.get("spec")?;
            let name = spec.text_at(&["target", "name"]).unwrap_or(object.name());
            Some((DataKind::Secret, name.to_owned(), external_secret(spec)))
        }
        ("bitnami.com", "SealedSecret") => {
            let name = object
                .text_at(&["spec", "template", "metadata", "name"])
                .unwrap_or(object.name());
            Some((
                DataKind::Secret,
                name.to_owned(),
                keys_of(object.at(&["spec", "encryptedData"])),
            ))
        }
        ("onepassword.com", "OnePasswordItem") => {
            Some((DataKind::Secret, object.name().to_owned(), Data::open()))
        }
        ("cert-manager.io", "Certificate") => {
            let name = object.text_at(&["spec", "secretName"])?;
            Some((
                DataKind::Secret,
                name.to_owned(),
                Data::unknown(["ca.crt", "tls.crt", "tls.key"]),
            ))
        }
        (_, "VaultStaticSecret" | "VaultDynamicSecret") => {
            let name = object.text_at(&["spec", "destination", "name"])?;
            Some((DataKind::Secret, name.to_owned(), Data::open()))
        }
        (_, "InfisicalSecret") => {
            let name = object.text_at(&["spec", "managedSecretReference", "secretName"])?;
            Some((DataKind::Secret, name.to_owned(), Data::open()))
        }
        _ => None,
    }
}

/// With a template only its keys are there, unless it is merged; without one the keys of `data`, and whatever `dataFrom`
/// finds.
fn external_secret(spec: &Value) -> Data {
    let template = spec.at(&["target", "template"]);
    let template_data = template.and_then(|template| template.get("data"));
    let merged = template.and_then(|template| template.text_at(&["mergePolicy"])) == Some("Merge");
    let from_files = template.is_some_and(|template| template.get("templateFrom").is_some());
    let mut data = keys_of(template_data);
    if template_data.is_none() || merged {
        let keys: BTreeSet<&str> = spec
            .items_at(&["data"])
            .iter()
            .filter_map(|item| item.text_at(&["secretKey"]))
            .collect();
        data.values
            .extend(keys.into_iter().map(|key| (key.to_owned(), Datum::Unknown)));
        data.open = !spec.items_at(&["dataFrom"]).is_empty();
    }
    data.open |= from_files;
    data
}

fn keys_of(map: Option<&Value>) -> Data {
    let keys = map
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|map| map.keys());
    Data::unknown(keys.map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn keys(spec: &Value) -> (Vec<String>, bool) {
        let object = json!({"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "metadata": {"name": "s"}, "spec": spec});
        let (_, _, data) = made_by(&object).unwrap();
        (data.values.into_keys().collect(), data.open)
    }

    #[test]
    fn keys_of_external_secrets_are_known_as_far_as_they_are_written() {
        let table = [
            (json!({"data": [{"secretKey": "A"}]}), vec!["A"], false),
            (json!({"dataFrom": [{"extract": {"key": "x"}}]}), vec![], true),
            (
                json!({"dataFrom": [{"extract": {"key": "x"}}], "target": {"template": {"data": {"T": "{{ .x }}"}}}}),
                vec!["T"],
                false,
            ),
            (
                json!({"data": [{"secretKey": "A"}], "target": {"template": {"mergePolicy": "Merge", "data": {"T": "x"}}}}),
                vec!["A", "T"],
                false,
            ),
        ];
        for (spec, expected, open) in table {
            assert_eq!(
                keys(&spec),
                (expected.into_iter().map(str::to_owned).collect(), open),
                "{spec}"
            );
        }
    }
}
