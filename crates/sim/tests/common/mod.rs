//! A small world for tests: Flux's kinds are served, sources hold what the test says, by path.

use std::collections::BTreeMap;
use std::sync::Arc;

use firstpass_apiserver::{ApiServer, Apply, CrdSketch, Options, Request, Scope, Time};
use firstpass_controllers::kustomization::Obstacle;
use firstpass_controllers::{Artifact, BuildFailure, Built, Contents};
use firstpass_flux::{ControllerSettings, FluxVersion, Kustomization};
use firstpass_knowledge::Knowledge;
use firstpass_object::{ObjectExt, ObjectId, TierName};
use firstpass_sim::{SeededDelays, Setting, World};
use serde_json::{Value, json};

/// What the sources hold: objects by `spec.path`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paths {
    pub(crate) revision: String,
    pub(crate) objects: BTreeMap<String, Vec<Value>>,
    /// Revisions of sources that differ from the usual one, by name.
    pub(crate) revisions: BTreeMap<String, String>,
    /// Service accounts that some binding names.
    pub(crate) granted: Vec<TierName>,
}

impl Contents for Paths {
    fn artifact(&self, source: &ObjectId) -> Option<Artifact> {
        if source.kind == "HelmChart" {
            return None;
        }
        let revision = self.revisions.get(source.name.as_str()).unwrap_or(&self.revision);
        Some(Artifact {
            revision: revision.clone(),
            digest: "sha256:0".to_owned(),
        })
    }

    fn build(&self, tier: &Kustomization, _: &str, _: &ApiServer) -> Result<Built, BuildFailure> {
        let Some(objects) = self.objects.get(&tier.spec.path) else {
            return Err(BuildFailure::PathMissing {
                message: format!("kustomization path not found: {}", tier.spec.path),
            });
        };
        if objects.iter().any(|object| object["kind"] == "Broken") {
            let message = "failed to decode Kubernetes YAML".to_owned();
            let obstacles = vec![Obstacle::Build {
                message: message.clone(),
            }];
            return Err(BuildFailure::Failed { message, obstacles });
        }
        let owned = |object: &Value| {
            let mut object = object.clone();
            object["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/name"] = json!(tier.name.name);
            object["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/namespace"] =
                json!(tier.name.namespace);
            Arc::new(object)
        };
        Ok(Built {
            objects: objects.iter().map(owned).collect(),
            ..Built::default()
        })
    }

    fn brings(&self, id: &ObjectId) -> bool {
        self.objects.values().flatten().any(|object| object.id() == *id)
    }

    fn brings_default_class(&self) -> bool {
        self.objects
            .values()
            .flatten()
            .any(|object| object["kind"] == "StorageClass" && firstpass_controllers::is_default_class(object))
    }

    fn grants(&self, account: &TierName) -> bool {
        self.granted.contains(account)
    }
}

/// A Flux Kustomization `flux-system/NAME` of the path `NAME`; `spec` is merged in.
#[allow(clippy::needless_pass_by_value, reason = "literals read better as they are")]
pub(crate) fn kustomization(name: &str, spec: Value) -> Value {
    let mut object = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": name, "namespace": "flux-system"},
        "spec": {
            "interval": "10m",
            "path": name,
            "prune": true,
            "sourceRef": {"kind": "GitRepository", "name": "flux-system"},
        },
    });
    for (key, value) in spec.as_object().unwrap() {
        object["spec"][key] = value.clone();
    }
    object
}

pub(crate) fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": {"a": "b"}})
}

pub(crate) fn deployment(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "registry.example.com/main:1"}]},
            },
        },
    })
}

/// A world with a root Kustomization of the path `root`.
pub(crate) fn world(paths: &[(&str, Vec<Value>)], flux: &str) -> World {
    world_of(Arc::new(contents("main@sha1:1", paths)), flux, 0)
}

pub(crate) fn contents(revision: &str, paths: &[(&str, Vec<Value>)]) -> Paths {
    Paths {
        revision: revision.to_owned(),
        objects: paths
            .iter()
            .map(|(path, objects)| ((*path).to_owned(), objects.clone()))
            .collect(),
        ..Paths::default()
    }
}

pub(crate) fn world_of(contents: Arc<Paths>, flux: &str, seed: u64) -> World {
    world_with(contents, settings(flux), seed)
}

/// The defaults of a Flux release.
pub(crate) fn settings(flux: &str) -> ControllerSettings {
    ControllerSettings::new(flux.parse::<FluxVersion>().unwrap())
}

pub(crate) fn world_with(contents: Arc<Paths>, settings: ControllerSettings, seed: u64) -> World {
    let mut server = ApiServer::new(Options::minor(36));
    for (group, kind, versions) in [
        ("kustomize.toolkit.fluxcd.io", "Kustomization", &["v1"][..]),
        ("source.toolkit.fluxcd.io", "GitRepository", &["v1"]),
        ("source.toolkit.fluxcd.io", "HelmRepository", &["v1"]),
        ("source.toolkit.fluxcd.io", "OCIRepository", &["v1"]),
        ("source.toolkit.fluxcd.io", "HelmChart", &["v1"]),
        ("helm.toolkit.fluxcd.io", "HelmRelease", &["v2"]),
    ] {
        let sketch = CrdSketch {
            group: group.to_owned(),
            kind: kind.to_owned(),
            plural: kind
                .ends_with("Repository")
                .then(|| format!("{}ies", kind.to_lowercase().trim_end_matches('y'))),
            scope: Scope::Namespaced,
            versions: versions.iter().map(|version| (*version).to_owned()).collect(),
        };
        let mut crd = sketch.to_crd();
        // F-005
        firstpass_controllers::made::set_initial_status(&mut crd, &json!({"observedGeneration": -1}));
        create(&mut server, crd);
    }
    while let Some(at) = server.next_wakeup() {
        server.advance(at);
    }
    create(
        &mut server,
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "flux-system"}}),
    );
    create(
        &mut server,
        json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1",
            "kind": "GitRepository",
            "metadata": {"name": "flux-system", "namespace": "flux-system"},
            "spec": {"interval": "1m", "url": "https://git.example.com/fleet.git"},
        }),
    );
    create(&mut server, kustomization("root", json!({})));
    let setting = Setting {
        delays: Arc::new(SeededDelays::new(
            Knowledge::builtin(),
            seed,
            settings.interval_jitter_percent,
        )),
        settings: Arc::new(settings),
        knowledge: Knowledge::builtin(),
    };
    World::new(server, setting, contents)
}

fn create(server: &mut ApiServer, object: Value) {
    server
        .call(&Request::Apply(Apply::forced(object.into(), "test")))
        .unwrap();
}

pub(crate) fn hour(hours: u64) -> Time {
    Time::from_secs(hours * 3600)
}

pub(crate) fn tier(name: &str) -> TierName {
    TierName::new("flux-system", name)
}
