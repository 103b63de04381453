//! Kinds: every object needs its kind to be served, in the version that it is written in.

use std::collections::{BTreeMap, BTreeSet};

use firstpass_knowledge::{BroughtKind, Effect};
use firstpass_object::{GroupKind, ObjectExt, ObjectId};
use firstpass_schema::Served;

use crate::answer::Proof;
use crate::need::{Answer, Hint, How, Need, Needed, Provider};
use crate::tiers::{Before, TierIndex};
use crate::world::{OperatorAt, Place, ReleaseAt, Triggered, World, listed, origin_of};

/// The kinds that a tier needs, in the order of their first object.
pub(crate) fn needs(world: &World<'_>, tier: TierIndex, before: &Before) -> Vec<Need> {
    let mut order: Vec<(GroupKind, String)> = Vec::new();
    let mut users: BTreeMap<(GroupKind, String), Vec<Place<'_>>> = BTreeMap::new();
    for object in world.objects(tier) {
        let gvk = object.object.gvk();
        let key = (gvk.group_kind(), gvk.version.to_string());
        let places = users.entry(key.clone()).or_default();
        if places.is_empty() {
            order.push(key);
        }
        places.push(Place { tier, object });
    }
    let need = |key: (GroupKind, String)| {
        let places = &users[&key];
        let answer = answer(world, tier, before, &key.0, &key.1);
        Need {
            tier,
            by: places[0].id(),
            also: places[1..].iter().map(Place::id).collect(),
            origin: origin_of(places[0]),
            needed: Needed::Kind {
                kind: key.0,
                version: key.1,
            },
            answer,
        }
    };
    order.into_iter().map(need).collect()
}

/// Whether a version of a kind that a chart or a distribution brings is one that knowledge does not know: whoever brings the
/// kind is taken to serve it, as the rehearsal does. Flux's own kinds are known for certain.
fn is_newer_than_we_know(world: &World<'_>, kind: &GroupKind, version: &str) -> bool {
    let def = world.knowledge.custom_kind(&kind.group, &kind.kind);
    let is_unknown = def.is_some_and(|def| def.versions.iter().all(|known| known.name != version));
    is_unknown && !kind.group.ends_with(".toolkit.fluxcd.io") && !world.crds.contains_key(kind)
}

fn answer(world: &World<'_>, tier: TierIndex, before: &Before, kind: &GroupKind, version: &str) -> Answer {
    if let Some(answer) = built_in(world, kind, version) {
        return answer;
    }
    if let Some(staged) = world.stage.kinds.get(kind) {
        let serves = staged.versions.is_empty() || staged.versions.iter().any(|served| served == version);
        if serves || is_newer_than_we_know(world, kind, version) {
            return Answer::There {
                from: staged.from.clone(),
            };
        }
        if !world.crds.contains_key(kind) && staged.from.starts_with("Flux ") {
            let served = staged.versions.join(", ");
            let hint = format!(
                "{} serves `{}` as {served} only, not as {version}",
                staged.from, kind.kind
            );
            return Answer::Nobody {
                provable: true,
                hint: Some(Hint::of_version(hint)),
            };
        }
    }
    let mut best: Option<Answer> = None;
    let mut offer = |answer: Answer| {
        best = Some(match best.take() {
            Some(known) => known.better(answer),
            None => answer,
        });
    };
    for place in listed(&world.crds, kind) {
        offer(from_manifest(world, tier, before, *place, version));
    }
    for index in listed(&world.releases_by_kind, kind) {
        offer(from_release(
            world,
            tier,
            before,
            &world.releases[*index],
            kind,
            version,
        ));
    }
    for (index, effect) in listed(&world.started, kind) {
        offer(from_start(
            world,
            tier,
            before,
            &world.operators[*index],
            effect.before_ready,
            kind,
        ));
    }
    for triggered in listed(&world.triggered, kind) {
        offer(from_object(world, tier, before, triggered));
    }
    let answer = best.unwrap_or_else(|| nobody(world, kind));
    match answer {
        met if met.is_met() => met,
        // A version that nobody serves stays one, whoever brings the kind.
        Answer::Nobody { provable: true, hint } if hint.as_ref().is_some_and(Hint::is_certain) => {
            Answer::Nobody { provable: true, hint }
        }
        unmet => implied(world, before, kind)
            .or_else(|| unseen_before(world, tier, before))
            .unwrap_or(unmet),
    }
}

