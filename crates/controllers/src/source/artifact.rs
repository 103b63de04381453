//! What a fetch leaves behind: an artifact, and a status that names it.

use firstpass_flux::{Source, SourceKind, SourceName, names};
use firstpass_object::{GroupKind, ObjectExt, ObjectId};
use serde_json::{Value, json};

use super::{ACTOR, MANAGER};
use crate::context::{Artifact, Context};
use crate::flux_api;
use crate::status::Status;

/// Writes the artifact of a fetched source.
pub(super) fn store(
    source: &Source,
    object: &Value,
    chart_version: Option<String>,
    context: &mut Context<'_>,
) {
    let id = source.name.id();
    if source.oci_index {
        // A static object: whatever status it has is taken away, so that it is Current.
        if object.at(&["status", "observedGeneration"]).is_some() {
            write(&id, &Status::default(), context);
        }
        return;
    }
    let artifact = match chart_version {
        Some(revision) => Artifact {
            digest: format!("sha256:{revision}"),
            revision,
        },
        None => context
            .contents
            .artifact(&id)
            .unwrap_or_else(|| unseen_artifact(source)),
    };
    let generation = flux_api::generation(object);
    let mut status = Status::of(object);
    if status
        .get("artifact")
        .and_then(|stored| stored["revision"].as_str())
        == Some(&artifact.revision)
        && status.get("observedGeneration").and_then(Value::as_i64) == Some(generation)
        // After a fetch that failed it is not.
        && object.condition_is_true(names::condition::READY)
    {
        return;
    }
    let message = format!("stored artifact for revision '{}'", artifact.revision);
    let path = format!(
        "{}/{}/{}/artifact.tar.gz",
        id.kind.to_lowercase(),
        source.name.namespace,
        source.name.name
    );
    status.set("observedGeneration", generation.into());
    status.set(
        "artifact",
        json!({
            "revision": artifact.revision,
            "digest": artifact.digest,
            "path": path,
            "url": format!("http://source-controller.flux-system.svc.cluster.local./{path}"),
            "size": 1024,
            "lastUpdateTime": context.now.timestamp(),
        }),
    );
    for kind in [names::condition::READY, names::condition::ARTIFACT_IN_STORAGE] {
        status.set_condition(
            kind,
            "True",
            names::reason::SUCCEEDED,
            &message,
            generation,
            context.now,
        );
    }
    write(&id, &status, context);
    context.note(ACTOR, id, message);
}

/// The artifact of a source that nobody here can see.
fn unseen_artifact(source: &Source) -> Artifact {
    let reference = source
        .reference
        .last()
        .map_or("unknown", |(_, value)| value.as_str());
    let version = source.chart.as_ref().and_then(|(_, version)| version.as_deref());
    let revision = match source.name.kind {
        SourceKind::HelmChart => version.unwrap_or("*").to_owned(),
        SourceKind::GitRepository => format!("{reference}@sha1:unseen"),
        _ => format!("{reference}@sha256:unseen"),
    };
    Artifact {
        revision,
        digest: "sha256:unseen".to_owned(),
    }
}

pub(super) fn write(id: &ObjectId, status: &Status, context: &mut Context<'_>) {
    let kind = GroupKind::new(&id.group, &id.kind);
    let Ok(kind_of_source) = kind.kind.parse::<SourceKind>() else {
        return;
    };
    let name = SourceName {
        kind: kind_of_source,
        namespace: id.namespace.as_deref().unwrap_or_default().to_owned(),
        name: id.name.to_string(),
    };
    let target = flux_api::source(&name, context.settings.flux);
    flux_api::write_status(context, &target, status, MANAGER);
}
