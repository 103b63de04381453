//! Looking into an object's content.

use serde_json::Value;

use crate::{GroupVersionKind, ObjectId};

/// Access to what every Kubernetes object has. Missing or mistyped fields read as empty: objects come from files that
/// nobody has validated.
pub trait ObjectExt {
    /// `apiVersion`, or empty.
    fn api_version(&self) -> &str;
    /// `kind`, or empty.
    fn kind(&self) -> &str;
    /// `metadata.name`, or empty.
    fn name(&self) -> &str;
    /// `metadata.namespace`, if it is set to something.
    fn namespace(&self) -> Option<&str>;
    /// Group, version and kind.
    fn gvk(&self) -> GroupVersionKind;
    /// Identity as the object states it: the namespace is taken as written.
    fn id(&self) -> ObjectId;
    /// The value at a path of map keys.
    fn at(&self, path: &[&str]) -> Option<&Value>;
    /// The text at a path of map keys.
    fn text_at(&self, path: &[&str]) -> Option<&str>;
    /// The items of the list at a path of map keys; empty if there is none.
    fn items_at(&self, path: &[&str]) -> &[Value];
    /// The value of a label.
    fn label(&self, key: &str) -> Option<&str>;
    /// The value of an annotation.
    fn annotation(&self, key: &str) -> Option<&str>;
    /// The status condition of a type.
    fn condition(&self, condition_type: &str) -> Option<&Value>;
    /// Whether the status condition of a type has status `True`.
    fn condition_is_true(&self, condition_type: &str) -> bool;
}

impl ObjectExt for Value {
    fn api_version(&self) -> &str {
        self.text_at(&["apiVersion"]).unwrap_or_default()
    }

    fn kind(&self) -> &str {
        self.text_at(&["kind"]).unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.text_at(&["metadata", "name"]).unwrap_or_default()
    }

    fn namespace(&self) -> Option<&str> {
        self.text_at(&["metadata", "namespace"])
            .filter(|namespace| !namespace.is_empty())
    }

    fn gvk(&self) -> GroupVersionKind {
        GroupVersionKind::new(self.api_version(), self.kind())
    }

    fn id(&self) -> ObjectId {
        ObjectId::new(
            crate::group_of(self.api_version()),
            self.kind(),
            self.namespace(),
            self.name(),
        )
    }

    fn at(&self, path: &[&str]) -> Option<&Value> {
        path.iter().try_fold(self, |value, key| value.get(key))
    }

    fn text_at(&self, path: &[&str]) -> Option<&str> {
        self.at(path)?.as_str()
    }

    fn items_at(&self, path: &[&str]) -> &[Value] {
        self.at(path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.text_at(&["metadata", "labels", key])
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.text_at(&["metadata", "annotations", key])
    }

    fn condition(&self, condition_type: &str) -> Option<&Value> {
        let conditions = self.items_at(&["status", "conditions"]);
        conditions
            .iter()
            .find(|condition| condition.text_at(&["type"]) == Some(condition_type))
    }

    fn condition_is_true(&self, condition_type: &str) -> bool {
        self.condition(condition_type)
            .and_then(|condition| condition.text_at(&["status"]))
            == Some("True")
    }
}

/// The value of an annotation of an object; a free function for use as a path.
pub fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.annotation(key)
}

/// Whether a label or an annotation has this value, compared without regard to case as Flux does for most of its
/// switches (F-260 to F-266).
pub fn label_or_annotation(object: &Value, key: &str, value: &str) -> bool {
    [object.label(key), object.annotation(key)]
        .into_iter()
        .flatten()
        .any(|found| found.eq_ignore_ascii_case(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn missing_fields_read_as_empty() {
        let object = json!({"kind": 3, "metadata": {"namespace": ""}});
        assert_eq!(object.kind(), "");
        assert_eq!(object.namespace(), None);
        assert!(object.items_at(&["status", "conditions"]).is_empty());
    }

    #[test]
    fn switches_are_found_in_labels_and_annotations() {
        let key = "kustomize.toolkit.fluxcd.io/prune";
        let object = json!({"metadata": {"annotations": {key: "Disabled"}}});
        assert!(label_or_annotation(&object, key, "disabled"));
        assert!(!label_or_annotation(&object, key, "enabled"));
    }
}
