//! What rendering has found, handed to the rules that are about it.

use firstpass_diagnostics::{Finding, Severity, Verdict};

use super::circle;
use crate::{CheckInput, Rule};

/// The findings of rendering that carry the rule's name. A refusal also says which tiers it blocks.
pub(crate) fn findings(input: &CheckInput<'_>, rule: &Rule) -> Vec<Finding> {
    let mut found: Vec<Finding> = input
        .cluster
        .tiers
        .iter()
        .flat_map(firstpass_render::Tier::findings)
        .filter(|finding| finding.rule == rule.name)
        .collect();
    for finding in &mut found {
        add_tier(input, finding);
        let refused = finding.severity == Severity::Error && finding.verdict == Some(Verdict::Invalid);
        let tier = finding
            .tier
            .as_ref()
            .and_then(|tier| input.graph.tiers.find(tier));
        if let Some(tier) = tier.filter(|_| refused) {
            finding.blocks = input.blocked_by(tier, false);
        }
    }
    found
}

/// What is about no single object is about the Flux Kustomization, and shown there.
fn add_tier(input: &CheckInput<'_>, finding: &mut Finding) {
    let tier = finding.tier.as_ref().and_then(|tier| input.cluster.tier(tier));
    let Some(tier) = tier.filter(|_| finding.object.is_none()) else {
        return;
    };
    let about = finding.clone().with_object(&circle::object(&tier.name));
    *finding = about;
    if finding.location.is_none() {
        finding.location = input.place_in_tier(tier, &["spec", "path"]);
    }
}
