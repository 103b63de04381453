//! The words for something that comes from a tier that waits for the one that needs it.

use firstpass_diagnostics::Finding;
use firstpass_order::{Answer, Blocked, Needed};

use crate::needs::{Cause, causes};
use crate::{CheckInput, Context, Rule, repair, wording};

/// The deadlocks over two tiers, of one sort of need.
pub(crate) fn check(input: &Context<'_>, rule: &Rule, is_meant: impl Fn(&Needed) -> bool) -> Vec<Finding> {
    let found = causes(input, |need| {
        let waits_for_us = matches!(
            need.answer,
            Answer::Blocked {
                how: Blocked::Child(_) | Blocked::BehindUs(_),
                ..
            }
        );
        waits_for_us && is_meant(&need.needed)
    });
    found.iter().map(|cause| finding(input, rule, cause)).collect()
}

/// A deadlock over two tiers.
pub(crate) fn finding(input: &CheckInput<'_>, rule: &Rule, cause: &Cause<'_>) -> Finding {
    let tier = cause.tier_name(input);
    let first = cause.first();
    let Answer::Blocked { provider, how } = &first.answer else {
        return cause.finding(input, rule, String::new());
    };
    let (what, applies) = match &first.needed {
        Needed::Kind { .. } => (wording::kinds(&cause.kinds()), false),
        Needed::Namespace(namespace) => (format!("namespace `{namespace}`"), false),
        Needed::Data { object, .. } => (format!("the variables of `{object}`"), false),
        Needed::HealthTarget(target) => (format!("`{target}`"), true),
        Needed::Webhook { name, .. } => (format!("webhook `{name}`"), false),
        Needed::ReadOnce { object, .. } => (format!("`{object}`"), false),
        Needed::Consumer { claim } => (format!("a pod that uses `{claim}`"), true),
    };
    if let (Needed::Data { object, .. }, Blocked::SamePass) = (&first.needed, how) {
        let message = format!("`{tier}` takes variables from `{object}`, which it applies itself");
        let why = format!(
            "variables are read before anything of a tier is built. `{object}` is not there, so the build fails, so `{object}` is \
             never applied. A cluster that has it already hides that"
        );
        let help = format!(
            "move `{object}` beside the Flux Kustomization `{tier}` (its parent applies ConfigMaps and Secrets first), or into a \
             tier that `{tier}` depends on\n{}",
            wording::WHAT_IS_THERE
        );
        let finding = cause.finding(input, rule, message).with_why(why).with_help(help);
        return finding.with_blocks(input.blocked_by(cause.tier, false));
    }
    let (later, waits) = match how {
        Blocked::SamePass => (cause.tier, "is the same tier".to_owned()),
        Blocked::Child(later) => (
            *later,
            format!(
                "begins only after `{tier}` has applied its last stage, because `{tier}` applies its Flux Kustomization"
            ),
        ),
        Blocked::BehindUs(later) => (
            *later,
            format!("begins only when `{tier}` is Ready, through `dependsOn`"),
        ),
    };
    let later = input.graph.tiers.name(later);
    let message = format!("`{tier}` needs {what} from `{later}`, which waits for `{tier}`");
    let why = format!(
        "{}{}, in `{later}`. `{later}` {waits}. So each waits for the other, for good.",
        wording::brings(provider, &what),
        wording::source(provider),
    );
    let objects = cause.objects();
    // Never a component: on an earlier tier more would wait for it.
    let mover = provider.object.as_ref().filter(|object| repair::is_plain(object));
    let help = match (&first.needed, mover) {
        (Needed::HealthTarget(target), _) => format!(
            "check the health of `{target}` in `{later}`, where it is applied, and let whoever has to wait for it depend on `{later}`"
        ),
        (Needed::Data { object, .. }, Some(mover)) => format!(
            "move `{mover}` into a tier before `{tier}`, or into the tier that applies `{tier}`, so that `{object}` is there first"
        ),
        (Needed::Data { .. }, None) => {
            format!("move what uses the variables out of `{tier}`, into a tier after `{later}`")
        }
        (_, Some(mover)) => format!(
            "move `{mover}` into a tier that `{tier}` depends on, or move {} into a tier after `{later}`",
            wording::objects(&objects)
        ),
        (_, None) => format!("move {} into a tier after `{later}`", wording::objects(&objects)),
    };
    let help = match &first.needed {
        Needed::Kind { .. } | Needed::Namespace(_) | Needed::Data { .. } => {
            format!("{help}\n{}", wording::WHAT_IS_THERE)
        }
        _ => help,
    };
    cause
        .finding(input, rule, message)
        .with_why(why)
        .with_help(help)
        .with_blocks(input.blocked_by(cause.tier, applies))
}
