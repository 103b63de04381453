//! HorizontalPodAutoscalers.

use firstpass_object::ObjectExt;
use firstpass_object::quantity::Quantity;
use serde_json::Value;

use super::{Checker, Path, limits, names};

const SOURCES: [(&str, &str); 5] = [
    ("ContainerResource", "containerResource"),
    ("External", "external"),
    ("Object", "object"),
    ("Pods", "pods"),
    ("Resource", "resource"),
];

pub(super) fn check(checker: &mut Checker<'_>, object: &Value) {
    let spec = &object["spec"];
    let path = Path::ROOT.field("spec");
    replicas(checker, spec, &path);
    reference(checker, &spec["scaleTargetRef"], &path.field("scaleTargetRef"));
    if object.api_version() == "autoscaling/v1" {
        return;
    }
    let metrics = path.field("metrics");
    for (index, metric) in spec.items_at(&["metrics"]).iter().enumerate() {
        check_metric(checker, metric, &metrics.index(index));
    }
    let behavior = path.field("behavior");
    for direction in ["scaleUp", "scaleDown"] {
        let rules = &spec["behavior"][direction];
        if rules.is_object() {
            scaling_rules(checker, rules, &behavior.field(direction));
        }
    }
}

fn replicas(checker: &mut Checker<'_>, spec: &Value, path: &Path<'_>) {
    let least = checker.number(spec, "minReplicas");
    // Zero is for those who scale by something else than the pods themselves, where the cluster allows it.
    let by_others = spec
        .items_at(&["metrics"])
        .iter()
        .any(|metric| matches!(metric.text_at(&["type"]), Some("Object" | "External")));
    let lowest = i64::from(!by_others);
    if let Some(least) = least.filter(|least| *least < lowest) {
        let message = "must be greater than or equal to 1";
        checker.invalid(path.field("minReplicas"), &Value::from(least), message);
    }
    if spec["maxReplicas"].is_string() {
        return;
    }
    let most = checker.number(spec, "maxReplicas").unwrap_or(0);
    let path = path.field("maxReplicas");
    match most {
        0 => checker.required(path, "must be set and greater than 0"),
        1.. => {}
        _ => checker.invalid(path, &Value::from(most), "must be greater than or equal to 1"),
    }
    if most < least.unwrap_or(1) {
        let message = "must be greater than or equal to `minReplicas`";
        checker.invalid(path, &Value::from(most), message);
    }
}

/// A reference to what is scaled or measured.
fn reference(checker: &mut Checker<'_>, reference: &Value, path: &Path<'_>) {
    for field in ["kind", "name"] {
        if let Some(text) = checker.required_text(reference, path, field) {
            checker.text(path.field(field), text, names::path_segment(text));
        }
    }
    let version = reference.text_at(&["apiVersion"]).unwrap_or_default();
    let kind = reference.text_at(&["kind"]).unwrap_or_default();
    if !version.contains('/') && kind != "ReplicationController" {
        checker.invalid_text(
            path.field("apiVersion"),
            version,
            "apiVersion must specify API group",
        );
    }
}

fn check_metric(checker: &mut Checker<'_>, metric: &Value, path: &Path<'_>) {
    let kind = metric.text_at(&["type"]).unwrap_or_default();
    if kind.is_empty() {
        checker.required(path.field("type"), "must specify a metric source type");
    }
    let Some((_, field)) = SOURCES.iter().find(|(name, _)| *name == kind) else {
        let names: Vec<&str> = SOURCES.iter().map(|(name, _)| *name).collect();
        return checker.one_of(path.field("type"), kind, &names);
    };
    for (_, other) in SOURCES {
        if other != *field && metric[other].is_object() {
            let message = "must populate the given metric source only";
            checker.forbidden(path.field(other), message);
        }
    }
    let source = &metric[*field];
    let path = path.field(field);
    if !source.is_object() {
        return checker.required(path, "must populate information for the given metric source");
    }
    match *field {
        "resource" | "containerResource" => {
            if source.text_at(&["name"]).unwrap_or_default().is_empty() {
                checker.required(path.field("name"), "must specify a resource name");
            }
            if *field == "containerResource" && source.text_at(&["container"]).unwrap_or_default().is_empty()
            {
                checker.required(path.field("container"), "must specify a container");
            }
            check_target(checker, source, &path, Wanted::Utilization);
        }
        _ => {
            let metric_path = path.field("metric");
            match source.text_at(&["metric", "name"]).unwrap_or_default() {
                "" => checker.required(metric_path.field("name"), "must specify a metric name"),
                name => checker.text(metric_path.field("name"), name, names::path_segment(name)),
            }
            if *field == "object" {
                reference(
                    checker,
                    &source["describedObject"],
                    &path.field("describedObject"),
                );
            }
            let wanted = if *field == "pods" {
                Wanted::PerPod
            } else {
                Wanted::Any
            };
            check_target(checker, source, &path, wanted);
        }
    }
}

