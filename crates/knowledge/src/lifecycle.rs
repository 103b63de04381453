//! Versions that go together, and API versions that are on their way out.

use serde::Deserialize;

use crate::version::Version;

/// An API version that Kubernetes calls deprecated and still serves.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deprecation {
    /// API group; empty for the core group.
    #[serde(default)]
    pub group: String,
    /// API version.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// The first Kubernetes that calls it deprecated.
    pub since: Version,
    /// What to write instead.
    pub instead: String,
    /// Where the fact comes from.
    pub source: String,
}

/// The Kubernetes versions that releases of a component are made for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Support {
    /// The component, as people call it.
    pub component: String,
    /// Its charts, whose version is that of the component.
    #[serde(default)]
    pub charts: Vec<String>,
    /// How the names of its images end; their tag is the version of the component.
    #[serde(default)]
    pub images: Vec<String>,
    /// Its releases.
    pub releases: Vec<SupportedRelease>,
    /// Where the facts come from.
    pub source: String,
}

/// One minor release of a component.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SupportedRelease {
    /// Such as `1.18`.
    pub release: String,
    /// The first and the last Kubernetes version that it is tested with.
    pub kubernetes: (String, String),
}

impl Deprecation {
    /// The minor of [`Deprecation::since`].
    pub fn since_minor(&self) -> u16 {
        u16::try_from(self.since.1).unwrap_or(u16::MAX)
    }
}
