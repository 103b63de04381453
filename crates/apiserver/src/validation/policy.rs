//! Disruption budgets, priorities, limits.

use firstpass_object::ObjectExt;
use firstpass_object::quantity::Quantity;
use serde_json::Value;

use super::selector::label_selector;
use super::workloads::int_or_percentage;
use super::{Checker, Path};

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
    checker.field_one_of(
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
    } else if object["value"].as_i64().is_some_and(|value| value > PRIORITY_MAX) {
        let message = format!("maximum allowed value of a user defined priority is {PRIORITY_MAX}");
        checker.forbidden(Path::ROOT.field("value"), &message);
    }
    checker.field_one_of(
        object,
        &Path::ROOT,
        "preemptionPolicy",
        &["Never", "PreemptLowerPriority"],
    );
}

/// Amounts of quotas and limits must not be negative.
pub(super) fn check_limits(checker: &mut Checker<'_>, object: &Value) {
    let path = Path::ROOT.field("spec").field("hard").to_string();
    for (name, amount) in object["spec"]["hard"].as_object().into_iter().flatten() {
        if Quantity::from_value(amount).is_ok_and(|quantity| quantity.sign().is_lt()) {
            checker.invalid(
                format!("{path}[{name}]"),
                amount,
                "must be greater than or equal to 0",
            );
        }
    }
}
