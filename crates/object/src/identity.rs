//! Names of things. The version is no part of an object's identity: the same object can be read in several versions.

use std::fmt;
use std::str::FromStr;

use ecow::EcoString;
use serde::{Deserialize, Serialize};

/// Group and kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKind {
    /// API group; empty for the core group.
    pub group: EcoString,
    /// Kind, such as `Deployment`.
    pub kind: EcoString,
}

/// Group, version and kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionKind {
    /// API group; empty for the core group.
    pub group: EcoString,
    /// Version, such as `v1beta1`.
    pub version: EcoString,
    /// Kind.
    pub kind: EcoString,
}

/// One object of a cluster: group, kind, namespace, name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// API group; empty for the core group.
    pub group: EcoString,
    /// Kind.
    pub kind: EcoString,
    /// Namespace; `None` for cluster-scoped objects and for namespaced ones that lack it.
    pub namespace: Option<EcoString>,
    /// Name.
    pub name: EcoString,
}

/// A Flux Kustomization by namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TierName {
    /// Namespace of the Flux Kustomization.
    pub namespace: EcoString,
    /// Its name.
    pub name: EcoString,
}

/// The group in an `apiVersion`: `apps/v1` gives `apps`, `v1` gives the empty core group.
pub fn group_of(api_version: &str) -> &str {
    api_version.rsplit_once('/').map_or("", |(group, _)| group)
}

/// The version in an `apiVersion`.
pub fn version_of(api_version: &str) -> &str {
    api_version
        .rsplit_once('/')
        .map_or(api_version, |(_, version)| version)
}

impl GroupKind {
    /// Group and kind from their texts.
    pub fn new(group: impl Into<EcoString>, kind: impl Into<EcoString>) -> GroupKind {
        GroupKind {
            group: group.into(),
            kind: kind.into(),
        }
    }

    /// Whether both parts are these.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }
}

impl GroupVersionKind {
    /// Reads an `apiVersion` and a kind.
    pub fn new(api_version: &str, kind: impl Into<EcoString>) -> GroupVersionKind {
        GroupVersionKind {
            group: group_of(api_version).into(),
            version: version_of(api_version).into(),
            kind: kind.into(),
        }
    }

    /// The `apiVersion`: `apps/v1`, or `v1` for the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_string()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Group and kind alone.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(self.group.clone(), self.kind.clone())
    }
}

impl ObjectId {
    /// An object by its parts; an empty namespace is none.
    pub fn new(group: &str, kind: &str, namespace: Option<&str>, name: &str) -> ObjectId {
        ObjectId {
            group: group.into(),
            kind: kind.into(),
            namespace: namespace
                .filter(|namespace| !namespace.is_empty())
                .map(EcoString::from),
            name: name.into(),
        }
    }

    /// Group and kind alone.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(self.group.clone(), self.kind.clone())
    }

    /// Whether group and kind are these.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }
}

impl TierName {
    /// A tier by namespace and name.
    pub fn new(namespace: impl Into<EcoString>, name: impl Into<EcoString>) -> TierName {
        TierName {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

/// `Kind/name`, or `Kind/namespace/name` where there is a namespace: the way Flux and our reports write objects.
impl fmt::Display for ObjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(formatter, "{}/{}/{}", self.kind, namespace, self.name),
            None => write!(formatter, "{}/{}", self.kind, self.name),
        }
    }
}

/// `Kind` for the core group, else `Kind.group`.
impl fmt::Display for GroupKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.kind)?;
        if self.group.is_empty() {
            Ok(())
        } else {
            write!(formatter, ".{}", self.group)
        }
    }
}

impl fmt::Display for TierName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

impl FromStr for TierName {
    type Err = String;

    fn from_str(text: &str) -> Result<TierName, String> {
        let (namespace, name) = text
            .split_once('/')
            .ok_or_else(|| format!("`{text}` is no namespace/name"))?;
        Ok(TierName::new(namespace, name))
    }
}

impl From<TierName> for String {
    fn from(tier: TierName) -> String {
        tier.to_string()
    }
}

impl TryFrom<String> for TierName {
    type Error = String;

    fn try_from(text: String) -> Result<TierName, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_print_as_flux_prints_them() {
        assert_eq!(
            ObjectId::new("", "Namespace", Some(""), "media").to_string(),
            "Namespace/media"
        );
        assert_eq!(
            ObjectId::new("apps", "Deployment", Some("media"), "web").to_string(),
            "Deployment/media/web"
        );
    }

    #[test]
    fn api_versions_split_and_join() {
        let core = GroupVersionKind::new("v1", "Secret");
        assert_eq!((core.group.as_str(), core.version.as_str()), ("", "v1"));
        assert_eq!(
            GroupVersionKind::new("apps/v1", "Deployment").api_version(),
            "apps/v1"
        );
    }
}
