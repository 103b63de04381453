//! The words for something that another tier brings, in an order that nothing guarantees.

use firstpass_diagnostics::Finding;
use firstpass_order::{Answer, Needed};

use crate::needs::Cause;
use crate::{CheckInput, Rule, wording};

/// A hazard: it comes up by luck, or after a failed attempt.
pub(crate) fn finding(input: &CheckInput<'_>, rule: &Rule, cause: &Cause<'_>) -> Finding {
    let tier = cause.tier_name(input);
    let first = cause.first();
    let Some(provider) = cause.provider() else {
        return cause.finding(input, rule, String::new());
    };
    let from = provider.tier.unwrap_or(cause.tier);
    let from_name = input.graph.tiers.name(from);
    let (what, fails) = match &first.needed {
        Needed::Kind { kind, .. } => (
            wording::kinds(&cause.kinds()),
            format!("fails the dry-run with `no matches for kind \"{}\"`", kind.kind),
        ),
        Needed::Namespace(namespace) => (
            format!("namespace `{namespace}`"),
            format!("fails the dry-run with `namespaces \"{namespace}\" not found`"),
        ),
        Needed::Data {
            object,
            optional: false,
        } => (
            format!("the variables of `{object}`"),
            "cannot be substituted and fails its build".to_owned(),
        ),
        Needed::Data {
            object,
            optional: true,
        } => (
            format!("the variables of `{object}`"),
            "is substituted without them, because the source is optional".to_owned(),
        ),
        Needed::Webhook { name, .. } => (
            format!("the webhook `{name}`"),
            "is refused while the webhook is registered and nothing serves it".to_owned(),
        ),
        Needed::HealthTarget(target) => (format!("`{target}`"), "waits".to_owned()),
        Needed::ReadOnce { object, .. } => (
            format!("`{object}`"),
            "takes what is there instead, for good".to_owned(),
        ),
        Needed::Consumer { claim } => (format!("a pod for `{claim}`"), "waits".to_owned()),
    };
    let retry = input.tier(cause.tier).map(|tier| {
        let spec = &tier.kustomization.spec;
        let why = if spec.retry_interval.is_some() {
            "retryInterval"
        } else {
            "interval, as there is no retryInterval"
        };
        format!("{} later ({why})", spec.retry_interval())
    });
    let retry = retry.unwrap_or_default();
    let brings = wording::brings(provider, &what);
    let source = wording::source(provider);
    let depends_on = wording::depends_on(from_name, tier);
    let barrier = wording::barrier(input, from, cause);
    let (message, why, help) = match &first.answer {
        Answer::WithoutBarrier { why, .. } => (
            format!("`{tier}` needs {what} from `{from_name}`, whose Ready does not prove that it is there"),
            format!(
                "{brings}{source}. `{tier}` comes after `{from_name}`, but {why}. A pass that begins too early {fails}; the next attempt comes {retry}."
            ),
            match barrier {
                Some(barrier) => format!("let `{from_name}` be Ready only when it is there:\n{barrier}"),
                None => {
                    format!("give `{from_name}` a wait that proves it, or `{tier}` a short `retryInterval`")
                }
            },
        ),
        _ => (
            format!("`{tier}` needs {what} from `{from_name}`, and nothing orders the two"),
            format!(
                "{brings}{source}. Without an edge both tiers begin at once. A pass that begins too early {fails}; the next attempt comes {retry}."
            ),
            match barrier {
                Some(barrier) => format!(
                    "order `{tier}` after `{from_name}`:\n{depends_on}\nand let `{from_name}` be Ready only when it is there:\n{barrier}"
                ),
                None => format!("order `{tier}` after `{from_name}`:\n{depends_on}"),
            },
        ),
    };
    cause.finding(input, rule, message).with_why(why).with_help(help)
}
