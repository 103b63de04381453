//! By what names a build knows an object.

use firstpass_yaml::Node;

use super::notes;
use crate::resid::{Gvk, ResId};
use crate::scalar::{is_nil_or_empty, text_of};
use crate::schemas::Schemas;

/// The namespace under which objects of the cluster are compared.
const NO_NAMESPACE: &str = "_non_namespaceable_";
/// The namespace of an object that has none and could.
const DEFAULT_NAMESPACE: &str = "default";

/// An id, and whether its kind is known to belong to the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) id: ResId,
    pub(crate) cluster_scoped: bool,
}

/// What two ids have in common if they mean the same object: all parts, with the namespace that takes effect.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    group: String,
    version: String,
    kind: String,
    name: String,
    namespace: String,
}

/// The id that the fields of a tree say.
pub(crate) fn id_of(node: &Node) -> ResId {
    let api_version = node.get("apiVersion").map(text_of).unwrap_or_default();
    let kind = node.get("kind").map(text_of).unwrap_or_default();
    let metadata = |field| {
        node.at(&["metadata", field])
            .filter(|value| !is_nil_or_empty(value))
            .map(text_of)
            .unwrap_or_default()
            .to_owned()
    };
    ResId {
        gvk: Gvk::from_api_version(api_version, kind),
        name: metadata("name"),
        namespace: metadata("namespace"),
    }
}

impl Identity {
    /// By the fields of the tree.
    pub(super) fn current(node: &Node, schemas: &Schemas) -> Identity {
        let api_version = node.get("apiVersion").map(text_of).unwrap_or_default();
        let kind = node.get("kind").map(text_of).unwrap_or_default();
        Identity {
            cluster_scoped: schemas.is_cluster_scoped(api_version, kind),
            id: id_of(node),
        }
    }

    /// By the notes of the build. Previous ids are never known to belong to the cluster; their namespace says it.
    pub(super) fn previous(node: &Node) -> Vec<Identity> {
        let Some(annotations) = node.at(&["metadata", "annotations"]) else {
            return Vec::new();
        };
        let list = |note: &str| annotations.get(note).and_then(Node::as_text);
        let (Some(names), Some(namespaces), Some(kinds)) = (
            list(notes::PREVIOUS_NAMES),
            list(notes::PREVIOUS_NAMESPACES),
            list(notes::PREVIOUS_KINDS),
        ) else {
            return Vec::new();
        };
        let api_version = node.get("apiVersion").and_then(Node::as_text).unwrap_or_default();
        names
            .split(',')
            .zip(namespaces.split(','))
            .zip(kinds.split(','))
            .map(|((name, namespace), kind)| {
                Identity::from(ResId {
                    gvk: Gvk::from_api_version(api_version, kind),
                    name: name.to_owned(),
                    namespace: namespace.to_owned(),
                })
            })
            .collect()
    }

    /// The namespace for comparisons, never empty.
    pub(crate) fn effective_namespace(&self) -> &str {
        match self.id.namespace.as_str() {
            _ if self.cluster_scoped => NO_NAMESPACE,
            "" => DEFAULT_NAMESPACE,
            namespace => namespace,
        }
    }

    pub(crate) fn same_namespace(&self, other: &Identity) -> bool {
        self.effective_namespace() == other.effective_namespace()
    }

    /// Whether both mean the same object.
    pub(crate) fn means(&self, other: &Identity) -> bool {
        self.same_namespace(other) && self.means_but_for_namespace(other)
    }

    pub(crate) fn means_but_for_namespace(&self, other: &Identity) -> bool {
        self.id.name == other.id.name && self.id.gvk == other.id.gvk
    }

    pub(crate) fn key(&self) -> Key {
        let ResId { gvk, name, .. } = &self.id;
        Key {
            group: gvk.group.clone(),
            version: gvk.version.clone(),
            kind: gvk.kind.clone(),
            name: name.clone(),
            namespace: self.effective_namespace().to_owned(),
        }
    }
}

impl From<ResId> for Identity {
    /// An id that a user wrote: nothing is known of its kind's scope.
    fn from(id: ResId) -> Identity {
        Identity {
            id,
            cluster_scoped: false,
        }
    }
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.id.fmt(f)
    }
}
