//! Pods of a PriorityClass or RuntimeClass that nothing makes.

use std::collections::BTreeSet;

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_object::{ObjectExt, ObjectId};
use firstpass_render::{RenderedObject, Tier};

use super::waited_for::never_healthy;
use super::{missing, release};
use crate::input::At as _;
use crate::pods::{self, PodNeed};
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "pod-class-missing",
    summary: "pods of a PriorityClass or RuntimeClass that nothing makes",
    severity: Severity::Error,
    verdict: Some(Verdict::NeverReady),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/pod-class-missing.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let classes: BTreeSet<ObjectId> = input
        .cluster
        .objects()
        .map(|(_, object)| object.id())
        .chain(input.stage.objects.iter().map(|(object, _)| object.id()))
        .filter(is_class)
        .collect();
    let mut findings = Vec::new();
    for (tier, object) in input.cluster.objects() {
        for need in pods::needs(&object.object) {
            if is_class(&need.object) && !classes.contains(&need.object) && object.is_certain(&["spec"]) {
                findings.push(finding(input, tier, object, &need));
            }
        }
    }
    findings
}

fn is_class(id: &ObjectId) -> bool {
    id.is("scheduling.k8s.io", "PriorityClass") || id.is("node.k8s.io", "RuntimeClass")
}

fn finding(input: &CheckInput<'_>, tier: &Tier, object: &RenderedObject, need: &PodNeed) -> Finding {
    let id = object.id();
    let field: Vec<&str> = need.path.iter().map(String::as_str).collect();
    let finding = RULE
        .finding(format!(
            "nothing makes `{}`, which the pods of `{id}` name",
            need.object
        ))
        .with_tier(&tier.name)
        .with_object(&id)
        .with_related([need.object.to_string()])
        .with_why(format!(
            "Kubernetes admits no pod of a class that does not exist, so `{id}` never has one"
        ))
        .with_help(format!(
            "add the {}, or leave `{}` out",
            need.object.kind,
            field.last().unwrap_or(&"it")
        ))
        .at(input.repository.locate(&object.origin, &field));
    // Charts make classes as well, and so do distributions and their extensions.
    let by_charts = release::all(input).next().is_some() || !input.stage.releases.is_empty();
    let by_node = need.object.kind == "RuntimeClass";
    let finding = never_healthy(input, tier, &id, finding);
    missing::weigh(finding, input.graph.unknowns.is_empty() && !by_charts && !by_node)
}
