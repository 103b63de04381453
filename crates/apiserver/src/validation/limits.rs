//! ResourceQuotas and LimitRanges.

use std::collections::BTreeSet;

use firstpass_object::ObjectExt;
use firstpass_object::quantity::Quantity;
use serde_json::{Map, Value};

use super::{Checker, Path, names};

const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
];
const TYPES: [&str; 3] = ["Pod", "Container", "PersistentVolumeClaim"];

pub(super) fn check_quota(checker: &mut Checker<'_>, object: &Value) {
    let spec = &object["spec"];
    let path = Path::ROOT.field("spec");
    amounts(checker, &spec["hard"], &path.field("hard"));
    let path = path.field("scopeSelector");
    let path = path.field("matchExpressions");
    for expression in spec.items_at(&["scopeSelector", "matchExpressions"]) {
        let scope = expression.text_at(&["scopeName"]).unwrap_or_default();
        if !SCOPES.contains(&scope) {
            checker.invalid_text(path.field("scopeName"), scope, "unsupported scope");
        }
        let values = path.field("values");
        let has_values = !expression.items_at(&["values"]).is_empty();
        match expression.text_at(&["operator"]).unwrap_or_default() {
            "In" | "NotIn" if !has_values => checker.required(
                values,
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
            ),
            "Exists" | "DoesNotExist" if has_values => checker.invalid(
                values,
                &expression["values"],
                "must be no value when `operator` is 'Exists' or 'DoesNotExist' for scope selector",
            ),
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => checker.invalid_text(path.field("operator"), other, "not a valid selector operator"),
        }
    }
}

/// Amounts must not be negative.
pub(super) fn amounts(checker: &mut Checker<'_>, amounts: &Value, path: &Path<'_>) {
    for (name, amount) in amounts.as_object().into_iter().flatten() {
        if quantity(amount).is_some_and(|quantity| quantity.sign().is_lt()) {
            checker.invalid(
                path.key(name),
                &shown(amount),
                "must be greater than or equal to 0",
            );
        }
    }
}

pub(super) fn check_range(checker: &mut Checker<'_>, object: &Value) {
    let path = Path::ROOT.field("spec");
    let path = path.field("limits");
    let mut seen = BTreeSet::new();
    for (index, limit) in object.items_at(&["spec", "limits"]).iter().enumerate() {
        let path = path.index(index);
        let kind = limit.text_at(&["type"]).unwrap_or_default();
        let messages = names::qualified_name(kind);
        let is_named = messages.is_empty();
        checker.text(path.field("type"), kind, messages);
        if is_named && !kind.contains('/') && !TYPES.contains(&kind) {
            checker.invalid_text(
                path.field("type"),
                kind,
                "must be a standard limit type or fully qualified",
            );
        }
        if !seen.insert(kind) {
            checker.duplicate(path.field("type"), &Value::from(kind));
        }
        bounds(checker, limit, &path);
    }
}

/// The amounts of a limit must fit together: min, default request, default, max.
fn bounds(checker: &mut Checker<'_>, limit: &Value, path: &Path<'_>) {
    let empty = Map::new();
    let field = |name: &str| limit[name].as_object().unwrap_or(&empty);
    let (min, max) = (field("min"), field("max"));
    let (default, request, ratio) = (
        field("default"),
        field("defaultRequest"),
        field("maxLimitRequestRatio"),
    );
    let names: BTreeSet<&String> = [min, max, default, request, ratio]
        .iter()
        .flat_map(|amounts| amounts.keys())
        .collect();
    for name in names {
        let of =
            |amounts: &Map<String, Value>| Some((quantity(amounts.get(name)?)?, text(amounts.get(name)?)));
        let (min, max, default, request, ratio) = (of(min), of(max), of(default), of(request), of(ratio));
        let mut above =
            |field: &str, value: &str, one: (&str, &Option<Bound>), other: (&str, &Option<Bound>)| {
                if let ((one_name, Some(one)), (other_name, Some(other))) = (one, other)
                    && one.0 > other.0
                {
                    let message = format!(
                        "{one_name} value {} is greater than {other_name} value {}",
                        one.1, other.1
                    );
                    checker.invalid_text(path.field(field).key(name), value, message);
                }
            };
        let shown = |bound: &Option<Bound>| bound.as_ref().map(|bound| bound.1.clone()).unwrap_or_default();
        above("min", &shown(&min), ("min", &min), ("max", &max));
        above(
            "defaultRequest",
            &shown(&request),
            ("min", &min),
            ("default request", &request),
        );
        above(
            "defaultRequest",
            &shown(&request),
            ("default request", &request),
            ("max", &max),
        );
        above(
            "defaultRequest",
            &shown(&request),
            ("default request", &request),
            ("default limit", &default),
        );
        above("default", &shown(&min), ("min", &min), ("default", &default));
        above("default", &shown(&max), ("default", &default), ("max", &max));
        if let Some(ratio) = &ratio
            && Quantity::parse("1").is_ok_and(|one| ratio.0 < one)
        {
            let message = format!("ratio {} is less than 1", ratio.1);
            checker.invalid_text(path.field("maxLimitRequestRatio").key(name), &ratio.1, message);
        }
    }
}

type Bound = (Quantity, String);

fn quantity(amount: &Value) -> Option<Quantity> {
    Quantity::from_value(amount).ok()
}

fn text(amount: &Value) -> String {
    amount.as_str().map_or_else(|| amount.to_string(), str::to_owned)
}

/// Amounts are always shown as texts.
pub(super) fn shown(amount: &Value) -> Value {
    Value::from(text(amount))
}
