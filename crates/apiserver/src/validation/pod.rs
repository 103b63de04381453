//! Pods and pod templates.

use std::collections::BTreeSet;

use firstpass_object::ObjectExt;
use serde_json::Value;

use super::containers::{self, PodFacts};
use super::{Checker, Path, metadata, names, security, selector};

pub(super) fn check_pod(checker: &mut Checker<'_>, object: &Value) {
    check_spec(checker, &object["spec"], &Path::ROOT.field("spec"));
}

/// Checks the template of a workload. `restart_policies` are those that the workload allows.
pub(super) fn check_template(
    checker: &mut Checker<'_>,
    template: &Value,
    path: &Path<'_>,
    restart_policies: &[&str],
) {
    check_spec(checker, &template["spec"], &path.field("spec"));
    // Kubernetes leaves `metadata` out of these paths.
    metadata::labels(checker, &template["metadata"]["labels"], &path.field("labels"));
    metadata::annotations(
        checker,
        &template["metadata"]["annotations"],
        &path.field("annotations"),
    );
    let spec_path = path.field("spec");
    match template.text_at(&["spec", "restartPolicy"]) {
        Some(policy) if !policy.is_empty() => {
            checker.one_of(spec_path.field("restartPolicy"), policy, restart_policies);
        }
        _ if !restart_policies.contains(&"Always") => {
            checker.required(
                spec_path.field("restartPolicy"),
                "valid values: \"OnFailure\", \"Never\"",
            );
        }
        _ => {}
    }
}

const POLICIES: [&str; 3] = ["Always", "OnFailure", "Never"];

fn check_spec(checker: &mut Checker<'_>, spec: &Value, path: &Path<'_>) {
    let volumes = volumes(checker, &spec["volumes"], &path.field("volumes"));
    let pod = PodFacts {
        volumes,
        host_network: spec.get("hostNetwork") == Some(&Value::Bool(true)),
    };
    if spec.items_at(&["containers"]).is_empty() && !spec["containers"].is_string() {
        checker.required(path.field("containers"), "");
    }
    for field in ["initContainers", "containers"] {
        containers::check(checker, &spec[field], &path.field(field), &pod);
    }
    checker.field_one_of(spec, path, "restartPolicy", &POLICIES);
    if spec.text_at(&["runtimeClassName"]) == Some("") {
        checker.text(path.field("runtimeClassName"), "", names::dns1123_subdomain(""));
    }
    let inits = path.field("initContainers");
    for (index, container) in spec.items_at(&["initContainers"]).iter().enumerate() {
        checker.pointer_one_of(container, &inits.index(index), "restartPolicy", &POLICIES);
    }
    checker.field_one_of(
        spec,
        path,
        "dnsPolicy",
        &["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"],
    );
    if spec.text_at(&["dnsPolicy"]) == Some("None") && spec.items_at(&["dnsConfig", "nameservers"]).is_empty()
    {
        checker.required(
            path.field("dnsConfig").field("nameservers"),
            "must provide at least one DNS nameserver when `dnsPolicy` is None",
        );
    }
    metadata::labels(checker, &spec["nodeSelector"], &path.field("nodeSelector"));
    for field in [
        "serviceAccountName",
        "priorityClassName",
        "schedulerName",
        "runtimeClassName",
    ] {
        if let Some(name) = spec.text_at(&[field]).filter(|name| !name.is_empty()) {
            checker.text(path.field(field), name, names::dns1123_subdomain(name));
        }
    }
    if let Some(hostname) = spec.text_at(&["hostname"]).filter(|name| !name.is_empty()) {
        checker.text(path.field("hostname"), hostname, names::dns1123_label(hostname));
    }
    if let Some(subdomain) = spec.text_at(&["subdomain"]).filter(|name| !name.is_empty()) {
        checker.text(
            path.field("subdomain"),
            subdomain,
            names::dns1123_label(subdomain),
        );
    }
    checker.in_range(spec, path, "activeDeadlineSeconds", 1, i64::from(i32::MAX));
    security::check_pod(checker, &spec["securityContext"], &path.field("securityContext"));
    selector::affinity(checker, &spec["affinity"], &path.field("affinity"));
    dns_config(checker, &spec["dnsConfig"], &path.field("dnsConfig"));
    tolerations(checker, &spec["tolerations"], &path.field("tolerations"));
    let aliases = path.field("hostAliases");
    for (index, alias) in spec.items_at(&["hostAliases"]).iter().enumerate() {
        let ip = alias.text_at(&["ip"]).unwrap_or_default();
        let path = aliases.index(index);
        checker.text(path.field("ip"), ip, names::ip(ip));
        for hostname in alias.items_at(&["hostnames"]) {
            let hostname = hostname.as_str().unwrap_or_default();
            checker.text(
                path.field("hostnames"),
                hostname,
                names::dns1123_subdomain(hostname),
            );
        }
    }
    let constraints = path.field("topologySpreadConstraints");
    for (index, constraint) in spec.items_at(&["topologySpreadConstraints"]).iter().enumerate() {
        let path = constraints.index(index);
        let skew = checker.number(constraint, "maxSkew").unwrap_or(0);
        if skew <= 0 {
            checker.invalid(
                path.field("maxSkew"),
                &Value::from(skew),
                "must be greater than zero",
            );
        }
        if constraint
            .text_at(&["topologyKey"])
            .unwrap_or_default()
            .is_empty()
        {
            checker.required(path.field("topologyKey"), "can not be empty");
        }
        let otherwise = constraint.text_at(&["whenUnsatisfiable"]).unwrap_or_default();
        checker.one_of(
            path.field("whenUnsatisfiable"),
            otherwise,
            &["DoNotSchedule", "ScheduleAnyway"],
        );
        if let Some(domains) = checker.number(constraint, "minDomains") {
            if domains <= 0 {
                checker.invalid(
                    path.field("minDomains"),
                    &Value::from(domains),
                    "must be greater than zero",
                );
            }
            if otherwise != "DoNotSchedule" {
                let message =
                    format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {otherwise}");
                checker.invalid(path.field("minDomains"), &Value::from(domains), message);
            }
        }
        for field in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            checker.pointer_one_of(constraint, &path, field, &["Honor", "Ignore"]);
        }
        selector::label_selector(
            checker,
            &constraint["labelSelector"],
            &path.field("labelSelector"),
        );
    }
}

