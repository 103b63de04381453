//! An object that the API server never accepts.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_object::ObjectExt as _;
use firstpass_render::{Encryption, RenderedObject, Tier};

use super::value_retyped;
use crate::input::At as _;
use crate::validation::{self, Refusal};
use crate::variables::Variables;
use crate::{Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "invalid-object",
    summary: "an object that the API server never accepts",
    severity: Severity::Error,
    verdict: Some(Verdict::Invalid),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/invalid-object.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let variables = Variables::of(input.cluster);
    let mut findings = Vec::new();
    for tier in &input.cluster.tiers {
        let literal = variables.substitutes_nothing(tier);
        for object in tier
            .objects()
            .iter()
            .filter(|object| object.encryption != Encryption::Ciphertext)
        {
            let mut refusals = validation::refusals(input, object);
            // A `${NAME}` that nobody has substituted is the cause of `literal-variable`.
            refusals.retain(|refusal| !(literal && refusal.value_holds(&object.object, "${")));
            refusals.retain(|refusal| !value_retyped::is_retyped(object, refusal));
            if let Some((first, rest)) = refusals.split_first() {
                findings.push(finding(input, tier, object, first, rest));
            }
        }
    }
    findings
}

/// What to do; a field that only a newer Flux has is no slip of the pen.
fn help(input: &Context<'_>, object: &RenderedObject, refusal: &Refusal) -> String {
    let field = refusal.field();
    let names: Vec<&str> = field
        .iter()
        .map(String::as_str)
        .skip(1)
        .filter(|part| part.parse::<usize>().is_err())
        .collect();
    let is_flux = object.object.api_version().contains(".toolkit.fluxcd.io/");
    let since = firstpass_flux::field_since(object.object.kind(), &names.join("."));
    match since.filter(|first| is_flux && !input.cluster.settings.flux.at_least(*first)) {
        Some(first) => format!(
            "run Flux 2.{first} or newer, which has `{}`, or leave the field out; this cluster runs Flux {}",
            refusal.path, input.cluster.settings.flux
        ),
        None => format!("correct `{}`", refusal.path),
    }
}

fn finding(
    input: &Context<'_>,
    tier: &Tier,
    object: &RenderedObject,
    first: &Refusal,
    rest: &[Refusal],
) -> Finding {
    let id = object.id();
    let message = format!(
        "the API server refuses `{id}`: `{}`: {}",
        first.path, first.message
    );
    let more: Vec<String> = rest
        .iter()
        .map(|refusal| format!("; `{}`: {}", refusal.path, refusal.message))
        .collect();
    let why = format!(
        "the dry-run of `{id}` fails on every attempt, and with it the whole pass of `{}`: Flux applies nothing of a stage in \
         which one object is refused{}",
        tier.name,
        more.concat()
    );
    let field = first.field();
    let field: Vec<&str> = field.iter().map(String::as_str).collect();
    let mut finding = RULE
        .finding(message)
        .with_tier(&tier.name)
        .with_object(&id)
        .with_why(why)
        .with_help(help(input, object, first))
        .at(input.repository.locate(&object.origin, &field));
    if let Some(index) = input.graph.tiers.find(&tier.name) {
        finding.blocks = input.blocked_by(index, false);
    }
    finding
}
