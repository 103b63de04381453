//! What follows from an object that never becomes healthy: it depends on whether its tier waits for it.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_object::ObjectId;
use firstpass_order::{Gate, TierIndex};
use firstpass_render::Tier;

use crate::CheckInput;

/// Whether a tier is Ready only when the object is.
pub(crate) fn is_waited_for(input: &CheckInput<'_>, tier: TierIndex, object: &ObjectId) -> bool {
    match &input.graph.tiers.node(tier).gate {
        Gate::Nothing => false,
        Gate::Everything => true,
        Gate::Listed(targets) => targets.contains(object),
    }
}

/// A finding about an object that never becomes healthy. Its tier is never Ready if it waits for the object; otherwise the
/// tier comes up without it.
pub(crate) fn never_healthy(
    input: &CheckInput<'_>,
    tier: &Tier,
    object: &ObjectId,
    mut finding: Finding,
) -> Finding {
    let Some(index) = input.graph.tiers.find(&tier.name) else {
        return finding;
    };
    if is_waited_for(input, index, object) {
        finding.blocks = input.blocked_by(index, true);
    } else {
        finding.severity = Severity::Warning;
        finding.verdict = Some(Verdict::Hazard);
    }
    finding
}
