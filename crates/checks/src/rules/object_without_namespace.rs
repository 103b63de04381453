//! A namespaced object that names no namespace.

use std::collections::BTreeSet;

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_object::{GroupKind, ObjectExt, ObjectId};
use firstpass_render::{RenderedObject, Tier};
use firstpass_schema::Scope;

use crate::input::At as _;
use crate::{CheckInput, Context, Rule, Status, wording};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "object-without-namespace",
    summary: "a namespaced object that names no namespace",
    severity: Severity::Error,
    verdict: Some(Verdict::Invalid),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/object-without-namespace.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let custom = namespaced_kinds(input);
    let tiers = input.cluster.tiers.iter();
    tiers.filter_map(|tier| finding(input, tier, &custom)).collect()
}

/// Flux sends such an object to an address that does not exist: there is no default namespace (F-300).
fn finding(input: &CheckInput<'_>, tier: &Tier, custom: &BTreeSet<GroupKind>) -> Option<Finding> {
    let lacks =
        |object: &&RenderedObject| object.object.namespace().is_none() && is_namespaced(object, custom);
    let found: Vec<&RenderedObject> = tier.objects().iter().filter(lacks).collect();
    let first = found.first()?;
    let ids: Vec<ObjectId> = found.iter().map(|object| object.id()).collect();
    let all: Vec<&ObjectId> = ids.iter().collect();
    let message = format!(
        "{} of `{}` {} no namespace",
        wording::objects(&all),
        tier.name,
        if all.len() == 1 { "names" } else { "name" }
    );
    let why = format!(
        "Flux knows no default namespace: neither `default` nor its own is meant. The dry-run of `{}` fails with `namespace not \
         specified`, and with it the whole pass",
        ids[0]
    );
    let help = "set `metadata.namespace`, `namespace` in the kustomization file, or `spec.targetNamespace` of the tier";
    let mut finding = RULE
        .finding(message)
        .with_tier(&tier.name)
        .with_object(&ids[0])
        .with_related(ids[1..].iter().map(ObjectId::to_string))
        .with_why(why)
        .with_help(help)
        .at(input.repository.locate(&first.origin, &["metadata", "name"]));
    if let Some(index) = input.graph.tiers.find(&tier.name) {
        finding.blocks = input.blocked_by(index, false);
    }
    Some(finding)
}

fn is_namespaced(object: &RenderedObject, custom: &BTreeSet<GroupKind>) -> bool {
    let gvk = object.object.gvk();
    match firstpass_schema::scope(&gvk.group, &gvk.version, &gvk.kind) {
        Some(scope) => scope == Scope::Namespaced,
        None => custom.contains(&gvk.group_kind()),
    }
}

/// Custom kinds whose CRD says so: those in git and Flux's own.
fn namespaced_kinds(input: &CheckInput<'_>) -> BTreeSet<GroupKind> {
    let crds = input.cluster.objects().filter_map(|(_, object)| {
        let crd = &*object.object;
        let namespaced = crd.text_at(&["spec", "scope"]) == Some("Namespaced");
        (crd.kind() == "CustomResourceDefinition" && namespaced).then_some(())?;
        Some(GroupKind::new(
            crd.text_at(&["spec", "group"])?,
            crd.text_at(&["spec", "names", "kind"])?,
        ))
    });
    let flux = input.stage.kinds.iter();
    let flux = flux.filter(|(kind, staged)| kind.group.ends_with(".toolkit.fluxcd.io") && staged.namespaced);
    crds.chain(flux.map(|(kind, _)| kind.clone())).collect()
}
