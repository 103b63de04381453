//! ConfigMaps, Secrets, claims, volumes, storage classes.

use std::collections::BTreeSet;

use firstpass_object::ObjectExt;
use firstpass_object::quantity::Quantity;
use serde_json::Value;

use super::{Checker, Path, names, selector};

/// The most that a ConfigMap or a Secret may hold.
const DATA_SIZE_MAX: usize = 1024 * 1024;
const ACCESS_MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

pub(super) fn check_config_map(checker: &mut Checker<'_>, object: &Value) {
    let mut size = data_keys(checker, object, "data") + data_keys(checker, object, "binaryData");
    for (key, _) in object["binaryData"].as_object().into_iter().flatten() {
        if object["data"].get(key).is_some() {
            let message = "duplicate of key present in binaryData";
            checker.invalid_text(Path::ROOT.field("data").key(key), key, message);
            size += key.len();
        }
    }
    check_size(checker, size, "");
}

pub(super) fn check_secret(checker: &mut Checker<'_>, object: &Value) {
    let size = data_keys(checker, object, "data") + data_keys(checker, object, "stringData");
    check_size(checker, size, "data");
    let has = |key: &str| object["data"].get(key).is_some() || object["stringData"].get(key).is_some();
    let data = Path::ROOT.field("data");
    let required: &[&str] = match object.text_at(&["type"]).unwrap_or_default() {
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => &["username", "password"],
        "kubernetes.io/service-account-token" => {
            let name = object
                .annotation("kubernetes.io/service-account.name")
                .unwrap_or_default();
            if name.is_empty() {
                let annotations = Path::ROOT.field("metadata");
                checker.required(
                    annotations
                        .field("annotations")
                        .key("kubernetes.io/service-account.name"),
                    "",
                );
            }
            &[]
        }
        _ => &[],
    };
    for key in required {
        if !has(key) {
            checker.required(data.key(key), "");
        }
    }
}

/// Checks keys and gives the size of keys and values.
fn data_keys(checker: &mut Checker<'_>, object: &Value, field: &str) -> usize {
    let path = Path::ROOT.field(field);
    let mut size = 0;
    for (key, value) in object[field].as_object().into_iter().flatten() {
        checker.text(path.key(key), key, names::config_key(key));
        let value = value.as_str().unwrap_or_default();
        size += if field == "data" && object.kind() == "Secret" {
            value.len() / 4 * 3
        } else {
            value.len()
        };
    }
    size
}

fn check_size(checker: &mut Checker<'_>, size: usize, path: &str) {
    if size > DATA_SIZE_MAX {
        checker.push(
            path,
            format!("Too long: may not be more than {DATA_SIZE_MAX} bytes"),
        );
    }
}

/// The spec of a claim, also of a claim template.
pub(super) fn check_claim(checker: &mut Checker<'_>, spec: &Value, path: Path<'_>) {
    access_modes(checker, spec, &path);
    let storage = &spec["resources"]["requests"]["storage"];
    let resources = path.field("resources");
    if storage.is_null() {
        checker.required(resources.key("storage"), "");
    } else if Quantity::from_value(storage).is_ok_and(|quantity| !quantity.sign().is_gt()) {
        checker.invalid(resources.key("storage"), storage, "must be greater than zero");
    }
    checker.pointer_one_of(spec, &path, "volumeMode", &["Block", "Filesystem"]);
    if let Some(class) = spec
        .text_at(&["storageClassName"])
        .filter(|class| !class.is_empty())
    {
        checker.text(
            path.field("storageClassName"),
            class,
            names::dns1123_subdomain(class),
        );
    }
    selector::label_selector(checker, &spec["selector"], &path.field("selector"));
    data_source(checker, spec, &path);
}

/// What a new volume is filled from.
fn data_source(checker: &mut Checker<'_>, spec: &Value, path: &Path<'_>) {
    for field in ["dataSource", "dataSourceRef"] {
        let source = &spec[field];
        let kind = source.text_at(&["kind"]).unwrap_or_default();
        // A source of another kind in the old field is dropped without a word.
        let group = source.text_at(&["apiGroup"]).unwrap_or_default();
        let is_kept = field == "dataSourceRef"
            || matches!(
                (group, kind),
                ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
            );
        if !source.is_object() || !is_kept {
            continue;
        }
        let path = path.field(field);
        checker.required_text(source, &path, "name");
        let kind = checker.required_text(source, &path, "kind").unwrap_or_default();
        let group = source.text_at(&["apiGroup"]).unwrap_or_default();
        if group.is_empty() && kind != "PersistentVolumeClaim" {
            checker.invalid_text(
                path,
                kind,
                "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
            );
        }
        if !group.is_empty() {
            checker.text(path.field("apiGroup"), group, names::dns1123_subdomain(group));
        }
    }
}

fn access_modes(checker: &mut Checker<'_>, spec: &Value, path: &Path<'_>) {
    let path = path.field("accessModes");
    let modes = spec.items_at(&["accessModes"]);
    if modes.is_empty() && !spec["accessModes"].is_string() {
        checker.required(path, "at least 1 access mode is required");
    }
    for mode in modes {
        checker.one_of(path, mode.as_str().unwrap_or_default(), &ACCESS_MODES);
    }
    let has = |wanted: &str| modes.iter().any(|mode| mode == wanted);
    if has("ReadWriteOncePod") && modes.len() > 1 {
        checker.forbidden(path, "may not use ReadWriteOncePod with other access modes");
    }
}

