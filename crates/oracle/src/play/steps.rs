//! The steps of the script.

use std::sync::Arc;
use std::time::Duration;

use firstpass_apiserver::{ApiServer, Request, Target};
use firstpass_object::{GroupKind, ObjectExt, ObjectId};
use firstpass_sim::faults::FaultKind;
use serde_json::{Value, json};

use crate::play::{Player, apply, span_of};
use crate::scenario::{Step, duration};

/// How long an `until` may take.
const UNTIL_LIMIT: Duration = Duration::from_secs(180);

/// Kinds that scenarios name without their group.
const GROUPS: [(&str, &str); 22] = [
    ("Kustomization", "kustomize.toolkit.fluxcd.io"),
    ("GitRepository", "source.toolkit.fluxcd.io"),
    ("HelmRepository", "source.toolkit.fluxcd.io"),
    ("HelmChart", "source.toolkit.fluxcd.io"),
    ("HelmRelease", "helm.toolkit.fluxcd.io"),
    ("Deployment", "apps"),
    ("StatefulSet", "apps"),
    ("DaemonSet", "apps"),
    ("ReplicaSet", "apps"),
    ("Job", "batch"),
    ("CronJob", "batch"),
    ("StorageClass", "storage.k8s.io"),
    ("CustomResourceDefinition", "apiextensions.k8s.io"),
    ("ClusterRole", "rbac.authorization.k8s.io"),
    ("ClusterRoleBinding", "rbac.authorization.k8s.io"),
    ("Role", "rbac.authorization.k8s.io"),
    ("RoleBinding", "rbac.authorization.k8s.io"),
    ("Ingress", "networking.k8s.io"),
    ("PriorityClass", "scheduling.k8s.io"),
    ("PodDisruptionBudget", "policy"),
    ("MutatingWebhookConfiguration", "admissionregistration.k8s.io"),
    ("ValidatingWebhookConfiguration", "admissionregistration.k8s.io"),
];

impl Player<'_> {
    pub(super) fn step(&mut self, step: &Step) -> Result<(), String> {
        let word = |index: usize| step.words.get(index).map_or("", String::as_str);
        match word(0) {
            "push" => {
                let number = word(1).parse().map_err(|_| "a revision is a number".to_owned())?;
                self.revisions
                    .push(number, step.words.get(2).map(String::as_str))?;
                self.world.move_to(Arc::new(self.revisions.contents()));
                return Ok(());
            }
            "wait" => {
                let span = duration(word(1)).map_err(|error| error.to_string())?;
                self.world.run_for(span_of(span));
                return Ok(());
            }
            "until" => return self.until(&reference(word(1))?, &step.words[2..]),
            "apply" => {
                return self
                    .world
                    .intervene(|server| apply(server, &step.body, "kubectl"));
            }
            "restart" if word(1) == "kustomize-controller" => {
                self.world.restart_kustomize_controller();
                return Ok(());
            }
            "restart" if word(1) == "helm-controller" => {
                self.world.restart_helm_controller();
                return Ok(());
            }
            "stop" if word(1) == "source" => {
                self.world.break_now(FaultKind::ArtifactGone(None));
                return Ok(());
            }
            "start" if word(1) == "source" => {
                self.world.heal();
                return Ok(());
            }
            "restart" | "stop" | "start" => return Err("the simulator cannot do that".to_owned()),
            _ => {}
        }
        let id = reference(word(1))?;
        let target = target(&self.world.server, &id)?;
        let patch = |patch: Value, manager: &str| Request::Patch {
            target: target.clone(),
            patch,
            manager: manager.into(),
        };
        let request = match word(0) {
            "delete" => Request::delete(target.clone()),
            "patch" => patch(step.body.clone(), "kubectl-edit"),
            "suspend" | "resume" => patch(json!({"spec": {"suspend": word(0) == "suspend"}}), "flux"),
            "request" => {
                self.requests += 1;
                let at = self.requests.to_string();
                patch(
                    json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": at}}}),
                    "flux",
                )
            }
            "status" => Request::PatchStatus {
                target: target.clone(),
                patch: step.body.clone(),
                manager: "kubelet".into(),
            },
            _ => return Err("no such step".to_owned()),
        };
        self.world
            .intervene(|server| server.call(&request))
            .map(|_| ())
            .map_err(|error| format!("{error:?}"))
    }

    fn until(&mut self, id: &ObjectId, want: &[String]) -> Result<(), String> {
        let limit = self.limit(UNTIL_LIMIT);
        loop {
            if holds(self.world.server.object(id).map(|object| &**object), want) {
                return Ok(());
            }
            if !self.world.step(limit) {
                return Err("it did not come to that".to_owned());
            }
        }
    }
}

fn holds(object: Option<&Value>, want: &[String]) -> bool {
    let first = want.first().map_or("", String::as_str);
    match first {
        "exists" => return object.is_some(),
        "gone" => return object.is_none(),
        _ => {}
    }
    let (Some(object), Some((kind, value))) = (object, first.split_once('=')) else {
        return false;
    };
    let mut reason = None;
    let mut revision = None;
    let mut words = want[1..].iter();
    while let Some(word) = words.next() {
        if word == "at" {
            let number: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
            revision = Some(format!("main@sha1:{number:040x}"));
        } else {
            reason = Some(word);
        }
    }
    let Some(condition) = object.condition(kind) else {
        return false;
    };
    condition["status"] == value
        && reason.is_none_or(|reason| condition["reason"] == **reason)
        && revision.is_none_or(|revision| {
            object.text_at(&["status", "lastAttemptedRevision"]) == Some(revision.as_str())
        })
}

/// Reads `Kind/name`, `Kind/namespace/name`, or either with `Kind.group`.
fn reference(text: &str) -> Result<ObjectId, String> {
    let mut parts = text.split('/');
    let (kind, group) = match parts.next().unwrap_or_default().split_once('.') {
        Some((kind, group)) => (kind, group),
        None => {
            let kind = text.split('/').next().unwrap_or_default();
            let found = GROUPS.iter().find(|(known, _)| *known == kind);
            (kind, found.map_or("", |(_, group)| *group))
        }
    };
    match (parts.next(), parts.next(), parts.next()) {
        (Some(name), None, None) => Ok(ObjectId::new(group, kind, None, name)),
        (Some(namespace), Some(name), None) => Ok(ObjectId::new(group, kind, Some(namespace), name)),
        _ => Err(format!("`{text}` is not Kind/name or Kind/namespace/name")),
    }
}

fn target(server: &ApiServer, id: &ObjectId) -> Result<Target, String> {
    let resource = server
        .resource(&GroupKind::new(&id.group, &id.kind))
        .ok_or_else(|| format!("no kind is called {}.{}", id.kind, id.group))?;
    let version = resource.versions.first().map_or("v1", String::as_str);
    let api_version = if id.group.is_empty() {
        version.to_owned()
    } else {
        format!("{}/{version}", id.group)
    };
    Ok(Target::new(
        &api_version,
        &id.kind,
        id.namespace.as_deref(),
        &id.name,
    ))
}
