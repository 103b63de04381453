//! An overlay that is more, or less, than the base with other values.

use firstpass_diagnostics::{Finding, Severity};
use firstpass_object::ObjectId;

use crate::fleet::Overlay;
use crate::input::At as _;
use crate::{Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "overlay-adds-object",
    summary: "a cluster that applies an object which the base does not have, or leaves one out",
    severity: Severity::Error,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/overlay-adds-object.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let Some(overlay) = Overlay::of(input, input.cluster) else {
        return Vec::new();
    };
    let root = input
        .cluster
        .roots
        .first()
        .and_then(|root| input.cluster.tier(root));
    let entry = input.cluster.entry.path();
    let base = &overlay.rules.base;
    let finding = |id: &ObjectId, message: String| {
        let mut finding = RULE
            .finding(message)
            .with_object(id)
            .with_why(format!(
                "`overlays` in firstpass.yaml says that `{base}` authors the clusters once. An object that one cluster alone has is \
                 never tried on the others, and what comes up there proves nothing here"
            ))
            .with_help(format!("move the object into `{base}`, and let the clusters differ by values"));
        if let Some(root) = root {
            finding = finding.with_tier(&root.name);
        }
        finding
    };
    let added = overlay
        .own
        .iter()
        .filter(|(id, _)| !overlay.base.contains_key(id))
        .map(|(id, object)| {
            finding(id, format!("`{entry}` adds `{id}`, which `{base}` does not have"))
                .at(input.repository.locate(&object.origin, &["metadata", "name"]))
        });
    let missing = overlay
        .base
        .iter()
        .filter(|(id, _)| !overlay.own.contains_key(id))
        .map(|(id, object)| {
            finding(id, format!("`{entry}` leaves out `{id}` of `{base}`"))
                .at(input.repository.locate(&object.origin, &["metadata", "name"]))
        });
    added.chain(missing).collect()
}