pub(super) fn check_volume(checker: &mut Checker<'_>, object: &Value) {
    let spec = &object["spec"];
    let path = Path::ROOT.field("spec");
    access_modes(checker, spec, &path);
    let capacity = path.field("capacity");
    match spec["capacity"].get("storage") {
        None => checker.required(capacity, ""),
        Some(storage) if Quantity::from_value(storage).is_ok_and(|quantity| !quantity.sign().is_gt()) => {
            checker.invalid(capacity.key("storage"), storage, "must be greater than zero");
        }
        Some(_) => {}
    }
    checker.field_one_of(
        spec,
        &path,
        "persistentVolumeReclaimPolicy",
        &["Delete", "Recycle", "Retain"],
    );
    if let Some(class) = spec
        .text_at(&["storageClassName"])
        .filter(|class| !class.is_empty())
    {
        checker.text(
            path.field("storageClassName"),
            class,
            names::dns1123_subdomain(class),
        );
    }
    volume_source(checker, spec, &path);
    if let Some(affinity) = spec.get("nodeAffinity").filter(|affinity| affinity.is_object()) {
        let path = path.field("nodeAffinity");
        if affinity["required"].is_object() {
            selector::node_selector(checker, &affinity["required"], &path.field("required"));
        } else {
            checker.required(path.field("required"), "must specify required node constraints");
        }
    }
    checker.pointer_one_of(spec, &path, "volumeMode", &["Block", "Filesystem"]);
}

/// Where the bytes of a volume are.
fn volume_source(checker: &mut Checker<'_>, spec: &Value, path: &Path<'_>) {
    const OTHER: [&str; 9] = [
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    ];
    let mut sources = spec
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, value)| !OTHER.contains(&name.as_str()) && value.is_object());
    let Some((name, source)) = sources.next() else {
        return checker.required(path, "must specify a volume type");
    };
    for (name, _) in sources {
        checker.forbidden(path.field(name), "may not specify more than 1 volume type");
    }
    let path = path.field(name);
    match name.as_str() {
        "nfs" => {
            checker.required_text(source, &path, "server");
            let export = source.text_at(&["path"]).unwrap_or_default();
            checker.required_text(source, &path, "path");
            if !export.starts_with('/') {
                checker.invalid_text(path.field("path"), export, "must be an absolute path");
            }
        }
        "csi" => {
            if let Some(driver) = checker.required_text(source, &path, "driver") {
                let lower = driver.to_lowercase();
                if driver.len() > 63 {
                    checker.push(path.field("driver"), "Too long: may not be more than 63 bytes");
                }
                for message in names::dns1123_subdomain(&lower) {
                    checker.invalid_text(path.field("driver"), driver, message);
                }
            }
            checker.required_text(source, &path, "volumeHandle");
        }
        "hostPath" | "local" => {
            checker.required_text(source, &path, "path");
        }
        _ => {}
    }
}

pub(super) fn check_class(checker: &mut Checker<'_>, object: &Value) {
    let root = Path::ROOT;
    if let Some(provisioner) = checker.required_text(object, &root, "provisioner") {
        let lower = provisioner.to_lowercase();
        checker.text(root.field("provisioner"), &lower, names::qualified_name(&lower));
    }
    checker.field_one_of(object, &root, "reclaimPolicy", &["Delete", "Retain"]);
    checker.pointer_one_of(
        object,
        &root,
        "volumeBindingMode",
        &["Immediate", "WaitForFirstConsumer"],
    );
    if object["parameters"].get("").is_some() {
        checker.invalid_text(root.field("parameters"), "", "field must not be empty");
    }
    let topologies = root.field("allowedTopologies");
    let terms = object.items_at(&["allowedTopologies"]);
    for (index, term) in terms.iter().enumerate() {
        let path = topologies.index(index);
        let path = path.field("matchLabelExpressions");
        if terms[..index].contains(term) {
            checker.duplicate(path, &Value::from(""));
        }
        topology(checker, term.items_at(&["matchLabelExpressions"]), &path);
    }
}

fn topology(checker: &mut Checker<'_>, expressions: &[Value], path: &Path<'_>) {
    let mut seen = BTreeSet::new();
    for (index, expression) in expressions.iter().enumerate() {
        let path = path.index(index);
        let key = expression.text_at(&["key"]).unwrap_or_default();
        let values_path = path.field("values");
        let values = expression.items_at(&["values"]);
        if values.is_empty() {
            checker.required(values_path, "");
        }
        for (index, value) in values.iter().enumerate() {
            if values[..index].contains(value) {
                checker.duplicate(values_path.index(index), value);
            }
        }
        checker.text(path.field("key"), key, names::qualified_name(key));
        if !seen.insert(key) {
            checker.duplicate(path.field("key"), &Value::from(key));
        }
    }
}

pub(super) fn check_csi_driver(checker: &mut Checker<'_>, object: &Value) {
    let spec = &object["spec"];
    let path = Path::ROOT.field("spec");
    checker.pointer_one_of(
        spec,
        &path,
        "fsGroupPolicy",
        &["File", "None", "ReadWriteOnceWithFSType"],
    );
    for mode in spec.items_at(&["volumeLifecycleModes"]) {
        let mode = mode.as_str().unwrap_or_default();
        checker.one_of(
            path.field("volumeLifecycleModes"),
            mode,
            &["Persistent", "Ephemeral"],
        );
    }
    let requests = path.field("tokenRequests");
    let mut seen = BTreeSet::new();
    for (index, request) in spec.items_at(&["tokenRequests"]).iter().enumerate() {
        let path = requests.index(index);
        let audience = request.text_at(&["audience"]).unwrap_or_default();
        if !seen.insert(audience) {
            checker.duplicate(path.field("audience"), &Value::from(audience));
        }
        if let Some(seconds) = request["expirationSeconds"]
            .as_i64()
            .filter(|seconds| *seconds < 600)
        {
            checker.invalid(
                path.field("expirationSeconds"),
                &Value::from(seconds),
                "may not specify a duration less than 10 minutes",
            );
        }
    }
}
