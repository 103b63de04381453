//! Variables: a tier that substitutes reads ConfigMaps and Secrets before it applies anything (F-600, F-605).

use firstpass_flux::{Kustomization, SubstituteReference};
use firstpass_object::ObjectId;
use firstpass_render::MadeBy;

use crate::need::{Answer, Hint, How, Need, Needed, Provider};
use crate::tiers::{Before, Certainty, TierIndex};
use crate::world::{Place, World, origin_of};

/// The objects that `substituteFrom` of a tier names.
pub(crate) fn needs(world: &World<'_>, tier: TierIndex, before: &Before) -> Vec<Need> {
    let rendered = world.tier(tier);
    let Some(post_build) = &rendered.kustomization.spec.post_build else {
        return Vec::new();
    };
    let by = ObjectId::new(
        "kustomize.toolkit.fluxcd.io",
        "Kustomization",
        Some(&rendered.name.namespace),
        &rendered.name.name,
    );
    let need = |reference: &SubstituteReference| {
        let object = ObjectId::new(
            "",
            &reference.kind,
            Some(&rendered.name.namespace),
            &reference.name,
        );
        let answer = if comes_with_the_patch(world, tier, reference, &object) {
            Answer::SamePass
        } else {
            answer(world, tier, before, &object)
        };
        Need {
            tier,
            needed: Needed::Data {
                object,
                optional: reference.optional,
            },
            by: by.clone(),
            also: Vec::new(),
            origin: rendered.origin.clone(),
            answer,
        }
    };
    post_build.substitute_from.iter().map(need).collect()
}

/// Whether a tier of the bootstrap reads the object only since its own first pass, which applies the object and the patch
/// that names it: as it is seeded, it does not.
fn comes_with_the_patch(
    world: &World<'_>,
    tier: TierIndex,
    reference: &SubstituteReference,
    object: &ObjectId,
) -> bool {
    let name = &world.tier(tier).name;
    let seeds = world.cluster.seeds.iter().map(|seed| &seed.object);
    let seeded = seeds
        .filter(|seed| Kustomization::is(seed))
        .map(|seed| Kustomization::read(seed).value)
        .find(|seed| seed.name == *name);
    let is_new = seeded.is_some_and(|seed| {
        let mut references = seed
            .spec
            .post_build
            .iter()
            .flat_map(|build| &build.substitute_from);
        !references.any(|known| known.kind == reference.kind && known.name == reference.name)
    });
    let places = world.by_id.get(object).map_or(&[][..], Vec::as_slice);
    is_new && places.iter().any(|place| place.tier == tier)
}

fn answer(world: &World<'_>, tier: TierIndex, before: &Before, object: &ObjectId) -> Answer {
    if let Some((_, from)) = world
        .stage
        .objects
        .iter()
        .find(|(staged, _)| firstpass_object::ObjectExt::id(&**staged) == *object)
    {
        return Answer::There { from: from.clone() };
    }
    if world.cluster.seeds.iter().any(|seed| seed.id() == *object) {
        return Answer::There {
            from: "the bootstrap".to_owned(),
        };
    }
    let places = world.by_id.get(object).map_or(&[][..], Vec::as_slice);
    let answers = places.iter().map(|place| from_tier(world, tier, before, *place));
    answers
        .reduce(Answer::better)
        .unwrap_or_else(|| from_elsewhere(world, tier, before, object))
}

/// A ConfigMap or Secret is applied before the Flux Kustomizations of the same set (F-210), so a parent's is there.
fn from_tier(world: &World<'_>, tier: TierIndex, before: &Before, place: Place<'_>) -> Answer {
    let comes_early = place.tier != tier && before.certainty(place.tier) >= Some(Certainty::Applied);
    world.answer(tier, before, world.manifest(place), comes_early, &[])
}

fn from_elsewhere(world: &World<'_>, tier: TierIndex, before: &Before, object: &ObjectId) -> Answer {
    let assumed = world.cluster.assumed.iter().find(|assumed| {
        assumed.kind.as_str() == object.kind
            && assumed.name == object.name
            && object.namespace.as_deref() == Some(&assumed.namespace)
    });
    match assumed.map(|assumed| &assumed.made_by) {
        Some(MadeBy::Configuration) => Answer::There {
            from: "firstpass.yaml".to_owned(),
        },
        Some(MadeBy::Controller {
            object: maker,
            tier: name,
        }) => {
            let Some(from) = world.tiers.find(name) else {
                return Answer::Nobody {
                    provable: false,
                    hint: Some(Hint::new(format!("made from `{maker}`"))),
                };
            };
            let place = world
                .objects(from)
                .iter()
                .find(|object| object.id().to_string() == *maker);
            let provider = Provider {
                tier: Some(from),
                object: place.map(firstpass_render::RenderedObject::id),
                origin: place.map(|object| origin_of(Place { tier: from, object })),
                how: How::Manifest,
                source: maker.clone(),
            };
            let proofs: Vec<_> = provider.object.iter().map(|id| world.proof_of(id)).collect();
            world.answer(tier, before, provider, false, &proofs)
        }
        Some(MadeBy::Nobody) | None => Answer::Nobody {
            provable: false,
            hint: None,
        },
    }
}
