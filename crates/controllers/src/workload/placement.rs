//! Which nodes may a pod run on? Nodes are known where the configuration or the baseline shows them; otherwise all that is
//! known is what the distribution runs on.

use firstpass_object::{GroupKind, ObjectExt};
use serde_json::Value;

use super::needs::pod_spec;
use crate::context::Context;

const OS: &str = "kubernetes.io/os";
const HOST: &str = "kubernetes.io/hostname";

/// Where the pods of a workload may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// On so many nodes that are known.
    Nodes(u64),
    /// Somewhere, as far as anybody can see. Carries what was taken for granted, if anything was.
    Unknown(Option<String>),
    /// Nowhere, and why.
    Nowhere(String),
}

/// Where the pods of a workload may run.
pub(super) fn of(workload: &Value, context: &Context<'_>) -> Placement {
    let Some(spec) = pod_spec(workload) else {
        return Placement::Unknown(None);
    };
    let wishes = wishes(spec);
    let mut nodes = context
        .server
        .objects(&GroupKind::new("", "Node"), None)
        .peekable();
    if nodes.peek().is_some() {
        let fitting = nodes.filter(|(_, node)| fits(spec, node)).count();
        return match fitting {
            0 => Placement::Nowhere(format!("no node of the configuration {}", asked(&wishes))),
            count => Placement::Nodes(count as u64),
        };
    }
    let os = spec
        .text_at(&["nodeSelector", OS])
        .or_else(|| spec.text_at(&["os", "name"]));
    if let Some(os) = os.filter(|os| *os != "linux" && context.contents.has_linux_nodes_only()) {
        return Placement::Nowhere(format!(
            "it asks for a node that runs {os}, and all nodes of this distribution run Linux"
        ));
    }
    let unsure: Vec<String> = wishes
        .into_iter()
        .filter(|wish| wish != "kubernetes.io/os=linux")
        .collect();
    Placement::Unknown((!unsure.is_empty()).then(|| unsure.join(", ")))
}

fn asked(wishes: &[String]) -> String {
    if wishes.is_empty() {
        "takes it, since each has a taint that it does not tolerate".to_owned()
    } else {
        format!("has {} and takes it", wishes.join(", "))
    }
}

/// What a pod asks of its node, in words.
fn wishes(spec: &Value) -> Vec<String> {
    let mut wishes = Vec::new();
    for (key, value) in spec
        .at(&["nodeSelector"])
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        wishes.push(format!("{key}={}", value.as_str().unwrap_or_default()));
    }
    if let Some(name) = spec.text_at(&["nodeName"]) {
        wishes.push(format!("the name {name}"));
    }
    for term in terms(spec) {
        let expressions = term
            .items_at(&["matchExpressions"])
            .iter()
            .chain(term.items_at(&["matchFields"]));
        for expression in expressions {
            let values: Vec<&str> = expression
                .items_at(&["values"])
                .iter()
                .filter_map(Value::as_str)
                .collect();
            let text = |field: &str| expression.text_at(&[field]).unwrap_or_default().to_owned();
            wishes.push(
                format!("{} {} {}", text("key"), text("operator"), values.join("|"))
                    .trim_end()
                    .to_owned(),
            );
        }
    }
    wishes
}

fn terms(spec: &Value) -> &[Value] {
    spec.items_at(&[
        "affinity",
        "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "nodeSelectorTerms",
    ])
}

/// Whether a node is what a pod asks for, and takes it (Kubernetes scheduler: NodeName, NodeAffinity, TaintToleration).
fn fits(spec: &Value, node: &Value) -> bool {
    if let Some(name) = spec.text_at(&["nodeName"]) {
        return node.name() == name;
    }
    let selector = spec.at(&["nodeSelector"]).and_then(Value::as_object);
    let selected = selector
        .into_iter()
        .flatten()
        .all(|(key, value)| label(node, key) == value.as_str());
    let terms = terms(spec);
    let affine = terms.is_empty() || terms.iter().any(|term| term_fits(term, node));
    selected && affine && tolerates(spec, node)
}

/// A term without expressions picks nothing.
fn term_fits(term: &Value, node: &Value) -> bool {
    let (labels, fields) = (
        term.items_at(&["matchExpressions"]),
        term.items_at(&["matchFields"]),
    );
    let by_label = |expression: &Value| {
        let key = expression.text_at(&["key"]).unwrap_or_default();
        holds(expression, label(node, key))
    };
    let by_field = |expression: &Value| {
        let name = (expression.text_at(&["key"]) == Some("metadata.name")).then(|| node.name());
        holds(expression, name)
    };
    !(labels.is_empty() && fields.is_empty()) && labels.iter().all(by_label) && fields.iter().all(by_field)
}

