//! Variables that nobody reads.

use std::collections::{BTreeMap, BTreeSet};

use firstpass_diagnostics::{Finding, Severity};
use firstpass_flux::Kustomization;
use firstpass_object::{ObjectExt, ObjectId, TierName};
use firstpass_render::{Data, Tier};

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
    let tiers = input.cluster.tiers.iter();
    findings.extend(tiers.filter_map(|tier| of_tier(input, tier, used.get(&tier.name)?.as_ref()?)));
    findings
}

/// ConfigMaps and Secrets of the repository: all tiers that read one are seen, and none of them uses the variable.
fn of_sources(input: &CheckInput<'_>, used: &BTreeMap<&TierName, Option<BTreeSet<String>>>) -> Vec<Finding> {
    let mut readers: BTreeMap<ObjectId, Vec<&TierName>> = BTreeMap::new();
    for tier in &input.cluster.tiers {
        for (source, _) in sources_of(tier) {
            readers.entry(source).or_default().push(&tier.name);
        }
    }
    let invariants: BTreeSet<String> = crate::invariants::variables_of_all(input);
    let mut findings = Vec::new();
    for (tier, object) in input.cluster.objects() {
        let id = object.id();
        let Some(readers) = readers.get(&id) else { continue };
        let of_readers: Option<Vec<&BTreeSet<String>>> = readers
            .iter()
            .map(|reader| used.get(*reader).and_then(Option::as_ref))
            .collect();
        let Some(of_readers) = of_readers else { continue };
        let data = Data::of(&object.object);
        let unused: Vec<&String> = data
            .values
            .keys()
            .filter(|name| !of_readers.iter().any(|names| names.contains(*name)))
            .filter(|name| !invariants.contains(*name))
            .collect();
        if unused.is_empty() || is_read_otherwise(input, &id) {
            continue;
        }
        let by: Vec<String> = readers.iter().map(|reader| format!("`{reader}`")).collect();
        let finding = RULE
            .finding(format!("no tier uses {} of `{id}`", listed(&unused)))
            .with_tier(&tier.name)
            .with_object(&id)
            .with_why(format!(
                "{} and nobody else is known to read the object. None of the objects that they apply has a `${{{}}}`",
                wording::few(&by),
                unused[0]
            ))
            .with_help("remove what is not used, or use it: a value that does nothing misleads whoever changes it")
            .at(input.repository.locate(&object.origin, &["data", unused[0]]));
        findings.push(finding);
    }
    findings
}

/// `postBuild.substitute` of a tier.
fn of_tier(input: &CheckInput<'_>, tier: &Tier, used: &BTreeSet<String>) -> Option<Finding> {
    let substitute = &tier.kustomization.spec.post_build.as_ref()?.substitute;
    let unused: Vec<&String> = substitute.keys().filter(|name| !used.contains(*name)).collect();
    let first = unused.first()?;
    Some(
        RULE.finding(format!("`{}` sets {}, which it never uses", tier.name, listed(&unused)))
            .with_tier(&tier.name)
            .with_object(&circle::object(&tier.name))
            .with_why(format!(
                "`postBuild.substitute` counts for this tier alone, and none of the objects that it applies has a `${{{first}}}`"
            ))
            .with_help("remove what is not used, or use it")
            .at(input.place_in_tier(tier, &["spec", "postBuild", "substitute", first])),
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
