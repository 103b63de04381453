//! flux-operator's FluxInstance: a Flux that is described by an object instead of a bootstrap.

use firstpass_object::{ObjectExt, group_of};
use serde_json::Value;

use crate::fields::{Fields, read_object};
use crate::kustomization::read::patch;
use crate::{Duration, FluxVersion, Patch, Read, SourceKind, names};

/// A FluxInstance, or the same description in the values of the flux-instance chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FluxInstance {
    /// Namespace of the instance, its controllers and its sync; `flux-system` if nothing else is said.
    pub namespace: String,
    /// `distribution.version`, such as `2.x`.
    pub version: Option<String>,
    /// `distribution.artifact`: where the operator takes Flux's manifests from, `oci://…/flux-operator-manifests:v0.30.0`.
    pub artifact: Option<String>,
    /// The controllers that are installed; empty for the default set.
    pub components: Vec<String>,
    /// What is synced, if anything.
    pub sync: Option<InstanceSync>,
    /// `kustomize.patches`: they change the controllers and the sync objects.
    pub patches: Vec<Patch>,
    /// `cluster.networkPolicy`, on unless said otherwise.
    pub network_policy: bool,
    /// `cluster.multitenant`: references across namespaces are refused.
    pub multitenant: bool,
}

/// `sync` of a FluxInstance.
#[derive(Clone, Debug, PartialEq)]
pub struct InstanceSync {
    /// Kind of the source.
    pub kind: SourceKind,
    /// Name of the source and of the root Kustomization; `flux-system` (or the namespace's name) if unset.
    pub name: String,
    /// Where the source fetches from.
    pub url: String,
    /// Branch, tag or digest, as written.
    pub reference: String,
    /// Directory that the root Kustomization builds.
    pub path: String,
    /// Time between fetches.
    pub interval: Option<Duration>,
    /// Secret with credentials.
    pub pull_secret: Option<String>,
}

impl FluxInstance {
    /// Whether an object is a FluxInstance.
    pub fn is(object: &Value) -> bool {
        object.kind() == names::FLUX_INSTANCE && group_of(object.api_version()) == names::OPERATOR_GROUP
    }

    /// Reads the object.
    pub fn read(object: &Value) -> Read<FluxInstance> {
        let namespace = object.namespace().unwrap_or(names::FLUX_SYSTEM);
        read_object(object, |fields| {
            FluxInstance::from_fields(&fields.map("spec"), namespace)
        })
    }

    /// The Flux that the operator installs: the version that is asked for, no newer than the manifests of the pinned
    /// artifact have it.
    pub fn flux_version(&self) -> Option<FluxVersion> {
        let asked = self
            .version
            .as_deref()
            .and_then(|version| version.parse::<FluxVersion>().ok());
        let held = self.artifact.as_deref().and_then(newest_in_artifact);
        match (asked, held) {
            (Some(asked), Some(held)) => Some(asked.min(held)),
            (asked, held) => asked.or(held),
        }
    }

    /// Reads the values of the flux-instance chart, whose `instance` is the spec of the FluxInstance that it makes.
    pub fn read_chart_values(values: &Value, namespace: &str) -> Read<FluxInstance> {
        read_object(values, |fields| {
            FluxInstance::from_fields(&fields.map("instance"), namespace)
        })
    }

    fn from_fields(spec: &Fields<'_>, namespace: &str) -> FluxInstance {
        let cluster = spec.map("cluster");
        FluxInstance {
            namespace: namespace.to_owned(),
            version: spec.map("distribution").text("version"),
            artifact: spec.map("distribution").text("artifact"),
            components: spec.texts("components"),
            sync: sync(&spec.map("sync"), namespace),
            patches: spec.map("kustomize").list("patches").iter().map(patch).collect(),
            network_policy: cluster.flag("networkPolicy").unwrap_or(true),
            multitenant: cluster.flag("multitenant").unwrap_or_default(),
        }
    }
}

