//! What is there before Flux starts.

use std::fmt::Display;
use std::sync::Arc;

use firstpass_apiserver::{ApiServer, CrdSketch, Delays, Duration, Options, Scope};
use firstpass_knowledge::Knowledge;
use serde_json::{Value, json};

use crate::play::apply;
use crate::scenario::{Scenario, ScenarioError};

pub(super) fn error(message: impl Display) -> ScenarioError {
    ScenarioError::new(message)
}

/// The built-in knowledge and the scenario's own.
pub(super) fn knowledge(scenario: &Scenario) -> Result<Arc<Knowledge>, ScenarioError> {
    let builtin = super::builtin();
    if scenario.knowledge.trim().is_empty() {
        return Ok(builtin);
    }
    let known = builtin.with_file(&scenario.knowledge, "scenario");
    known
        .map(Arc::new)
        .map_err(|failure| error(format!("{failure:?}")))
}

/// Flux's own kinds: group, kind, plural, versions.
const FLUX_KINDS: [(&str, &str, &str, &str); 8] = [
    (
        "kustomize.toolkit.fluxcd.io",
        "Kustomization",
        "kustomizations",
        "v1",
    ),
    (
        "source.toolkit.fluxcd.io",
        "GitRepository",
        "gitrepositories",
        "v1",
    ),
    (
        "source.toolkit.fluxcd.io",
        "OCIRepository",
        "ocirepositories",
        "v1",
    ),
    ("source.toolkit.fluxcd.io", "Bucket", "buckets", "v1"),
    (
        "source.toolkit.fluxcd.io",
        "ExternalArtifact",
        "externalartifacts",
        "v1",
    ),
    (
        "source.toolkit.fluxcd.io",
        "HelmRepository",
        "helmrepositories",
        "v1",
    ),
    ("source.toolkit.fluxcd.io", "HelmChart", "helmcharts", "v1"),
    ("helm.toolkit.fluxcd.io", "HelmRelease", "helmreleases", "v2"),
];

/// The API server with Flux's kinds, the usual namespaces and the stage of the scenario.
pub(super) fn set(scenario: &Scenario) -> Result<ApiServer, ScenarioError> {
    let mut server = ApiServer::new(Options {
        minor: 36,
        delays: Delays {
            crd_established: Duration::from_millis(5),
            discovery_lag: Duration::ZERO,
            namespace_deletion: Duration::from_secs(1),
            ..Delays::default()
        },
    });
    for (group, kind, plural, version) in FLUX_KINDS {
        let sketch = CrdSketch {
            group: group.to_owned(),
            kind: kind.to_owned(),
            plural: Some(plural.to_owned()),
            scope: Scope::Namespaced,
            versions: vec![version.to_owned()],
        };
        let mut crd = sketch.to_crd();
        if kind != "ExternalArtifact" {
            // F-005
            firstpass_controllers::made::set_initial_status(&mut crd, &json!({"observedGeneration": -1}));
        }
        put(&mut server, &crd)?;
    }
    settle(&mut server);
    for name in ["flux-system", "default"] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        put(&mut server, &namespace)?;
    }
    for object in &scenario.stage {
        put(&mut server, object)?;
        settle(&mut server);
    }
    Ok(server)
}

fn put(server: &mut ApiServer, object: &Value) -> Result<(), ScenarioError> {
    apply(server, object, "bootstrap").map_err(error)
}

fn settle(server: &mut ApiServer) {
    while let Some(at) = server.next_wakeup() {
        server.advance(at);
    }
}
