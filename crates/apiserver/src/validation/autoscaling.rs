//! HorizontalPodAutoscalers.

use serde_json::Value;

use super::{Checker, Path};

pub(super) fn check(checker: &mut Checker<'_>, object: &Value) {
    let spec = &object["spec"];
    let path = Path::ROOT.field("spec");
    let target = path.field("scaleTargetRef");
    checker.required_text(&spec["scaleTargetRef"], &target, "kind");
    checker.required_text(&spec["scaleTargetRef"], &target, "name");
    let least = spec.get("minReplicas").and_then(Value::as_i64);
    // Zero is for those who scale by something else than the pods themselves, where the cluster allows it.
    let by_others = spec["metrics"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|metric| matches!(metric["type"].as_str(), Some("Object" | "External")));
    let lowest = if by_others { 0 } else { 1 };
    if let Some(least) = least.filter(|least| *least < lowest) {
        let message = "must be greater than or equal to 1";
        checker.invalid(path.field("minReplicas"), &Value::from(least), message);
    }
    if spec["maxReplicas"].is_string() {
        return;
    }
    let most = spec.get("maxReplicas").and_then(Value::as_i64).unwrap_or(0);
    let path = path.field("maxReplicas");
    if most < 1 {
        checker.invalid(path, &Value::from(most), "must be greater than 0");
    } else if most < least.unwrap_or(1) {
        checker.invalid(
            path,
            &Value::from(most),
            "must be greater than or equal to `minReplicas`",
        );
    }
}
