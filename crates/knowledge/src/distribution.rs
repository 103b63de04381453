//! Kubernetes distributions, Flux releases and well-known manifests: what is there without a chart.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::parts::{ObjectTemplate, Webhook, Workload};
use crate::selector::KindSelector;
use crate::version::{Version, VersionPoint, VersionRange};

/// What a Kubernetes distribution brings before anybody applies anything.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Distribution {
    /// Its name in the configuration.
    pub name: String,
    /// The network plugin that it brings; absent: pods get no network before somebody installs one.
    pub cni: Option<String>,
    /// Kinds, objects and workloads, by Kubernetes version where it matters.
    #[serde(default)]
    pub brings: Vec<Brings>,
    /// Where the facts come from.
    pub source: String,
    /// The data file that says so.
    #[serde(skip)]
    pub file: String,
}

/// A part of what a distribution brings.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Brings {
    /// First Kubernetes version with it.
    pub since: Option<Version>,
    /// First Kubernetes version without it.
    pub until: Option<Version>,
    /// Whether it can be switched off, as k3s's Traefik: then it is taken to be off where the repository itself brings
    /// one of its kinds.
    #[serde(default)]
    pub optional: bool,
    /// Kinds.
    #[serde(default)]
    pub kinds: Vec<KindSelector>,
    /// Aggregated API groups, `group/version`.
    #[serde(default)]
    pub api_services: Vec<String>,
    /// Objects.
    #[serde(default)]
    pub objects: Vec<ObjectTemplate>,
    /// Workloads.
    #[serde(default)]
    pub workloads: Vec<Workload>,
    /// Where the fact comes from; absent: where the distribution's facts come from.
    pub source: Option<String>,
}

impl Brings {
    /// The Kubernetes versions that have it.
    pub fn range(&self) -> VersionRange {
        VersionRange {
            since: self.since,
            until: self.until,
        }
    }
}

impl Distribution {
    /// The parts that there are at a Kubernetes version.
    pub fn at(&self, kubernetes: Option<&str>) -> impl Iterator<Item = &Brings> {
        let point = VersionPoint::of(kubernetes);
        self.brings
            .iter()
            .filter(move |brings| brings.range().contains(point))
    }
}

/// A minor release of Flux.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FluxRelease {
    /// Such as `2.9`.
    pub minor: String,
    /// The newest patch that is known.
    pub latest: String,
    /// Controllers and their versions in the newest patch.
    pub controllers: BTreeMap<String, String>,
    /// Served versions by `group/Kind`; the first is the one that is stored.
    pub serves: BTreeMap<String, Vec<String>>,
    /// The oldest Kubernetes version that it accepts.
    pub kubernetes_min: String,
    /// Where the facts come from.
    pub source: String,
    /// The data file that says so.
    #[serde(skip)]
    pub file: String,
}

impl FluxRelease {
    /// The served versions of a kind; empty if this minor does not have it.
    pub fn served(&self, group: &str, kind: &str) -> &[String] {
        self.serves
            .get(&format!("{group}/{kind}"))
            .map_or(&[], Vec::as_slice)
    }
}

/// A manifest that repositories take from the web, recognised by its URL.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Its name.
    pub name: String,
    /// Parts of the URL, all of which must be in it, in this order.
    pub url_contains: Vec<String>,
    /// The kinds whose CRDs it holds.
    #[serde(default)]
    pub kinds: Vec<KindSelector>,
    /// The workloads that it starts.
    #[serde(default)]
    pub workloads: Vec<Workload>,
    /// The webhooks that it registers.
    #[serde(default)]
    pub webhooks: Vec<Webhook>,
    /// Other objects on which things depend.
    #[serde(default)]
    pub objects: Vec<ObjectTemplate>,
    /// Where the facts come from.
    pub source: String,
    /// The data file that says so.
    #[serde(skip)]
    pub file: String,
}

impl Manifest {
    /// Is this the manifest at the URL?
    pub fn is_at(&self, url: &str) -> bool {
        let mut rest = url;
        self.url_contains
            .iter()
            .all(|part| match rest.find(part.as_str()) {
                Some(start) => {
                    rest = &rest[start + part.len()..];
                    true
                }
                None => false,
            })
    }
}