/// A part that cannot be seen and that comes first, such as a tier of another repository or a URL with CRDs: the kind may
/// come from there, whoever else brings it later.
fn unseen_before(world: &World<'_>, tier: TierIndex, before: &Before) -> Option<Answer> {
    let mut first = before.iter().map(|(first, _)| first).chain([tier]);
    let unseen = first.find(|first| world.has_unseen_objects(*first))?;
    let says = if unseen == tier {
        "a part of the tier that cannot be seen may bring it".to_owned()
    } else {
        format!(
            "`{}` comes first and cannot be seen: it may bring it",
            world.tiers.name(unseen)
        )
    };
    Some(Answer::Nobody {
        provable: false,
        hint: Some(Hint::new(says)),
    })
}

/// Kubernetes' own kinds: there, unless the version is gone or still to come.
fn built_in(world: &World<'_>, kind: &GroupKind, version: &str) -> Option<Answer> {
    let minor = world.stage.kubernetes_minor();
    let kubernetes = &world.stage.kubernetes;
    let refused = |hint: String| {
        Some(Answer::Nobody {
            provable: true,
            hint: Some(Hint::of_version(hint)),
        })
    };
    match firstpass_schema::served(&kind.group, version, &kind.kind, minor) {
        Served::Yes | Served::OptIn => Some(Answer::There {
            from: format!("Kubernetes {kubernetes}"),
        }),
        Served::Removed(last) => refused(format!(
            "Kubernetes {kubernetes} does not serve `{}` as {version}; the last release that did is 1.{last}",
            kind.kind
        )),
        Served::NotYet(first) => refused(format!(
            "Kubernetes {kubernetes} does not serve `{}` as {version} yet; the first release that does is 1.{first}",
            kind.kind
        )),
        Served::Unknown => None,
    }
}

fn from_manifest(
    world: &World<'_>,
    tier: TierIndex,
    before: &Before,
    place: Place<'_>,
    version: &str,
) -> Answer {
    let crd = &place.object.object;
    let versions = crd.items_at(&["spec", "versions"]);
    let served = |wanted: &serde_json::Value| wanted["served"] != false;
    let names: Vec<&str> = versions
        .iter()
        .filter(|v| served(v))
        .filter_map(|v| v.text_at(&["name"]))
        .collect();
    if !names.is_empty() && !names.contains(&version) {
        let hint = format!("`{}` serves {} only, not {version}", place.id(), names.join(", "));
        return Answer::Nobody {
            provable: true,
            hint: Some(Hint::of_version(hint)),
        };
    }
    let proofs = [Proof::by(place.id())];
    world.answer(tier, before, world.manifest(place), true, &proofs)
}

fn from_release(
    world: &World<'_>,
    tier: TierIndex,
    before: &Before,
    at: &ReleaseAt<'_>,
    kind: &GroupKind,
    version: &str,
) -> Answer {
    if let Some(hint) = dropped_by_chart(at, kind, version) {
        return Answer::Nobody {
            provable: true,
            hint: Some(Hint::of_version(hint)),
        };
    }
    let mut proofs = vec![Proof::by(at.id.clone())];
    proofs.extend(crd_proof(world, kind));
    // Helm creates CRDs before anything that runs.
    proofs.extend(at.workloads().map(Proof::by));
    world.answer(tier, before, at.provider(), false, &proofs)
}

/// Says so if this release of a chart serves a kind no longer, or not yet, in a version that others of its releases do
/// serve. A version that knowledge does not list at all may be served all the same.
fn dropped_by_chart(at: &ReleaseAt<'_>, kind: &GroupKind, version: &str) -> Option<String> {
    let facts = at.facts.as_ref()?;
    let is_kind =
        |brought: &&BroughtKind<'_>| brought.def.group == kind.group && brought.def.kind == kind.kind;
    let brought = facts.kinds.iter().find(is_kind)?;
    if brought.def.serves(version, facts.version) != Some(false) {
        return None;
    }
    Some(format!(
        "the chart {} of `{}` serves `{}` as {} only, not as {version}",
        at.release.chart_text(),
        at.id,
        kind.kind,
        brought.def.served(facts.version).join(", ")
    ))
}

