//! A source that the cluster itself serves, from what comes out of that very source.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_flux::{HelmRelease, Source, SourceName};
use firstpass_order::{Server, server_of};
use firstpass_render::{RenderedObject, Tier};

use super::release;
use super::waited_for::never_healthy;
use crate::input::At as _;
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "source-inside-cluster",
    summary: "a source that a Service of this cluster serves, which comes from that source",
    severity: Severity::Error,
    verdict: Some(Verdict::Deadlock),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/source-inside-cluster.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let mut sources: Vec<&SourceName> = Vec::new();
    for name in input.cluster.tiers.iter().filter_map(|tier| tier.source.name()) {
        if !sources.contains(&name) {
            sources.push(name);
        }
    }
    let tiers = sources.into_iter().filter_map(|name| finding(input, name));
    let releases = release::all(input).filter_map(|(tier, object)| of_release(input, tier, object));
    tiers.chain(releases).collect()
}

/// A release whose chart is served by what the release installs.
fn of_release(input: &CheckInput<'_>, tier: &Tier, object: &RenderedObject) -> Option<Finding> {
    let read = HelmRelease::read(&object.object).value;
    let source = read.source().filter(|_| !read.spec.suspend)?.id();
    let server = server_of(input.cluster, input.stage, &source)?;
    let id = object.id();
    if server.object.id() != id {
        return None;
    }
    let finding = RULE
        .finding(format!(
            "the chart of `{id}` comes from `{source}`, which is served by what `{id}` installs"
        ))
        .with_tier(&tier.name)
        .with_object(&id)
        .with_related([source.to_string()])
        .with_why("on an empty cluster nothing answers, so the chart is never fetched, so what would answer is never installed")
        .with_help(
            "fetch this chart from outside the cluster, or bring the server up before Flux and say so under `baseline` in \
             firstpass.yaml",
        )
        .at(input.repository.locate(&object.origin, &["spec"]));
    Some(never_healthy(input, tier, &id, finding))
}

fn finding(input: &CheckInput<'_>, name: &SourceName) -> Option<Finding> {
    let source = input.cluster.defined(&name.id())?;
    let url = Source::read(&source.object)?.value.url?;
    let Server {
        tier,
        object: server,
        service,
        namespace,
    } = server_of(input.cluster, input.stage, &name.id())?;
    let depends = comes_from(input, tier, name);
    let mut rest = input
        .cluster
        .tiers
        .iter()
        .filter(|other| other.source.name() == Some(name));
    if !depends || rest.next().is_none() {
        return None;
    }
    let id = server.id();
    let message = format!(
        "`{}` is served by `{service}` in namespace `{namespace}` of this cluster, which `{id}` brings from it",
        name.id()
    );
    let why = format!(
        "on an empty cluster nothing answers at {url}, so the source never has an artifact; and what would answer is applied by `{}` \
         out of that very source",
        tier.name
    );
    let help = "let Flux read from a server outside the cluster, or bring the server up before Flux and say so under `baseline` in \
                firstpass.yaml";
    let blocked = input
        .cluster
        .tiers
        .iter()
        .filter(|other| comes_from(input, other, name));
    let finding = RULE
        .finding(message)
        .with_tier(&tier.name)
        .with_object(&id)
        .with_related([name.id().to_string()])
        .with_why(why)
        .with_help(help)
        .with_blocks(blocked.map(|other| other.name.clone()))
        .at(input.repository.locate(&source.origin, &["spec", "url"]));
    Some(finding)
}

/// Whether a tier, or a tier that applies it, is built from a source.
fn comes_from(input: &CheckInput<'_>, tier: &Tier, source: &SourceName) -> bool {
    let mut next = Some(tier);
    // Parents are no cycle; the bound is for broken input.
    for _ in 0..=input.cluster.tiers.len() {
        let Some(tier) = next else { return false };
        if tier.source.name() == Some(source) {
            return true;
        }
        next = tier.parent.as_ref().and_then(|parent| input.cluster.tier(parent));
    }
    false
}
