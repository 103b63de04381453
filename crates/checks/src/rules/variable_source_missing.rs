//! A ConfigMap or Secret of variables that nobody makes.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_object::ObjectId;
use firstpass_order::{Answer, Needed};

use crate::needs::{Cause, causes};
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "variable-source-missing",
    summary: "a `substituteFrom` entry whose ConfigMap or Secret nothing makes",
    severity: Severity::Info,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/variable-source-missing.md"),
    check,
};

/// Shorter names are near each other by chance.
const NAME_LENGTH_MIN: usize = 8;

/// As many wrong letters are a slip.
const LETTERS_WRONG_MAX: usize = 2;

fn check(input: &Context<'_>) -> Vec<Finding> {
    let found = causes(input, |need| {
        matches!(need.needed, Needed::Data { optional: false, .. })
            && matches!(need.answer, Answer::Nobody { .. })
    });
    found.iter().filter_map(|cause| finding(input, cause)).collect()
}

fn finding(input: &CheckInput<'_>, cause: &Cause<'_>) -> Option<Finding> {
    let tier = cause.tier_name(input);
    let first = cause.first();
    let (Needed::Data { object, .. }, Answer::Nobody { hint, .. }) = (&first.needed, &first.answer) else {
        return None;
    };
    let hint = hint
        .as_ref()
        .map(|hint| format!("; {}", hint.says))
        .unwrap_or_default();
    let why = format!(
        "a `substituteFrom` entry without `optional: true` has to exist before anything of `{tier}` is built{hint}. A cold \
         start needs somebody to create it first"
    );
    let message = format!("nothing in the repository makes `{object}`, from which `{tier}` takes variables");
    let Some(meant) = misspelt(input, object) else {
        let help = "bring it in a tier before this one, or list it under `baseline.secrets` in firstpass.yaml if the \
                    bootstrap creates it";
        return Some(cause.finding(input, &RULE, message).with_why(why).with_help(help));
    };
    let message = format!("{message}: did you mean `{}`?", meant.name);
    let mut finding = cause
        .finding(input, &RULE, message)
        .with_related([meant.to_string()])
        .with_why(why)
        .with_help(format!("correct the name: `{}`", meant.name))
        .with_blocks(input.blocked_by(cause.tier, false));
    finding.severity = Severity::Error;
    finding.verdict = Some(Verdict::NeverReady);
    Some(finding)
}

/// The object whose name somebody has misspelt: of the same kind and namespace, one or two letters away, and more than a
/// number apart.
fn misspelt(input: &CheckInput<'_>, wanted: &ObjectId) -> Option<ObjectId> {
    let letters = |name: &str| -> String { name.chars().filter(|letter| !letter.is_ascii_digit()).collect() };
    let candidates: Vec<ObjectId> = input
        .cluster
        .objects()
        .map(|(_, object)| object.id())
        .filter(|id| id.group_kind() == wanted.group_kind() && id.namespace == wanted.namespace)
        .collect();
    let is_close = |id: &&ObjectId| {
        let lengths = id.name.chars().count().min(wanted.name.chars().count());
        lengths >= NAME_LENGTH_MIN
            && firstpass_yaml::distance(&id.name, &wanted.name) <= LETTERS_WRONG_MAX
            && letters(&id.name) != letters(&wanted.name)
    };
    candidates.iter().find(is_close).cloned()
}
