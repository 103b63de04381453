//! A dependency that names no tier.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_object::TierName;
use firstpass_order::TierIndex;

use super::{circle, missing};
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "dependency-missing",
    summary: "a `dependsOn` entry that names no Flux Kustomization",
    severity: Severity::Error,
    verdict: Some(Verdict::NeverReady),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/dependency-missing.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let tiers = &input.graph.tiers;
    let missing = tiers
        .indices()
        .filter(|tier| !tiers.node(*tier).suspended)
        .flat_map(|tier| {
            let names = tiers.node(tier).missing.iter();
            names.map(move |name| finding(input, tier, name))
        });
    missing.collect()
}

fn finding(input: &CheckInput<'_>, tier: TierIndex, dependency: &TierName) -> Finding {
    let name = input.graph.tiers.name(tier);
    let instead = instead_of(input, dependency);
    let advice = instead
        .as_ref()
        .map(|instead| format!(": {}", instead.headline))
        .unwrap_or_default();
    let message =
        format!("`{name}` depends on `{dependency}`, which is no Flux Kustomization of this cluster{advice}");
    let why = format!(
        "Flux looks the dependency up before anything else and, as long as it is not there, fails with `dependency \
         '{dependency}' not found`. `{name}` never begins"
    );
    let help = match &instead {
        Some(instead) => instead.help.clone(),
        None => "correct the name or the namespace, or remove the entry".to_owned(),
    };
    let mut finding = RULE
        .finding(message)
        .with_tier(name)
        .with_object(&circle::object(name))
        .with_why(why)
        .with_help(help)
        .with_blocks(input.never_begins(tier));
    if let Some(rendered) = input.tier(tier) {
        finding.location = circle::place_of_dependency(input, rendered, dependency);
    }
    missing::weigh(finding, everything_is_seen(input))
}

/// What somebody probably meant.
struct Instead {
    headline: String,
    help: String,
}

fn instead_of(input: &CheckInput<'_>, dependency: &TierName) -> Option<Instead> {
    let tiers = &input.graph.tiers;
    let names: Vec<&TierName> = tiers.indices().map(|tier| tiers.name(tier)).collect();
    if let Some(elsewhere) = names.iter().find(|name| name.name == dependency.name) {
        return Some(Instead {
            headline: format!("`{}` is in namespace `{}`", elsewhere.name, elsewhere.namespace),
            help: format!(
                "add the namespace:\n  dependsOn:\n    - name: {}\n      namespace: {}",
                elsewhere.name, elsewhere.namespace
            ),
        });
    }
    let release = input.cluster.objects().find_map(|(tier, object)| {
        let id = object.id();
        (id.is("helm.toolkit.fluxcd.io", "HelmRelease") && id.name == dependency.name).then_some((tier, id))
    });
    if let Some((tier, release)) = release {
        return Some(Instead {
            headline: format!("`{release}` is a HelmRelease"),
            help: format!(
                "a Flux Kustomization depends on Flux Kustomizations alone: depend on the one that applies the HelmRelease, with \
                 `wait: true` there:\n  dependsOn:\n    - name: {}",
                tier.name.name
            ),
        });
    }
    let known: Vec<String> = names.iter().map(|name| name.name.to_string()).collect();
    let nearest = firstpass_yaml::nearest(&dependency.name, known.iter().map(String::as_str))?;
    Some(Instead {
        headline: format!("did you mean `{nearest}`?"),
        help: format!("correct the name:\n  dependsOn:\n    - name: {nearest}"),
    })
}

/// Whether a Flux Kustomization that nobody has seen cannot exist. A chart that is not known counts as well: some bring
/// Flux Kustomizations.
fn everything_is_seen(input: &CheckInput<'_>) -> bool {
    let unknowns = &input.graph.unknowns;
    unknowns.tiers.is_empty() && unknowns.makers.is_empty()
}
