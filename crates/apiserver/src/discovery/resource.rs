//! One kind as the server serves it.

use std::cmp::{Ordering, Reverse};

use ecow::EcoString;
use firstpass_object::{GroupKind, GroupVersionKind};
use firstpass_schema::Scope;

/// A kind with its names and versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// API group; empty for the core group.
    pub group: EcoString,
    /// Kind.
    pub kind: EcoString,
    /// Name in URLs and messages, such as `deployments`.
    pub plural: String,
    /// Namespaced or not.
    pub scope: Scope,
    /// Served versions, the preferred one first.
    pub versions: Vec<String>,
    /// Whether the status is a subresource: if so, writes to the object leave it alone and the other way around.
    pub has_status: bool,
    /// Whether the server counts `metadata.generation`.
    pub has_generation: bool,
    /// Name of the CRD that brought the kind; `None` for built-in kinds.
    pub crd: Option<String>,
}

impl Resource {
    /// Group and kind.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(self.group.clone(), self.kind.clone())
    }

    /// Group, kind and the preferred version.
    pub fn preferred(&self) -> GroupVersionKind {
        GroupVersionKind {
            group: self.group.clone(),
            version: self.versions.first().map(EcoString::from).unwrap_or_default(),
            kind: self.kind.clone(),
        }
    }

    /// Whether it is served in a version.
    pub fn serves(&self, version: &str) -> bool {
        self.versions.iter().any(|served| served == version)
    }

    /// Whether the objects live in namespaces.
    pub fn is_namespaced(&self) -> bool {
        self.scope == Scope::Namespaced
    }

    /// `plural.group`, or `plural` for the core group: how messages and CRDs name it.
    pub fn group_resource(&self) -> String {
        if self.group.is_empty() {
            self.plural.clone()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }
}

/// Kubernetes' order of versions, the preferred first: stable before beta before alpha, newer before older, anything
/// else behind them by name.
pub(crate) fn compare_versions(a: &str, b: &str) -> Ordering {
    /// Stability (3 stable, 2 beta, 1 alpha), major, minor.
    fn rank(version: &str) -> Option<(u8, u64, u64)> {
        let rest = version.strip_prefix('v')?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let major = rest[..end].parse().ok()?;
        let suffix = &rest[end..];
        let (stability, minor) = match (suffix.strip_prefix("beta"), suffix.strip_prefix("alpha")) {
            (Some(minor), _) => (2, minor),
            (_, Some(minor)) => (1, minor),
            _ if suffix.is_empty() => return Some((3, major, 0)),
            _ => return None,
        };
        Some((stability, major, minor.parse().ok()?))
    }
    let key = |version| (rank(version).is_none(), Reverse(rank(version)));
    key(a).cmp(&key(b)).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_and_newer_versions_come_first() {
        let mut versions = [
            "foo1", "v1alpha2", "v11beta2", "v1", "v10", "v2beta1", "bar", "v1beta1", "v2",
        ];
        versions.sort_by(|a, b| compare_versions(a, b));
        assert_eq!(
            versions,
            [
                "v10", "v2", "v1", "v11beta2", "v2beta1", "v1beta1", "v1alpha2", "bar", "foo1"
            ]
        );
    }
}
