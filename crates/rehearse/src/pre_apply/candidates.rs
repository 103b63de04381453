//! Which objects could help? Those that would bring what a stuck tier waits for, with what they need themselves.

use firstpass_controllers::kustomization::Obstacle;
use firstpass_flux::HelmRelease;
use firstpass_object::{GroupKind, ObjectExt, ObjectId, TierName};
use firstpass_order::{How, Need, Needed};
use firstpass_render::RenderedObject;
use firstpass_sim::{End, World};
use serde_json::Value;

use crate::Script;
use crate::explain::Explainer;

/// An object that may help, and the objects that it takes to be accepted and to work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) id: ObjectId,
    pub(super) with: Vec<ObjectId>,
}

/// The objects of the repository that stuck tiers wait for and that are not there, in the order of the tiers.
pub(super) fn candidates(script: &Script, world: &World) -> Vec<Candidate> {
    let explainer = Explainer::new(script, world, End::Quiet);
    let bringers = explainer.bringers();
    let mut wanted: Vec<ObjectId> = Vec::new();
    for view in explainer.tiers.iter().filter(|view| !view.is_done()) {
        for obstacle in view.waits.iter().filter_map(|wait| wait.obstacle.as_ref()) {
            match obstacle {
                Obstacle::VariableSource { object } => wanted.push(object.clone()),
                Obstacle::NamespaceMissing { namespace, .. } => {
                    wanted.push(ObjectId::new("", "Namespace", None, namespace));
                }
                Obstacle::Unhealthy { object, .. } => {
                    wanted.push(object.clone());
                    wanted.extend(bringers.behind(object));
                }
                _ => {}
            }
            wanted.extend(
                bringers
                    .need(&view.name, obstacle)
                    .into_iter()
                    .flat_map(provided_by),
            );
        }
        // Flux names one of several failures; what else of the tier is not met will come up next.
        let index = script.graph.tiers.find(&view.name);
        let unmet = script
            .graph
            .needs
            .iter()
            .filter(|need| Some(need.tier) == index && !need.answer.is_met());
        if !view.has_applied() && explainer.world.kustomizations.tiers().contains_key(&view.name) {
            wanted.extend(unmet.flat_map(provided_by));
        }
    }
    let mut found: Vec<Candidate> = Vec::new();
    for id in wanted {
        let is_new = world.server.object(&id).is_none() && found.iter().all(|known| known.id != id);
        if is_new && rendered(script, &id).is_some() {
            let with = needed_by(script, world, &id);
            found.push(Candidate { id, with });
        }
    }
    found
}

/// The object that brings what is needed.
fn provided_by(need: &Need) -> Vec<ObjectId> {
    let Some(provider) = need.answer.provider() else {
        return match &need.needed {
            Needed::Data { object, .. } => vec![object.clone()],
            _ => Vec::new(),
        };
    };
    let trigger = match &provider.how {
        How::OperatorObject { trigger, .. } => Some(trigger.clone()),
        How::Manifest | How::Chart { .. } | How::OperatorStart { .. } => None,
    };
    trigger.or_else(|| provider.object.clone()).into_iter().collect()
}

/// An object of the repository with its tier.
pub(super) fn rendered<'s>(script: &'s Script, id: &ObjectId) -> Option<(&'s TierName, &'s RenderedObject)> {
    let mut objects = script.cluster.objects();
    objects
        .find(|(_, object)| object.id() == *id)
        .map(|(tier, object)| (&tier.name, object))
}

/// Whether an object only permits something.
pub(super) fn is_permission(id: &ObjectId) -> bool {
    id.group == "rbac.authorization.k8s.io" || id.is("", "ServiceAccount")
}

/// What an object takes that is not there: its namespace, its kind, the source of a release, whatever its pods name.
fn needed_by(script: &Script, world: &World, id: &ObjectId) -> Vec<ObjectId> {
    let mut found: Vec<ObjectId> = Vec::new();
    let mut open = vec![id.clone()];
    while let Some(current) = open.pop() {
        let Some((_, object)) = rendered(script, &current) else {
            continue;
        };
        for next in references(script, &object.object) {
            let is_there = world.server.object(&next).is_some() || found.contains(&next) || next == *id;
            if !is_there && rendered(script, &next).is_some() {
                found.push(next.clone());
                open.push(next);
            }
        }
    }
    found
}

fn references(script: &Script, object: &Value) -> Vec<ObjectId> {
    let mut ids = Vec::new();
    let namespace = object.namespace();
    ids.extend(namespace.map(|namespace| ObjectId::new("", "Namespace", None, namespace)));
    ids.extend(crd_of(script, &object.gvk().group_kind()));
    if HelmRelease::is(object) {
        let release = HelmRelease::read(object).value;
        ids.extend(release.source().map(|source| source.id()));
    }
    let pod = ["spec", "template", "spec"];
    if let Some(pod) = object.at(&pod) {
        let named = |kind: &str, name: &str| ObjectId::new("", kind, namespace, name);
        if let Some(account) = pod.text_at(&["serviceAccountName"]) {
            ids.push(named("ServiceAccount", account));
            ids.extend(permissions(script, namespace.unwrap_or_default(), account));
        }
        for volume in pod.items_at(&["volumes"]) {
            ids.extend(
                volume
                    .text_at(&["configMap", "name"])
                    .map(|name| named("ConfigMap", name)),
            );
            ids.extend(
                volume
                    .text_at(&["secret", "secretName"])
                    .map(|name| named("Secret", name)),
            );
            let claim = volume.text_at(&["persistentVolumeClaim", "claimName"]);
            ids.extend(claim.map(|name| named("PersistentVolumeClaim", name)));
        }
    }
    ids
}

/// The CRD of a kind, if it lies in git.
fn crd_of(script: &Script, kind: &GroupKind) -> Option<ObjectId> {
    let mut objects = script.cluster.objects();
    objects.find_map(|(_, rendered)| {
        let object = &rendered.object;
        let is_it = object.kind() == "CustomResourceDefinition"
            && object.text_at(&["spec", "group"]) == Some(&kind.group)
            && object.text_at(&["spec", "names", "kind"]) == Some(&kind.kind);
        is_it.then(|| rendered.id())
    })
}

/// The bindings of a service account, and the roles that they bind.
fn permissions(script: &Script, namespace: &str, account: &str) -> Vec<ObjectId> {
    let mut ids = Vec::new();
    for (_, rendered) in script.cluster.objects() {
        let object = &rendered.object;
        if !matches!(object.kind(), "RoleBinding" | "ClusterRoleBinding") {
            continue;
        }
        let is_bound = object.items_at(&["subjects"]).iter().any(|subject| {
            subject.text_at(&["name"]) == Some(account)
                && subject.text_at(&["namespace"]).or(object.namespace()) == Some(namespace)
        });
        if !is_bound {
            continue;
        }
        ids.push(rendered.id());
        if let (Some(kind), Some(name)) = (
            object.text_at(&["roleRef", "kind"]),
            object.text_at(&["roleRef", "name"]),
        ) {
            let namespace = (kind == "Role").then(|| object.namespace()).flatten();
            ids.push(ObjectId::new("rbac.authorization.k8s.io", kind, namespace, name));
        }
    }
    ids
}
