//! The ways in which a kind can become known.

use crate::chart::{Chart, ChartKinds};
use crate::distribution::{Brings, Distribution, Manifest};
use crate::operator::{Effect, OnObject, Operator};
use crate::selector::KindSelector;
use crate::tables::Knowledge;

/// One way in which a kind can become known, as far as knowledge tells.
#[derive(Clone, Copy, Debug)]
pub enum Provider<'k> {
    /// A release of a chart brings its CRD.
    Chart {
        /// The chart.
        chart: &'k Chart,
        /// How, and under which condition.
        kinds: &'k ChartKinds,
    },
    /// An operator registers it when it starts.
    OperatorStart {
        /// The operator.
        operator: &'k Operator,
        /// What it does.
        effect: &'k Effect,
    },
    /// An operator registers it after it has reconciled an object: a second-order kind.
    OperatorObject {
        /// The operator.
        operator: &'k Operator,
        /// For which objects.
        on_object: &'k OnObject,
        /// What it does.
        effect: &'k Effect,
    },
    /// A manifest from the web holds its CRD.
    Manifest {
        /// The manifest.
        manifest: &'k Manifest,
    },
    /// A distribution brings it.
    Distribution {
        /// The distribution.
        distribution: &'k Distribution,
        /// The part of it, with the Kubernetes versions.
        brings: &'k Brings,
    },
}

impl<'k> Provider<'k> {
    /// The name of the chart, operator, manifest or distribution.
    pub fn name(&self) -> &'k str {
        match self {
            Provider::Chart { chart, .. } => &chart.name,
            Provider::OperatorStart { operator, .. } | Provider::OperatorObject { operator, .. } => {
                &operator.name
            }
            Provider::Manifest { manifest } => &manifest.name,
            Provider::Distribution { distribution, .. } => &distribution.name,
        }
    }

    /// The data file that says so.
    pub fn file(&self) -> &'k str {
        match self {
            Provider::Chart { chart, .. } => &chart.file,
            Provider::OperatorStart { operator, .. } | Provider::OperatorObject { operator, .. } => {
                &operator.file
            }
            Provider::Manifest { manifest } => &manifest.file,
            Provider::Distribution { distribution, .. } => &distribution.file,
        }
    }

    /// Where the fact comes from.
    pub fn source(&self) -> &'k str {
        match self {
            Provider::Chart { chart, kinds } => kinds.source.as_deref().unwrap_or(&chart.source),
            Provider::OperatorStart { operator, effect } => {
                effect.source.as_deref().unwrap_or(&operator.source)
            }
            Provider::OperatorObject {
                operator,
                on_object,
                effect,
            } => effect
                .source
                .as_deref()
                .or(on_object.source.as_deref())
                .unwrap_or(&operator.source),
            Provider::Manifest { manifest } => &manifest.source,
            Provider::Distribution { distribution, brings } => {
                brings.source.as_deref().unwrap_or(&distribution.source)
            }
        }
    }
}

impl Knowledge {
    /// Every way in which a kind is known to come: charts, operators, manifests, distributions. What could yield any
    /// kind at all (a composite resource definition) is named for kinds of which nothing else is known.
    pub fn providers_of(&self, group: &str, kind: &str) -> Vec<Provider<'_>> {
        let mut providers = self.possible_providers_of(group, kind);
        let certain = |provider: &Provider<'_>| match provider {
            Provider::OperatorObject { effect, .. } => effect.brings(group, kind),
            _ => true,
        };
        if self.custom_kind(group, kind).is_some() || providers.iter().any(certain) {
            providers.retain(certain);
        }
        providers
    }

    fn possible_providers_of(&self, group: &str, kind: &str) -> Vec<Provider<'_>> {
        let named =
            |selectors: &[KindSelector]| selectors.iter().any(|selector| selector.matches(group, kind));
        let brings = |effect: &&Effect| effect.may_bring(group, kind);
        let mut providers = Vec::new();
        for chart in self.charts() {
            let kinds = chart.kinds.iter().filter(|kinds| named(&kinds.include));
            providers.extend(kinds.map(|kinds| Provider::Chart { chart, kinds }));
        }
        for operator in self.operators() {
            let starts = operator.at_start.iter().filter(brings);
            providers.extend(starts.map(|effect| Provider::OperatorStart { operator, effect }));
            for on_object in &operator.on_object {
                let effects = on_object.effects.iter().filter(brings);
                providers.extend(effects.map(|effect| Provider::OperatorObject {
                    operator,
                    on_object,
                    effect,
                }));
            }
        }
        let manifests = self.manifests().iter().filter(|manifest| named(&manifest.kinds));
        providers.extend(manifests.map(|manifest| Provider::Manifest { manifest }));
        for distribution in self.distributions() {
            let parts = distribution.brings.iter().filter(|brings| named(&brings.kinds));
            providers.extend(parts.map(|brings| Provider::Distribution { distribution, brings }));
        }
        providers
    }
}
