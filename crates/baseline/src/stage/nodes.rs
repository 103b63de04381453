//! Nodes that the configuration lists.

use firstpass_render::NodeConfig;
use serde_json::{Value, json};

/// The object of a node.
pub(super) fn object(name: &str, node: &NodeConfig) -> Value {
    let taints: Vec<Value> = node
        .taints
        .iter()
        .map(|taint| json!({"key": taint.key, "value": taint.value, "effect": taint.effect}))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": node.labels},
        "spec": {"taints": taints},
    })
}
