//! The words for a pass that would have to bring a kind before it can apply anything.

use firstpass_diagnostics::Finding;
use firstpass_order::How;

use crate::needs::Cause;
use crate::{CheckInput, Rule, wording};

/// Flux dry-runs every object of a stage before it applies any (F-211, F-212), so a pass never gets to apply what would
/// bring the kind.
pub(crate) fn finding(input: &CheckInput<'_>, rule: &Rule, cause: &Cause<'_>) -> Finding {
    let tier = cause.tier_name(input);
    let kinds = cause.kinds();
    let objects = cause.objects();
    let first = objects[0];
    let Some(provider) = cause.provider() else {
        return cause.finding(input, rule, String::new());
    };
    let object = provider
        .object
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    let names = wording::kinds(&kinds);
    let be = if kinds.len() == 1 {
        "is a kind"
    } else {
        "are kinds"
    };
    let (message, how) = match &provider.how {
        How::OperatorObject { operator, .. } => (
            format!(
                "{names} {be} that {operator} creates only after it has reconciled `{object}`, which this same pass would apply"
            ),
            format!("{operator} creates the kind only after it has reconciled `{object}`"),
        ),
        How::OperatorStart { operator } => (
            format!(
                "{names} {be} that {operator} registers when it starts, and this same pass would start it with `{object}`"
            ),
            format!("{operator} registers the kind when `{object}` has started it"),
        ),
        How::Chart { chart } => (
            format!(
                "{names} {be} that the chart {chart} brings, and this same pass would apply its release `{object}`"
            ),
            format!("the kind comes with the chart that `{object}` releases"),
        ),
        How::Manifest => (
            format!("{names} {be} that `{object}` brings, which this same pass would apply"),
            format!("the kind comes with `{object}`"),
        ),
    };
    let why = format!(
        "Flux dry-runs every object of a stage before it applies any. The dry-run of `{first}` fails with `no matches for \
         kind \"{}\"`, so nothing of the last stage of `{tier}` is applied, `{object}` included, and {how}{}. Each \
         attempt meets the same cluster, so this never ends. On a cluster that has the CRD already, nothing is wrong.",
        kinds.first().map(|kind| kind.kind.as_str()).unwrap_or_default(),
        wording::source(provider),
    );
    let own = format!(
        "move {} into a Flux Kustomization of {} own, and order it after `{tier}`:\n{}",
        wording::objects(&objects),
        if objects.len() == 1 { "its" } else { "their" },
        wording::depends_on(tier, tier),
    );
    let help = match wording::barrier(input, cause.tier, cause) {
        Some(barrier) => format!("{own}\nand let `{tier}` be Ready only when the kind is there:\n{barrier}"),
        None => own,
    };
    let help = format!("{help}\n{}", wording::WHAT_IS_THERE);
    cause
        .finding(input, rule, message)
        .with_why(why)
        .with_help(help)
        .with_blocks(input.blocked_by(cause.tier, false))
}
