//! A health check on an object that nobody makes.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_order::{Answer, Needed};

use super::missing;
use crate::needs::{Cause, causes};
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "health-check-missing-object",
    summary: "a health check that names an object which nothing makes",
    severity: Severity::Error,
    verdict: Some(Verdict::NeverReady),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/health-check-missing-object.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let found = causes(input, |need| {
        matches!(need.needed, Needed::HealthTarget(_)) && matches!(need.answer, Answer::Nobody { .. })
    });
    found.iter().filter_map(|cause| finding(input, cause)).collect()
}

fn finding(input: &CheckInput<'_>, cause: &Cause<'_>) -> Option<Finding> {
    let tier = cause.tier_name(input);
    let first = cause.first();
    let (Needed::HealthTarget(target), Answer::Nobody { provable, hint }) = (&first.needed, &first.answer)
    else {
        return None;
    };
    let others = if *provable { "" } else { " that firstpass can see" };
    let message = format!("a health check of `{tier}` names `{target}`, which nothing{others} makes");
    let timeout = input
        .tier(cause.tier)
        .map(|tier| tier.kustomization.spec.timeout().to_string())
        .unwrap_or_default();
    let near = hint
        .as_ref()
        .map(|hint| format!("; {}", hint.says))
        .unwrap_or_default();
    let why = format!(
        "Flux looks for the object until the timeout ({timeout}) and then fails the tier with `{target} status: \
         'NotFound'`, every time{near}. Its objects are applied all the same; whoever depends on `{tier}` never begins"
    );
    let help = match hint {
        Some(hint) => {
            format!(
                "correct the name under `healthChecks`: {}. Or use `wait: true`, which needs no list",
                hint.says
            )
        }
        None => "name an object that the tier applies, or use `wait: true`, which needs no list".to_owned(),
    };
    let mut finding = cause
        .finding(input, &RULE, message)
        .with_object(target)
        .with_why(why)
        .with_help(help);
    finding.related.push(first.by.to_string());
    let blocks = input.blocked_by(cause.tier, true);
    Some(missing::weigh(finding.with_blocks(blocks), *provable))
}
