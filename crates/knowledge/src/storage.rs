//! What CDI infers about a StorageClass, and so writes into the status of its StorageProfile.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::version::{Version, VersionPoint, VersionRange};

/// Access modes that go with a volume mode, spelled as in a StorageProfile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ClaimPropertySet {
    /// `ReadWriteOnce`, `ReadWriteMany`, …
    pub access_modes: Vec<String>,
    /// `Block` or `Filesystem`.
    pub volume_mode: String,
}

/// What CDI knows of a provisioner, for a range of CDI releases and for classes with certain parameters.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StorageInference {
    /// The `provisioner` of the StorageClass.
    pub provisioner: String,
    /// First CDI release that knows it.
    pub since: Option<Version>,
    /// First CDI release that knows it no more.
    pub until: Option<Version>,
    /// Parameters that the class must have; the value `*` stands for any that is not empty.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// The sets, the preferred first. Empty: known to have none.
    pub sets: Vec<ClaimPropertySet>,
    /// The clone strategy that the provisioner insists on, if any.
    pub clone_strategy: Option<String>,
    /// Where the fact comes from.
    pub source: String,
    /// The data file that says so.
    #[serde(skip)]
    pub file: String,
}

impl StorageInference {
    /// Does it speak of this class under this CDI release?
    pub fn applies(
        &self,
        provisioner: &str,
        parameters: &BTreeMap<String, String>,
        cdi: VersionPoint,
    ) -> bool {
        let has = |(key, wanted): (&String, &String)| match parameters.get(key) {
            Some(value) if wanted == "*" => !value.is_empty(),
            Some(value) => value == wanted,
            None => false,
        };
        let range = VersionRange {
            since: self.since,
            until: self.until,
        };
        self.provisioner == provisioner && range.contains(cdi) && self.parameters.iter().all(has)
    }
}

/// The clone strategy that CDI writes where neither the profile nor the provisioner names one: `snapshot` if a
/// VolumeSnapshotClass of the driver exists, else `copy`.
pub fn clone_strategy(has_snapshot_class: bool) -> &'static str {
    if has_snapshot_class { "snapshot" } else { "copy" }
}