fn from_start(
    world: &World<'_>,
    tier: TierIndex,
    before: &Before,
    at: &OperatorAt<'_>,
    before_ready: bool,
    kind: &GroupKind,
) -> Answer {
    let Some(place) = at.place else {
        return Answer::There {
            from: format!("{}, which is seeded", at.operator.name),
        };
    };
    let void = if !before_ready {
        Some(format!(
            "`{}` can be Ready before {} has registered its kinds",
            place.id(),
            at.operator.name
        ))
    } else if !at.waits {
        Some(format!(
            "`{}` does not wait for its pods (`disableWait`)",
            place.id()
        ))
    } else {
        None
    };
    let provider = Provider {
        tier: Some(place.tier),
        object: Some(place.id()),
        origin: Some(origin_of(place)),
        how: How::OperatorStart {
            operator: at.operator.name.clone(),
        },
        source: at.operator.file.clone(),
    };
    let mut proofs = vec![Proof {
        object: place.id(),
        void,
    }];
    proofs.extend(crd_proof(world, kind));
    world.answer(tier, before, provider, false, &proofs)
}

fn from_object(world: &World<'_>, tier: TierIndex, before: &Before, triggered: &Triggered<'_>) -> Answer {
    let at = &world.operators[triggered.operator];
    let object = &triggered.object;
    let Some(trigger) = triggered.trigger.or(at.place) else {
        return Answer::There {
            from: format!("{}, which is seeded", at.operator.name),
        };
    };
    let operator_tier = at.place.map(|place| place.tier);
    let source = &at.operator.file;
    let provider = Provider {
        tier: Some(trigger.tier),
        object: Some(object.clone()),
        origin: Some(origin_of(trigger)),
        how: How::OperatorObject {
            operator: at.operator.name.clone(),
            trigger: object.clone(),
            trigger_tier: trigger.tier,
            operator_tier,
        },
        source: source.clone(),
    };
    let mut reported = world.proof_of(object);
    if triggered.effect.before_status.is_none() && reported.void.is_none() {
        let knows = world.knowledge.custom_kind(&object.group, &object.kind).is_some();
        reported.void =
            (!knows).then(|| format!("nothing is known of how a `{}` reports its health", object.kind));
    }
    if trigger.id() != *object {
        let maker = trigger.id();
        reported.void = reported.void.or_else(|| {
            Some(format!(
                "`{object}` is made at runtime, and `{maker}` can be Ready before it is"
            ))
        });
    }
    let proofs = [reported, Proof::by(crd_id(&triggered.crd_name))];
    let by_trigger = world.answer(tier, before, provider.clone(), false, &proofs);
    // The operator has to run as well: if it waits for this tier, its object being reconciled is out of the question.
    match at.place {
        Some(place) if place.tier == tier && trigger.tier != tier && by_trigger.is_met() => by_trigger,
        Some(place) if place.tier != tier && place.tier != trigger.tier => {
            match world.waits_for(place.tier, tier) {
                Some(how) => Answer::Blocked { provider, how },
                None => by_trigger,
            }
        }
        _ => by_trigger,
    }
}

/// A tier that was Ready before and applied an object of the kind has seen it served; so has one that applied an object of
/// another kind that comes together with it.
fn implied(world: &World<'_>, before: &Before, kind: &GroupKind) -> Option<Answer> {
    let together = brought_together(world, kind);
    before.iter().map(|(tier, _)| tier).find_map(|tier| {
        let user = world.objects(tier).iter().find(|object| {
            let used = object.object.gvk().group_kind();
            used == *kind || together.contains(&used)
        })?;
        let place = Place { tier, object: user };
        let barrier = format!("`{}` has applied `{}` before", world.tiers.name(tier), place.id());
        Some(Answer::Guaranteed {
            provider: world.manifest(place),
            barrier,
        })
    })
}

