//! CustomResourceDefinitions.

use firstpass_object::ObjectExt;
use serde_json::Value;

use super::{Checker, Path, crd_schema, names};
use crate::crd::Definition;

const APPROVAL: &str = "api-approved.kubernetes.io";

pub(super) fn check(checker: &mut Checker<'_>, object: &Value) {
    let before = checker.count();
    let spec = &object["spec"];
    let path = Path::ROOT.field("spec");
    let metadata = Path::ROOT.field("metadata");
    let text = |path: &[&str]| spec.text_at(path).unwrap_or_default();
    let (group, plural) = (text(&["group"]), text(&["names", "plural"]));
    if object.name() != format!("{plural}.{group}") {
        checker.invalid_text(
            metadata.field("name"),
            object.name(),
            "must be spec.names.plural+\".\"+spec.group",
        );
    }
    if group.is_empty() {
        checker.required(path.field("group"), "");
    } else {
        checker.text(path.field("group"), group, names::dns1123_subdomain(group));
        if !group.contains('.') {
            checker.invalid_text(
                path.field("group"),
                group,
                "should be a domain with at least one dot",
            );
        }
    }
    match text(&["scope"]) {
        "" => checker.required(path.field("scope"), ""),
        scope => checker.one_of(path.field("scope"), scope, &["Cluster", "Namespaced"]),
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
    if spec.get("preserveUnknownFields") == Some(&Value::Bool(true)) {
        checker.invalid(
            path.field("preserveUnknownFields"),
            &Value::Bool(true),
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        );
    }
    check_names(checker, &spec["names"], &path.field("names"));
    check_conversion(checker, &spec["conversion"], &path.field("conversion"));
    check_versions(checker, spec, &path);
    if checker.count() == before
        && let Err(message) = Definition::read(object)
    {
        // `Definition` words its errors with their path.
        match message.split_once(": ") {
            Some((path, message)) => checker.push(path, message),
            None => checker.push("spec", message),
        }
    }
}

fn check_names(checker: &mut Checker<'_>, given: &Value, path: &Path<'_>) {
    let text = |field: &str| given.text_at(&[field]).unwrap_or_default();
    match text("plural") {
        "" => checker.required(path.field("plural"), ""),
        plural => checker.text(path.field("plural"), plural, names::dns1035_label(plural)),
    }
    // What is left open is made of the kind.
    if !text("singular").is_empty() {
        let singular = text("singular");
        checker.text(path.field("singular"), singular, names::dns1035_label(singular));
    }
    for field in ["kind", "listKind"] {
        let kind = text(field);
        if kind.is_empty() {
            if field == "kind" {
                checker.required(path.field(field), "");
            }
            continue;
        }
        for message in names::dns1035_label(&kind.to_lowercase()) {
            let message = format!("may have mixed case, but should otherwise match: {message}");
            checker.invalid_text(path.field(field), kind, message);
        }
    }
    if !text("kind").is_empty() && text("kind") == text("listKind") {
        let message = "kind and listKind may not be the same";
        checker.invalid_text(path.field("listKind"), text("listKind"), message);
    }
    for field in ["shortNames", "categories"] {
        let list = path.field(field);
        for (index, name) in given.items_at(&[field]).iter().enumerate() {
            let name = name.as_str().unwrap_or_default();
            checker.text(list.index(index), name, names::dns1035_label(name));
        }
    }
}

fn check_conversion(checker: &mut Checker<'_>, conversion: &Value, path: &Path<'_>) {
    if !conversion.is_object() {
        return;
    }
    match conversion.text_at(&["strategy"]).unwrap_or_default() {
        "" => checker.required(path.field("strategy"), ""),
        "Webhook" => {
            if !conversion["webhook"]["clientConfig"].is_object() {
                checker.required(
                    path.field("webhookClientConfig"),
                    "required when strategy is set to Webhook",
                );
            }
            if conversion
                .items_at(&["webhook", "conversionReviewVersions"])
                .is_empty()
            {
                checker.required(path.field("conversionReviewVersions"), "");
            }
        }
        strategy => checker.one_of(path.field("strategy"), strategy, &["None", "Webhook"]),
    }
}

fn check_versions(checker: &mut Checker<'_>, spec: &Value, path: &Path<'_>) {
    let versions_path = path.field("versions");
    let versions = spec.items_at(&["versions"]);
    let schema_of = |version: &Value| version.at(&["schema", "openAPIV3Schema"]).cloned();
    // Kubernetes keeps a schema that all versions share in one place, and says so.
    let first = versions.first().and_then(schema_of);
    let is_shared = first.is_some() && versions.iter().all(|version| schema_of(version) == first);
    let validation = path.field("validation");
    if let (true, Some(schema)) = (is_shared, &first) {
        crd_schema::check_root(checker, schema, &validation.field("openAPIV3Schema"));
    }
    let mut stored = 0;
    for (index, version) in versions.iter().enumerate() {
        let path = versions_path.index(index);
        let name = version.text_at(&["name"]).unwrap_or_default();
        checker.text(path.field("name"), name, names::dns1035_label(name));
        stored += usize::from(version.get("storage") == Some(&Value::Bool(true)));
        let schema_path = path.field("schema");
        let schema_path = schema_path.field("openAPIV3Schema");
        match schema_of(version) {
            None | Some(Value::Null) => checker.required(schema_path, ""),
            Some(schema) if !is_shared => crd_schema::check_root(checker, &schema, &schema_path),
            Some(_) => {}
        }
        check_version(checker, version, &path);
    }
    let has_twins = versions.iter().enumerate().any(|(index, version)| {
        versions[..index]
            .iter()
            .any(|other| other["name"] == version["name"])
    });
    if has_twins {
        checker.invalid(
            versions_path,
            &spec["versions"],
            "must contain unique version names",
        );
    }
    if stored != 1 {
        checker.invalid(
            versions_path,
            &spec["versions"],
            "must have exactly one version marked as storage version",
        );
        if stored == 0 {
            let status = Path::ROOT.field("status");
            let message = "must have at least one stored version";
            checker.invalid(status.field("storedVersions"), &Value::Null, message);
        }
    }
}

fn check_version(checker: &mut Checker<'_>, version: &Value, path: &Path<'_>) {
    if let Some(warning) = version.text_at(&["deprecationWarning"]) {
        let at = path.field("deprecationWarning");
        if version.get("deprecated") != Some(&Value::Bool(true)) {
            checker.invalid_text(at, warning, "can only be set for deprecated versions");
        }
        if warning.is_empty() {
            checker.invalid_text(at, warning, "must not be an empty string");
        }
    }
    let columns = path.field("additionalPrinterColumns");
    for (index, column) in version.items_at(&["additionalPrinterColumns"]).iter().enumerate() {
        let path = columns.index(index);
        let text = |field: &str| column.text_at(&[field]).unwrap_or_default();
        if text("name").is_empty() {
            checker.required(path.field("name"), "");
        }
        match text("type") {
            "" => checker.required(
                path.field("type"),
                "must be one of boolean,date,integer,number,string",
            ),
            "boolean" | "date" | "integer" | "number" | "string" => {}
            other => {
                let message = "must be one of boolean,date,integer,number,string";
                checker.invalid_text(path.field("type"), other, message);
            }
        }
        match text("jsonPath") {
            "" => checker.required(path.field("JSONPath"), ""),
            json if !json.starts_with('.') => {
                let message = "must be a simple json path starting with .";
                checker.invalid_text(path.field("JSONPath"), json, message);
            }
            _ => {}
        }
    }
    let fields = path.field("selectableFields");
    let schema = version.at(&["schema", "openAPIV3Schema"]);
    for (index, field) in version.items_at(&["selectableFields"]).iter().enumerate() {
        let path = fields.index(index);
        let json = field.text_at(&["jsonPath"]).unwrap_or_default();
        if let Some(schema) = schema
            && !crd_schema::leads_somewhere(schema, json)
        {
            let message = "is an invalid path: does not refer to a valid field";
            checker.invalid_text(path.field("jsonPath"), json, message);
        }
    }
}
