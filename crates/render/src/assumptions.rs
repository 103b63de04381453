//! What rendering takes for granted, in words for a report.

use std::collections::BTreeMap;

use firstpass_diagnostics::Assumption;
use firstpass_flux::{Source, SourceName, names};
use firstpass_object::{ObjectExt, group_of};
use firstpass_source::RepoPath;

use crate::{AssumedData, MadeBy, Tier, TierSource};

/// Sources that were taken for this repository although nothing says so.
pub(crate) fn sources(
    tiers: &[Tier],
    roots: &BTreeMap<SourceName, RepoPath>,
    objects: &BTreeMap<SourceName, Source>,
    url: Option<&str>,
) -> Vec<Assumption> {
    let mut assumed = BTreeMap::new();
    for tier in tiers {
        let TierSource::Repository { name, .. } = &tier.source else {
            continue;
        };
        if roots.contains_key(name) {
            continue;
        }
        let why = match objects.get(name).and_then(|object| object.url.as_deref()) {
            // Its URL is that of this repository, or it would not have been taken for it.
            Some(_) if url.is_some() => continue,
            Some(theirs) => format!(
                "default: nothing says which URL this repository has, and the paths of {theirs} are here"
            ),
            None => "default: no object defines it, and its paths are here".to_owned(),
        };
        assumed.entry(name.clone()).or_insert(Assumption {
            about: "source".to_owned(),
            subject: name.to_string(),
            assumed: "is this repository".to_owned(),
            source: why,
        });
    }
    assumed.into_values().collect()
}

/// ResourceSets are templates that flux-operator fills in; what they make is not followed.
pub(crate) fn resource_sets(tiers: &[Tier]) -> Vec<Assumption> {
    let objects = tiers.iter().flat_map(Tier::objects).map(|object| &object.object);
    let sets = objects.filter(|object| {
        object.kind() == names::RESOURCE_SET && group_of(object.api_version()) == names::OPERATOR_GROUP
    });
    sets.map(|set| Assumption {
        about: "resource-set".to_owned(),
        subject: set.id().to_string(),
        assumed: "makes nothing that a tier waits for; what it makes is not rendered".to_owned(),
        source: "default: templates of ResourceSets are not filled in".to_owned(),
    })
    .collect()
}

impl AssumedData {
    /// The same as an entry of a report.
    pub(crate) fn assumption(&self) -> Assumption {
        let keys: Vec<&str> = self.data.values.keys().map(String::as_str).collect();
        let holds = match (keys.is_empty(), self.data.open) {
            (true, _) => "holds every variable that is taken from it".to_owned(),
            (false, true) => format!(
                "holds {} and every other variable that is taken from it",
                keys.join(", ")
            ),
            (false, false) => format!("holds {}", keys.join(", ")),
        };
        let (assumed, source) = match &self.made_by {
            MadeBy::Configuration => (
                format!("exists in the cluster and {holds}"),
                "firstpass.yaml".to_owned(),
            ),
            MadeBy::Controller { object, tier } => (
                format!("is made from {object} of `{tier}` and {holds}"),
                object.clone(),
            ),
            MadeBy::Nobody => (
                format!("exists in the cluster and {holds}"),
                "default: nothing in the repository makes it".to_owned(),
            ),
        };
        Assumption {
            about: "variables".to_owned(),
            subject: format!("{}/{}/{}", self.kind, self.namespace, self.name),
            assumed,
            source,
        }
    }
}
