//! All facts together, and the questions that they answer.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use firstpass_object::{ObjectExt, ObjectId};
use serde_json::Value;

use crate::chart::{Chart, CrdMode, CrdsPolicy, chart_name};
use crate::condition::lookup;
use crate::distribution::{Distribution, FluxRelease, Manifest};
use crate::file::{Error, File};
use crate::kind::{KindDef, Scope as KindScope};
use crate::lifecycle::{Deprecation, Support};
use crate::operator::{Effect, Operator};
use crate::parts::Workload;
use crate::selector::KindSelector;
use crate::storage::{ClaimPropertySet, StorageInference};
use crate::template::Scope;
use crate::timing::Timing;
use crate::version::VersionPoint;

/// The files of `knowledge/`, by path.
static EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

static BUILTIN: LazyLock<Arc<Knowledge>> = LazyLock::new(|| {
    let files = EMBEDDED.iter().map(|(name, text)| (*text, *name));
    let read = Knowledge::read(Knowledge::default(), files);
    Arc::new(read.unwrap_or_else(|error| panic!("a test reads the embedded files: {error}")))
});

/// All facts. Built once; where two files speak of the same thing, the one read later is right.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    charts: Vec<Chart>,
    operators: Vec<Operator>,
    kinds: BTreeMap<String, BTreeMap<String, KindDef>>,
    manifests: Vec<Manifest>,
    distributions: Vec<Distribution>,
    flux: Vec<FluxRelease>,
    storage: Vec<StorageInference>,
    timings: BTreeMap<String, Timing>,
    deprecations: Vec<Deprecation>,
    support: Vec<Support>,
    charts_by_name: BTreeMap<String, Vec<usize>>,
    operators_by_name: BTreeMap<String, usize>,
}

/// A kind that a release brings.
#[derive(Clone, Debug, PartialEq)]
pub struct BroughtKind<'k> {
    /// The kind.
    pub def: &'k KindDef,
    /// The versions that this release serves.
    pub versions: Vec<&'k str>,
    /// How the CRD comes.
    pub mode: CrdMode,
}

/// A workload of a release, its names filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedWorkload<'k> {
    /// What is known of it.
    pub workload: &'k Workload,
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
}

/// How a release refers to its chart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChartRef<'r> {
    /// Its name, or the URL of an OCI repository.
    pub name: &'r str,
    /// Its version or version range, or the tag.
    pub version: Option<&'r str>,
    /// The URL of the repository that it comes from.
    pub repository: Option<&'r str>,
}

impl Knowledge {
    /// What firstpass knows by itself.
    pub fn builtin() -> Arc<Knowledge> {
        Arc::clone(&BUILTIN)
    }

    /// These facts with those of one more file on top. `name` is the file in messages and sources.
    pub fn with_file(&self, text: &str, name: &str) -> Result<Knowledge, Error> {
        Knowledge::read(self.clone(), [(text, name)])
    }

