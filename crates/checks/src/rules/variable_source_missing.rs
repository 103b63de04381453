//! A ConfigMap or Secret of variables that nobody makes.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_order::{Answer, MeantData, Needed, misnamed_data};

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
    let Some(meant) = misnamed_data(input.cluster, &input.graph.unknowns, object) else {
        let help = "bring it in a tier before this one, or list it under `baseline.secrets` in firstpass.yaml if the \
                    bootstrap creates it";
        return Some(cause.finding(input, &RULE, message).with_why(why).with_help(help));
    };
    let (hint, help) = match &meant {
        MeantData::Misspelt(id) => (format!("did you mean `{}`?", id.name), format!("correct the name: `{}`", id.name)),
        MeantData::Hashed(id) => (
            format!("kustomize has called it `{}`", id.name),
            "set `disableNameSuffixHash: true` under `options` of the generator: `substituteFrom` takes names as they are written".to_owned(),
        ),
        MeantData::Elsewhere(id) => (
            format!("`{id}` is in another namespace"),
            format!(
                "`substituteFrom` reads the namespace of the Flux Kustomization: apply the object to `{}` as well, or move the Flux \
                 Kustomization",
                object.namespace.as_deref().unwrap_or_default()
            ),
        ),
    };
    let mut finding = cause
        .finding(input, &RULE, format!("{message}: {hint}"))
        .with_related([meant.id().to_string()])
        .with_why(why)
        .with_help(help)
        .with_blocks(input.blocked_by(cause.tier, false));
    finding.severity = Severity::Error;
    finding.verdict = Some(Verdict::NeverReady);
    Some(finding)
}
