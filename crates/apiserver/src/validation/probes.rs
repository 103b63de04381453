//! Probes and lifecycle hooks of containers, which share their handlers.

use firstpass_object::ObjectExt;
use serde_json::Value;

use super::{Checker, Path, names};

pub(super) fn check_probe(checker: &mut Checker<'_>, probe: &Value, path: &Path<'_>, name: &str) {
    if !probe.is_object() {
        return;
    }
    check_handler(checker, probe, path, &["exec", "httpGet", "tcpSocket", "grpc"]);
    for field in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        checker.non_negative(probe, path, field);
    }
    let grace = "terminationGracePeriodSeconds";
    if let Some(seconds) = probe.get(grace) {
        if name == "readinessProbe" {
            checker.invalid(path.field(grace), seconds, "must not be set for readinessProbes");
        } else if seconds.as_i64().is_some_and(|seconds| seconds <= 0) {
            checker.invalid(path.field(grace), seconds, "must be greater than 0");
        }
    }
    if name != "readinessProbe"
        && let Some(threshold) = checker
            .number(probe, "successThreshold")
            .filter(|n| *n != 0 && *n != 1)
    {
        checker.invalid(
            path.field("successThreshold"),
            &Value::from(threshold),
            "must be 1",
        );
    }
}

pub(super) fn check_lifecycle(checker: &mut Checker<'_>, lifecycle: &Value, path: &Path<'_>) {
    for name in ["postStart", "preStop"] {
        if let Some(hook) = lifecycle.get(name).filter(|hook| hook.is_object()) {
            check_handler(
                checker,
                hook,
                &path.field(name),
                &["exec", "httpGet", "tcpSocket", "sleep"],
            );
        }
    }
}

fn check_handler(checker: &mut Checker<'_>, parent: &Value, path: &Path<'_>, known: &[&str]) {
    let given: Vec<&str> = known
        .iter()
        .copied()
        .filter(|name| parent.get(*name).is_some_and(|value| !value.is_null()))
        .collect();
    let Some((first, others)) = given.split_first() else {
        return checker.required(path, "must specify a handler type");
    };
    for other in others {
        checker.forbidden(path.field(other), "may not specify more than 1 handler type");
    }
    let handler = &parent[*first];
    let path = path.field(first);
    match *first {
        "exec" if handler.items_at(&["command"]).is_empty() => checker.required(path.field("command"), ""),
        "httpGet" => {
            port(checker, handler, &path);
            checker.field_one_of(handler, &path, "scheme", &["HTTP", "HTTPS"]);
            for header in handler.items_at(&["httpHeaders"]) {
                let name = header.text_at(&["name"]).unwrap_or_default();
                if name.is_empty()
                    || !name
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
                {
                    checker.invalid_text(
                        path.field("httpHeaders"),
                        name,
                        "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
                    );
                }
            }
        }
        "tcpSocket" | "grpc" => port(checker, handler, &path),
        _ => {}
    }
}

fn port(checker: &mut Checker<'_>, handler: &Value, path: &Path<'_>) {
    match handler.get("port") {
        Some(Value::String(name)) => checker.text(path.field("port"), name, names::port_name(name)),
        port => {
            let number = port
                .map_or(Some(0), |_| checker.number(handler, "port"))
                .unwrap_or(0);
            for message in names::port_number(number) {
                checker.invalid(path.field("port"), &Value::from(number), message);
            }
        }
    }
}
