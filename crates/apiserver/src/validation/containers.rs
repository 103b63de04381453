//! Containers of a pod.

use std::collections::BTreeSet;

use firstpass_object::ObjectExt;
use firstpass_object::quantity::Quantity;
use serde_json::Value;

use super::{Checker, Path, names, probes, security};

/// Checks a list of containers. `volumes` are the names that mounts may use.
pub(super) fn check(checker: &mut Checker<'_>, containers: &Value, path: &Path<'_>, pod: &PodFacts<'_>) {
    let mut seen = BTreeSet::new();
    for (index, container) in containers.as_array().into_iter().flatten().enumerate() {
        let path = path.index(index);
        if let Some(name) = checker.required_text(container, &path, "name") {
            checker.text(path.field("name"), name, names::dns1123_label(name));
            if !seen.insert(name) {
                checker.duplicate(path.field("name"), &Value::from(name));
            }
        }
        match container.text_at(&["image"]).unwrap_or_default() {
            "" => checker.required(path.field("image"), ""),
            image if image.trim() != image => {
                checker.invalid_text(
                    path.field("image"),
                    image,
                    "must not have leading or trailing whitespace",
                );
            }
            _ => {}
        }
        checker.field_one_of(
            container,
            &path,
            "imagePullPolicy",
            &["Always", "IfNotPresent", "Never"],
        );
        checker.field_one_of(
            container,
            &path,
            "terminationMessagePolicy",
            &["File", "FallbackToLogsOnError"],
        );
        ports(
            checker,
            &container["ports"],
            &path.field("ports"),
            pod.host_network,
        );
        env(checker, &container["env"], &path.field("env"));
        env_from(checker, &container["envFrom"], &path.field("envFrom"));
        mounts(
            checker,
            &container["volumeMounts"],
            &path.field("volumeMounts"),
            pod,
        );
        resources(checker, &container["resources"], &path.field("resources"));
        for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
            probes::check_probe(checker, &container[name], &path.field(name), name);
        }
        probes::check_lifecycle(checker, &container["lifecycle"], &path.field("lifecycle"));
        security::check_container(
            checker,
            &container["securityContext"],
            &path.field("securityContext"),
        );
    }
}

/// What containers need to know of their pod.
pub(super) struct PodFacts<'a> {
    pub(super) volumes: BTreeSet<&'a str>,
    pub(super) host_network: bool,
}

fn ports(checker: &mut Checker<'_>, ports: &Value, path: &Path<'_>, host_network: bool) {
    let mut seen = BTreeSet::new();
    for (index, port) in ports.as_array().into_iter().flatten().enumerate() {
        let path = path.index(index);
        if let Some(name) = port.text_at(&["name"]).filter(|name| !name.is_empty()) {
            checker.text(path.field("name"), name, names::port_name(name));
            if !seen.insert(name) {
                checker.duplicate(path.field("name"), &Value::from(name));
            }
        }
        let container_port = checker.number(port, "containerPort");
        match container_port {
            None | Some(0) if !port["containerPort"].is_string() => {
                checker.required(path.field("containerPort"), "");
            }
            None => {}
            Some(number) => {
                for message in names::port_number(number) {
                    checker.invalid(path.field("containerPort"), &Value::from(number), message);
                }
            }
        }
        if let Some(number) = checker.number(port, "hostPort").filter(|number| *number != 0) {
            for message in names::port_number(number) {
                checker.invalid(path.field("hostPort"), &Value::from(number), message);
            }
            if host_network && container_port.is_some_and(|port| port != number) {
                checker.invalid(
                    path.field("hostPort"),
                    &Value::from(number),
                    "must match `containerPort` when `hostNetwork` is true",
                );
            }
        }
        checker.field_one_of(port, &path, "protocol", &["SCTP", "TCP", "UDP"]);
    }
}

const SOURCES: [&str; 5] = [
    "fieldRef",
    "fileKeyRef",
    "resourceFieldRef",
    "configMapKeyRef",
    "secretKeyRef",
];

fn env(checker: &mut Checker<'_>, env: &Value, path: &Path<'_>) {
    for (index, variable) in env.as_array().into_iter().flatten().enumerate() {
        let path = path.index(index);
        if let Some(name) = checker.required_text(variable, &path, "name") {
            checker.text(path.field("name"), name, names::env_var_name(name, checker.minor));
        }
        let Some(Value::Object(source)) = variable.get("valueFrom") else {
            continue;
        };
        let path = path.field("valueFrom");
        if variable
            .text_at(&["value"])
            .is_some_and(|value| !value.is_empty())
        {
            checker.invalid_text(path, "", "may not be specified when `value` is not empty");
        }
        let sources: Vec<&str> = SOURCES
            .into_iter()
            .filter(|name| source.get(*name).is_some_and(|value| !value.is_null()))
            .collect();
        match sources.as_slice() {
            [] => checker.invalid_text(
                path,
                "",
                if checker.minor >= 34 {
                    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
                } else {
                    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
                },
            ),
            [source_name @ ("configMapKeyRef" | "secretKeyRef")] => {
                let path = path.field(source_name);
                let name = source[*source_name].text_at(&["name"]).unwrap_or_default();
                checker.text(path.field("name"), name, names::dns1123_subdomain(name));
                if let Some(key) = checker.required_text(&source[*source_name], &path, "key") {
                    checker.text(path.field("key"), key, names::config_key(key));
                }
            }
            ["fieldRef"] => {
                const FIELDS: [&str; 9] = [
                    "metadata.name",
                    "metadata.namespace",
                    "metadata.uid",
                    "spec.nodeName",
                    "spec.serviceAccountName",
                    "status.hostIP",
                    "status.hostIPs",
                    "status.podIP",
                    "status.podIPs",
                ];
                field_ref(checker, &source["fieldRef"], &path.field("fieldRef"), &FIELDS);
            }
            [_] => {}
            _ => checker.invalid_text(path, "", "may not have more than one field specified at a time"),
        }
    }
}

