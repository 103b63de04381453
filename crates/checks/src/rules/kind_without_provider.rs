//! A kind that nobody brings.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_order::{Answer, Needed};

use super::missing;
use crate::needs::{Cause, causes};
use crate::{CheckInput, Context, Rule, Status, wording};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "kind-without-provider",
    summary: "a kind that neither Kubernetes nor anything in the repository brings",
    severity: Severity::Error,
    verdict: Some(Verdict::NeverReady),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/kind-without-provider.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let found = causes(input, |need| {
        matches!(need.needed, Needed::Kind { .. }) && matches!(need.answer, Answer::Nobody { .. })
    });
    found.iter().filter_map(|cause| finding(input, cause)).collect()
}

fn finding(input: &CheckInput<'_>, cause: &Cause<'_>) -> Option<Finding> {
    let tier = cause.tier_name(input);
    let first = cause.first();
    let (Needed::Kind { kind, version }, Answer::Nobody { provable, hint }) = (&first.needed, &first.answer)
    else {
        return None;
    };
    let group = if kind.group.is_empty() {
        version.clone()
    } else {
        format!("{}/{version}", kind.group)
    };
    let others = if *provable { "" } else { " that firstpass can see" };
    let message = format!("nothing{others} brings the kind `{}` of `{group}`", kind.kind);
    let known = hint
        .as_ref()
        .map(|hint| format!("; {}", hint.says))
        .unwrap_or_default();
    let why = if *provable {
        format!(
            "the dry-run of `{}` fails with `no matches for kind \"{}\" in version \"{group}\"`, and with it the whole pass of \
             `{tier}`{known}",
            first.by, kind.kind
        )
    } else {
        format!(
            "no CRD, no known chart and no known operator of this cluster brings it; something unseen may{known}"
        )
    };
    let remedy = hint.as_ref().and_then(|hint| hint.remedy.clone());
    let help = remedy.unwrap_or_else(|| {
        format!(
            "bring the CRD in a tier before `{tier}`, or list what is there before Flux under `baseline` in firstpass.yaml. \
             Objects: {}",
            wording::objects(&cause.objects())
        )
    });
    let finding = cause.finding(input, &RULE, message).with_why(why).with_help(help);
    let blocks = input.blocked_by(cause.tier, false);
    Some(missing::weigh(finding.with_blocks(blocks), *provable))
}
