//! A fact that must hold and does not.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_render::{Data, Invariant, RenderedObject, Tier};

use crate::input::At as _;
use crate::invariants::{Outcome, Values, evaluate, variables_of};
use crate::variables::sources_of;
use crate::{Context, Rule, Status, wording};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "invariant-broken",
    summary: "a fact of `invariants` in firstpass.yaml that does not hold on this cluster",
    severity: Severity::Error,
    verdict: Some(Verdict::Hazard),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/invariant-broken.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let invariants = &input.repository.config().invariants;
    if invariants.is_empty() {
        return Vec::new();
    }
    let values = Values::of(input);
    let found = invariants
        .iter()
        .filter_map(|invariant| finding(input, &values, invariant));
    found.collect()
}

fn finding(input: &Context<'_>, values: &Values, invariant: &Invariant) -> Option<Finding> {
    let name = &invariant.name;
    let names = variables_of(&invariant.expr);
    let shown: Vec<String> = names
        .iter()
        .map(|name| format!("`{name}` is `{}`", values.known(name).unwrap_or("unknown")))
        .collect();
    let mut finding = match evaluate(input, values, invariant) {
        Outcome::Holds | Outcome::Invalid(_) => return None,
        Outcome::Broken => {
            let with = if shown.is_empty() {
                String::new()
            } else {
                format!(": {}", wording::and(&shown))
            };
            let mut finding = RULE
                .finding(format!("invariant `{name}` does not hold{with}"))
                .with_why(format!("{}. `{}` is false", invariant.message, invariant.expr))
                .with_help("change the value, or the invariant in firstpass.yaml if it is no longer meant");
            finding.severity = invariant.severity.unwrap_or(Severity::Error);
            finding
        }
        Outcome::Unknown(why) => {
            let mut finding = RULE
                .finding(format!("invariant `{name}` cannot be decided yet: {why}"))
                .with_why(format!(
                    "what is not known can neither keep nor break it: {}",
                    invariant.message
                ))
                .with_help("nothing has to be done; once the value is there the invariant is checked");
            finding.severity = Severity::Info;
            finding
        }
    };
    if finding.severity == Severity::Info {
        finding.verdict = None;
    }
    let source = names
        .iter()
        .find_map(|name| Some((name, source_of(input, name)?)));
    let finding = match source {
        Some((name, (tier, object))) => finding
            .with_tier(&tier.name)
            .with_object(&object.id())
            .at(input.place_of_key(&object.origin, &["data", name])),
        None => {
            let root = input.cluster.roots.first();
            let finding = match root {
                Some(root) => finding.with_tier(root),
                None => finding,
            };
            finding.at(invariant.location.clone())
        }
    };
    Some(finding)
}

/// The object of the repository that defines a variable, with the tier that applies it.
fn source_of<'a>(input: &Context<'a>, name: &str) -> Option<(&'a Tier, &'a RenderedObject)> {
    let mut sources: Vec<_> = input
        .cluster
        .tiers
        .iter()
        .flat_map(sources_of)
        .map(|(source, _)| source)
        .collect();
    sources.extend(
        input
            .repository
            .config()
            .overlays
            .as_ref()
            .and_then(crate::fleet::vars_id),
    );
    let mut objects = input.cluster.objects();
    objects.find(|(_, object)| {
        sources.contains(&object.id()) && Data::of(&object.object).values.contains_key(name)
    })
}
