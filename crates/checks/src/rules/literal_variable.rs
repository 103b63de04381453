//! `${…}` that is applied as it is written, because the tier does not substitute.

use std::collections::BTreeMap;

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_envsubst::{DefaultSign, Expression, Operator, Template};
use firstpass_object::{ObjectExt, ObjectId};
use firstpass_render::{Encryption, RenderedObject, Tier};
use serde_json::Value;

use crate::input::At as _;
use crate::texts::{Reader, Text, texts};
use crate::validation::{self, Refusal};
use crate::variables::Variables;
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "literal-variable",
    summary: "a `${…}` that is applied as it is written, because the tier substitutes nothing",
    severity: Severity::Warning,
    verdict: Some(Verdict::Hazard),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/literal-variable.md"),
    check,
};

/// What switches substitution off for one object (F-267).
const SUBSTITUTE: &str = "kustomize.toolkit.fluxcd.io/substitute";

fn check(input: &Context<'_>) -> Vec<Finding> {
    let variables = Variables::of(input.cluster);
    let known = variables.all();
    let bare = |tier: &&Tier| variables.substitutes_nothing(tier);
    let tiers = input.cluster.tiers.iter().filter(bare);
    tiers.filter_map(|tier| finding(input, tier, &known)).collect()
}

/// One object with a literal in it.
struct Literal<'v> {
    object: &'v RenderedObject,
    text: Text<'v>,
    offset: usize,
    name: String,
    refusal: Option<Refusal>,
}

fn finding(input: &Context<'_>, tier: &Tier, known: &BTreeMap<String, String>) -> Option<Finding> {
    let meaning = Meaning::of(input, tier, known);
    let is_meant = |expression: &Expression<'_>| meaning.is_for_flux(expression);
    let found: Vec<Literal<'_>> = tier
        .objects()
        .iter()
        .filter_map(|object| literal(input, object, &is_meant))
        .collect();
    let refused = found.iter().find(|literal| literal.refusal.is_some());
    let first = refused.or_else(|| found.first())?;
    let id = first.object.id();
    let place = known.get(&first.name);
    let token = format!("${{{}}}", first.name);
    let message = match &first.refusal {
        Some(_) => format!("`{token}` reaches the API server as it is written, which refuses `{id}`"),
        None => format!("`{token}` in `{id}` is applied as it is written"),
    };
    let nothing = match &tier.kustomization.spec.post_build {
        None => "has no `postBuild`".to_owned(),
        Some(_) => "has a `postBuild` without a single variable".to_owned(),
    };
    let defined = match place {
        Some(place) => format!(" `{place}` defines `{}` for other tiers.", first.name),
        None => String::new(),
    };
    let refusal = match &first.refusal {
        Some(refusal) => format!(" The API server answers: `{}: {}`.", refusal.path, refusal.message),
        None => " Nothing objects: the text is a legal value, and whatever reads it gets it with dollar sign and braces.".to_owned(),
    };
    let why = format!(
        "`{}` {nothing}, and substitution belongs to the Flux Kustomization, not to the files.{defined}{refusal}",
        tier.name
    );
    let help = format!(
        "{}\nIf the text is meant as it is, say so with the annotation `{SUBSTITUTE}: disabled`",
        post_build(place)
    );
    let others = found
        .iter()
        .map(|literal| literal.object.id())
        .filter(|other| *other != id);
    let mut finding = RULE
        .finding(message)
        .with_tier(&tier.name)
        .with_object(&id)
        .with_related(others.map(|id| ObjectId::to_string(&id)))
        .with_why(why)
        .with_help(help)
        .at(input.place_of_text(first.object, &first.text, first.offset));
    if meaning.alone {
        finding.severity = Severity::Error;
    }
    if first.refusal.is_some() {
        finding.severity = Severity::Error;
        finding.verdict = Some(Verdict::Invalid);
        if let Some(index) = input.graph.tiers.find(&tier.name) {
            finding.blocks = input.blocked_by(index, false);
        }
    }
    Some(finding)
}

