//! A value that is still to be decided.

use std::collections::BTreeSet;

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_object::ObjectId;
use firstpass_render::{Data, Datum, RenderedObject, Tier};

use super::circle;
use crate::input::At as _;
use crate::invariants::is_placeholder;
use crate::variables::sources_of;
use crate::{Context, Rule, Status, uses};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "placeholder",
    summary: "a value such as `TBD-PROD-VIP` on a cluster that is not `design_only`",
    severity: Severity::Error,
    verdict: Some(Verdict::Hazard),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/placeholder.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut of_variables: BTreeSet<String> = BTreeSet::new();
    let read: BTreeSet<ObjectId> = input
        .cluster
        .tiers
        .iter()
        .flat_map(sources_of)
        .map(|(source, _)| source)
        .collect();
    for (tier, object) in input
        .cluster
        .objects()
        .filter(|(_, object)| read.contains(&object.id()))
    {
        for (name, datum) in Data::of(&object.object).values {
            if let Datum::Known(value) = datum
                && is_placeholder(&value)
            {
                let place = input.place_of_key(&object.origin, &["data", &name]);
                findings.push(variable(input, tier, &object.id(), &name, &value).at(place));
                of_variables.insert(value);
            }
        }
    }
    for tier in &input.cluster.tiers {
        let own = tier
            .kustomization
            .spec
            .post_build
            .iter()
            .flat_map(|post_build| &post_build.substitute);
        for (name, value) in own.filter(|(_, value)| is_placeholder(value)) {
            let place = input.place_in_tier(tier, &["spec", "postBuild", "substitute", name]);
            findings.push(variable(input, tier, &circle::object(&tier.name), name, value).at(place));
            of_variables.insert(value.clone());
        }
    }
    for (tier, object) in input
        .cluster
        .objects()
        .filter(|(_, object)| !read.contains(&object.id()))
    {
        findings.extend(literal(input, tier, object, &of_variables));
    }
    findings
}

fn variable(input: &Context<'_>, tier: &Tier, id: &ObjectId, name: &str, value: &str) -> Finding {
    let users: Vec<String> = input
        .cluster
        .tiers
        .iter()
        .filter(|tier| uses::names(tier).is_some_and(|names| names.contains(name)))
        .map(|tier| format!("`{}`", tier.name))
        .collect();
    let users = if users.is_empty() {
        "no tier yet".to_owned()
    } else {
        crate::wording::few(&users)
    };
    let finding = RULE
        .finding(format!("`{name}` of `{id}` is still `{value}`"))
        .with_tier(&tier.name)
        .with_object(id)
        .with_why(format!(
            "a placeholder is a legal text, so Flux substitutes it like any other value: it would reach the cluster by {users}"
        ))
        .with_help(help(input, name));
    weigh(input, finding)
}

fn literal(
    input: &Context<'_>,
    tier: &Tier,
    object: &RenderedObject,
    of_variables: &BTreeSet<String>,
) -> Option<Finding> {
    let mut found: Option<&str> = None;
    // A whole value in capitals; prose may say TBD.
    uses::strings(&object.object, &mut |text| {
        let is_one = is_placeholder(text)
            && text.len() > 4
            && text.bytes().all(|byte| {
                byte.is_ascii_uppercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_')
            });
        if is_one && !of_variables.contains(text) && found.is_none() {
            found = Some(text);
        }
    });
    let value = found?;
    let id = object.id();
    let finding = RULE
        .finding(format!("`{id}` still holds `{value}`"))
        .with_tier(&tier.name)
        .with_object(&id)
        .with_why("a placeholder is a legal text: it is applied like any other value")
        .with_help(help(input, value))
        .at(input.repository.locate_text(&object.origin, value));
    Some(weigh(input, finding))
}

fn help(input: &Context<'_>, name: &str) -> String {
    let cluster = input.cluster.entry.cluster.as_deref().unwrap_or("this cluster");
    format!(
        "decide `{name}`. While `{cluster}` exists on paper alone, `design_only: true` in firstpass.yaml makes this information"
    )
}

fn weigh(input: &Context<'_>, mut finding: Finding) -> Finding {
    if input.cluster.entry.config.design_only {
        finding.severity = Severity::Info;
        finding.verdict = None;
    }
    finding
}
