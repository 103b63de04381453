//! Objects that cannot become healthy before a tier that waits for them.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_flux::{HelmRelease, names};
use firstpass_object::ObjectId;
use firstpass_order::{TierIndex, server_of};
use firstpass_render::RenderedObject;
use serde_json::Value;

use super::pod_needs_later_tier::only_behind;
use super::waited_for::is_waited_for;
use crate::input::At as _;
use crate::{CheckInput, Context, Rule, Status, repair};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "object-needs-later-tier",
    summary: "a wait on a release or a custom object that needs something which comes only after the wait",
    severity: Severity::Error,
    verdict: Some(Verdict::Deadlock),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/object-needs-later-tier.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for tier in input.graph.tiers.indices() {
        let Some(rendered) = input.tier(tier) else {
            continue;
        };
        for object in rendered
            .objects()
            .iter()
            .filter(|object| is_waited_for(input, tier, &object.id()))
        {
            findings.extend(late(input, tier, object));
        }
    }
    findings
}

fn late(input: &CheckInput<'_>, tier: TierIndex, object: &RenderedObject) -> Option<Finding> {
    let (need, behind) = needs(input, &object.object).into_iter().find_map(|need| {
        let behind = only_behind(input, tier, &input.tiers_of(&need))?;
        Some((need, behind))
    })?;
    let tiers = &input.graph.tiers;
    let (name, later) = (tiers.name(tier), tiers.name(behind));
    let id = object.id();
    let message =
        format!("`{name}` waits for `{id}`, which needs `{need}` from `{later}`, which waits for `{name}`");
    let why = format!(
        "`{id}` does not become Ready while `{need}` is missing, and `{later}` begins only when `{name}` is Ready"
    );
    let help = if repair::is_plain(&need) {
        format!("move `{need}` into `{name}` or a tier before it, or `{id}` into a tier after `{later}`")
    } else {
        format!("move `{id}` into a tier after `{later}`")
    };
    let finding = RULE
        .finding(message)
        .with_tier(name)
        .with_object(&id)
        .with_related([need.to_string()])
        .with_why(why)
        .with_help(help)
        .with_blocks(input.blocked_by(tier, true))
        .at(input.repository.locate(&object.origin, &["spec"]));
    Some(finding)
}

/// What an object names and cannot become Ready without.
fn needs(input: &CheckInput<'_>, object: &Value) -> Vec<ObjectId> {
    if !HelmRelease::is(object) {
        return input.knowledge.needs_of(object);
    }
    let release = HelmRelease::read(object).value;
    if release.spec.suspend {
        return Vec::new();
    }
    let namespace = release.name.namespace.clone();
    let values = release.spec.values_from.iter().filter(|from| !from.optional);
    let values = values.map(|from| ObjectId::new("", &from.kind, Some(&namespace), &from.name));
    let others = release.dependencies().map(|on| {
        ObjectId::new(
            names::HELM_GROUP,
            names::HELM_RELEASE,
            Some(&on.namespace),
            &on.name,
        )
    });
    let by_reference = release.spec.chart_ref.iter().map(|chart| &chart.source);
    let by_name = release
        .spec
        .chart
        .iter()
        .filter_map(|chart| chart.source.as_ref());
    let sources = by_reference.chain(by_name).map(firstpass_flux::SourceName::id);
    let target = release
        .spec
        .target_namespace
        .iter()
        .filter(|_| !release.spec.install.create_namespace)
        .map(|target| ObjectId::new("", "Namespace", None, target));
    let sources: Vec<ObjectId> = sources.collect();
    let servers = sources
        .iter()
        .filter_map(|source| Some(server_of(input.cluster, input.stage, source)?.object.id()));
    let servers: Vec<ObjectId> = servers.collect();
    values
        .chain(others)
        .chain(target)
        .chain(sources)
        .chain(servers)
        .collect()
}
