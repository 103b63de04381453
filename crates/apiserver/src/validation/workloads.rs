//! Deployments, ReplicaSets, StatefulSets, DaemonSets.

use firstpass_object::{ObjectExt, selects};
use serde_json::Value;

use super::{Checker, Path, metadata, names, pod, storage};

pub(super) fn check(checker: &mut Checker<'_>, object: &Value) {
    let spec = &object["spec"];
    let path = Path::ROOT.field("spec");
    let kind = object.kind();
    for field in ["replicas", "minReadySeconds", "revisionHistoryLimit"] {
        checker.non_negative(spec, &path, field);
    }
    check_selector(checker, spec, &path, kind);
    let check_template = match kind {
        "StatefulSet" => pod::check_template_alone,
        _ => pod::check_template,
    };
    check_template(checker, &spec["template"], &path.field("template"), &["Always"]);
    match kind {
        "Deployment" => deployment(checker, spec, &path),
        "StatefulSet" => stateful_set(checker, spec, &path),
        "DaemonSet" => {
            let strategy = path.field("updateStrategy");
            checker.field_one_of(
                &spec["updateStrategy"],
                &strategy,
                "type",
                &["OnDelete", "RollingUpdate"],
            );
        }
        _ => {}
    }
}

/// The selector must be there and select the workload's own pods.
fn check_selector(checker: &mut Checker<'_>, spec: &Value, path: &Path<'_>, kind: &str) {
    let selector = &spec["selector"];
    let selector_path = path.field("selector");
    if !selector.is_object() {
        checker.required(selector_path, "");
        return;
    }
    label_selector(checker, selector, &selector_path);
    let is_empty = |field: &str| match &selector[field] {
        Value::Object(labels) => labels.is_empty(),
        Value::Array(expressions) => expressions.is_empty(),
        _ => true,
    };
    if is_empty("matchLabels") && is_empty("matchExpressions") {
        let message = format!("empty selector is invalid for {}", kind.to_lowercase());
        checker.invalid(selector_path, selector, message);
        return;
    }
    let template = &spec["template"];
    let labels = &template["metadata"]["labels"];
    if !checker.holds_unknown(selector) && !checker.holds_unknown(labels) && !selects(selector, template) {
        let labels = if labels.is_null() {
            "{}".to_owned()
        } else {
            labels.to_string()
        };
        checker.push(
            path.field("template").field("metadata").field("labels"),
            format!("Invalid value: {labels}: `selector` does not match template `labels`"),
        );
    }
}

/// Keys, values and operators of a label selector.
pub(super) fn label_selector(checker: &mut Checker<'_>, selector: &Value, path: &Path<'_>) {
    metadata::labels(checker, &selector["matchLabels"], &path.field("matchLabels"));
    let expressions = path.field("matchExpressions");
    for (index, expression) in selector.items_at(&["matchExpressions"]).iter().enumerate() {
        let path = expressions.index(index);
        let key = expression.text_at(&["key"]).unwrap_or_default();
        checker.text(path.field("key"), key, names::qualified_name(key));
        let has_values = !expression.items_at(&["values"]).is_empty();
        match expression.text_at(&["operator"]).unwrap_or_default() {
            "In" | "NotIn" if !has_values => {
                checker.required(
                    path.field("values"),
                    "must be specified when `operator` is 'In' or 'NotIn'",
                );
            }
            "Exists" | "DoesNotExist" if has_values => {
                checker.forbidden(
                    path.field("values"),
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                );
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => checker.invalid_text(path.field("operator"), other, "not a valid selector operator"),
        }
    }
}

fn deployment(checker: &mut Checker<'_>, spec: &Value, path: &Path<'_>) {
    let strategy = &spec["strategy"];
    let strategy_path = path.field("strategy");
    checker.field_one_of(strategy, &strategy_path, "type", &["Recreate", "RollingUpdate"]);
    let rolling = &strategy["rollingUpdate"];
    if strategy.text_at(&["type"]) == Some("Recreate") && rolling.is_object() {
        checker.forbidden(
            strategy_path.field("rollingUpdate"),
            "may not be specified when strategy `type` is 'Recreate'",
        );
    } else if is_zero(&rolling["maxUnavailable"]) && is_zero(&rolling["maxSurge"]) {
        checker.invalid(
            strategy_path.field("rollingUpdate").field("maxUnavailable"),
            &rolling["maxUnavailable"],
            "may not be 0 when `maxSurge` is 0",
        );
    }
    for field in ["maxUnavailable", "maxSurge"] {
        int_or_percentage(
            checker,
            &rolling[field],
            &strategy_path.field("rollingUpdate").field(field),
        );
    }
    let seconds = |field: &str| spec.get(field).and_then(Value::as_i64);
    if let Some(deadline) = seconds("progressDeadlineSeconds")
        && deadline <= seconds("minReadySeconds").unwrap_or(0)
    {
        checker.invalid(
            path.field("progressDeadlineSeconds"),
            &Value::from(deadline),
            "must be greater than minReadySeconds",
        );
    }
}

fn stateful_set(checker: &mut Checker<'_>, spec: &Value, path: &Path<'_>) {
    checker.field_one_of(spec, path, "podManagementPolicy", &["OrderedReady", "Parallel"]);
    let strategy = path.field("updateStrategy");
    checker.field_one_of(
        &spec["updateStrategy"],
        &strategy,
        "type",
        &["OnDelete", "RollingUpdate"],
    );
    let templates = path.field("volumeClaimTemplates");
    for (index, template) in spec.items_at(&["volumeClaimTemplates"]).iter().enumerate() {
        let path = templates.index(index);
        storage::check_claim(checker, &template["spec"], path.field("spec"));
    }
}

fn is_zero(value: &Value) -> bool {
    value.as_i64() == Some(0) || value.as_str() == Some("0%")
}

/// An amount of pods: a number or a percentage.
pub(super) fn int_or_percentage(checker: &mut Checker<'_>, value: &Value, path: &Path<'_>) {
    match value {
        Value::String(text) if !names::is_percentage(text) => checker.invalid_text(
            path,
            text,
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
        ),
        Value::Number(number) if number.as_i64().is_some_and(|number| number < 0) => {
            checker.invalid(path, value, "must be greater than or equal to 0");
        }
        _ => {}
    }
}
