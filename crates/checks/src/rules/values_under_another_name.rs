//! A HelmRelease whose values come from an object that a generator has given another name.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_flux::{HelmRelease, ValuesFrom};
use firstpass_object::ObjectId;
use firstpass_order::hashed_twin;
use firstpass_render::{RenderedObject, Tier};

use super::release;
use super::waited_for::never_healthy;
use crate::input::At as _;
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "values-under-another-name",
    summary: "a HelmRelease whose values are in an object that a generator has given a hash",
    severity: Severity::Error,
    verdict: Some(Verdict::NeverReady),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/values-under-another-name.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (tier, object) in release::all(input) {
        let read = HelmRelease::read(&object.object).value;
        let required = read.spec.values_from.iter().enumerate();
        for (index, from) in required.filter(|(_, from)| !from.optional) {
            let wanted = ObjectId::new("", &from.kind, Some(&read.name.namespace), &from.name);
            if let Some(hashed) = hashed_twin(input.cluster, &wanted) {
                findings.push(finding(input, tier, object, from, index, &hashed));
            }
        }
    }
    findings
}

fn finding(
    input: &CheckInput<'_>,
    tier: &Tier,
    object: &RenderedObject,
    from: &ValuesFrom,
    index: usize,
    hashed: &ObjectId,
) -> Finding {
    let id = object.id();
    let message = format!(
        "`{id}` takes values from {} `{}`, which a generator has named `{}`",
        from.kind, from.name, hashed.name
    );
    let why = "kustomize appends a hash to the names of generated objects and rewrites references only where it knows the field; \
               `valuesFrom` of a HelmRelease is not among those. helm-controller looks for the name as written, for good";
    let help = "name the field in a `configurations` file of the kustomization (`nameReference` with fieldSpec \
                `spec/valuesFrom/name` of HelmRelease), or set `generatorOptions.disableNameSuffixHash: true`";
    let index = index.to_string();
    let finding = RULE
        .finding(message)
        .with_tier(&tier.name)
        .with_object(&id)
        .with_related([hashed.to_string()])
        .with_why(why)
        .with_help(help)
        .at(input
            .repository
            .locate(&object.origin, &["spec", "valuesFrom", &index, "name"]));
    never_healthy(input, tier, &id, finding)
}
