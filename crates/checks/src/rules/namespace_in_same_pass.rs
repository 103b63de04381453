//! A namespace that a chart makes, in the same pass as objects that live in it.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_order::{Answer, Blocked, Needed};

use crate::needs::causes;
use crate::{Context, Rule, Status, wording};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "namespace-in-same-pass",
    summary: "a namespace that a chart makes which this very pass would release",
    severity: Severity::Error,
    verdict: Some(Verdict::Deadlock),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/namespace-in-same-pass.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let found = causes(input, |need| {
        matches!(need.needed, Needed::Namespace(_))
            && matches!(
                need.answer,
                Answer::Blocked {
                    how: Blocked::SamePass,
                    ..
                }
            )
    });
    let finding = |cause: &crate::needs::Cause<'_>| {
        let tier = cause.tier_name(input);
        let objects = cause.objects();
        let (Needed::Namespace(namespace), Some(provider)) = (&cause.first().needed, cause.provider()) else {
            return None;
        };
        let release = provider
            .object
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        let message = format!(
            "namespace `{namespace}` is made by the chart of `{release}`, which this same pass would apply"
        );
        let why = format!(
            "Flux dry-runs every object of a stage before it applies any. The dry-run of `{}` fails with `namespaces \
             \"{namespace}\" not found`, so nothing of the last stage of `{tier}` is applied, `{release}` included, and only \
             its chart makes the namespace{}. `dependsOn` between HelmReleases orders what Helm does, not what Flux applies.",
            objects[0],
            wording::source(provider),
        );
        let help = format!(
            "put the Namespace into git, in `{tier}` or before it: Flux applies Namespaces in an earlier stage of the same \
             pass.\n  apiVersion: v1\n  kind: Namespace\n  metadata:\n    name: {namespace}"
        );
        let finding = cause.finding(input, &RULE, message).with_why(why).with_help(help);
        Some(finding.with_blocks(input.blocked_by(cause.tier, false)))
    };
    found.iter().filter_map(finding).collect()
}
