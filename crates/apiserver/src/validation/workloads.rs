//! Deployments, ReplicaSets, StatefulSets, DaemonSets.

use firstpass_object::{ObjectExt, selects};
use serde_json::{Value, json};

use super::selector::label_selector;
use super::{Checker, Path, names, pod, storage};

pub(super) fn check(checker: &mut Checker<'_>, object: &Value) {
    let spec = &object["spec"];
    let path = Path::ROOT.field("spec");
    let kind = object.kind();
    for field in ["replicas", "minReadySeconds", "revisionHistoryLimit"] {
        // A StatefulSet keeps all revisions if it is asked for less than none.
        if kind != "StatefulSet" || field != "revisionHistoryLimit" {
            checker.non_negative(spec, &path, field);
        }
    }
    let with_claims = (kind == "StatefulSet").then(|| with_claims(spec));
    let template = with_claims.as_ref().unwrap_or(&spec["template"]);
    // Of pods that nobody can select Kubernetes sees nothing.
    if check_selector(checker, spec, &path, kind) {
        pod::check_template(checker, template, &path.field("template"), &["Always"]);
    }
    match kind {
        "Deployment" => deployment(checker, spec, &path),
        "StatefulSet" => stateful_set(checker, spec, &path),
        "DaemonSet" => daemon_set(checker, spec, &path),
        _ => {}
    }
}

/// The selector must be there and select the workload's own pods. Says whether it can be read.
fn check_selector(checker: &mut Checker<'_>, spec: &Value, path: &Path<'_>, kind: &str) -> bool {
    let selector = &spec["selector"];
    let selector_path = path.field("selector");
    if selector.is_string() {
        return true;
    }
    if !selector.is_object() {
        checker.required(selector_path, "");
    } else if !label_selector(checker, selector, &selector_path) {
        let message = if kind == "StatefulSet" {
            ""
        } else {
            "invalid label selector"
        };
        checker.invalid(selector_path, selector, message);
        return false;
    }
    let is_empty = |field: &str| match &selector[field] {
        Value::Object(labels) => labels.is_empty(),
        Value::Array(expressions) => expressions.is_empty(),
        _ => true,
    };
    if selector.is_object() && is_empty("matchLabels") && is_empty("matchExpressions") {
        let message = format!("empty selector is invalid for {}", kind.to_lowercase());
        checker.invalid(selector_path, selector, message);
        return true;
    }
    let template = &spec["template"];
    let labels = &template["metadata"]["labels"];
    let is_known = !checker.holds_unknown(selector) && !checker.holds_unknown(labels);
    if is_known && (selector.is_null() || !selects(selector, template)) {
        checker.push(
            path.field("template").field("metadata").field("labels"),
            format!("Invalid value: {labels}: `selector` does not match template `labels`"),
        );
    }
    true
}

fn deployment(checker: &mut Checker<'_>, spec: &Value, path: &Path<'_>) {
    let strategy = &spec["strategy"];
    let strategy_path = path.field("strategy");
    if let Some(kind) = strategy.text_at(&["type"]).filter(|kind| !kind.is_empty()) {
        checker.one_of(strategy_path, kind, &["Recreate", "RollingUpdate"]);
    }
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
    checker.non_negative(spec, path, "progressDeadlineSeconds");
    if let Some(deadline) = checker.number(spec, "progressDeadlineSeconds")
        && deadline <= checker.number(spec, "minReadySeconds").unwrap_or(0)
    {
        checker.invalid(
            path.field("progressDeadlineSeconds"),
            &Value::from(deadline),
            "must be greater than minReadySeconds",
        );
    }
}

fn daemon_set(checker: &mut Checker<'_>, spec: &Value, path: &Path<'_>) {
    let path = path.field("updateStrategy");
    let strategy = &spec["updateStrategy"];
    checker.field_one_of(strategy, &path, "type", &["OnDelete", "RollingUpdate"]);
    let rolling = &strategy["rollingUpdate"];
    if !rolling.is_object() || strategy.text_at(&["type"]) == Some("OnDelete") {
        return;
    }
    let path = path.field("rollingUpdate");
    for field in ["maxUnavailable", "maxSurge"] {
        int_or_percentage(checker, &rolling[field], &path.field(field));
    }
    let is_none = |field: &str| match &rolling[field] {
        Value::Null => field == "maxSurge",
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => !names::is_percentage(text) || text == "0%",
        _ => true,
    };
    match (is_none("maxUnavailable"), is_none("maxSurge")) {
        (true, true) => checker.required(path.field("maxUnavailable"), "cannot be 0 when maxSurge is 0"),
        (false, false) => checker.invalid(
            path.field("maxSurge"),
            &rolling["maxSurge"],
            "may not be set when maxUnavailable is non-zero",
        ),
        _ => {}
    }
}

/// The template of a StatefulSet with the volumes that its claim templates bring, as Kubernetes looks at it.
fn with_claims(spec: &Value) -> Value {
    let mut template = spec["template"].clone();
    let mut claims: Vec<Value> = Vec::new();
    for claim in spec.items_at(&["volumeClaimTemplates"]) {
        let name = claim.name();
        let volume = json!({"name": name, "persistentVolumeClaim": {"claimName": name}});
        if !claims.contains(&volume) {
            claims.push(volume);
        }
    }
    let is_claimed = |volume: &Value| claims.iter().any(|claim| claim["name"] == volume["name"]);
    let own = template.items_at(&["spec", "volumes"]).iter();
    let own: Vec<Value> = own.filter(|volume| !is_claimed(volume)).cloned().collect();
    if template["spec"].is_object() && !claims.is_empty() {
        template["spec"]["volumes"] = claims.into_iter().chain(own).collect();
    }
    template
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
    if spec["updateStrategy"]["rollingUpdate"].is_object()
        && spec.text_at(&["updateStrategy", "type"]) == Some("OnDelete")
    {
        let message = "only allowed for updateStrategy 'RollingUpdate'";
        checker.invalid(
            strategy.field("rollingUpdate"),
            &spec["updateStrategy"]["rollingUpdate"],
            message,
        );
    }
    if let Some(name) = spec.text_at(&["serviceName"]).filter(|name| !name.is_empty()) {
        checker.text(path.field("serviceName"), name, names::dns1123_label(name));
    }
    checker.non_negative(&spec["ordinals"], &path.field("ordinals"), "start");
    let retention = path.field("persistentVolumeClaimRetentionPolicy");
    for field in ["whenDeleted", "whenScaled"] {
        checker.field_one_of(
            &spec["persistentVolumeClaimRetentionPolicy"],
            &retention,
            field,
            &["Retain", "Delete"],
        );
    }
    checker.non_negative(
        &spec["updateStrategy"]["rollingUpdate"],
        &strategy.field("rollingUpdate"),
        "partition",
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
