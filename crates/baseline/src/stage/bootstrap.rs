//! What a bootstrap stage installs before Flux: the releases of helmfiles, and the network that Flux cannot start without.

use std::sync::Arc;

use firstpass_flux::HelmRelease;
use firstpass_knowledge::{CrdsPolicy, Effect, Knowledge, Operator, VersionPoint};
use firstpass_object::{ObjectExt, ObjectId};
use firstpass_render::RenderedCluster;
use serde_json::Value;

use super::{SeededRelease, Stage};
use crate::{ChartName, Found, Helmfile, HelmfileRelease, Release};

impl Stage {
    pub(super) fn add_helmfile(
        &mut self,
        cluster: &RenderedCluster,
        helmfile: &Helmfile,
        knowledge: &Knowledge,
    ) {
        if helmfile.releases.is_empty() {
            return;
        }
        self.seeded_by.push(helmfile.file.clone());
        for entry in &helmfile.releases {
            let release = self.seeded_release(cluster, &helmfile.file, entry);
            self.add_release(&release, entry, &helmfile.file, knowledge);
            self.releases.push(SeededRelease {
                release,
                file: helmfile.file.clone(),
                line: entry.line,
                crds_only: entry.crds_only,
            });
        }
    }

    /// A helmfile's release; what only a template says is taken from the HelmRelease of the same name.
    fn seeded_release(&mut self, cluster: &RenderedCluster, file: &str, entry: &HelmfileRelease) -> Release {
        let found = |id: &ObjectId| cluster.find(id).map(|(_, o)| o.object.clone());
        let twin = twin_of(cluster, entry).map(|object| Release::of_object(object, &found as Found<'_>));
        let chart = match (&entry.chart, &twin) {
            (Some(chart), _) => ChartName {
                name: chart.clone(),
                version: entry.version.clone(),
                repository: Some(chart.clone()),
                files_in: None,
            },
            (None, Some(twin)) => {
                let subject = format!("release {}/{}", entry.namespace, entry.name);
                let assumed = format!("the chart of the HelmRelease of that name, {}", twin.chart_text());
                self.assume("bootstrap", &subject, assumed, file);
                twin.chart.clone()
            }
            (None, None) => ChartName {
                name: entry.name.clone(),
                version: entry.version.clone(),
                ..ChartName::default()
            },
        };
        let values = match (&twin, entry.values_complete) {
            (Some(twin), false) => twin.values.clone(),
            _ => entry.values.clone(),
        };
        Release {
            id: None,
            name: entry.name.clone(),
            namespace: entry.namespace.clone(),
            chart,
            values,
            values_complete: entry.values_complete || twin.is_some_and(|twin| twin.values_complete),
            crds: CrdsPolicy::Install,
            waits: true,
            creates_namespace: true,
        }
    }

    fn add_release(&mut self, release: &Release, entry: &HelmfileRelease, file: &str, knowledge: &Knowledge) {
        let from = format!("{} seeded by {file}", release.chart_text());
        let Some(facts) = release.facts(knowledge) else {
            self.has_unknown_parts = true;
            let subject = format!("release {}/{}", entry.namespace, entry.name);
            let assumed = format!(
                "{} installs, and what it brings is not known",
                release.chart_text()
            );
            self.assume("bootstrap", &subject, assumed, file);
            return;
        };
        for brought in &facts.kinds {
            self.insert_kind(brought.def, &brought.versions, &from);
        }
        // A CRD stage takes whatever CRDs the chart can render, also those that its defaults leave out.
        if entry.crds_only {
            for kinds in &facts.chart.kinds {
                for def in knowledge.select(&kinds.include) {
                    self.add_kind(def, facts.version, &from);
                }
            }
            return;
        }
        for (operator, _) in &facts.operators {
            self.add_started(operator, &release.values, facts.version, knowledge, &from);
        }
        self.objects.extend(
            facts
                .objects
                .into_iter()
                .map(|object| (Arc::new(object), from.clone())),
        );
        if facts.chart.name == "cilium" || facts.chart.name == "tigera-operator" {
            self.network = Some(facts.chart.name.clone());
        }
    }

    /// What an operator has registered by the time that it runs.
    fn add_started(
        &mut self,
        operator: &Operator,
        values: &Value,
        version: VersionPoint,
        knowledge: &Knowledge,
        from: &str,
    ) {
        let happens = |effect: &&Effect| {
            effect.range().contains(version) && effect.when.as_ref().is_none_or(|when| when.holds(values))
        };
        for effect in operator.at_start.iter().filter(happens) {
            for def in knowledge.effect_kinds(effect, None) {
                self.add_kind(&def, version, from);
            }
        }
    }

    /// Where Cilium stands in for kube-proxy and is told the API server's address, no Service works without it: Flux could
    /// not even reach the API server. So it is there before Flux, even if no file of the repository says who installed it.
    pub(super) fn add_network(&mut self, cluster: &RenderedCluster, knowledge: &Knowledge) {
        let found = |id: &ObjectId| cluster.find(id).map(|(_, o)| o.object.clone());
        let releases = cluster
            .objects()
            .filter(|(_, object)| HelmRelease::is(&object.object));
        for (_, object) in releases {
            let release = Release::of_object(&object.object, &found);
            let stands_in = firstpass_knowledge::chart_name(&release.chart.name) == "cilium"
                && release.values["kubeProxyReplacement"] == true
                && release.values.get("k8sServiceHost").is_some();
            let is_seeded = self
                .releases
                .iter()
                .any(|seeded| seeded.release.name == release.name && !seeded.crds_only);
            let Some(facts) = release.facts(knowledge).filter(|_| stands_in && !is_seeded) else {
                continue;
            };
            let id = object.id();
            let from = format!("{}, which Flux cannot start without", release.chart_text());
            for (operator, _) in &facts.operators {
                self.add_started(operator, &release.values, facts.version, knowledge, &from);
            }
            self.network = Some("cilium".to_owned());
            self.assume(
                "bootstrap",
                &id.to_string(),
                "installed before Flux: it stands in for kube-proxy".to_owned(),
                "kubeProxyReplacement and k8sServiceHost in its values",
            );
            self.releases.push(SeededRelease {
                release: Release { id: None, ..release },
                file: object.origin.file.clone(),
                line: object.origin.line,
                crds_only: false,
            });
        }
    }
}

/// The HelmRelease with the name and namespace of a helmfile's release: Flux adopts what the bootstrap installed.
fn twin_of<'c>(cluster: &'c RenderedCluster, entry: &HelmfileRelease) -> Option<&'c Value> {
    let mut releases = cluster
        .objects()
        .map(|(_, object)| &*object.object)
        .filter(|object| HelmRelease::is(object));
    releases.find(|object| {
        let release = HelmRelease::read(object).value;
        release.release_name() == entry.name && release.release_namespace() == entry.namespace
            || object.name() == entry.name && object.namespace() == Some(&entry.namespace)
    })
}
