//! A wait on a claim that is bound only when a pod of a later tier uses it.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_order::{Answer, Blocked, Needed};

use super::missing;
use crate::needs::{Cause, causes};
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "claim-waits-for-consumer",
    summary: "a wait on a claim whose first pod comes only after the wait",
    severity: Severity::Error,
    verdict: Some(Verdict::Deadlock),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/claim-waits-for-consumer.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let found = causes(input, |need| {
        matches!(need.needed, Needed::Consumer { .. })
            && matches!(
                need.answer,
                Answer::Blocked {
                    how: Blocked::BehindUs(_) | Blocked::Child(_),
                    ..
                } | Answer::Nobody { .. }
            )
    });
    found.iter().filter_map(|cause| finding(input, cause)).collect()
}

fn finding(input: &CheckInput<'_>, cause: &Cause<'_>) -> Option<Finding> {
    let tier = cause.tier_name(input);
    let first = cause.first();
    let Needed::Consumer { claim } = &first.needed else {
        return None;
    };
    let (message, consumer, verdict, provable) = match &first.answer {
        Answer::Nobody { provable, .. } => (
            format!("`{tier}` waits for `{claim}` to be bound, and no pod uses it"),
            "nothing in the repository starts one".to_owned(),
            Verdict::NeverReady,
            *provable,
        ),
        answer => {
            let provider = answer.provider()?;
            let consumer = provider.object.as_ref()?;
            let later = input.graph.tiers.name(provider.tier?);
            (
                format!(
                    "`{tier}` waits for `{claim}` to be bound, and its first pod comes only in `{later}`, after that wait"
                ),
                format!("that is `{consumer}` in `{later}`, which begins only when `{tier}` is Ready"),
                Verdict::Deadlock,
                true,
            )
        }
    };
    let why = format!(
        "the claim's StorageClass has `volumeBindingMode: WaitForFirstConsumer`: it stays Pending until a pod uses it, and \
         {consumer}. Flux counts a claim as healthy only when it is Bound"
    );
    let help = format!(
        "move the claim into the tier of its pod; or let `{tier}` check what has to be ready by name (`healthChecks`) in place \
         of `wait: true`; or use a class with `volumeBindingMode: Immediate`"
    );
    let mut finding = cause.finding(input, &RULE, message).with_why(why).with_help(help);
    finding.verdict = Some(verdict);
    Some(missing::weigh(
        finding.with_blocks(input.blocked_by(cause.tier, true)),
        provable,
    ))
}