fn dns_config(checker: &mut Checker<'_>, config: &Value, path: &Path<'_>) {
    let servers = path.field("nameservers");
    for (index, server) in config.items_at(&["nameservers"]).iter().enumerate() {
        let server = server.as_str().unwrap_or_default();
        checker.text(servers.index(index), server, names::ip(server));
    }
    let searches = path.field("searches");
    for (index, search) in config.items_at(&["searches"]).iter().enumerate() {
        let search = search.as_str().unwrap_or_default();
        let plain = search.strip_suffix('.').unwrap_or(search);
        if search != "." {
            for message in names::search_path(plain) {
                checker.invalid_text(searches.index(index), search, message);
            }
        }
    }
    let options = path.field("options");
    for (index, option) in config.items_at(&["options"]).iter().enumerate() {
        if option.text_at(&["name"]).unwrap_or_default().is_empty() {
            checker.required(options.index(index), "must not be empty");
        }
    }
}

pub(super) fn tolerations(checker: &mut Checker<'_>, tolerations: &Value, path: &Path<'_>) {
    for (index, toleration) in tolerations.as_array().into_iter().flatten().enumerate() {
        let path = path.index(index);
        let text = |field: &str| toleration.text_at(&[field]).unwrap_or_default();
        if !text("key").is_empty() {
            checker.text(path.field("key"), text("key"), names::qualified_name(text("key")));
        }
        match text("operator") {
            "" | "Equal" if text("key").is_empty() => {
                checker.invalid_text(
                    path.field("operator"),
                    text("operator"),
                    "operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
                );
            }
            "Exists" if !text("value").is_empty() => {
                checker.invalid_text(
                    path.field("operator"),
                    text("value"),
                    "value must be empty when `operator` is 'Exists'",
                );
            }
            "" | "Equal" => checker.text(
                path.field("operator"),
                text("value"),
                names::label_value(text("value")),
            ),
            "Exists" | "Gt" | "Lt" => {}
            other => checker.one_of(path.field("operator"), other, &["Equal", "Exists"]),
        }
        if toleration
            .get("tolerationSeconds")
            .is_some_and(|seconds| !seconds.is_null())
            && text("effect") != "NoExecute"
        {
            checker.invalid_text(
                path.field("effect"),
                text("effect"),
                "effect must be 'NoExecute' when `tolerationSeconds` is set",
            );
        }
        if !text("effect").is_empty() {
            checker.one_of(
                path.field("effect"),
                text("effect"),
                &["NoExecute", "NoSchedule", "PreferNoSchedule"],
            );
        }
    }
}

