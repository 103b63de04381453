//! Namespaces: a namespaced object needs the one that it lives in (F-302, F-303).

use std::collections::BTreeMap;

use firstpass_object::{ObjectExt, ObjectId};
use firstpass_render::Sync;
use serde_json::Value;

use crate::answer::Proof;
use crate::need::{Answer, Need, Needed};
use crate::tiers::{Before, TierIndex};
use crate::world::{Place, World, origin_of};

/// Namespaces that every cluster has.
const ALWAYS: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// The namespaces that a tier needs, in the order of their first object.
pub(crate) fn needs(world: &World<'_>, tier: TierIndex, before: &Before) -> Vec<Need> {
    let mut order: Vec<&str> = Vec::new();
    let mut users: BTreeMap<&str, Vec<Place<'_>>> = BTreeMap::new();
    for object in world.objects(tier) {
        let Some(namespace) = object.object.namespace() else {
            continue;
        };
        if world.is_namespaced(&object.object) != Some(true) || !object.is_certain(&["metadata", "namespace"])
        {
            continue;
        }
        let places = users.entry(namespace).or_default();
        if places.is_empty() {
            order.push(namespace);
        }
        places.push(Place { tier, object });
    }
    let need = |namespace: &str| {
        let places = &users[namespace];
        Need {
            tier,
            needed: Needed::Namespace(namespace.to_owned()),
            by: places[0].id(),
            also: places[1..].iter().map(Place::id).collect(),
            origin: origin_of(places[0]),
            answer: answer(world, tier, before, namespace),
        }
    };
    order.into_iter().map(need).collect()
}

fn answer(world: &World<'_>, tier: TierIndex, before: &Before, namespace: &str) -> Answer {
    let seeded = world
        .cluster
        .seeds
        .iter()
        .any(|seed| is_namespace(&seed.id(), namespace));
    if ALWAYS.contains(&namespace)
        || seeded
        || world.stage.has_namespace(namespace)
        || is_flux(world, namespace)
    {
        return Answer::There {
            from: "the cluster".to_owned(),
        };
    }
    let mut best: Option<Answer> = None;
    let mut offer = |answer: Answer| {
        best = Some(match best.take() {
            Some(known) => known.better(answer),
            None => answer,
        });
    };
    let id = ObjectId::new("", "Namespace", None, namespace);
    for place in world.by_id.get(&id).into_iter().flatten() {
        offer(world.answer(tier, before, world.manifest(*place), true, &[]));
    }
    for at in &world.releases {
        let makes = at.release.creates_namespace
            && at.release.namespace == namespace
            && at.id.namespace.as_deref() != Some(namespace);
        let object = at
            .facts
            .iter()
            .flat_map(|facts| &facts.objects)
            .any(|object| is_namespace(&object.id(), namespace));
        if makes || object {
            let mut provider = at.provider();
            if makes {
                provider.source = at.place.object.origin.file.clone();
            }
            offer(world.answer(tier, before, provider, false, &[Proof::by(at.id.clone())]));
        }
    }
    best.unwrap_or_else(|| Answer::Nobody {
        provable: world.unknowns.is_empty() && !may_be_made(world, namespace),
        hint: None,
    })
}

/// Kinds whose controllers make namespaces, or whatever they are told to.
const MAKERS: [(&str, &str); 8] = [
    ("argoproj.io", "Application"),
    ("argoproj.io", "ApplicationSet"),
    ("kubernetes.crossplane.io", "Object"),
    ("kubernetes.m.crossplane.io", "Object"),
    ("hnc.x-k8s.io", "SubnamespaceAnchor"),
    ("capsule.clastix.io", "Tenant"),
    ("kyverno.io", "ClusterPolicy"),
    ("policies.kyverno.io", "GeneratingPolicy"),
];

/// Whether a release makes the namespace although nothing says so: its chart makes some, or its values name this one.
fn may_be_made(world: &World<'_>, namespace: &str) -> bool {
    let by_release = world.releases.iter().any(|at| {
        let makes = at.facts.as_ref().is_none_or(|facts| facts.chart.makes_namespaces);
        makes || !at.release.values_complete || names(&at.release.values, namespace)
    });
    let by_object = world
        .by_id
        .keys()
        .any(|id| MAKERS.iter().any(|(group, kind)| id.is(group, kind)));
    by_release || by_object || may_be_the_bootstraps(world, namespace)
}

/// Where the repository does not say how Flux is set up, a namespace that holds objects of Flux may be the one that the
/// bootstrap has made for them.
fn may_be_the_bootstraps(world: &World<'_>, namespace: &str) -> bool {
    let mut ids = world.by_id.keys();
    world.cluster.entry.sync == Sync::Assumed
        && ids
            .any(|id| id.namespace.as_deref() == Some(namespace) && id.group.ends_with(".toolkit.fluxcd.io"))
}

/// Whether a value of a release is this text, or a template with it in it.
fn names(values: &Value, text: &str) -> bool {
    let mut open = vec![values];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(map) => {
                if map.contains_key(text) {
                    return true;
                }
                open.extend(map.values());
            }
            Value::Array(list) => open.extend(list),
            Value::String(known) if known == text || known.contains("kind: Namespace") => return true,
            _ => {}
        }
    }
    false
}

/// The namespaces that Flux itself lives in: those of the root tiers.
fn is_flux(world: &World<'_>, namespace: &str) -> bool {
    world.cluster.roots.iter().any(|root| root.namespace == namespace)
}

fn is_namespace(id: &ObjectId, name: &str) -> bool {
    id.is("", "Namespace") && id.name == name
}
