//! The variables that tiers substitute, as far as the files tell.

use std::collections::{BTreeMap, BTreeSet};

use firstpass_flux::{PostBuild, SubstituteStrategy};
use firstpass_object::ObjectId;
use firstpass_render::{Data, DataKind, Datum, Overlays, RenderedCluster, Tier};

/// The variables of a cluster by the tier that reads them.
pub(crate) struct Variables<'a> {
    cluster: &'a RenderedCluster,
    data: BTreeMap<ObjectId, Data>,
}

/// What one tier substitutes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TierVariables {
    /// Names, each with the place that defines it: `ConfigMap/flux-system/cluster-vars`, or the tier itself.
    pub(crate) names: BTreeMap<String, String>,
    /// Further variables may be there.
    pub(crate) open: bool,
}

impl<'a> Variables<'a> {
    pub(crate) fn of(cluster: &'a RenderedCluster) -> Variables<'a> {
        let sources = cluster.tiers.iter().flat_map(sources_of);
        let read: BTreeSet<ObjectId> = sources.map(|(source, _)| source).collect();
        let rendered = cluster.objects().map(|(_, rendered)| rendered);
        let mut data: BTreeMap<ObjectId, Data> = rendered
            .filter(|rendered| DataKind::of(&rendered.id().kind).is_some() && read.contains(&rendered.id()))
            .map(|rendered| (rendered.id(), Data::of(&rendered.object)))
            .collect();
        for assumed in &cluster.assumed {
            let id = ObjectId::new("", assumed.kind.as_str(), Some(&assumed.namespace), &assumed.name);
            data.entry(id).or_insert_with(|| assumed.data.clone());
        }
        Variables { cluster, data }
    }

    /// What a tier substitutes.
    pub(crate) fn tier(&self, tier: &Tier) -> TierVariables {
        let mut variables = TierVariables::default();
        let Some(post_build) = &tier.kustomization.spec.post_build else {
            return variables;
        };
        for (source, optional) in sources_of(tier) {
            match self.data.get(&source) {
                Some(data) => {
                    variables.open |= data.open;
                    let names = data.values.keys();
                    variables
                        .names
                        .extend(names.map(|name| (name.clone(), source.to_string())));
                }
                // An optional source that nobody makes is not there (F-605).
                None => variables.open |= !optional,
            }
        }
        let own = format!("Kustomization/{}", tier.name);
        let names = post_build.substitute.keys();
        variables
            .names
            .extend(names.map(|name| (name.clone(), own.clone())));
        variables
    }

    /// Every variable that some tier of the cluster substitutes, with a place that defines it.
    pub(crate) fn all(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        for tier in &self.cluster.tiers {
            for (name, place) in self.tier(tier).names {
                all.entry(name).or_insert(place);
            }
        }
        all
    }

    /// Every variable of the cluster with its value, and whether there may be more. Where tiers disagree, the object that
    /// holds the values of the overlays counts, else the first tier.
    pub(crate) fn values(&self, overlays: Option<&Overlays>) -> (BTreeMap<String, Datum>, bool) {
        let mut values = BTreeMap::new();
        let mut open = false;
        let of_overlays = overlays.and_then(crate::fleet::vars_id);
        if let Some(data) = of_overlays.and_then(|id| self.data.get(&id)) {
            values.clone_from(&data.values);
        }
        for tier in &self.cluster.tiers {
            let Some(post_build) = &tier.kustomization.spec.post_build else {
                continue;
            };
            for (name, value) in &post_build.substitute {
                values
                    .entry(name.clone())
                    .or_insert_with(|| Datum::Known(value.clone()));
            }
            for (source, optional) in sources_of(tier).into_iter().rev() {
                match self.data.get(&source) {
                    Some(data) => {
                        open |= data.open;
                        for (name, datum) in &data.values {
                            values.entry(name.clone()).or_insert_with(|| datum.clone());
                        }
                    }
                    None => open |= !optional,
                }
            }
        }
        (values, open)
    }

    /// Whether substitution certainly leaves the tier's objects alone: it has none, or none of its sources has a
    /// variable (F-601).
    pub(crate) fn substitutes_nothing(&self, tier: &Tier) -> bool {
        let Some(post_build) = &tier.kustomization.spec.post_build else {
            return true;
        };
        if post_build.strategy == SubstituteStrategy::Always {
            return false;
        }
        let variables = self.tier(tier);
        variables.names.is_empty() && !variables.open
    }
}

/// The ConfigMaps and Secrets that a tier names as sources of variables, in the order in which they count, each with
/// whether it may be missing.
pub(crate) fn sources_of(tier: &Tier) -> Vec<(ObjectId, bool)> {
    let sources = |post_build: &PostBuild| {
        let id = |kind: &str, name: &str| ObjectId::new("", kind, Some(&tier.name.namespace), name);
        let references = post_build.substitute_from.iter();
        references
            .map(|reference| (id(&reference.kind, &reference.name), reference.optional))
            .collect()
    };
    tier.kustomization
        .spec
        .post_build
        .as_ref()
        .map(sources)
        .unwrap_or_default()
}
