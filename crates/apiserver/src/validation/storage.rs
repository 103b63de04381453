//! ConfigMaps, Secrets, claims, volumes, storage classes.

use firstpass_object::ObjectExt;
use firstpass_object::quantity::Quantity;
use serde_json::Value;

use super::{Checker, Path, names};

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
    checker.field_one_of(spec, &path, "volumeMode", &["Block", "Filesystem"]);
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
    checker.field_one_of(spec, &path, "volumeMode", &["Block", "Filesystem"]);
}

pub(super) fn check_class(checker: &mut Checker<'_>, object: &Value) {
    let root = Path::ROOT;
    checker.required_text(object, &root, "provisioner");
    checker.field_one_of(object, &root, "reclaimPolicy", &["Delete", "Retain"]);
    checker.field_one_of(
        object,
        &root,
        "volumeBindingMode",
        &["Immediate", "WaitForFirstConsumer"],
    );
    if object["parameters"].get("").is_some() {
        checker.invalid_text(root.field("parameters"), "", "field must not be empty");
    }
}
