//! A HelmRelease that waits for one that nothing makes.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_flux::HelmRelease;
use firstpass_object::{ObjectId, TierName};
use firstpass_render::{RenderedObject, Tier};

use super::waited_for::never_healthy;
use super::{missing, release};
use crate::input::At as _;
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "release-dependency-missing",
    summary: "a `dependsOn` entry of a HelmRelease that names no HelmRelease",
    severity: Severity::Error,
    verdict: Some(Verdict::NeverReady),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/release-dependency-missing.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let releases: Vec<ObjectId> = release::all(input).map(|(_, object)| object.id()).collect();
    let mut findings = Vec::new();
    for (tier, object) in release::all(input) {
        let read = HelmRelease::read(&object.object).value;
        for (index, on) in read.dependencies().enumerate() {
            let id = ObjectId::new(
                "helm.toolkit.fluxcd.io",
                "HelmRelease",
                Some(&on.namespace),
                &on.name,
            );
            if !read.spec.suspend && !releases.contains(&id) {
                findings.push(finding(input, tier, object, &on, index, &releases));
            }
        }
    }
    findings
}

fn finding(
    input: &CheckInput<'_>,
    tier: &Tier,
    object: &RenderedObject,
    on: &TierName,
    index: usize,
    releases: &[ObjectId],
) -> Finding {
    let id = object.id();
    let elsewhere = releases.iter().find(|release| release.name == on.name);
    let near = match elsewhere {
        Some(release) => Some(release.to_string()),
        None => {
            let names = releases
                .iter()
                .filter(|release| release.namespace.as_deref() == Some(&on.namespace));
            firstpass_yaml::nearest(&on.name, names.map(|release| release.name.as_str())).map(str::to_owned)
        }
    };
    let tiers = input
        .graph
        .tiers
        .indices()
        .map(|tier| input.graph.tiers.name(tier));
    let tier_meant = tiers.into_iter().find(|tier| tier.name == on.name);
    let hint = match (&near, tier_meant) {
        (Some(near), _) if elsewhere.is_some() => format!(": did you mean `{near}`?"),
        (_, Some(tier)) => format!(": `{tier}` is a Flux Kustomization"),
        (Some(near), None) => format!(": did you mean `{near}`?"),
        (None, None) => String::new(),
    };
    let message = format!("`{id}` depends on HelmRelease `{on}`, which nothing makes{hint}");
    let why = "helm-controller installs a release only when the HelmReleases that it depends on are Ready. A HelmRelease \
               depends on HelmReleases alone, never on a Flux Kustomization";
    let help = match near {
        _ if elsewhere.is_none() && tier_meant.is_some() => format!(
            "order the tiers instead: let `{}` depend on `{}`, with `wait: true` there; or name the HelmRelease that this one needs",
            tier.name, on.name
        ),
        Some(near) => format!("correct the name or the namespace: `{near}`"),
        None => "correct the name or the namespace, or remove the entry".to_owned(),
    };
    let index = index.to_string();
    let finding = RULE
        .finding(message)
        .with_tier(&tier.name)
        .with_object(&id)
        .with_why(why)
        .with_help(help)
        .at(input
            .repository
            .locate(&object.origin, &["spec", "dependsOn", &index, "name"]));
    let unknowns = &input.graph.unknowns;
    missing::weigh(
        never_healthy(input, tier, &id, finding),
        unknowns.tiers.is_empty() && unknowns.makers.is_empty(),
    )
}
