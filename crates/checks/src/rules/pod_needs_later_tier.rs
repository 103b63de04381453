//! Pods that cannot start before a tier that waits for them.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_order::{Certainty, TierIndex};
use firstpass_render::RenderedObject;

use super::waited_for::is_waited_for;
use crate::input::At as _;
use crate::pods::{self, PodNeed};
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "pod-needs-later-tier",
    summary: "a wait on pods that need something which comes only after the wait",
    severity: Severity::Error,
    verdict: Some(Verdict::Deadlock),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/pod-needs-later-tier.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let tiers = &input.graph.tiers;
    let mut findings = Vec::new();
    for tier in tiers.indices() {
        let Some(rendered) = input.tier(tier) else {
            continue;
        };
        for object in rendered
            .objects()
            .iter()
            .filter(|object| is_waited_for(input, tier, &object.id()))
        {
            let late = pods::needs(&object.object).into_iter().find_map(|need| {
                let behind = only_behind(input, tier, &input.tiers_of(&need.object))?;
                Some((need, behind))
            });
            findings.extend(late.map(|(need, behind)| finding(input, tier, object, &need, behind)));
        }
    }
    findings
}

/// The tier that brings something, if all that do begin only when `tier` is Ready.
pub(crate) fn only_behind(
    input: &CheckInput<'_>,
    tier: TierIndex,
    brought_by: &[TierIndex],
) -> Option<TierIndex> {
    let waits = |from: &TierIndex| {
        *from != tier && input.graph.tiers.before(*from).certainty(tier) == Some(Certainty::Ready)
    };
    brought_by
        .iter()
        .all(waits)
        .then(|| brought_by.first().copied())?
}

fn finding(
    input: &CheckInput<'_>,
    tier: TierIndex,
    object: &RenderedObject,
    need: &PodNeed,
    behind: TierIndex,
) -> Finding {
    let tiers = &input.graph.tiers;
    let (name, later) = (tiers.name(tier), tiers.name(behind));
    let id = object.id();
    let message = format!(
        "`{name}` waits for `{id}`, whose pods need `{}` from `{later}`, which waits for `{name}`",
        need.object
    );
    let why = format!(
        "a pod does not start while `{}` is missing, `{id}` is not healthy while its pods do not start, and `{later}` begins only \
         when `{name}` is Ready",
        need.object
    );
    let help = format!(
        "move `{}` into `{name}` or a tier before it, or `{id}` into a tier after `{later}`",
        need.object
    );
    let field: Vec<&str> = need.path.iter().map(String::as_str).collect();
    RULE.finding(message)
        .with_tier(name)
        .with_object(&id)
        .with_related([need.object.to_string()])
        .with_why(why)
        .with_help(help)
        .with_blocks(input.blocked_by(tier, true))
        .at(input.repository.locate(&object.origin, &field))
}
