//! Charts: which kinds, workloads, webhooks and objects a release of them brings.

use serde::Deserialize;
use serde_json::Value;

use crate::condition::Condition;
use crate::parts::{ObjectTemplate, Webhook, Workload};
use crate::selector::KindSelector;
use crate::version::{Version, VersionPoint, VersionRange};

/// What is known of a chart, or of a range of its versions.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    /// The name in its `Chart.yaml`.
    pub name: String,
    /// Other names under which it is published.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Where the name is too common to go by: a part of the repository's URL, one of which must be in it.
    #[serde(default)]
    pub only_from: Vec<String>,
    /// First version that this entry describes.
    pub since: Option<Version>,
    /// First version that it describes no more.
    pub until: Option<Version>,
    /// Whether chart and product have the same version numbers, so that facts about the product can be looked up by them.
    #[serde(default)]
    pub version_is_app: bool,
    /// The kinds that it brings.
    #[serde(default)]
    pub kinds: Vec<ChartKinds>,
    /// The workloads that it starts.
    #[serde(default)]
    pub workloads: Vec<Workload>,
    /// The webhooks that it registers.
    #[serde(default)]
    pub webhooks: Vec<Webhook>,
    /// Other objects on which things depend: classes, namespaces.
    #[serde(default)]
    pub objects: Vec<ObjectTemplate>,
    /// Whether it, or an operator that it starts, makes namespaces beyond those listed as objects.
    #[serde(default)]
    pub makes_namespaces: bool,
    /// Where the facts come from.
    pub source: String,
    /// The data file that says so.
    #[serde(skip)]
    pub file: String,
}

/// How a chart brings its CRDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CrdMode {
    /// In a `crds/` folder, its own or a subchart's: applied before all else, and only by the release's `install.crds`.
    CrdsDir,
    /// Among the templates: applied with the rest, whatever `install.crds` says.
    Templates,
    /// By a hook that applies files of the image.
    Hook,
}

/// Kinds that a chart brings in one way and under one condition.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChartKinds {
    /// How their CRDs come.
    pub mode: CrdMode,
    /// Whether the values ask for them.
    pub when: Option<Condition>,
    /// First version of the chart that brings them.
    pub since: Option<Version>,
    /// First version that brings them no more.
    pub until: Option<Version>,
    /// Which kinds.
    pub include: Vec<KindSelector>,
    /// Where the fact comes from; absent: where the chart's facts come from.
    pub source: Option<String>,
}

/// What a release does with a `crds/` folder on installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrdsPolicy {
    /// `Create` or `CreateReplace`.
    Install,
    /// `Skip`
    Skip,
}

impl ChartKinds {
    /// Do these kinds come with this version of the chart, these values and this policy?
    pub fn come_with(&self, version: VersionPoint, values: &Value, policy: CrdsPolicy) -> bool {
        let range = VersionRange {
            since: self.since,
            until: self.until,
        };
        if !range.contains(version) {
            return false;
        }
        let skipped = self.mode == CrdMode::CrdsDir && policy == CrdsPolicy::Skip;
        !skipped && self.when.as_ref().is_none_or(|condition| condition.holds(values))
    }
}

impl Chart {
    /// The versions that this entry describes.
    pub fn range(&self) -> VersionRange {
        VersionRange {
            since: self.since,
            until: self.until,
        }
    }

    /// The release of the product that a version of the chart brings.
    pub fn app_point(&self, chart_version: Option<&str>) -> VersionPoint {
        if self.version_is_app {
            VersionPoint::of(chart_version)
        } else {
            VersionPoint::Newest
        }
    }

    /// Is this chart published under the name in this repository? An unknown repository does for common names only
    /// if the entry does not insist.
    pub fn is(&self, name: &str, repository: Option<&str>) -> bool {
        let named = self.name == name || self.aliases.iter().any(|alias| alias == name);
        let from = |part: &String| repository.is_some_and(|repository| repository.contains(part.as_str()));
        named && (self.only_from.is_empty() || self.only_from.iter().any(from))
    }
}

/// The name of a chart out of what a release refers to: `oci://ghcr.io/org/charts/app:1.2` gives `app`.
pub fn chart_name(reference: &str) -> &str {
    let reference = reference.trim_end_matches('/');
    let last = reference.rsplit('/').next().unwrap_or(reference);
    let end = last.find(['@', ':']).unwrap_or(last.len());
    &last[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_last_segment() {
        let table = [
            ("cilium", "cilium"),
            ("oci://quay.io/jetstack/charts/cert-manager", "cert-manager"),
            ("oci://ghcr.io:5000/org/app:1.2.3@sha256:abc", "app"),
            ("jetstack/cert-manager", "cert-manager"),
            ("./charts/mine/", "mine"),
        ];
        for (reference, name) in table {
            assert_eq!(chart_name(reference), name);
        }
    }
}
