//! Making a CRD object from the little that knowledge says about a kind.

use serde_json::{Value, json};

use crate::discovery::Scope;

/// Marks a CRD that was made from a sketch: its versions and names are what somebody noted down, so a real CRD may
/// follow it without being held against them.
pub(crate) const SKETCH: &str = "firstpass.dev/sketch";

/// What is known of a kind whose CRD some chart or operator brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrdSketch {
    /// API group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Plural; `None` for the usual one.
    pub plural: Option<String>,
    /// Namespaced or not.
    pub scope: Scope,
    /// Served versions; the first is the storage version.
    pub versions: Vec<String>,
}

impl CrdSketch {
    /// The plural, known or guessed by English rules as controller generators do.
    pub fn plural(&self) -> String {
        self.plural.clone().unwrap_or_else(|| {
            let singular = self.kind.to_lowercase();
            let ends = |suffixes: &[&str]| suffixes.iter().any(|suffix| singular.ends_with(suffix));
            if ends(&["s", "x", "z", "ch", "sh"]) {
                format!("{singular}es")
            } else if singular.ends_with('y') && !ends(&["ay", "ey", "iy", "oy", "uy"]) {
                format!("{}ies", &singular[..singular.len() - 1])
            } else {
                format!("{singular}s")
            }
        })
    }

    /// Name of the CRD: `plural.group`.
    pub fn crd_name(&self) -> String {
        format!("{}.{}", self.plural(), self.group)
    }

    /// The CRD: it takes any content and has a status subresource.
    pub fn to_crd(&self) -> Value {
        let versions: Vec<Value> = self
            .versions
            .iter()
            .enumerate()
            .map(|(index, version)| {
                json!({
                    "name": version,
                    "served": true,
                    "storage": index == 0,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                    "subresources": {"status": {}},
                })
            })
            .collect();
        let scope = match self.scope {
            Scope::Namespaced => "Namespaced",
            Scope::Cluster => "Cluster",
        };
        let mut metadata = json!({"name": self.crd_name(), "annotations": {SKETCH: "true"}});
        // The API server refuses CRDs of Kubernetes' own groups unless they say who approved them; real ones do.
        if self.group.ends_with(".k8s.io") || self.group.ends_with(".kubernetes.io") {
            metadata["annotations"]["api-approved.kubernetes.io"] =
                json!("https://github.com/kubernetes/enhancements/pull/1111");
        }
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": metadata,
            "spec": {
                "group": self.group,
                "names": {
                    "kind": self.kind,
                    "listKind": format!("{}List", self.kind),
                    "plural": self.plural(),
                    "singular": self.kind.to_lowercase(),
                },
                "scope": scope,
                "versions": versions,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_are_the_usual_ones() {
        for (kind, plural) in [
            ("StorageProfile", "storageprofiles"),
            ("Gateway", "gateways"),
            ("NetworkPolicy", "networkpolicies"),
            ("GatewayClass", "gatewayclasses"),
            ("CDI", "cdis"),
            ("Prometheus", "prometheuses"),
        ] {
            let sketch = CrdSketch {
                group: "example.com".into(),
                kind: kind.into(),
                plural: None,
                scope: Scope::Cluster,
                versions: vec!["v1".into()],
            };
            assert_eq!(sketch.plural(), plural);
        }
    }

    #[test]
    fn protected_groups_are_approved() {
        let sketch = |group: &str| CrdSketch {
            group: group.to_owned(),
            kind: "DNSEndpoint".to_owned(),
            plural: None,
            scope: Scope::Namespaced,
            versions: vec!["v1".to_owned()],
        };
        let annotations = |group: &str| sketch(group).to_crd()["metadata"]["annotations"].clone();
        assert!(annotations("externaldns.k8s.io")["api-approved.kubernetes.io"].is_string());
        assert!(annotations("example.com")["api-approved.kubernetes.io"].is_null());
    }
}
