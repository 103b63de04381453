//! A tier that waits for a release which is suspended.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_flux::HelmRelease;
use firstpass_render::{RenderedObject, Tier};

use super::release;
use crate::input::At as _;
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "release-suspended",
    summary: "a tier that waits for a HelmRelease which is suspended",
    severity: Severity::Error,
    verdict: Some(Verdict::NeverReady),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/release-suspended.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let suspended =
        release::all(input).filter(|(_, object)| HelmRelease::read(&object.object).value.spec.suspend);
    suspended
        .filter_map(|(tier, object)| finding(input, tier, object))
        .collect()
}

/// Without a wait a suspended release stops nobody, and whoever suspended it wants just that.
fn finding(input: &CheckInput<'_>, tier: &Tier, object: &RenderedObject) -> Option<Finding> {
    let id = object.id();
    let finding = RULE
        .finding(format!(
            "`{}` waits for `{id}`, which is suspended",
            tier.name
        ))
        .with_tier(&tier.name)
        .with_object(&id)
        .with_why(
            "helm-controller does not look at a suspended release, so on a new cluster it never becomes Ready; where it was \
             Ready before it was suspended nothing shows",
        )
        .with_help("resume the release, take it out of the tier, or do not let the tier wait for it")
        .at(input.repository.locate(&object.origin, &["spec", "suspend"]));
    let weighed = release::never_installed(input, tier, &id, finding);
    (weighed.severity == Severity::Error).then_some(weighed)
}
