//! `force` over objects that hold data.

use firstpass_diagnostics::{Finding, Severity};
use firstpass_object::ObjectExt;
use firstpass_render::{RenderedObject, Tier};

use crate::input::At as _;
use crate::{CheckInput, Context, Rule, Status, wording};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "force-recreates-data",
    summary: "`force` over a claim or a CRD, which a change of a fixed field would delete",
    severity: Severity::Warning,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/force-recreates-data.md"),
    check,
};

/// Switches `force` on for one object (F-240).
const FORCE: &str = "kustomize.toolkit.fluxcd.io/force";
/// Keeps Flux from changing an object that is there.
const APPLY_ONCE: &str = "kustomize.toolkit.fluxcd.io/ssa";

fn check(input: &Context<'_>) -> Vec<Finding> {
    let tiers = input.cluster.tiers.iter();
    tiers.filter_map(|tier| finding(input, tier)).collect()
}

fn finding(input: &CheckInput<'_>, tier: &Tier) -> Option<Finding> {
    let forced: Vec<&RenderedObject> = tier
        .objects()
        .iter()
        .filter(|object| holds_data(object) && is_forced(tier, object))
        .collect();
    let first = forced.first()?;
    let ids: Vec<_> = forced.iter().map(|object| object.id()).collect();
    let place = if tier.kustomization.spec.force {
        input.place_in_tier(tier, &["spec", "force"])
    } else {
        input
            .repository
            .locate(&first.origin, &["metadata", "annotations", FORCE])
    };
    Some(
        RULE.finding(format!(
            "`force` lets Flux delete {} to change a fixed field",
            wording::objects(&ids.iter().collect::<Vec<_>>())
        ))
        .with_tier(&tier.name)
        .with_object(&first.id())
        .with_related(ids.iter().skip(1).map(ToString::to_string))
        .with_why(
            "where a change touches a field that cannot be changed, such as a claim's StorageClass, Flux with `force` deletes the \
             object and creates it anew. What was in the claim, or of the kind, is gone; without `force` the tier would fail and \
             say so",
        )
        .with_help(format!(
            "remove `spec.force` and put the annotation `{FORCE}: enabled` on the objects that may be re-created, such as Jobs"
        ))
        .at(place),
    )
}

fn holds_data(object: &RenderedObject) -> bool {
    let id = object.id();
    id.is("", "PersistentVolumeClaim")
        || id.is("", "PersistentVolume")
        || id.is("apiextensions.k8s.io", "CustomResourceDefinition")
}

fn is_forced(tier: &Tier, object: &RenderedObject) -> bool {
    let annotation = |key: &str| {
        let value = object.object.annotation(key).or_else(|| object.object.label(key));
        value.map(str::to_lowercase)
    };
    let applied_once = annotation(APPLY_ONCE).is_some_and(|value| value != "merge" && value != "override");
    let forced = tier.kustomization.spec.force || annotation(FORCE).is_some_and(|value| value == "enabled");
    forced && !applied_once
}
