//! What Kubernetes, its distribution and Flux have running before the first pass. Of these objects only the names are known.

use firstpass_flux::{DEFAULT_COMPONENTS, names};
use firstpass_knowledge::Workload;
use firstpass_object::{ObjectExt, ObjectId};
use firstpass_render::{RenderedCluster, Sync};

use super::Stage;

/// The namespaces that every cluster starts with:
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/#initial-namespaces>.
const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// Where Kubernetes and its distributions keep their own: nobody lists everything that is there.
const SYSTEM_NAMESPACES: [&str; 3] = ["kube-system", "kube-public", "kube-node-lease"];

impl Stage {
    /// Who has brought an object before Flux's first pass; `None` if nobody is known to.
    pub fn brings(&self, id: &ObjectId) -> Option<String> {
        let by_kubernetes = || format!("Kubernetes {}", self.kubernetes);
        // Controllers of Kubernetes make these in each namespace.
        let in_each_namespace = matches!(
            (id.group.as_str(), id.kind.as_str(), id.name.as_str()),
            ("", "ConfigMap", "kube-root-ca.crt") | ("", "ServiceAccount", "default")
        );
        let is_there = |namespace: &str| NAMESPACES.contains(&namespace) || self.has_namespace(namespace);
        if in_each_namespace && id.namespace.as_deref().is_some_and(is_there) {
            return Some(by_kubernetes());
        }
        let is_api = *id == ObjectId::new("", "Service", Some("default"), "kubernetes");
        if is_api || id.is("", "Namespace") && NAMESPACES.contains(&id.name.as_str()) {
            return Some(by_kubernetes());
        }
        let object = self.objects.iter().find(|(object, _)| object.id() == *id);
        self.present
            .get(id)
            .cloned()
            .or_else(|| object.map(|(_, from)| from.clone()))
    }

    /// Whether an object lies where Kubernetes and its distribution keep their own.
    pub fn may_bring(&self, id: &ObjectId) -> bool {
        let in_system = |namespace: &str| SYSTEM_NAMESPACES.contains(&namespace);
        id.namespace.as_deref().is_some_and(in_system) && !id.group.ends_with(".toolkit.fluxcd.io")
    }

    /// The controllers of Flux, with their Services and accounts.
    pub(super) fn add_controllers(&mut self, cluster: &RenderedCluster) {
        let from = format!("Flux {}", self.flux);
        let root = cluster.roots.first();
        let namespace = root.map_or(names::FLUX_SYSTEM, |root| root.namespace.as_str());
        let components = cluster.settings.components.as_ref();
        let installed: Vec<&str> = match components {
            Some(components) => components.names().collect(),
            None => DEFAULT_COMPONENTS.to_vec(),
        };
        for name in installed {
            self.add_present("apps", "Deployment", Some(namespace), name, &from);
            self.add_present("", "ServiceAccount", Some(namespace), name, &from);
            let services: &[&str] = match name {
                "notification-controller" => &["notification-controller", "webhook-receiver"],
                "source-controller" | "source-watcher" => &[name],
                _ => &[],
            };
            for service in services {
                self.add_present("", "Service", Some(namespace), service, &from);
            }
        }
        self.add_present("", "Namespace", None, namespace, &from);
        if matches!(cluster.entry.sync, Sync::Instance { .. }) {
            self.add_present(
                "apps",
                "Deployment",
                Some(namespace),
                "flux-operator",
                "Flux Operator",
            );
        }
    }

    /// The workloads of the distribution.
    pub(super) fn add_workloads<'w>(&mut self, workloads: impl Iterator<Item = &'w Workload>, from: &str) {
        for workload in workloads {
            let namespace = workload.namespace.as_deref();
            self.add_present(
                workload.kind.group(),
                workload.kind.as_str(),
                namespace,
                &workload.name,
                from,
            );
        }
    }

    fn add_present(&mut self, group: &str, kind: &str, namespace: Option<&str>, name: &str, from: &str) {
        self.present
            .entry(ObjectId::new(group, kind, namespace, name))
            .or_insert_with(|| from.to_owned());
    }
}
