//! What rules about HelmReleases share.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_flux::HelmRelease;
use firstpass_object::ObjectId;
use firstpass_order::Gate;
use firstpass_render::{RenderedObject, Tier};

use crate::CheckInput;

/// The HelmReleases of a cluster with their tiers.
pub(crate) fn all<'a>(input: &CheckInput<'a>) -> impl Iterator<Item = (&'a Tier, &'a RenderedObject)> {
    let objects = input.cluster.objects();
    objects.filter(|(_, object)| HelmRelease::is(&object.object))
}

/// A release that is never installed: its tier is never Ready if it waits for the release; otherwise the tier comes up
/// without it.
pub(crate) fn never_installed(
    input: &CheckInput<'_>,
    tier: &Tier,
    release: &ObjectId,
    mut finding: Finding,
) -> Finding {
    let Some(index) = input.graph.tiers.find(&tier.name) else {
        return finding;
    };
    let waits = match &input.graph.tiers.node(index).gate {
        Gate::Nothing => false,
        Gate::Everything => true,
        Gate::Listed(targets) => targets.contains(release),
    };
    if waits {
        finding.blocks = input.blocked_by(index, true);
    } else {
        finding.severity = Severity::Warning;
        finding.verdict = Some(Verdict::Hazard);
    }
    finding
}
