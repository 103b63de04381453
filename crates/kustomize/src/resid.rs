//! What kustomize calls a resource by: group, version, kind, name and namespace.

use std::fmt;

use firstpass_yaml::Node;

/// Group, version and kind. In a selector an empty part matches anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gvk {
    /// API group, empty for the core group.
    pub group: String,
    /// API version within the group.
    pub version: String,
    /// Kind.
    pub kind: String,
}

/// A resource's identity in one layer of a build.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResId {
    /// Group, version and kind.
    pub gvk: Gvk,
    /// Name; empty if unset.
    pub name: String,
    /// Namespace as written; empty if unset.
    pub namespace: String,
}

impl Gvk {
    /// From the two fields of an object: `apps/v1` and `Deployment`.
    pub fn from_api_version(api_version: &str, kind: &str) -> Gvk {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Gvk {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        }
    }

    /// Of an object's tree; parts that are missing are empty.
    pub fn of(node: &Node) -> Gvk {
        let text = |key| node.get(key).and_then(Node::as_text).unwrap_or_default();
        Gvk::from_api_version(text("apiVersion"), text("kind"))
    }

    /// `apps/v1`, or `v1` for the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Whether `selector` selects this: its empty parts match anything.
    pub fn is_selected_by(&self, selector: &Gvk) -> bool {
        let matches = |wanted: &str, have: &str| wanted.is_empty() || wanted == have;
        matches(&selector.group, &self.group)
            && matches(&selector.version, &self.version)
            && matches(&selector.kind, &self.kind)
    }
}

impl ResId {
    /// Of an object's tree; parts that are missing are empty.
    pub fn of(node: &Node) -> ResId {
        let text = |path: &[&str]| {
            node.at(path)
                .and_then(Node::as_text)
                .unwrap_or_default()
                .to_owned()
        };
        ResId {
            gvk: Gvk::of(node),
            name: text(&["metadata", "name"]),
            namespace: text(&["metadata", "namespace"]),
        }
    }
}

/// As kustomize writes it: `Deployment.v1.apps`.
impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or = |text: &'_ str, missing: &'static str| {
            if text.is_empty() {
                missing.to_owned()
            } else {
                text.to_owned()
            }
        };
        write!(
            f,
            "{}.{}.{}",
            or(&self.kind, "[noKind]"),
            or(&self.version, "[noVer]"),
            or(&self.group, "[noGrp]")
        )
    }
}

/// As kustomize writes it: `Deployment.v1.apps/name.namespace`.
impl fmt::Display for ResId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.name.is_empty() {
            "[noName]"
        } else {
            &self.name
        };
        let namespace = if self.namespace.is_empty() {
            "[noNs]"
        } else {
            &self.namespace
        };
        write!(f, "{}/{name}.{namespace}", self.gvk)
    }
}