/// The kinds that come together with a kind: from the same release, or by the same effect of an operator.
fn brought_together(world: &World<'_>, kind: &GroupKind) -> BTreeSet<GroupKind> {
    let releases = listed(&world.releases_by_kind, kind);
    let started = listed(&world.started, kind);
    let triggered = listed(&world.triggered, kind);
    let by_release = world.releases_by_kind.iter().filter(|(_, others)| {
        let mut others = others.iter();
        others.any(|other| releases.contains(other))
    });
    let by_start = world.started.iter().filter(|(_, others)| {
        let is_same = |other: &(usize, &Effect)| {
            started
                .iter()
                .any(|own| own.0 == other.0 && std::ptr::eq(own.1, other.1))
        };
        others.iter().any(is_same)
    });
    let by_trigger = world.triggered.iter().filter(|(_, others)| {
        let is_same = |other: &Triggered<'_>| {
            triggered
                .iter()
                .any(|own| std::ptr::eq(own.effect, other.effect) && own.object == other.object)
        };
        others.iter().any(is_same)
    });
    let kinds = by_release.map(|(kind, _)| kind);
    kinds
        .chain(by_start.map(|(kind, _)| kind))
        .chain(by_trigger.map(|(kind, _)| kind))
        .cloned()
        .collect()
}

fn crd_proof(world: &World<'_>, kind: &GroupKind) -> Option<Proof> {
    let def = world.knowledge.custom_kind(&kind.group, &kind.kind)?;
    Some(Proof::by(crd_id(&def.crd_name())))
}

pub(crate) fn crd_id(name: &str) -> ObjectId {
    ObjectId::new("apiextensions.k8s.io", "CustomResourceDefinition", None, name)
}

/// Nobody brings the kind. That is proven only if everything that could was seen.
fn nobody(world: &World<'_>, kind: &GroupKind) -> Answer {
    if let Some(answer) = without_component(world, kind) {
        return answer;
    }
    use firstpass_knowledge::Provider;
    let providers = world.knowledge.providers_of(&kind.group, &kind.kind);
    // An operator that makes kinds of any name says nothing about this one.
    let by_name = |provider: &&Provider<'_>| match provider {
        Provider::OperatorStart { effect, .. } | Provider::OperatorObject { effect, .. } => {
            effect
                .kinds
                .iter()
                .any(|selector| selector.matches(&kind.group, &kind.kind))
                || effect
                    .kind_templates
                    .iter()
                    .any(|template| template.group == kind.group)
        }
        Provider::Chart { .. } | Provider::Manifest { .. } | Provider::Distribution { .. } => true,
    };
    let mut names: Vec<&str> = providers
        .iter()
        .filter(by_name)
        .map(firstpass_knowledge::Provider::name)
        .collect();
    names.sort_unstable();
    names.dedup();
    let hint = (!names.is_empty()).then(|| Hint::new(format!("known to come with {}", names.join(", "))));
    if let Some(package) = package_of(world, kind) {
        let says = format!(
            "`{package}` may bring it: its package has kinds of `{}`",
            kind.group
        );
        return Answer::Nobody {
            provable: false,
            hint: Some(Hint::new(says)),
        };
    }
    let provable =
        world.unknowns.is_empty() && (!providers.is_empty() || world.unknowns.workloads.is_empty());
    Answer::Nobody { provable, hint }
}

/// An object that an operator makes kinds of, this one perhaps: which kinds a package brings is known by their group alone.
fn package_of(world: &World<'_>, kind: &GroupKind) -> Option<ObjectId> {
    let on_object = world.operators.iter().flat_map(|at| &at.operator.on_object);
    let packages = on_object.filter(|on_object| {
        let mut selectors = on_object.effects.iter().flat_map(|effect| &effect.kinds);
        selectors.any(|selector| selector.matches(&kind.group, &kind.kind))
    });
    let mut objects = packages.flat_map(|on_object| {
        world.by_id.iter().filter(move |(id, places)| {
            let asks = |place: &Place<'_>| {
                let object = &place.object.object;
                on_object.when.as_ref().is_none_or(|when| when.holds(object))
            };
            on_object.kind.matches(&id.group, &id.kind) && places.iter().any(asks)
        })
    });
    objects.next().map(|(id, _)| id.clone())
}

/// A kind of a component of Flux that is not installed. Nothing but what cannot be seen at all would bring it.
fn without_component(world: &World<'_>, kind: &GroupKind) -> Option<Answer> {
    let component = world.stage.left_out.get(kind)?;
    let components = world.cluster.settings.components.as_ref()?;
    let unknowns = &world.unknowns;
    Some(Answer::Nobody {
        provable: unknowns.tiers.is_empty() && unknowns.makers.is_empty(),
        hint: Some(Hint {
            says: format!(
                "it comes with {component}, which {} does not name",
                components.said_by()
            ),
            remedy: Some(components.how_to_add(component)),
        }),
    })
}