/// The first literal of an object that makes it invalid, or else the first that was meant for Flux.
fn literal<'v>(
    input: &Context<'_>,
    object: &'v RenderedObject,
    is_meant: &dyn Fn(&Expression<'_>) -> bool,
) -> Option<Literal<'v>> {
    if object.encryption != Encryption::None || is_disabled(&object.object) {
        return None;
    }
    let literal = |text: Text<'v>, refusal: Option<Refusal>| {
        let (name, offset) = first_name(text.text, |expression| refusal.is_some() || is_meant(expression))?;
        Some(Literal {
            object,
            text,
            offset,
            name,
            refusal,
        })
    };
    let with_token = |text: &Text<'v>| text.text.contains("${") && text.reader == Reader::Cluster;
    let candidates: Vec<Text<'v>> = texts(&object.object).into_iter().filter(with_token).collect();
    if candidates.is_empty() {
        return None;
    }
    for refusal in validation::refusals(input, object) {
        let at = candidates.iter().find(|text| refusal.is_at(&text.path));
        if let Some(found) = at.and_then(|text| literal(text.clone(), Some(refusal.clone()))) {
            return Some(found);
        }
    }
    candidates.into_iter().find_map(|text| literal(text, None))
}

/// The first expression with a name that counts, and where it starts.
fn first_name(text: &str, counts: impl Fn(&Expression<'_>) -> bool) -> Option<(String, usize)> {
    let template = Template::parse(text).ok()?;
    let expressions = template.expressions();
    let found = expressions.iter().find(|expression| counts(expression))?;
    // `$${NAME}` is text that somebody has escaped, whether or not anything substitutes it.
    let escaped = text[..found.span.start].ends_with('$');
    (!escaped).then(|| (found.name.to_owned(), found.span.start))
}

/// Which `${…}` of a tier that substitutes nothing were meant for Flux.
pub(crate) struct Meaning<'k> {
    known: &'k BTreeMap<String, String>,
    /// Whoever writes a `postBuild` means the tier to substitute.
    meant: bool,
    /// Every other tier of the cluster substitutes: this one was forgotten.
    alone: bool,
}

/// So many other tiers have to substitute before the one that does not stands out.
const OTHERS_MIN: usize = 3;

impl<'k> Meaning<'k> {
    pub(crate) fn of(
        input: &CheckInput<'_>,
        tier: &Tier,
        known: &'k BTreeMap<String, String>,
    ) -> Meaning<'k> {
        let roots = &input.cluster.roots;
        let mut others = 0;
        let alone = input
            .cluster
            .tiers
            .iter()
            .filter(|other| other.name != tier.name && !roots.contains(&other.name))
            .all(|other| {
                others += 1;
                other.kustomization.spec.post_build.is_some()
            });
        Meaning {
            known,
            meant: tier.kustomization.spec.post_build.is_some(),
            alone: alone && others >= OTHERS_MIN && !roots.contains(&tier.name),
        }
    }

    pub(crate) fn is_for_flux(&self, expression: &Expression<'_>) -> bool {
        self.meant
            || self.known.contains_key(expression.name)
            || is_flux_default(expression)
            || self.alone && is_named_as_for_flux(expression)
    }
}

/// `${CLUSTER_DOMAIN}`: capitals, as variables of Flux are written by almost everybody.
fn is_named_as_for_flux(expression: &Expression<'_>) -> bool {
    let mut letters = expression.name.bytes();
    expression.operator == Operator::Value
        && letters.all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == b'_')
        && expression.name.bytes().any(|letter| letter.is_ascii_uppercase())
}

/// `${NAME:=default}` is how defaults are written for Flux.
fn is_flux_default(expression: &Expression<'_>) -> bool {
    expression.operator == Operator::Default(DefaultSign::ColonEqual)
}

pub(crate) fn is_disabled(object: &Value) -> bool {
    [object.annotation(SUBSTITUTE), object.label(SUBSTITUTE)].contains(&Some("disabled"))
}

/// What to add to the tier.
fn post_build(place: Option<&String>) -> String {
    let parts: Vec<&str> = place.map(|place| place.split('/').collect()).unwrap_or_default();
    match parts.as_slice() {
        [kind @ ("ConfigMap" | "Secret"), _, name] => format!(
            "let the tier substitute:\n  postBuild:\n    substituteFrom:\n      - kind: {kind}\n        name: {name}"
        ),
        _ => {
            "let the tier substitute: give it `postBuild.substitute` or `postBuild.substituteFrom`".to_owned()
        }
    }
}
