//! A first attempt that fails, and a long wait for the second.

use std::collections::BTreeMap;

use firstpass_diagnostics::{Finding, Severity};
use firstpass_order::{Answer, Need, Needed, TierIndex};

use super::circle;
use crate::input::At as _;
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "retry-waits-long",
    summary: "a tier whose first attempt may fail, and which tries again only after minutes",
    severity: Severity::Info,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/retry-waits-long.md"),
    check,
};

/// Up to this long nobody minds.
const RETRY_S_MAX: f64 = 300.0;

fn check(input: &Context<'_>) -> Vec<Finding> {
    let mut first: BTreeMap<TierIndex, &Need> = BTreeMap::new();
    for need in input.graph.needs.iter().filter(|need| may_fail(need)) {
        first.entry(need.tier).or_insert(need);
    }
    first
        .into_iter()
        .filter_map(|(tier, need)| finding(input, tier, need))
        .collect()
}

/// Needs that nothing guarantees in time, and without which the dry-run is refused.
fn may_fail(need: &Need) -> bool {
    let refuses = matches!(
        need.needed,
        Needed::Kind { .. }
            | Needed::Namespace(_)
            | Needed::Webhook { .. }
            | Needed::Data { optional: false, .. }
    );
    refuses
        && matches!(
            need.answer,
            Answer::WithoutEdge { .. } | Answer::WithoutBarrier { .. }
        )
}

fn finding(input: &CheckInput<'_>, index: TierIndex, need: &Need) -> Option<Finding> {
    let tier = input.tier(index)?;
    let spec = &tier.kustomization.spec;
    let wait = spec.retry_interval();
    if wait.as_secs_f64() <= RETRY_S_MAX {
        return None;
    }
    let (place, how): (&[&str], _) = match spec.retry_interval {
        Some(_) => (&["spec", "retryInterval"], "its `retryInterval`"),
        None => (
            &["spec", "interval"],
            "its `interval`, for lack of a `retryInterval`",
        ),
    };
    let what = match &need.needed {
        Needed::Kind { kind, .. } | Needed::Webhook { kind, .. } => format!("the kind `{}`", kind.kind),
        Needed::Namespace(name) => format!("the namespace `{name}`"),
        _ => "its variables".to_owned(),
    };
    Some(
        RULE.finding(format!("`{}` may fail its first attempt and tries again only after {wait}", tier.name))
            .with_tier(&tier.name)
            .with_object(&circle::object(&tier.name))
            .with_why(format!(
                "nothing guarantees that {what} is there when the tier begins. A failed attempt is repeated after {how}: {wait}, and \
                 all that depends on the tier waits as well"
            ))
            .with_help("set `retryInterval: 1m`; the order itself is the subject of another finding")
            .at(input.place_in_tier(tier, place)),
    )
}
