//! A ConfigMap or Secret of variables that nobody makes.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_order::{Answer, Needed};

use super::missing;
use crate::needs::{Cause, causes};
use crate::{CheckInput, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "variable-source-missing",
    summary: "a `substituteFrom` entry whose ConfigMap or Secret nothing makes",
    severity: Severity::Error,
    verdict: Some(Verdict::NeverReady),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/variable-source-missing.md"),
    check,
};

fn check(input: &CheckInput<'_>) -> Vec<Finding> {
    let found = causes(input, |need| {
        matches!(need.needed, Needed::Data { optional: false, .. })
            && matches!(need.answer, Answer::Nobody { .. })
    });
    found.iter().filter_map(|cause| finding(input, cause)).collect()
}

fn finding(input: &CheckInput<'_>, cause: &Cause<'_>) -> Option<Finding> {
    let tier = cause.tier_name(input);
    let first = cause.first();
    let (Needed::Data { object, .. }, Answer::Nobody { provable, hint }) = (&first.needed, &first.answer)
    else {
        return None;
    };
    let others = if *provable { "" } else { " in the repository" };
    let message = format!("nothing{others} makes `{object}`, from which `{tier}` takes variables");
    let hint = hint
        .as_deref()
        .map(|hint| format!("; {hint}"))
        .unwrap_or_default();
    let why = format!(
        "a `substituteFrom` entry without `optional: true` has to exist before anything of `{tier}` is built{hint}. A cold \
         start needs somebody to create it first"
    );
    let help = "bring it in a tier before this one, or list it under `baseline.secrets` in firstpass.yaml if the bootstrap \
                creates it";
    let finding = cause.finding(input, &RULE, message).with_why(why).with_help(help);
    let blocks = input.blocked_by(cause.tier, false);
    Some(missing::weigh(finding.with_blocks(blocks), *provable))
}