fn holds(expression: &Value, actual: Option<&str>) -> bool {
    let values = expression.items_at(&["values"]);
    let listed = || actual.is_some_and(|actual| values.iter().any(|value| value.as_str() == Some(actual)));
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<i64>().ok());
    let bound = || number(values.first().and_then(Value::as_str));
    match expression.text_at(&["operator"]).unwrap_or_default() {
        "In" => listed(),
        "NotIn" => !listed(),
        "Exists" => actual.is_some(),
        "DoesNotExist" => actual.is_none(),
        "Gt" => number(actual)
            .zip(bound())
            .is_some_and(|(actual, bound)| actual > bound),
        "Lt" => number(actual)
            .zip(bound())
            .is_some_and(|(actual, bound)| actual < bound),
        _ => false,
    }
}

/// The kubelet labels its node with its system and its name.
fn label<'n>(node: &'n Value, key: &str) -> Option<&'n str> {
    node.label(key).or(match key {
        OS => Some("linux"),
        HOST => Some(node.name()),
        _ => None,
    })
}

/// Whether every taint that keeps pods away is tolerated.
fn tolerates(spec: &Value, node: &Value) -> bool {
    let tolerations = spec.items_at(&["tolerations"]);
    let keeps_away = |taint: &&Value| matches!(taint.text_at(&["effect"]), Some("NoSchedule" | "NoExecute"));
    node.items_at(&["spec", "taints"])
        .iter()
        .filter(keeps_away)
        .all(|taint| {
            tolerations
                .iter()
                .any(|toleration| is_tolerated(toleration, taint))
        })
}

fn is_tolerated(toleration: &Value, taint: &Value) -> bool {
    let text = |object: &'_ Value, field: &str| object.text_at(&[field]).unwrap_or_default().to_owned();
    let (key, effect) = (text(toleration, "key"), text(toleration, "effect"));
    let same_effect = effect.is_empty() || effect == text(taint, "effect");
    let exists = text(toleration, "operator") == "Exists";
    let same_key = key == text(taint, "key") || (key.is_empty() && exists);
    same_effect && same_key && (exists || text(toleration, "value") == text(taint, "value"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn node() -> Value {
        json!({
            "kind": "Node", "metadata": {"name": "one", "labels": {"disk": "ssd", "cores": "8"}},
            "spec": {"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}, {"key": "slow", "effect": "PreferNoSchedule"}]},
        })
    }

    #[test]
    fn nodes_are_picked_as_the_scheduler_does() {
        let tolerant = json!([{"key": "gpu", "operator": "Exists"}]);
        let table = [
            (json!({}), false),
            (json!({"tolerations": tolerant}), true),
            (json!({"tolerations": [{"key": "gpu", "value": "yes"}]}), true),
            (json!({"tolerations": [{"key": "gpu", "value": "no"}]}), false),
            (json!({"tolerations": [{"operator": "Exists"}]}), true),
            (
                json!({"tolerations": [{"operator": "Exists", "effect": "NoExecute"}]}),
                false,
            ),
            (
                json!({"tolerations": tolerant, "nodeSelector": {"disk": "ssd", "kubernetes.io/os": "linux"}}),
                true,
            ),
            (
                json!({"tolerations": tolerant, "nodeSelector": {"disk": "hdd"}}),
                false,
            ),
            (
                json!({"tolerations": tolerant, "nodeSelector": {"kubernetes.io/hostname": "one"}}),
                true,
            ),
            (json!({"nodeName": "one"}), true),
            (json!({"nodeName": "two"}), false),
        ];
        for (spec, expected) in table {
            assert_eq!(fits(&spec, &node()), expected, "{spec}");
        }
    }

    #[test]
    fn one_term_of_an_affinity_is_enough() {
        let affine = |terms: Value| {
            let required = json!({"nodeSelectorTerms": terms});
            let spec = json!({
                "tolerations": [{"operator": "Exists"}],
                "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
            });
            fits(&spec, &node())
        };
        let expression = |key: &str, operator: &str, values: Value| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
        assert!(affine(json!([expression("disk", "In", json!(["hdd", "ssd"]))])));
        assert!(!affine(json!([expression("disk", "NotIn", json!(["ssd"]))])));
        assert!(affine(json!([
            expression("zone", "Exists", json!([])),
            expression("zone", "DoesNotExist", json!([]))
        ])));
        assert!(affine(json!([expression("cores", "Gt", json!(["4"]))])));
        assert!(!affine(json!([expression("cores", "Lt", json!(["4"]))])));
        assert!(affine(
            json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["one"]}]}])
        ));
        assert!(!affine(json!([{}])));
    }
}
