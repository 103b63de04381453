//! The words for something that another tier brings, in an order that nothing guarantees.

use firstpass_diagnostics::Finding;
use firstpass_order::{Answer, Certainty, Needed, TierIndex};

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
    let late = format!("A pass that begins too early {fails}; the next attempt comes {retry}");
    let order = wording::depends_on(from_name, tier);
    let barrier = wording::barrier(input, from, cause);
    let (message, why, help) = match &first.answer {
        Answer::WithoutBarrier { why, .. } => (
            format!("`{tier}` needs {what} from `{from_name}`, whose Ready does not prove that it is there"),
            format!("{brings}{source}. `{tier}` comes after `{from_name}`, but {why}. {late}"),
            match barrier {
                Some(barrier) => format!("let `{from_name}` be Ready only when it is there:\n{barrier}"),
                None => {
                    format!("give `{from_name}` a wait that proves it, or `{tier}` a short `retryInterval`")
                }
            },
        ),
        _ if is_ancestor(input, cause.tier, from) => {
            let object = provider
                .object
                .as_ref()
                .map_or(what.clone(), |object| format!("`{object}`"));
            (
                format!(
                    "`{tier}` needs {what}, which `{from_name}` only begins to bring when it applies `{tier}`"
                ),
                format!(
                    "{brings}{source}. `{from_name}` applies {object} and the Flux Kustomization of `{tier}` in one stage, and \
                     nothing waits for what comes of the former. {late}"
                ),
                format!(
                    "give {object} a Flux Kustomization of its own with `wait: true`, and let `{tier}` depend on that one"
                ),
            )
        }
        _ => (
            format!("`{tier}` needs {what} from `{from_name}`, and nothing orders the two"),
            format!("{brings}{source}. Without an edge both tiers begin at once. {late}"),
            match barrier {
                Some(barrier) => format!(
                    "order `{tier}` after `{from_name}`:\n{order}\nand let `{from_name}` be Ready only when it is there:\n{barrier}"
                ),
                None => format!("order `{tier}` after `{from_name}`:\n{order}"),
            },
        ),
    };
    cause.finding(input, rule, message).with_why(why).with_help(help)
}

/// Whether a tier is applied, through any chain of parents, by another: to depend on that one would be no cure.
fn is_ancestor(input: &CheckInput<'_>, tier: TierIndex, other: TierIndex) -> bool {
    input.graph.tiers.before(tier).certainty(other) == Some(Certainty::Applied)
}
