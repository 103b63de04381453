//! Paths that substitution does not reach, in a cluster that substitutes.

use firstpass_diagnostics::{Finding, Severity};
use firstpass_render::{Tier, TierSource};

use crate::coverage::path_of;
use crate::input::At as _;
use crate::variables::Variables;
use crate::{Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "uncovered-path",
    summary: "paths whose tier substitutes nothing, in a cluster where others do",
    severity: Severity::Info,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/uncovered-path.md"),
    check,
};

/// More paths than this are counted; the report's `coverage` has them all.
const NAMED_MAX: usize = 6;

fn check(input: &Context<'_>) -> Vec<Finding> {
    finding(input).into_iter().collect()
}

fn finding(input: &Context<'_>) -> Option<Finding> {
    let variables = Variables::of(input.cluster);
    let here = |tier: &&Tier| matches!(tier.source, TierSource::Repository { .. });
    let tiers = input.cluster.tiers.iter().filter(here);
    let (outside, covered): (Vec<&Tier>, Vec<&Tier>) =
        tiers.partition(|tier| variables.substitutes_nothing(tier));
    let is_root = |tier: &&Tier| input.cluster.roots.contains(&tier.name);
    let outside: Vec<&Tier> = outside.into_iter().filter(|tier| !is_root(tier)).collect();
    let tier = *outside.first().filter(|_| !covered.is_empty())?;
    let mut shown: Vec<String> = outside
        .iter()
        .take(NAMED_MAX)
        .map(|tier| format!("`{}`", path_of(tier)))
        .collect();
    if outside.len() > NAMED_MAX {
        shown.push(format!("{} more", outside.len() - NAMED_MAX));
    }
    let count = match outside.len() {
        1 => "1 path is".to_owned(),
        many => format!("{many} paths are"),
    };
    Some(
        RULE.finding(format!("{count} outside substitution: {}", shown.join(", ")))
            .with_tier(&tier.name)
            .with_why(
                "substitution belongs to the Flux Kustomization, not to the files: a `${NAME}` that somebody adds there tomorrow is \
                 applied as it is written",
            )
            .with_help("give these tiers the `postBuild` of the others, or leave them: nothing is wrong as long as they hold no `${…}`")
            .at(input.place_in_tier(tier, &["spec", "path"])),
    )
}
