//! One object that two tiers declare.

use std::collections::BTreeMap;

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_object::label_or_annotation;
use firstpass_render::{RenderedObject, Tier};
use serde_json::Value;

use crate::input::At as _;
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "object-in-two-tiers",
    summary: "one object that two tiers declare",
    severity: Severity::Warning,
    verdict: Some(Verdict::Hazard),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/object-in-two-tiers.md"),
    check,
};

type Place<'a> = (&'a Tier, &'a RenderedObject);

fn check(input: &Context<'_>) -> Vec<Finding> {
    // One finding per pair of tiers: what they share is one cause.
    let mut pairs: BTreeMap<(usize, usize), Vec<(Place<'_>, Place<'_>)>> = BTreeMap::new();
    let position = |tier: &Tier| {
        input
            .cluster
            .tiers
            .iter()
            .position(|other| std::ptr::eq(other, tier))
    };
    for places in input.cluster.repeated().into_values() {
        let is_declared = |(tier, object): &Place<'_>| tier.is_rendered() && !is_left_alone(&object.object);
        let mut declared = places.into_iter().filter(is_declared);
        let (Some(first), Some(second)) = (declared.next(), declared.next()) else {
            continue;
        };
        if let (Some(a), Some(b)) = (position(first.0), position(second.0)) {
            pairs.entry((a, b)).or_default().push((first, second));
        }
    }
    pairs
        .values()
        .filter_map(|shared| finding(input, shared))
        .collect()
}

fn finding(input: &CheckInput<'_>, shared: &[(Place<'_>, Place<'_>)]) -> Option<Finding> {
    let differs = |(one, other): &&(Place<'_>, Place<'_>)| !is_same(&one.1.object, &other.1.object);
    let different = shared.iter().find(differs);
    let (one, other) = different.or_else(|| shared.first())?;
    let id = one.1.id();
    let others = shared
        .iter()
        .map(|(one, _)| one.1.id())
        .filter(|shared| *shared != id);
    let more = match shared.len() - 1 {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let with = if different.is_some() {
        ", and not alike"
    } else {
        ""
    };
    let message = format!(
        "`{}` and `{}` both declare `{id}`{more}{with}",
        one.0.name, other.0.name
    );
    let why = "Flux knows the owner of an object by two labels on it, and each of the two tiers takes them, and its fields, at every \
               reconciliation. Nobody reports an error, except where a field cannot be changed; and when one of the tiers goes or \
               drops the object, it is deleted although the other one still wants it";
    let help = "declare it in one tier, and let the other one depend on that";
    let mut finding = RULE
        .finding(message)
        .with_tier(&other.0.name)
        .with_object(&id)
        .with_related(others.map(|id| id.to_string()))
        .with_why(why)
        .with_help(help)
        .at(input.repository.locate(&other.1.origin, &["metadata", "name"]));
    if different.is_none() {
        finding.severity = Severity::Info;
        finding.verdict = None;
    }
    Some(finding)
}

/// Whether Flux is told not to insist on the object.
fn is_left_alone(object: &Value) -> bool {
    let is = |key: &str, value: &str| {
        label_or_annotation(object, &format!("kustomize.toolkit.fluxcd.io/{key}"), value)
    };
    is("reconcile", "disabled") || is("ssa", "Ignore") || is("ssa", "IfNotPresent") || is("ssa", "Merge")
}

/// Whether two objects ask for the same; labels and annotations aside, which carry the owner.
fn is_same(one: &Value, other: &Value) -> bool {
    let content = |object: &Value| {
        let mut content = object.as_object().cloned().unwrap_or_default();
        content.remove("metadata");
        content
    };
    content(one) == content(other)
}
