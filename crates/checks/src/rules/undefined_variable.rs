//! A variable that nothing defines.

use std::collections::BTreeMap;

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_envsubst::{Operator, Template};
use firstpass_flux::KustomizeGate;
use firstpass_render::{RenderedObject, Tier};

use super::rendering;
use crate::input::At as _;
use crate::texts::{Text, texts};
use crate::variables::{TierVariables, Variables};
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "undefined-variable",
    summary: "a variable that no source of the tier defines",
    severity: Severity::Error,
    verdict: Some(Verdict::Invalid),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/undefined-variable.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let mut findings = rendering::findings(input, &RULE);
    if !input
        .cluster
        .settings
        .gate(KustomizeGate::StrictPostBuildSubstitutions)
    {
        findings.extend(rendered_empty(input));
    }
    findings
}

/// One use of a variable that is not set.
struct Use<'v> {
    object: &'v RenderedObject,
    text: Text<'v>,
    offset: usize,
}

/// Without strict substitution a variable that is not set is an empty text (F-650, F-1760).
fn rendered_empty(input: &CheckInput<'_>) -> Vec<Finding> {
    let variables = Variables::of(input.cluster);
    let mut findings = Vec::new();
    for tier in &input.cluster.tiers {
        let of_tier = variables.tier(tier);
        if of_tier.open || variables.substitutes_nothing(tier) {
            continue;
        }
        for (name, uses) in uses_of_undefined(tier, &of_tier) {
            findings.push(finding(input, tier, &name, &uses));
        }
    }
    findings
}

fn uses_of_undefined<'v>(tier: &'v Tier, variables: &TierVariables) -> BTreeMap<String, Vec<Use<'v>>> {
    let mut found: BTreeMap<String, Vec<Use<'v>>> = BTreeMap::new();
    for object in tier.objects() {
        let Some(template) = object.template.as_deref() else {
            continue;
        };
        for text in texts(template) {
            let Ok(parsed) = Template::parse(text.text) else {
                continue;
            };
            for expression in parsed.expressions() {
                let defined = variables.names.contains_key(expression.name);
                if defined || matches!(expression.operator, Operator::Default(_)) {
                    continue;
                }
                found.entry(expression.name.to_owned()).or_default().push(Use {
                    object,
                    text: text.clone(),
                    offset: expression.span.start,
                });
            }
        }
    }
    found
}

fn finding(input: &CheckInput<'_>, tier: &Tier, name: &str, uses: &[Use<'_>]) -> Finding {
    let first = &uses[0];
    let id = first.object.id();
    let mut others: Vec<String> = Vec::new();
    for other in uses
        .iter()
        .map(|used| used.object.id())
        .filter(|other| *other != id)
    {
        let other = other.to_string();
        if !others.contains(&other) {
            others.push(other);
        }
    }
    let message = format!(
        "`${{{name}}}` in `{id}` is substituted by nothing: no source of `{}` defines it",
        tier.name
    );
    let why = format!(
        "this Flux ({}) does not substitute strictly: a variable that is not set becomes an empty text, without an error. Since \
         Flux 2.9 the same files fail the build",
        input.cluster.settings.flux
    );
    let help = format!(
        "define `{name}` in a source of `{}`, give it a default (`${{{name}:=value}}`), or, if it is not meant for Flux, write \
         `$${{{name}}}`",
        tier.name
    );
    let mut finding = RULE
        .finding(message)
        .with_tier(&tier.name)
        .with_object(&id)
        .with_related(others)
        .with_why(why)
        .with_help(help)
        .at(input.place_of_text(first.object, &first.text, first.offset));
    finding.severity = Severity::Warning;
    finding.verdict = Some(Verdict::Hazard);
    finding
}
