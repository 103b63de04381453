//! CustomResourceDefinitions.

use firstpass_object::ObjectExt;
use serde_json::Value;

use super::{Checker, Path, names};
use crate::crd::Definition;

const APPROVAL: &str = "api-approved.kubernetes.io";

pub(super) fn check(checker: &mut Checker<'_>, object: &Value) {
    let spec = &object["spec"];
    let path = Path::ROOT.field("spec");
    let metadata = Path::ROOT.field("metadata");
    let text = |path: &[&str]| spec.text_at(path).unwrap_or_default();
    let (group, plural) = (text(&["group"]), text(&["names", "plural"]));
    if !group.is_empty() && !plural.is_empty() && object.name() != format!("{plural}.{group}") {
        checker.invalid_text(
            metadata.field("name"),
            object.name(),
            "must be spec.names.plural+\".\"+spec.group",
        );
    }
    if !group.is_empty() {
        checker.text(path.field("group"), group, names::dns1123_subdomain(group));
        if !group.contains('.') {
            checker.invalid_text(
                path.field("group"),
                group,
                "should be a domain with at least one dot",
            );
        }
    }
    let is_protected = [".k8s.io", ".kubernetes.io"]
        .iter()
        .any(|suffix| group.ends_with(suffix))
        || matches!(group, "k8s.io" | "kubernetes.io");
    if is_protected && object.annotation(APPROVAL).is_none() {
        let message = format!(
            "protected groups must have approval annotation \"{APPROVAL}\", see https://github.com/kubernetes/enhancements/pull/1111"
        );
        checker.required(metadata.field("annotations").key(APPROVAL), &message);
    }
    let versions = path.field("versions");
    let mut stored = 0;
    for (index, version) in spec.items_at(&["versions"]).iter().enumerate() {
        let path = versions.index(index);
        if let Some(name) = checker.required_text(version, &path, "name") {
            checker.text(path.field("name"), name, names::dns1035_label(name));
        }
        stored += usize::from(version.get("storage") == Some(&Value::Bool(true)));
        let schema = path.field("schema");
        match version.at(&["schema", "openAPIV3Schema"]) {
            None | Some(Value::Null) => {
                checker.required(schema.field("openAPIV3Schema"), "schemas are required");
            }
            Some(root) if root.text_at(&["type"]) != Some("object") => {
                let root_type = root.text_at(&["type"]).unwrap_or_default();
                checker.invalid_text(
                    schema.field("openAPIV3Schema").field("type"),
                    root_type,
                    "must be object at the root",
                );
            }
            Some(_) => {}
        }
    }
    if stored != 1 {
        checker.invalid(
            versions,
            &spec["versions"],
            "must have exactly one version marked as storage version",
        );
    } else if let Err(message) = Definition::read(object) {
        // `Definition` words its errors with their path.
        match message.split_once(": ") {
            Some((path, message)) => checker.push(path, message),
            None => checker.push("spec", message),
        }
    }
}
