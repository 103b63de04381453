//! Shell text that substitution rewrites.

use std::collections::BTreeSet;

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_render::{RenderedCluster, RenderedObject, Tier};

use crate::input::At as _;
use crate::shell::{Rewrite, rewrites};
use crate::texts::{Reader, Text, texts};
use crate::variables::{TierVariables, Variables};
use crate::{CheckInput, Context, Rule, Status, wording};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "shell-expansion-rewritten",
    summary: "shell expansions in a script that Flux's substitution rewrites",
    severity: Severity::Warning,
    verdict: Some(Verdict::Hazard),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/shell-expansion-rewritten.md"),
    check,
};

/// More rewrites than this are counted in the headline.
const NAMED_MAX: usize = 3;

fn check(input: &Context<'_>) -> Vec<Finding> {
    let variables = Variables::of(input.cluster);
    let meant_for_flux = plain_names(input.cluster);
    let mut findings = Vec::new();
    for tier in &input.cluster.tiers {
        if variables.substitutes_nothing(tier) {
            continue;
        }
        let of_tier = variables.tier(tier);
        for object in tier.objects() {
            let is_flux = |name: &str| {
                of_tier.names.contains_key(name)
                    || may_be_open(&of_tier, name)
                    || meant_for_flux.contains(name)
            };
            findings.extend(finding(input, tier, object, &is_flux));
        }
    }
    findings
}

/// A source with keys that nobody knows may define the name; `unknown` is not `undefined`.
pub(crate) fn may_be_open(variables: &TierVariables, name: &str) -> bool {
    variables.open && !name.bytes().all(|byte| byte.is_ascii_digit())
}

/// Names that tiers use in fields that no shell reads: there they can only be meant for Flux.
pub(crate) fn plain_names(cluster: &RenderedCluster) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for template in cluster
        .objects()
        .filter_map(|(_, object)| object.template.as_deref())
    {
        for text in texts(template)
            .iter()
            .filter(|text| text.reader == Reader::Cluster)
        {
            if let Ok(parsed) = firstpass_envsubst::Template::parse(text.text) {
                names.extend(
                    parsed
                        .expressions()
                        .iter()
                        .map(|expression| expression.name.to_owned()),
                );
            }
        }
    }
    names
}

/// One finding per object: its first script that is rewritten, with what is rewritten there.
fn finding(
    input: &CheckInput<'_>,
    tier: &Tier,
    object: &RenderedObject,
    is_flux: &dyn Fn(&str) -> bool,
) -> Option<Finding> {
    let template = object.template.as_deref()?;
    let found: Vec<(Text<'_>, Vec<Rewrite>)> = texts(template)
        .into_iter()
        .filter(|text| matches!(text.reader, Reader::Shell | Reader::Dashboard))
        .filter_map(|text| {
            let rewritten = rewrites(text.text, is_flux);
            (!rewritten.is_empty()).then_some((text, rewritten))
        })
        .collect();
    let (text, first) = found.first()?;
    let mut written: Vec<String> = Vec::new();
    for rewrite in found.iter().flat_map(|(_, rewrites)| rewrites) {
        let shown = format!("`{}`", rewrite.written);
        if !written.contains(&shown) {
            written.push(shown);
        }
    }
    let more = written.len().saturating_sub(NAMED_MAX);
    written.truncate(NAMED_MAX);
    if more > 0 {
        written.push(format!("{more} more"));
    }
    let is_key = |part: &&String| !part.bytes().all(|byte| byte.is_ascii_digit());
    let script = text.path.iter().rev().find(is_key).map_or("", String::as_str);
    let (what, reader) = match text.reader {
        Reader::Dashboard => ("dashboard", "any dashboard"),
        _ => ("script", "any shell"),
    };
    let message = format!(
        "substitution rewrites {} in the {what} `{script}` of `{}`",
        wording::and(&written),
        object.id()
    );
    let mut effects: Vec<String> = Vec::new();
    for rewrite in first {
        let effect = format!("`{}` becomes `{}`", rewrite.written, rewrite.becomes);
        if !effects.contains(&effect) {
            effects.push(effect);
        }
    }
    effects.truncate(NAMED_MAX);
    let why = format!(
        "`{}` substitutes variables in everything that it applies, and Flux reads the {what} before {reader} does: {}. Strict \
         substitution does not object, because an expression with a default is never undefined",
        tier.name,
        wording::and(&effects)
    );
    let rewrite = &first[0];
    let help = format!(
        "double the dollar sign of what is meant for the shell, `{}`, or switch substitution off for the object:\n  metadata:\n    \
         annotations:\n      kustomize.toolkit.fluxcd.io/substitute: disabled",
        rewrite.escaped
    );
    Some(
        RULE.finding(message)
            .with_tier(&tier.name)
            .with_object(&object.id())
            .with_why(why)
            .with_help(help)
            .at(input.place_of_text(object, text, rewrite.offset)),
    )
}
