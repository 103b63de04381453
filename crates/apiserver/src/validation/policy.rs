//! Disruption budgets, priorities, limits.

use firstpass_object::ObjectExt;
use serde_json::Value;

use super::selector::label_selector;
use super::workloads::int_or_percentage;
use super::{Checker, Path, metadata, names, pod};

/// Higher priorities belong to Kubernetes itself.
const PRIORITY_MAX: i64 = 1_000_000_000;

pub(super) fn check_disruption_budget(checker: &mut Checker<'_>, object: &Value) {
    let spec = &object["spec"];
    let path = Path::ROOT.field("spec");
    let has = |field: &str| spec.get(field).is_some_and(|value| !value.is_null());
    if has("minAvailable") && has("maxUnavailable") {
        checker.invalid(path, spec, "minAvailable and maxUnavailable cannot be both set");
    }
    for field in ["minAvailable", "maxUnavailable"] {
        int_or_percentage(checker, &spec[field], &path.field(field));
    }
    checker.pointer_one_of(
        spec,
        &path,
        "unhealthyPodEvictionPolicy",
        &["AlwaysAllow", "IfHealthyBudget"],
    );
    label_selector(checker, &spec["selector"], &path.field("selector"));
}

pub(super) fn check_priority_class(checker: &mut Checker<'_>, object: &Value) {
    if object.name().starts_with("system-") {
        let own = ["system-cluster-critical", "system-node-critical"];
        if !own.contains(&object.name()) {
            checker.forbidden(
                Path::ROOT.field("metadata").field("name"),
                "priority class names with 'system-' prefix are reserved for system use only",
            );
        }
    } else if checker
        .number(object, "value")
        .is_some_and(|value| value > PRIORITY_MAX)
    {
        let message = format!("maximum allowed value of a user defined priority is {PRIORITY_MAX}");
        checker.forbidden(Path::ROOT.field("value"), &message);
    }
    checker.pointer_one_of(
        object,
        &Path::ROOT,
        "preemptionPolicy",
        &["Never", "PreemptLowerPriority"],
    );
}

pub(super) fn check_runtime_class(checker: &mut Checker<'_>, object: &Value) {
    let root = Path::ROOT;
    match object.text_at(&["handler"]).unwrap_or_default() {
        "" => checker.required(root.field("handler"), ""),
        handler => checker.text(root.field("handler"), handler, names::dns1123_label(handler)),
    }
    let overhead = root.field("overhead");
    super::limits::amounts(
        checker,
        &object["overhead"]["podFixed"],
        &overhead.field("limits"),
    );
    let scheduling = root.field("scheduling");
    metadata::labels(
        checker,
        &object["scheduling"]["nodeSelector"],
        &scheduling.field("nodeSelector"),
    );
    let tolerations = scheduling.field("tolerations");
    pod::tolerations(checker, &object["scheduling"]["tolerations"], &tolerations);
    let items = object.items_at(&["scheduling", "tolerations"]);
    for (index, toleration) in items.iter().enumerate() {
        if items[..index].contains(toleration) {
            checker.duplicate(tolerations.index(index), toleration);
        }
    }
}

pub(super) fn check_lease(checker: &mut Checker<'_>, object: &Value) {
    let path = Path::ROOT.field("spec");
    let spec = &object["spec"];
    if let Some(seconds) = checker
        .number(spec, "leaseDurationSeconds")
        .filter(|seconds| *seconds <= 0)
    {
        checker.invalid(
            path.field("leaseDurationSeconds"),
            &Value::from(seconds),
            "must be greater than 0",
        );
    }
    checker.non_negative(spec, &path, "leaseTransitions");
}

/// The levels of pod security are the labels of a namespace that Kubernetes itself reads.
pub(super) fn check_namespace(checker: &mut Checker<'_>, object: &Value) {
    let labels = Path::ROOT.field("metadata");
    let labels = labels.field("labels");
    for mode in ["enforce", "audit", "warn"] {
        let key = format!("pod-security.kubernetes.io/{mode}");
        if let Some(level) = object["metadata"]["labels"].get(&key).and_then(Value::as_str)
            && !["privileged", "baseline", "restricted"].contains(&level)
            && names::label_value(level).is_empty()
        {
            let message = "must be one of privileged, baseline, restricted";
            checker.invalid_text(labels.key(&key), level, message);
        }
    }
}
