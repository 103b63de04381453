//! A tier that waits for a release which is suspended.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_flux::HelmRelease;
use firstpass_render::{RenderedObject, Tier};

use super::release;
use super::waited_for::is_waited_for;
use crate::input::At as _;
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "release-suspended",
    summary: "a tier that waits for a HelmRelease which is suspended",
    severity: Severity::Warning,
    verdict: Some(Verdict::Hazard),
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

/// helm-controller writes down which generation of a suspended release it has seen (F-1041), and an object without conditions
/// is healthy (F-515): the wait passes. That matters where somebody comes after it.
fn finding(input: &CheckInput<'_>, tier: &Tier, object: &RenderedObject) -> Option<Finding> {
    let id = object.id();
    let index = input.graph.tiers.find(&tier.name)?;
    let blocked = if is_waited_for(input, index, &id) {
        input.blocked_by(index, true)
    } else {
        Vec::new()
    };
    let behind = blocked.first()?;
    let message = format!(
        "`{}` waits for `{id}`, which is suspended, so `{behind}` begins without it",
        tier.name
    );
    let finding = RULE
        .finding(message)
        .with_tier(&tier.name)
        .with_object(&id)
        .with_why(
            "helm-controller installs nothing of a suspended release and only writes down that it has seen it, which counts as \
             healthy. So on a new cluster the wait passes and proves nothing; where the release was installed before it was \
             suspended nothing shows",
        )
        .with_help("resume the release, or take the edge away that counts on it")
        .at(input.repository.locate(&object.origin, &["spec", "suspend"]));
    Some(finding)
}
