//! Label selectors, and the selectors of nodes.

use firstpass_object::ObjectExt;
use serde_json::Value;

use super::{Checker, Path, metadata, names};

/// Keys, values and operators of a label selector. Says whether it can be used.
pub(super) fn label_selector(checker: &mut Checker<'_>, selector: &Value, path: &Path<'_>) -> bool {
    let before = checker.count();
    metadata::labels(checker, &selector["matchLabels"], &path.field("matchLabels"));
    requirements(checker, selector, path, Operators::OfLabels);
    checker.count() == before
}

/// The affinity of a pod to nodes and to other pods.
pub(super) fn affinity(checker: &mut Checker<'_>, affinity: &Value, path: &Path<'_>) {
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    if let Some(to_nodes) = affinity.get("nodeAffinity").filter(|value| value.is_object()) {
        let path = path.field("nodeAffinity");
        if to_nodes[required].is_object() {
            node_selector(checker, &to_nodes[required], &path.field(required));
        }
        let terms = path.field(preferred);
        for (index, term) in to_nodes.items_at(&[preferred]).iter().enumerate() {
            let path = terms.index(index);
            weight(checker, term, &path);
            node_selector_term(checker, &term["preference"], &path.field("preference"));
        }
    }
    for name in ["podAffinity", "podAntiAffinity"] {
        let Some(to_pods) = affinity.get(name).filter(|value| value.is_object()) else {
            continue;
        };
        let path = path.field(name);
        let terms = path.field(required);
        for (index, term) in to_pods.items_at(&[required]).iter().enumerate() {
            pod_term(checker, term, &terms.index(index));
        }
        let terms = path.field(preferred);
        for (index, term) in to_pods.items_at(&[preferred]).iter().enumerate() {
            let path = terms.index(index);
            weight(checker, term, &path);
            pod_term(checker, &term["podAffinityTerm"], &path.field("podAffinityTerm"));
        }
    }
}

fn weight(checker: &mut Checker<'_>, term: &Value, path: &Path<'_>) {
    let weight = checker.number(term, "weight").unwrap_or(0);
    if !(1..=100).contains(&weight) {
        checker.invalid(
            path.field("weight"),
            &Value::from(weight),
            "must be in the range 1-100",
        );
    }
}

fn pod_term(checker: &mut Checker<'_>, term: &Value, path: &Path<'_>) {
    for field in ["labelSelector", "namespaceSelector"] {
        label_selector(checker, &term[field], &path.field(field));
    }
    for namespace in term.items_at(&["namespaces"]) {
        let namespace = namespace.as_str().unwrap_or_default();
        checker.text(
            path.field("namespace"),
            namespace,
            names::dns1123_label(namespace),
        );
    }
    topology_key(checker, term, path);
}

/// The label of nodes that tells places apart.
fn topology_key(checker: &mut Checker<'_>, term: &Value, path: &Path<'_>) {
    let key = term.text_at(&["topologyKey"]).unwrap_or_default();
    let path = path.field("topologyKey");
    if key.is_empty() {
        checker.required(path, "can not be empty");
    }
    checker.text(path, key, names::qualified_name(key));
}

/// A selector of nodes: some terms, of which one must hold.
pub(super) fn node_selector(checker: &mut Checker<'_>, selector: &Value, path: &Path<'_>) {
    let terms = selector.items_at(&["nodeSelectorTerms"]);
    let path = path.field("nodeSelectorTerms");
    if terms.is_empty() {
        checker.required(path, "must have at least one node selector term");
    }
    for (index, term) in terms.iter().enumerate() {
        node_selector_term(checker, term, &path.index(index));
    }
}

fn node_selector_term(checker: &mut Checker<'_>, term: &Value, path: &Path<'_>) {
    requirements(checker, term, path, Operators::OfNodes);
}

/// Which operators a selector has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operators {
    OfLabels,
    /// Those, and comparisons with a number.
    OfNodes,
}

/// `matchExpressions`: keys, operators, and as many values as the operator wants.
fn requirements(checker: &mut Checker<'_>, selector: &Value, path: &Path<'_>, operators: Operators) {
    let expressions = path.field("matchExpressions");
    for (index, expression) in selector.items_at(&["matchExpressions"]).iter().enumerate() {
        let path = expressions.index(index);
        let values = expression.items_at(&["values"]);
        match expression.text_at(&["operator"]).unwrap_or_default() {
            "In" | "NotIn" if values.is_empty() => {
                checker.required(
                    path.field("values"),
                    "must be specified when `operator` is 'In' or 'NotIn'",
                );
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                checker.forbidden(
                    path.field("values"),
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                );
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            "Gt" | "Lt" if operators == Operators::OfNodes => {
                if values.len() != 1 {
                    checker.required(
                        path.field("values"),
                        "must be specified single value when `operator` is 'Lt' or 'Gt'",
                    );
                }
            }
            other => checker.invalid_text(path.field("operator"), other, "not a valid selector operator"),
        }
        let key = expression.text_at(&["key"]).unwrap_or_default();
        checker.text(path.field("key"), key, names::qualified_name(key));
        let values_path = path.field("values");
        for (index, value) in values.iter().enumerate() {
            let value = value.as_str().unwrap_or_default();
            checker.text(values_path.index(index), value, names::label_value(value));
        }
    }
}
