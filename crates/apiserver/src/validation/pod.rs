//! Pods and pod templates.

use std::collections::BTreeSet;

use firstpass_object::ObjectExt;
use serde_json::Value;

use super::containers::{self, PodFacts};
use super::{Checker, Path, metadata, names};

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
    check_template_alone(checker, template, path, restart_policies);
}

/// Checks the template of a StatefulSet: of its pods Kubernetes looks at the labels, the annotations and the restart policy
/// only, as the volumes of the claim templates are not among those of the template
/// (kubernetes pkg/apis/apps/validation, ValidatePodTemplateSpecForStatefulSet).
pub(super) fn check_template_alone(
    checker: &mut Checker<'_>,
    template: &Value,
    path: &Path<'_>,
    restart_policies: &[&str],
) {
    let meta = path.field("metadata");
    metadata::labels(checker, &template["metadata"]["labels"], &meta.field("labels"));
    metadata::annotations(
        checker,
        &template["metadata"]["annotations"],
        &meta.field("annotations"),
    );
    let spec_path = path.field("spec");
    match template.text_at(&["spec", "restartPolicy"]) {
        Some(policy) if POLICIES.contains(&policy) => {
            checker.one_of(spec_path.field("restartPolicy"), policy, restart_policies);
        }
        None if !restart_policies.contains(&"Always") => {
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
    checker.non_negative(spec, path, "terminationGracePeriodSeconds");
    tolerations(checker, &spec["tolerations"], &path.field("tolerations"));
    let aliases = path.field("hostAliases");
    for (index, alias) in spec.items_at(&["hostAliases"]).iter().enumerate() {
        let ip = alias.text_at(&["ip"]).unwrap_or_default();
        checker.text(aliases.index(index).field("ip"), ip, names::ip(ip));
    }
    let constraints = path.field("topologySpreadConstraints");
    for (index, constraint) in spec.items_at(&["topologySpreadConstraints"]).iter().enumerate() {
        let path = constraints.index(index);
        if let Some(skew) = constraint
            .get("maxSkew")
            .filter(|skew| skew.as_i64().is_some_and(|skew| skew <= 0))
        {
            checker.invalid(path.field("maxSkew"), skew, "must be greater than zero");
        }
        checker.required_text(constraint, &path, "topologyKey");
        checker.field_one_of(
            constraint,
            &path,
            "whenUnsatisfiable",
            &["DoNotSchedule", "ScheduleAnyway"],
        );
    }
}

fn tolerations(checker: &mut Checker<'_>, tolerations: &Value, path: &Path<'_>) {
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
            "" | "Equal" | "Exists" | "Gt" | "Lt" => {}
            other => checker.one_of(path.field("operator"), other, &["Equal", "Exists"]),
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
        if let Some(name) = checker.required_text(volume, &path, "name") {
            checker.text(path.field("name"), name, names::dns1123_label(name));
            if !seen.insert(name) {
                checker.duplicate(path.field("name"), &Value::from(name));
            }
        }
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
    }
    seen
}

fn volume_source(checker: &mut Checker<'_>, name: &str, source: &Value, path: &Path<'_>) {
    match name {
        "configMap" => {
            checker.required_text(source, path, "name");
            items(checker, &source["items"], &path.field("items"));
        }
        "secret" => {
            checker.required_text(source, path, "secretName");
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

fn items(checker: &mut Checker<'_>, items: &Value, path: &Path<'_>) {
    for (index, item) in items.as_array().into_iter().flatten().enumerate() {
        let path = path.index(index);
        if let Some(key) = checker.required_text(item, &path, "key") {
            checker.text(path.field("key"), key, names::config_key(key));
        }
        if let Some(target) = checker.required_text(item, &path, "path") {
            containers::relative_path(checker, target, &path.field("path"));
        }
    }
}