/// What a target may be set to.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    Utilization,
    PerPod,
    Any,
}

fn check_target(checker: &mut Checker<'_>, source: &Value, path: &Path<'_>, wanted: Wanted) {
    let path = path.field("target");
    let target = &source["target"];
    let kind = target.text_at(&["type"]).unwrap_or_default();
    if kind.is_empty() {
        checker.required(path.field("type"), "must specify a metric target type");
    }
    if !["Utilization", "Value", "AverageValue"].contains(&kind) {
        let message = "must be either Utilization, Value, or AverageValue";
        checker.invalid_text(path.field("type"), kind, message);
    }
    for field in ["value", "averageValue"] {
        let amount = &target[field];
        if Quantity::from_value(amount).is_ok_and(|amount| !amount.sign().is_gt()) && !amount.is_null() {
            checker.invalid(path.field(field), &limits::shown(amount), "must be positive");
        }
    }
    if let Some(percent) = checker
        .number(target, "averageUtilization")
        .filter(|percent| *percent < 1)
    {
        let message = "must be greater than 0";
        checker.invalid(path.field("averageUtilization"), &Value::from(percent), message);
    }
    let has = |field: &str| target.get(field).is_some_and(|value| !value.is_null());
    match wanted {
        Wanted::Utilization if !has("averageUtilization") && !has("averageValue") => checker.required(
            path.field("averageUtilization"),
            "must set either a target raw value or a target utilization",
        ),
        Wanted::Utilization if has("averageUtilization") && has("averageValue") => checker.forbidden(
            path.field("averageValue"),
            "may not set both a target raw value and a target utilization",
        ),
        Wanted::PerPod if !has("averageValue") => {
            checker.required(
                path.field("averageValue"),
                "must specify a positive target averageValue",
            );
        }
        Wanted::Any if !has("value") && !has("averageValue") => checker.required(
            path.field("averageValue"),
            "must set either a target value for metric or a per-pod target",
        ),
        _ => {}
    }
}

fn scaling_rules(checker: &mut Checker<'_>, rules: &Value, path: &Path<'_>) {
    bounded(checker, rules, path, "stabilizationWindowSeconds", 0, 3600);
    checker.pointer_one_of(rules, path, "selectPolicy", &["Disabled", "Max", "Min"]);
    let policies = path.field("policies");
    if rules["policies"].is_array() && rules.items_at(&["policies"]).is_empty() {
        checker.required(policies, "must specify at least one Policy");
    }
    for (index, policy) in rules.items_at(&["policies"]).iter().enumerate() {
        let path = policies.index(index);
        let kind = policy.text_at(&["type"]).unwrap_or_default();
        checker.one_of(path.field("type"), kind, &["Percent", "Pods"]);
        bounded(checker, policy, &path, "value", 1, i64::from(i32::MAX));
        bounded(checker, policy, &path, "periodSeconds", 1, 1800);
    }
}

fn bounded(checker: &mut Checker<'_>, parent: &Value, path: &Path<'_>, field: &str, least: i64, most: i64) {
    let number = match (checker.number(parent, field), least) {
        (Some(number), _) => number,
        (None, 0) => return,
        (None, _) => 0,
    };
    let path = path.field(field);
    if number < least {
        let message = if least == 0 {
            "must be greater than or equal to zero"
        } else {
            "must be greater than zero"
        };
        checker.invalid(path, &Value::from(number), message);
    } else if number > most {
        checker.invalid(
            path,
            &Value::from(number),
            format!("must be less than or equal to {most}"),
        );
    }
}
