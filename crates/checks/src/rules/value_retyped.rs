//! A value that substitution turns into another type.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_object::ObjectExt;
use firstpass_render::{RenderedObject, Tier};
use serde_json::Value;

use crate::input::At as _;
use crate::validation::{self, Refusal};
use crate::{Context, Rule, Status, wording};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "value-retyped",
    summary: "a variable whose value is read as a number or a truth value where a text is asked for",
    severity: Severity::Error,
    verdict: Some(Verdict::Invalid),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/value-retyped.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for tier in &input.cluster.tiers {
        for object in tier.objects().iter().filter(|object| object.template.is_some()) {
            findings.extend(refused(input, tier, object));
            findings.extend(labels_lost(input, tier, object));
        }
    }
    findings
}

/// Whether a refusal is about a text with a variable that has become something else.
pub(crate) fn is_retyped(object: &RenderedObject, refusal: &Refusal) -> bool {
    let written = object
        .template
        .as_deref()
        .and_then(|template| refusal.value(template));
    let written = written.and_then(Value::as_str);
    written.is_some_and(|text| text.contains("${"))
        && refusal
            .value(&object.object)
            .is_some_and(|value| !value.is_string())
}

/// The API server refuses the value.
fn refused(input: &Context<'_>, tier: &Tier, object: &RenderedObject) -> Option<Finding> {
    let mut refusals = validation::refusals(input, object);
    refusals.retain(|refusal| is_retyped(object, refusal));
    let (first, rest) = refusals.split_first()?;
    let (written, value) = texts(object, first)?;
    let id = object.id();
    let message = format!(
        "`{written}` becomes {value} in `{}` of `{id}`, where a text is asked for",
        first.path
    );
    let others: Vec<String> = rest.iter().map(|refusal| format!("`{}`", refusal.path)).collect();
    let more = if others.is_empty() {
        String::new()
    } else {
        format!("; the same in {}", wording::and(&others))
    };
    let why = format!(
        "Flux substitutes in the text of the built object, from which the quotes of the file are gone, and reads the result as YAML \
         again: `8080` is a number there, `true` and `on` are truth values. The API server refuses it on every attempt, and with it the \
         whole pass of `{}`{more}",
        tier.name
    );
    let mut finding = describe(input, tier, object, message, why, first);
    if let Some(index) = input.graph.tiers.find(&tier.name) {
        finding.blocks = input.blocked_by(index, false);
    }
    Some(finding)
}

/// A label that is no text costs the object all its labels, without an error (F-250).
fn labels_lost(input: &Context<'_>, tier: &Tier, object: &RenderedObject) -> Option<Finding> {
    let written = object
        .template
        .as_deref()?
        .at(&["metadata", "labels"])?
        .as_object()?;
    let kept = object
        .object
        .at(&["metadata", "labels"])
        .and_then(Value::as_object);
    let is_lost = |key: &&String| kept.is_none_or(|kept| !kept.contains_key(*key));
    let lost: Vec<&String> = written.keys().filter(is_lost).collect();
    let variable = |key: &&&String| written[**key].as_str().is_some_and(|text| text.contains("${"));
    let cause = *lost.iter().find(variable)?;
    let id = object.id();
    let text = written[cause].as_str().unwrap_or_default();
    let names: Vec<String> = lost.iter().map(|key| format!("`{key}`")).collect();
    let message =
        format!("`{id}` loses its labels: `{text}` in label `{cause}` becomes something that is no text");
    let why = format!(
        "Flux substitutes in the text of the built object, from which the quotes of the file are gone, and reads the result as YAML \
         again. Labels that are not all texts are replaced by Flux's own, without an error: {} {} gone",
        wording::and(&names),
        if names.len() == 1 { "is" } else { "are" },
    );
    let refusal = Refusal {
        path: format!("metadata.labels.{cause}"),
        message: String::new(),
    };
    let mut finding = describe(input, tier, object, message, why, &refusal);
    finding.location = input
        .repository
        .locate(&object.origin, &["metadata", "labels", cause.as_str()]);
    finding.severity = Severity::Warning;
    finding.verdict = Some(Verdict::Hazard);
    Some(finding)
}

fn describe(
    input: &Context<'_>,
    tier: &Tier,
    object: &RenderedObject,
    message: String,
    why: String,
    refusal: &Refusal,
) -> Finding {
    let field = refusal.field();
    let field: Vec<&str> = field.iter().map(String::as_str).collect();
    let help = "let the variable hold the quotes, as in `PORT: '\"8080\"'`, or put text around it";
    RULE.finding(message)
        .with_tier(&tier.name)
        .with_object(&object.id())
        .with_why(why)
        .with_help(help)
        .at(input.repository.locate(&object.origin, &field))
}

/// What is written, and what it has become.
fn texts(object: &RenderedObject, refusal: &Refusal) -> Option<(String, String)> {
    let written = refusal.value(object.template.as_deref()?)?.as_str()?.to_owned();
    let value = match refusal.value(&object.object)? {
        Value::Number(number) => format!("the number {number}"),
        Value::Bool(value) => format!("the truth value {value}"),
        Value::Null => "null".to_owned(),
        other => format!("`{other}`"),
    };
    Some((written, value))
}
