//! A source that nothing defines, although a tier or a release is to be fetched from it.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_flux::HelmRelease;
use firstpass_object::{ObjectExt, ObjectId};
use firstpass_order::misnamed_source;
use firstpass_render::{RenderedObject, Tier};

use super::waited_for::never_healthy;
use super::{circle, missing, release};
use crate::input::At as _;
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "source-missing",
    summary: "a source that nothing defines, or that is suspended and never has an artifact",
    severity: Severity::Error,
    verdict: Some(Verdict::NeverReady),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/source-missing.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let tiers = input.cluster.tiers.iter().filter_map(|tier| of_tier(input, tier));
    let releases = release::all(input).filter_map(|(tier, object)| of_release(input, tier, object));
    tiers.chain(releases).collect()
}

/// Sources of tiers are often made by whoever bootstraps the cluster, so only a slip counts.
fn of_tier(input: &CheckInput<'_>, tier: &Tier) -> Option<Finding> {
    let spec = &tier.kustomization.spec;
    let source = tier.kustomization.source().filter(|_| !spec.suspend)?.id();
    if let Some(object) = input
        .cluster
        .defined(&source)
        .filter(|object| is_suspended(object))
    {
        return suspended(input, tier, object);
    }
    let meant = misnamed_source(input.cluster, &source)?;
    let finding = RULE
        .finding(format!(
            "`{}` is built from `{source}`, which nothing makes: did you mean `{meant}`?",
            tier.name
        ))
        .with_tier(&tier.name)
        .with_object(&circle::object(&tier.name))
        .with_related([source.to_string()])
        .with_why(
            "a Flux Kustomization whose source does not exist applies nothing, on any attempt. A `sourceRef` without a \
             namespace means the namespace of the Flux Kustomization",
        )
        .with_help(format!("correct the kind, the name or the namespace: `{meant}`"))
        .at(input.place_in_tier(tier, &["spec", "sourceRef", "name"]));
    let index = input.graph.tiers.find(&tier.name)?;
    Some(finding.with_blocks(input.blocked_by(index, false)))
}

fn is_suspended(object: &RenderedObject) -> bool {
    object.object.at(&["spec", "suspend"]) == Some(&serde_json::Value::Bool(true))
}

/// A suspended source is never fetched, so on a new cluster it has no artifact.
fn suspended(input: &CheckInput<'_>, tier: &Tier, source: &RenderedObject) -> Option<Finding> {
    let id = source.id();
    let index = input.graph.tiers.find(&tier.name)?;
    let finding = RULE
        .finding(format!(
            "`{}` is built from `{id}`, which is suspended and never has an artifact",
            tier.name
        ))
        .with_tier(&tier.name)
        .with_object(&circle::object(&tier.name))
        .with_related([id.to_string()])
        .with_why(
            "source-controller does not fetch a suspended source. Where it was fetched before it was suspended nothing shows; \
             on a new cluster there is no artifact, and the tier applies nothing",
        )
        .with_help(format!("resume `{id}`"))
        .at(input.repository.locate(&source.origin, &["spec", "suspend"]));
    Some(finding.with_blocks(input.blocked_by(index, false)))
}

/// Sources of charts are made by the repository; without one a release is never installed.
fn of_release(input: &CheckInput<'_>, tier: &Tier, object: &RenderedObject) -> Option<Finding> {
    let read = HelmRelease::read(&object.object).value;
    if read.spec.suspend {
        return None;
    }
    let source = read.source()?.id();
    let id = object.id();
    let defined = input.cluster.defined(&source);
    if let Some(made) = defined.filter(|made| is_suspended(made) && keeps_artifacts(made)) {
        return suspended_chart(input, tier, &id, made);
    }
    if defined.is_some() || source.kind == "ExternalArtifact" {
        return None;
    }
    let meant = misnamed_source(input.cluster, &source);
    let hint = hint(meant.as_ref());
    let help = match &meant {
        Some(meant) => format!("correct the kind, the name or the namespace: `{meant}`"),
        None => format!("bring `{source}`, or correct the reference"),
    };
    let path: &[&str] = if read.spec.chart_ref.is_some() {
        &["spec", "chartRef", "name"]
    } else {
        &["spec", "chart", "spec", "sourceRef", "name"]
    };
    let finding = RULE
        .finding(format!(
            "the chart of `{id}` comes from `{source}`, which nothing makes{hint}"
        ))
        .with_tier(&tier.name)
        .with_object(&id)
        .with_related([source.to_string()])
        .with_why(
            "helm-controller waits for the source of a chart for ever. A reference without a namespace means the namespace of \
             the release",
        )
        .with_help(help)
        .at(input.repository.locate(&object.origin, path));
    let unknowns = &input.graph.unknowns;
    let all_seen = unknowns.tiers.is_empty() && unknowns.makers.is_empty() && !unknowns.bootstrap;
    Some(missing::weigh(
        never_healthy(input, tier, &id, finding),
        all_seen || meant.is_some(),
    ))
}

/// A HelmRepository of OCI charts has no artifact of its own: charts are fetched from the registry, suspended or not.
fn keeps_artifacts(source: &RenderedObject) -> bool {
    source.object.text_at(&["spec", "type"]) != Some("oci")
}

/// A chart out of a suspended source, which a new cluster never fetches. Without a wait nobody is held up.
fn suspended_chart(
    input: &CheckInput<'_>,
    tier: &Tier,
    release: &ObjectId,
    source: &RenderedObject,
) -> Option<Finding> {
    let id = source.id();
    let finding = RULE
        .finding(format!(
            "the chart of `{release}` comes from `{id}`, which is suspended and never has an artifact"
        ))
        .with_tier(&tier.name)
        .with_object(release)
        .with_related([id.to_string()])
        .with_why(
            "source-controller does not fetch a suspended source. Where it was fetched before it was suspended nothing shows; \
             on a new cluster the release waits for ever",
        )
        .with_help(format!("resume `{id}`"))
        .at(input.repository.locate(&source.origin, &["spec", "suspend"]));
    Some(never_healthy(input, tier, release, finding))
}

fn hint(meant: Option<&ObjectId>) -> String {
    meant
        .map(|meant| format!(": did you mean `{meant}`?"))
        .unwrap_or_default()
}
