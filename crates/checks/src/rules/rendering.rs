//! What rendering has found, handed to the rules that are about it.

use firstpass_diagnostics::{Finding, Severity, Verdict};

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