/// The name of a ConfigMap or a Secret.
fn object_name(checker: &mut Checker<'_>, reference: &Value, path: &Path<'_>) {
    if let Some(name) = checker.required_text(reference, path, "name") {
        checker.text(path.field("name"), name, names::dns1123_subdomain(name));
    }
}

/// A field of the pod, of those that may be asked for.
pub(super) fn field_ref(checker: &mut Checker<'_>, reference: &Value, path: &Path<'_>, fields: &[&str]) {
    const KNOWN: [&str; 5] = [
        "metadata.annotations",
        "metadata.labels",
        "spec.restartPolicy",
        "spec.schedulerName",
        "status.phase",
    ];
    let Some(field) = checker.required_text(reference, path, "fieldPath") else {
        return;
    };
    let path = path.field("fieldPath");
    if let Some((map, key)) = field.split_once("['")
        && let Some(key) = key.strip_suffix("']")
    {
        match map {
            "metadata.annotations" => checker.text(path, key, names::qualified_name(&key.to_lowercase())),
            "metadata.labels" => checker.text(path, key, names::qualified_name(key)),
            _ => checker.invalid_text(path, map, "does not support subscript"),
        }
    } else if fields.contains(&field) {
    } else if KNOWN.contains(&field) || field.starts_with("metadata.") && fields.len() < 9 {
        checker.one_of(path, field, fields);
    } else {
        let message = format!("error converting fieldPath: field label not supported: {field}");
        checker.invalid_text(path, field, message);
    }
}

fn env_from(checker: &mut Checker<'_>, sources: &Value, list: &Path<'_>) {
    for (index, source) in sources.as_array().into_iter().flatten().enumerate() {
        let path = list.index(index);
        let given: Vec<&str> = ["configMapRef", "secretRef"]
            .into_iter()
            .filter(|name| source.get(*name).is_some())
            .collect();
        match given.as_slice() {
            [] => checker.invalid_text(list, "", "must specify one of: `configMapRef` or `secretRef`"),
            [name] => object_name(checker, &source[*name], &path.field(name)),
            _ => checker.invalid_text(path, "", "may not have more than one field specified at a time"),
        }
    }
}

fn mounts(checker: &mut Checker<'_>, mounts: &Value, list: &Path<'_>, pod: &PodFacts<'_>) {
    let mut paths = BTreeSet::new();
    for (index, mount) in mounts.as_array().into_iter().flatten().enumerate() {
        let path = list.index(index);
        checker.required_text(mount, &path, "name");
        let name = mount.text_at(&["name"]).unwrap_or_default();
        let is_known = !pod.volumes.iter().any(|volume| checker.is_unknown(volume));
        if is_known && !pod.volumes.contains(name) {
            checker.not_found(path.field("name"), name);
        }
        if let Some(mount_path) = checker.required_text(mount, &path, "mountPath")
            && !paths.insert(mount_path)
        {
            checker.invalid_text(path.field("mountPath"), mount_path, "must be unique");
        }
        if let Some(sub_path) = mount.text_at(&["subPath"]) {
            relative_path(checker, sub_path, &path.field("subPath"));
        }
        checker.pointer_one_of(
            mount,
            list,
            "mountPropagation",
            &["Bidirectional", "HostToContainer", "None"],
        );
    }
}

/// A path that stays where it is.
pub(super) fn relative_path(checker: &mut Checker<'_>, text: &str, path: &Path<'_>) {
    if text.starts_with('/') {
        checker.invalid_text(path, text, "must be a relative path");
    }
    if text.split('/').any(|part| part == "..") {
        checker.invalid_text(path, text, "must not contain '..'");
    }
}

fn resources(checker: &mut Checker<'_>, resources: &Value, path: &Path<'_>) {
    let limits = resources.get("limits").and_then(Value::as_object);
    for field in ["limits", "requests"] {
        for (name, amount) in resources
            .get(field)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let path = path.field(field);
            if !name.contains('/') && !is_standard_resource(name) {
                checker.invalid_text(path.key(name), name, "must be a standard resource for containers");
            }
            let Ok(quantity) = Quantity::from_value(amount) else {
                continue;
            };
            if quantity.sign().is_lt() {
                checker.invalid(path.key(name), amount, "must be greater than or equal to 0");
            }
            let limit = limits
                .filter(|_| field == "requests")
                .and_then(|limits| limits.get(name));
            if let Some(limit) = limit
                && Quantity::from_value(limit).is_ok_and(|limit| quantity > limit)
                && !checker.holds_unknown(amount)
            {
                let shown = limit.as_str().map_or_else(|| limit.to_string(), str::to_owned);
                let amount = Value::from(amount.as_str().map_or_else(|| amount.to_string(), str::to_owned));
                checker.invalid(
                    path,
                    &amount,
                    format!("must be less than or equal to {name} limit of {shown}"),
                );
            }
        }
    }
}

fn is_standard_resource(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-")
}