    fn read<'t>(
        base: Knowledge,
        files: impl IntoIterator<Item = (&'t str, &'t str)>,
    ) -> Result<Knowledge, Error> {
        let mut all = base;
        for (text, name) in files {
            for file in File::parse(text, name)? {
                all.merge(file, name)?;
            }
        }
        all.index();
        crate::check::check(&all)?;
        Ok(all)
    }

    fn merge(&mut self, file: File, name: &str) -> Result<(), Error> {
        let File {
            charts,
            operators,
            kinds,
            manifests,
            distributions,
            flux,
            storage,
            timing,
            deprecations,
            support,
        } = file;
        let tag = |target: &mut String| name.clone_into(target);
        self.charts.splice(
            0..0,
            charts.into_iter().map(|mut chart| {
                tag(&mut chart.file);
                chart
            }),
        );
        self.manifests.splice(
            0..0,
            manifests.into_iter().map(|mut manifest| {
                tag(&mut manifest.file);
                manifest
            }),
        );
        self.storage.splice(
            0..0,
            storage.into_iter().map(|mut entry| {
                tag(&mut entry.file);
                entry
            }),
        );
        for mut operator in operators {
            tag(&mut operator.file);
            self.operators.retain(|known| known.name != operator.name);
            self.operators.push(operator);
        }
        for mut distribution in distributions {
            tag(&mut distribution.file);
            self.distributions.retain(|known| known.name != distribution.name);
            self.distributions.push(distribution);
        }
        for mut release in flux {
            tag(&mut release.file);
            self.flux.retain(|known| known.minor != release.minor);
            self.flux.push(release);
        }
        for def in kinds.into_iter().flat_map(|group| group.into_kinds(name)) {
            self.kinds
                .entry(def.group.clone())
                .or_default()
                .insert(def.kind.clone(), def);
        }
        self.deprecations.splice(0..0, deprecations);
        self.support.splice(0..0, support);
        for (key, entry) in timing {
            let timing = entry.into_timing(&key, name);
            let timing = timing.map_err(|message| Error {
                file: name.to_owned(),
                line: 0,
                column: 0,
                message,
            })?;
            self.timings.insert(key, timing);
        }
        Ok(())
    }

    fn index(&mut self) {
        self.charts_by_name.clear();
        for (index, chart) in self.charts.iter().enumerate() {
            for name in std::iter::once(&chart.name).chain(&chart.aliases) {
                self.charts_by_name.entry(name.clone()).or_default().push(index);
            }
        }
        let by_name = self
            .operators
            .iter()
            .enumerate()
            .map(|(index, operator)| (operator.name.clone(), index));
        self.operators_by_name = by_name.collect();
    }

    /// The chart of this name, as it is at this version or range. None: unknown, so nothing can be said.
    pub fn chart(&self, name: &str, version: Option<&str>) -> Option<&Chart> {
        self.find_chart(ChartRef {
            name,
            version,
            repository: None,
        })
    }

    /// As `chart`, with all that a release says about where its chart comes from.
    pub fn find_chart(&self, wanted: ChartRef<'_>) -> Option<&Chart> {
        let name = chart_name(wanted.name);
        let repository = wanted
            .repository
            .or_else(|| wanted.name.contains("://").then_some(wanted.name));
        let point = VersionPoint::of(wanted.version);
        let candidates = self
            .charts_by_name
            .get(name)?
            .iter()
            .map(|index| &self.charts[*index]);
        candidates
            .filter(|chart| chart.is(name, repository))
            .find(|chart| chart.range().contains(point))
    }

    /// The kinds that a release of the chart brings with these values.
    pub fn chart_kinds<'k>(
        &'k self,
        chart: &'k Chart,
        version: Option<&str>,
        values: &Value,
        policy: CrdsPolicy,
    ) -> Vec<BroughtKind<'k>> {
        let point = chart.app_point(version);
        let mut brought: Vec<BroughtKind<'k>> = Vec::new();
        for kinds in chart
            .kinds
            .iter()
            .filter(|kinds| kinds.come_with(VersionPoint::of(version), values, policy))
        {
            for def in self.select(&kinds.include) {
                let versions = def.served(point);
                if !versions.is_empty() && !brought.iter().any(|known| known.def == def) {
                    brought.push(BroughtKind {
                        def,
                        versions,
                        mode: kinds.mode,
                    });
                }
            }
        }
        brought
    }

    /// The workloads that a release of the chart starts with these values.
    pub fn chart_workloads<'k>(
        &'k self,
        chart: &'k Chart,
        release: &str,
        namespace: &str,
        values: &Value,
    ) -> Vec<PlacedWorkload<'k>> {
        let scope = Scope {
            values: Some(values),
            release,
            namespace,
            chart: &chart.name,
            ..Scope::default()
        };
        place(&chart.workloads, &scope, values)
    }

    /// The operator of this name.
    pub fn operator(&self, name: &str) -> Option<&Operator> {
        self.operators_by_name
            .get(name)
            .map(|index| &self.operators[*index])
    }

    /// The operators that run in a workload of this name with these container images.
    pub fn operators_of_workload<'s>(
        &self,
        name: &str,
        images: impl IntoIterator<Item = &'s str>,
    ) -> Vec<&Operator> {
        let images: Vec<&str> = images.into_iter().map(image_repository).collect();
        let runs = |operator: &&Operator| {
            let by_image = |known: &String| images.iter().any(|image| is_image(image, known));
            operator.images.iter().any(by_image) || operator.workloads.iter().any(|known| known == name)
        };
        self.operators.iter().filter(runs).collect()
    }

    /// The kinds that an effect makes known; `object` is the reconciled one.
    pub fn effect_kinds(&self, effect: &Effect, object: Option<&Value>) -> Vec<KindDef> {
        let fixed = self.select(&effect.kinds).cloned();
        let named = effect
            .kind_templates
            .iter()
            .filter_map(|template| template.render(object?));
        fixed.chain(named).collect()
    }

    /// What is known of a kind, wherever it comes from.
    pub fn custom_kind(&self, group: &str, kind: &str) -> Option<&KindDef> {
        self.kinds.get(group)?.get(kind)
    }

    /// The objects that an object names and that its controller cannot do without.
    pub fn needs_of(&self, object: &Value) -> Vec<ObjectId> {
        let id = object.id();
        let needs = self
            .custom_kind(&id.group, &id.kind)
            .map_or(&[][..], |def| &def.needs);
        let wanted = needs
            .iter()
            .filter(|need| need.when.as_ref().is_none_or(|when| when.holds(object)));
        wanted
            .filter_map(|need| {
                let name = lookup(object, &need.name)?
                    .as_str()
                    .filter(|name| !name.is_empty())?;
                let def = self.custom_kind(need.kind.group()?, need.kind.kind()?)?;
                let namespace = id
                    .namespace
                    .as_deref()
                    .filter(|_| def.scope == KindScope::Namespaced);
                Some(ObjectId::new(&def.group, &def.kind, namespace, name))
            })
            .collect()
    }

    /// The kinds that are known of a group.
    pub fn kinds_of_group(&self, group: &str) -> impl Iterator<Item = &KindDef> {
        self.kinds.get(group).into_iter().flat_map(BTreeMap::values)
    }

    /// All kinds that are known.
    pub fn all_kinds(&self) -> impl Iterator<Item = &KindDef> {
        self.kinds.values().flat_map(BTreeMap::values)
    }

    /// The kinds that selectors name, in their order; patterns name what is known of the groups that fit.
    pub fn select<'k>(&'k self, selectors: &'k [KindSelector]) -> impl Iterator<Item = &'k KindDef> {
        selectors
            .iter()
            .flat_map(move |selector| -> Box<dyn Iterator<Item = &'k KindDef> + 'k> {
                match (selector.group(), selector.kind()) {
                    (Some(group), Some(kind)) => Box::new(self.custom_kind(group, kind).into_iter()),
                    (Some(group), None) => Box::new(self.kinds_of_group(group)),
                    (None, _) => Box::new(
                        self.all_kinds()
                            .filter(|def| selector.matches(&def.group, &def.kind)),
                    ),
                }
            })
    }

    /// The delay of this name.
    pub fn timing(&self, name: &str) -> Option<&Timing> {
        self.timings.get(name)
    }

    /// The distribution of this name.
    pub fn distribution(&self, name: &str) -> Option<&Distribution> {
        self.distributions
            .iter()
            .find(|distribution| distribution.name == name)
    }

    /// The names of all distributions.
    pub fn distribution_names(&self) -> impl Iterator<Item = &str> {
        self.distributions
            .iter()
            .map(|distribution| distribution.name.as_str())
    }

    /// The Flux release of a version such as `2.9` or `v2.9.4`.
    pub fn flux_release(&self, version: &str) -> Option<&FluxRelease> {
        let wanted = crate::version::Version::parse(version)?;
        let of = |release: &FluxRelease| crate::version::Version::parse(&release.minor);
        self.flux
            .iter()
            .find(|release| of(release).is_some_and(|known| (known.0, known.1) == (wanted.0, wanted.1)))
    }

    /// All Flux releases that are known, oldest first.
    pub fn flux_releases(&self) -> impl Iterator<Item = &FluxRelease> {
        self.flux.iter()
    }

    /// The well-known manifest at a URL.
    pub fn manifest(&self, url: &str) -> Option<&Manifest> {
        self.manifests.iter().find(|manifest| manifest.is_at(url))
    }

    /// What CDI of this version infers about a StorageClass; None: CDI does not know the provisioner.
    pub fn storage_inference(
        &self,
        provisioner: &str,
        parameters: &BTreeMap<String, String>,
        cdi_version: Option<&str>,
    ) -> Option<&StorageInference> {
        let point = VersionPoint::of(cdi_version);
        self.storage
            .iter()
            .find(|entry| entry.applies(provisioner, parameters, point))
    }

    /// As `storage_inference`: the claim property sets alone, the preferred one first.
    pub fn claim_property_sets(
        &self,
        provisioner: &str,
        parameters: &BTreeMap<String, String>,
        cdi_version: Option<&str>,
    ) -> &[ClaimPropertySet] {
        self.storage_inference(provisioner, parameters, cdi_version)
            .map_or(&[], |entry| entry.sets.as_slice())
    }

    /// What is known of the end of an API version of Kubernetes.
    pub fn deprecation(&self, group: &str, version: &str, kind: &str) -> Option<&Deprecation> {
        self.deprecations
            .iter()
            .find(|entry| (&*entry.group, &*entry.version, &*entry.kind) == (group, version, kind))
    }

    /// Which versions of Kubernetes components are made for.
    pub fn support(&self) -> &[Support] {
        &self.support
    }

    /// All charts, in the order in which they are looked up.
    pub fn charts(&self) -> &[Chart] {
        &self.charts
    }

    /// All operators.
    pub fn operators(&self) -> &[Operator] {
        &self.operators
    }

    /// All manifests.
    pub fn manifests(&self) -> &[Manifest] {
        &self.manifests
    }

    /// All distributions.
    pub fn distributions(&self) -> &[Distribution] {
        &self.distributions
    }

    /// All inferences about storage classes.
    pub fn storage(&self) -> &[StorageInference] {
        &self.storage
    }

    /// All delays by name.
    pub fn timings(&self) -> &BTreeMap<String, Timing> {
        &self.timings
    }
}

