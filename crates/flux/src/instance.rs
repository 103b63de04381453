//! flux-operator's FluxInstance: a Flux that is described by an object instead of a bootstrap.

use firstpass_object::{ObjectExt, group_of};
use serde_json::Value;

use crate::fields::{Fields, read_object};
use crate::kustomization::read::patch;
use crate::{Duration, Patch, Read, SourceKind, names};

/// A FluxInstance, or the same description in the values of the flux-instance chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FluxInstance {
    /// Namespace of the instance, its controllers and its sync; `flux-system` if nothing else is said.
    pub namespace: String,
    /// `distribution.version`, such as `2.x`.
    pub version: Option<String>,
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
            components: spec.texts("components"),
            sync: sync(&spec.map("sync"), namespace),
            patches: spec.map("kustomize").list("patches").iter().map(patch).collect(),
            network_policy: cluster.flag("networkPolicy").unwrap_or(true),
            multitenant: cluster.flag("multitenant").unwrap_or_default(),
        }
    }
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
