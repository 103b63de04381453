//! What Flux writes into the metadata of everything that it applies (F-116, F-117, F-250).

use std::collections::BTreeMap;

use firstpass_flux::{CommonMetadata, names};
use firstpass_object::TierName;
use serde_json::{Map, Value};

/// Labels an object with the tier that owns it.
pub(crate) fn set_owner(object: &mut Value, tier: &TierName) {
    let owner = [
        (names::OWNER_NAME_LABEL, &tier.name),
        (names::OWNER_NAMESPACE_LABEL, &tier.namespace),
    ];
    merge(
        object,
        "labels",
        owner.into_iter().map(|(key, value)| (key, value.as_str())),
    );
}

/// Puts the `commonMetadata` of a tier on an object; it may even overwrite the owner labels.
pub(crate) fn set_common(object: &mut Value, common: &CommonMetadata) {
    let pairs = |map: &'_ BTreeMap<String, String>| -> Vec<(String, String)> {
        map.iter()
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    for (field, map) in [("labels", &common.labels), ("annotations", &common.annotations)] {
        if !map.is_empty() {
            let pairs = pairs(map);
            merge(
                object,
                field,
                pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())),
            );
        }
    }
}

/// Merges texts into a map of the metadata. A map that holds anything but texts is lost: Flux's accessor returns nothing
/// for it, and what is set replaces it (F-250).
fn merge<'p>(object: &mut Value, field: &str, pairs: impl Iterator<Item = (&'p str, &'p str)>) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    let mut map = match metadata.remove(field) {
        Some(Value::Object(map)) if map.values().all(|value| value.is_string() || value.is_null()) => map,
        _ => Map::new(),
    };
    for value in map.values_mut().filter(|value| value.is_null()) {
        *value = Value::from("");
    }
    map.extend(pairs.map(|(key, value)| (key.to_owned(), Value::from(value))));
    metadata.insert(field.to_owned(), Value::Object(map));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn owner_labels_are_added() {
        let mut object = json!({"metadata": {"labels": {"a": "b", "empty": null}}});
        set_owner(&mut object, &TierName::new("flux-system", "apps"));
        assert_eq!(
            object["metadata"]["labels"],
            json!({"a": "b", "empty": "", names::OWNER_NAME_LABEL: "apps", names::OWNER_NAMESPACE_LABEL: "flux-system"})
        );
    }

    /// F-250.
    #[test]
    fn labels_that_are_no_texts_are_lost() {
        let mut object = json!({"metadata": {"labels": {"a": "b", "port": 80}}});
        set_owner(&mut object, &TierName::new("flux-system", "apps"));
        assert_eq!(object["metadata"]["labels"].as_object().unwrap().len(), 2);
    }

    #[test]
    fn common_metadata_comes_last() {
        let mut object = json!({"metadata": {"annotations": {"x": "1"}}});
        let common = CommonMetadata {
            labels: BTreeMap::from([("team".to_owned(), "a".to_owned())]),
            annotations: BTreeMap::from([("x".to_owned(), "2".to_owned())]),
        };
        set_common(&mut object, &common);
        assert_eq!(
            object["metadata"],
            json!({"labels": {"team": "a"}, "annotations": {"x": "2"}})
        );
    }
}