/// The workloads that `values` (or a reconciled object) ask for, with their names filled in.
pub fn place<'k>(workloads: &'k [Workload], scope: &Scope<'_>, values: &Value) -> Vec<PlacedWorkload<'k>> {
    let wanted = workloads
        .iter()
        .filter(|workload| workload.when.as_ref().is_none_or(|when| when.holds(values)));
    let placed = wanted.filter_map(|workload| {
        let name = scope.text(&workload.name)?;
        let namespace = scope.text(workload.namespace.as_deref().unwrap_or(scope.namespace))?;
        Some(PlacedWorkload {
            workload,
            name,
            namespace,
        })
    });
    placed.collect()
}

/// An image without registry port, tag and digest: `quay.io/kubevirt/cdi-operator:v1.62.0` loses its tag.
fn image_repository(image: &str) -> &str {
    let image = image.split('@').next().unwrap_or(image);
    let last_segment = image.rfind('/').map_or(0, |slash| slash + 1);
    image[last_segment..]
        .find(':')
        .map_or(image, |colon| &image[..last_segment + colon])
}

/// Does the image end in the known path segments?
fn is_image(image: &str, known: &str) -> bool {
    image
        .strip_suffix(known)
        .is_some_and(|head| head.is_empty() || head.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_known_by_their_last_segments() {
        assert_eq!(
            image_repository("quay.io:5000/kubevirt/cdi-operator:v1.62.0@sha256:ab"),
            "quay.io:5000/kubevirt/cdi-operator"
        );
        assert_eq!(image_repository("cdi-operator"), "cdi-operator");
        assert!(is_image("quay.io/kubevirt/cdi-operator", "kubevirt/cdi-operator"));
        assert!(!is_image(
            "quay.io/mykubevirt/cdi-operator",
            "kubevirt/cdi-operator"
        ));
    }
}
