//! Variables that nobody reads.

use std::collections::{BTreeMap, BTreeSet};

use firstpass_diagnostics::{Finding, Severity};
use firstpass_flux::Kustomization;
use firstpass_object::{ObjectExt, ObjectId, TierName};
use firstpass_render::{Data, RenderedObject, Tier};

use super::circle;
use crate::input::At as _;
use crate::uses;
use crate::variables::sources_of;
use crate::{CheckInput, Context, Rule, Status, wording};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "unused-variable",
    summary: "a variable that is defined and never used",
    severity: Severity::Info,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/unused-variable.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let used: BTreeMap<&TierName, Option<BTreeSet<String>>> = input
        .cluster
        .tiers
        .iter()
        .filter(|tier| tier.kustomization.spec.post_build.is_some())
        .map(|tier| (&tier.name, uses::names(tier)))
        .collect();
    let mut findings = of_sources(input, &used);
    findings.extend(of_tiers(input, &used));
    findings
}

/// The copies of one document of the repository: a component can put the same ConfigMap into many namespaces.
struct Copies<'a> {
    tier: &'a Tier,
    object: &'a RenderedObject,
    names: BTreeSet<String>,
    used: BTreeSet<String>,
    readers: Vec<String>,
}

/// ConfigMaps and Secrets of the repository: all tiers that read one are seen, and none of them uses the variable.
fn of_sources(input: &CheckInput<'_>, used: &BTreeMap<&TierName, Option<BTreeSet<String>>>) -> Vec<Finding> {
    let mut readers: BTreeMap<ObjectId, Vec<&TierName>> = BTreeMap::new();
    for tier in &input.cluster.tiers {
        for (source, _) in sources_of(tier) {
            readers.entry(source).or_default().push(&tier.name);
        }
    }
    let mut documents: BTreeMap<(&str, usize), Option<Copies<'_>>> = BTreeMap::new();
    for (tier, object) in input.cluster.objects() {
        let id = object.id();
        let Some(readers) = readers.get(&id) else {
            continue;
        };
        let key = (object.origin.file.as_str(), object.origin.document);
        let of_document = documents.entry(key).or_insert_with(|| {
            Some(Copies {
                tier,
                object,
                names: BTreeSet::new(),
                used: BTreeSet::new(),
                readers: Vec::new(),
            })
        });
        let seen: Option<Vec<&BTreeSet<String>>> = readers
            .iter()
            .map(|reader| used.get(*reader).and_then(Option::as_ref))
            .collect();
        match (of_document.as_mut(), seen) {
            (Some(copies), Some(seen)) if !is_read_otherwise(input, &id) => {
                copies.names.extend(Data::of(&object.object).values.into_keys());
                copies.used.extend(seen.into_iter().flatten().cloned());
                copies
                    .readers
                    .extend(readers.iter().map(|reader| format!("`{reader}`")));
            }
            // Somebody else reads it, or a reader is not seen.
            _ => *of_document = None,
        }
    }
    let invariants = crate::invariants::variables_of_all(input);
    let copies = documents.into_values().flatten();
    copies
        .filter_map(|copies| of_document(input, &copies, &invariants))
        .collect()
}

fn of_document(
    input: &CheckInput<'_>,
    copies: &Copies<'_>,
    invariants: &BTreeSet<String>,
) -> Option<Finding> {
    let is_unused = |name: &&String| !copies.used.contains(*name) && !invariants.contains(*name);
    let unused: Vec<&String> = copies.names.iter().filter(is_unused).collect();
    let first = unused.first()?;
    let id = copies.object.id();
    Some(
        RULE.finding(format!("no tier uses {} of `{id}`", listed(&unused)))
            .with_tier(&copies.tier.name)
            .with_object(&id)
            .with_why(format!(
                "{} and nobody else is known to read the object. None of the objects that they apply has a `${{{first}}}`",
                wording::few(&copies.readers)
            ))
            .with_help("remove what is not used, or use it: a value that does nothing misleads whoever changes it")
            .at(input.place_of_key(&copies.object.origin, &["data", first])),
    )
}

/// `postBuild.substitute` of tiers: a name that no tier which sets it uses. That some of them do not is how conventions
/// such as `APP` look.
fn of_tiers(input: &CheckInput<'_>, used: &BTreeMap<&TierName, Option<BTreeSet<String>>>) -> Vec<Finding> {
    let mut setters: BTreeMap<&String, Option<Vec<&Tier>>> = BTreeMap::new();
    for tier in &input.cluster.tiers {
        let own = tier
            .kustomization
            .spec
            .post_build
            .iter()
            .flat_map(|post_build| post_build.substitute.keys());
        for name in own {
            let setters = setters.entry(name).or_insert_with(|| Some(Vec::new()));
            let is_used = used
                .get(&tier.name)
                .and_then(Option::as_ref)
                .is_none_or(|names| names.contains(name));
            match setters {
                Some(tiers) if !is_used => tiers.push(tier),
                _ => *setters = None,
            }
        }
    }
    let unused = setters
        .into_iter()
        .filter_map(|(name, tiers)| Some((name, tiers?)));
    unused
        .filter_map(|(name, tiers)| of_tier(input, name, &tiers))
        .collect()
}

fn of_tier(input: &CheckInput<'_>, name: &str, tiers: &[&Tier]) -> Option<Finding> {
    let tier = tiers.first()?;
    let shown: Vec<String> = tiers.iter().map(|tier| format!("`{}`", tier.name)).collect();
    let verb = if tiers.len() == 1 { "sets" } else { "set" };
    Some(
        RULE.finding(format!("{} {verb} `{name}`, which nothing uses", wording::few(&shown)))
            .with_tier(&tier.name)
            .with_object(&circle::object(&tier.name))
            .with_related(tiers.iter().skip(1).map(|tier| circle::object(&tier.name).to_string()))
            .with_why(format!(
                "`postBuild.substitute` counts for its own tier alone, and no tier that sets `{name}` applies an object with a `${{{name}}}`"
            ))
            .with_help("remove what is not used, or use it")
            .at(input.place_in_tier(tier, &["spec", "postBuild", "substitute", name])),
    )
}

/// Whether an object other than a Flux Kustomization names the source: a HelmRelease takes values from it, or a pod reads it.
fn is_read_otherwise(input: &CheckInput<'_>, source: &ObjectId) -> bool {
    input.cluster.objects().any(|(_, object)| {
        let content = &*object.object;
        let same_namespace = content.namespace() == source.namespace.as_deref();
        if !same_namespace || Kustomization::is(content) || object.id() == *source {
            return false;
        }
        let mut named = false;
        uses::strings(content, &mut |text| named |= text == source.name);
        named
    })
}

fn listed(names: &[&String]) -> String {
    let shown: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    wording::few(&shown)
}
