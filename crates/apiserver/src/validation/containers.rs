//! Containers of a pod.

use std::collections::BTreeSet;

use firstpass_object::ObjectExt;
use firstpass_object::quantity::Quantity;
use serde_json::Value;

use super::{Checker, Path, names};

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
            probe(checker, &container[name], &path.field(name), name);
        }
        security(
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
        let container_port = port.get("containerPort").and_then(Value::as_i64);
        match container_port {
            None if port.get("containerPort").is_none() => checker.required(path.field("containerPort"), ""),
            None => {}
            Some(number) => {
                for message in names::port_number(number) {
                    checker.invalid(path.field("containerPort"), &Value::from(number), message);
                }
            }
        }
        if let Some(number) = port
            .get("hostPort")
            .and_then(Value::as_i64)
            .filter(|number| *number != 0)
        {
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
                "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`",
            ),
            [source_name @ ("configMapKeyRef" | "secretKeyRef")] => {
                let path = path.field(source_name);
                checker.required_text(&source[*source_name], &path, "name");
                if let Some(key) = checker.required_text(&source[*source_name], &path, "key") {
                    checker.text(path.field("key"), key, names::config_key(key));
                }
            }
            [_] => {}
            _ => checker.invalid_text(path, "", "may not have more than one field specified at a time"),
        }
    }
}

fn env_from(checker: &mut Checker<'_>, sources: &Value, path: &Path<'_>) {
    for (index, source) in sources.as_array().into_iter().flatten().enumerate() {
        let path = path.index(index);
        let given: Vec<&str> = ["configMapRef", "secretRef"]
            .into_iter()
            .filter(|name| source.get(*name).is_some())
            .collect();
        match given.as_slice() {
            [] => checker.invalid_text(path, "", "must specify one of: `configMapRef` or `secretRef`"),
            [name] => {
                checker.required_text(&source[*name], &path.field(name), "name");
            }
            _ => checker.invalid_text(path, "", "may not have more than one field specified at a time"),
        }
    }
}

fn mounts(checker: &mut Checker<'_>, mounts: &Value, path: &Path<'_>, pod: &PodFacts<'_>) {
    let mut paths = BTreeSet::new();
    for (index, mount) in mounts.as_array().into_iter().flatten().enumerate() {
        let path = path.index(index);
        if let Some(name) = checker.required_text(mount, &path, "name")
            && !pod.volumes.contains(name)
            && !pod.volumes.iter().any(|volume| checker.is_unknown(volume))
        {
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
                checker.invalid(
                    path,
                    amount,
                    format!("must be less than or equal to {name} limit of {shown}"),
                );
            }
        }
    }
}

fn is_standard_resource(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-")
}

fn probe(checker: &mut Checker<'_>, probe: &Value, path: &Path<'_>, name: &str) {
    if !probe.is_object() {
        return;
    }
    let handlers: Vec<&str> = ["exec", "grpc", "httpGet", "tcpSocket"]
        .into_iter()
        .filter(|name| probe.get(*name).is_some_and(|value| !value.is_null()))
        .collect();
    match handlers.as_slice() {
        [] => checker.required(path, "must specify a handler type"),
        [handler @ ("httpGet" | "tcpSocket" | "grpc")] => {
            let path = path.field(handler);
            probe_port(checker, &probe[*handler], &path);
        }
        [_] => {}
        [_, second, ..] => checker.forbidden(path.field(second), "may not specify more than 1 handler type"),
    }
    for field in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        checker.non_negative(probe, path, field);
    }
    if name != "readinessProbe"
        && let Some(threshold) = probe
            .get("successThreshold")
            .filter(|value| value.as_i64().is_some_and(|n| n > 1))
    {
        checker.invalid(path.field("successThreshold"), threshold, "must be 1");
    }
}

fn probe_port(checker: &mut Checker<'_>, handler: &Value, path: &Path<'_>) {
    match handler.get("port") {
        None | Some(Value::Null) => checker.required(path.field("port"), ""),
        Some(Value::String(name)) => checker.text(path.field("port"), name, names::port_name(name)),
        Some(port) => {
            for message in port.as_i64().map(names::port_number).unwrap_or_default() {
                checker.invalid(path.field("port"), port, message);
            }
        }
    }
}

fn security(checker: &mut Checker<'_>, context: &Value, path: &Path<'_>) {
    let is = |field: &str, wanted: bool| context.get(field) == Some(&Value::Bool(wanted));
    if is("allowPrivilegeEscalation", false) && is("privileged", true) {
        checker.push(
            path,
            format!(
                "Invalid value: {context}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            ),
        );
    }
    for field in ["runAsUser", "runAsGroup"] {
        checker.in_range(context, path, field, 0, i64::from(i32::MAX));
    }
}