/// The newest Flux whose manifests a release of flux-operator carries, by the first minor of 0 that has it
/// (<https://github.com/controlplaneio-fluxcd/flux-operator>, `config/data/flux` at each tag).
const NEWEST_IN_OPERATOR: [(u32, FluxVersion); 25] = [
    (10, FluxVersion::new(4, 0)),
    (15, FluxVersion::new(5, 0)),
    (16, FluxVersion::new(5, 1)),
    (21, FluxVersion::new(6, 0)),
    (22, FluxVersion::new(6, 1)),
    (23, FluxVersion::new(6, 2)),
    (24, FluxVersion::new(6, 4)),
    (30, FluxVersion::new(7, 0)),
    (31, FluxVersion::new(7, 1)),
    (32, FluxVersion::new(7, 2)),
    (33, FluxVersion::new(7, 3)),
    (34, FluxVersion::new(7, 4)),
    (35, FluxVersion::new(7, 5)),
    (42, FluxVersion::new(8, 0)),
    (43, FluxVersion::new(8, 1)),
    (44, FluxVersion::new(8, 2)),
    (45, FluxVersion::new(8, 3)),
    (46, FluxVersion::new(8, 5)),
    (48, FluxVersion::new(8, 6)),
    (49, FluxVersion::new(8, 7)),
    (50, FluxVersion::new(8, 8)),
    (53, FluxVersion::new(9, 0)),
    (54, FluxVersion::new(9, 1)),
    (55, FluxVersion::new(9, 2)),
    (56, FluxVersion::new(9, 3)),
];

/// The newest Flux in a tagged artifact of manifests; the tag is the version of flux-operator. Releases that are newer
/// than the table, and the tag `latest`, say nothing.
fn newest_in_artifact(artifact: &str) -> Option<FluxVersion> {
    let (_, tag) = artifact.rsplit_once(":v0.")?;
    let minor: u32 = tag.split(['.', '@', '-']).next()?.parse().ok()?;
    let known = NEWEST_IN_OPERATOR
        .iter()
        .rev()
        .find(|(since, _)| *since <= minor)?;
    (minor < 58).then_some(known.1)
}

fn sync(fields: &Fields<'_>, namespace: &str) -> Option<InstanceSync> {
    if !fields.exists() {
        return None;
    }
    let kinds = [
        ("GitRepository", SourceKind::GitRepository),
        ("OCIRepository", SourceKind::OciRepository),
        ("Bucket", SourceKind::Bucket),
    ];
    Some(InstanceSync {
        kind: fields.word("kind", &kinds).unwrap_or(SourceKind::GitRepository),
        name: fields
            .text("name")
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| namespace.to_owned()),
        url: fields.text("url").unwrap_or_default(),
        reference: fields.text("ref").unwrap_or_default(),
        path: fields.text("path").unwrap_or_default(),
        interval: fields.duration("interval"),
        pull_secret: fields.text("pullSecret").filter(|name| !name.is_empty()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_artifact_bounds_the_version() {
        let version = |distribution: Value| {
            let object = json!({"kind": "FluxInstance", "spec": {"distribution": distribution}});
            let version = FluxInstance::read(&object).value.flux_version();
            version.map(|version| version.to_string()).unwrap_or_default()
        };
        let artifact = |tag: &str| format!("oci://registry.example.com/flux-operator-manifests{tag}");
        assert_eq!(
            version(json!({"version": "2.x", "artifact": artifact(":v0.33.1")})),
            "2.7.3"
        );
        assert_eq!(
            version(json!({"version": "2.6.1", "artifact": artifact(":v0.33.1")})),
            "2.6.1"
        );
        assert_eq!(
            version(json!({"version": "2.8.x", "artifact": artifact(":latest")})),
            "2.8.8"
        );
        assert_eq!(version(json!({"artifact": artifact("")})), "");
    }

    #[test]
    fn objects_and_chart_values_say_the_same() {
        let spec = json!({
            "distribution": {"version": "2.8.x"},
            "sync": {"kind": "GitRepository", "url": "https://example.com/fleet", "ref": "refs/heads/main", "path": "clusters/home"},
        });
        let object = FluxInstance::read(&json!({"metadata": {"namespace": "flux-system"}, "spec": spec}));
        let values = FluxInstance::read_chart_values(&json!({"instance": spec}), "flux-system");
        assert_eq!(object, values);
        assert_eq!(object.value.sync.unwrap().name, "flux-system");
    }
}