/// Checks volumes and gives their names.
fn volumes<'v>(checker: &mut Checker<'_>, volumes: &'v Value, path: &Path<'_>) -> BTreeSet<&'v str> {
    let mut seen = BTreeSet::new();
    for (index, volume) in volumes.as_array().into_iter().flatten().enumerate() {
        let path = path.index(index);
        let before = checker.count();
        let sources: Vec<&String> = volume
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(name, source)| *name != "name" && !source.is_null())
            .map(|(name, _)| name)
            .collect();
        match sources.as_slice() {
            [] => {} // an emptyDir
            [source] => volume_source(checker, source, &volume[source.as_str()], &path.field(source)),
            [_, second, ..] => {
                checker.forbidden(path.field(second), "may not specify more than 1 volume type");
            }
        }
        if let Some(name) = checker.required_text(volume, &path, "name") {
            checker.text(path.field("name"), name, names::dns1123_label(name));
            if seen.contains(name) {
                checker.duplicate(path.field("name"), &Value::from(name));
            }
            // Mounts cannot use what is not right.
            if checker.count() == before {
                seen.insert(name);
            }
        }
    }
    seen
}

fn volume_source(checker: &mut Checker<'_>, name: &str, source: &Value, path: &Path<'_>) {
    match name {
        "configMap" => {
            checker.required_text(source, path, "name");
            mode(checker, source, path, "defaultMode");
            items(checker, &source["items"], &path.field("items"));
        }
        "secret" => {
            checker.required_text(source, path, "secretName");
            mode(checker, source, path, "defaultMode");
            items(checker, &source["items"], &path.field("items"));
        }
        "persistentVolumeClaim" => {
            checker.required_text(source, path, "claimName");
        }
        "hostPath" => {
            if let Some(host_path) = checker.required_text(source, path, "path") {
                let path = path.field("path");
                if host_path.split('/').any(|part| part == "..") {
                    checker.invalid_text(path, host_path, "must not contain '..'");
                }
            }
        }
        "csi" => {
            checker.required_text(source, path, "driver");
        }
        "nfs" => {
            checker.required_text(source, path, "server");
            if let Some(export) = checker.required_text(source, path, "path")
                && !export.starts_with('/')
            {
                checker.invalid_text(path.field("path"), export, "must be an absolute path");
            }
        }
        "ephemeral" => {
            let template = &source["volumeClaimTemplate"];
            if !template.is_object() {
                checker.required(path.field("volumeClaimTemplate"), "");
            } else {
                let template_path = path.field("volumeClaimTemplate");
                super::storage::check_claim(checker, &template["spec"], template_path.field("spec"));
            }
        }
        _ => {}
    }
}

/// Permissions of files.
fn mode(checker: &mut Checker<'_>, parent: &Value, path: &Path<'_>, field: &str) {
    if let Some(mode) = checker
        .number(parent, field)
        .filter(|mode| !(0..=0o777).contains(mode))
    {
        let message = "must be a number between 0 and 0777 (octal), both inclusive";
        checker.invalid(path.field(field), &Value::from(mode), message);
    }
}

fn items(checker: &mut Checker<'_>, items: &Value, path: &Path<'_>) {
    for (index, item) in items.as_array().into_iter().flatten().enumerate() {
        let path = path.index(index);
        checker.required_text(item, &path, "key");
        mode(checker, item, &path, "mode");
        if let Some(target) = checker.required_text(item, &path, "path") {
            containers::relative_path(checker, target, &path.field("path"));
        }
    }
}
