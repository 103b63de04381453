//! What rules about HelmReleases share.

use firstpass_flux::HelmRelease;
use firstpass_render::{RenderedObject, Tier};

use crate::CheckInput;

/// The HelmReleases of a cluster with their tiers.
pub(crate) fn all<'a>(input: &CheckInput<'a>) -> impl Iterator<Item = (&'a Tier, &'a RenderedObject)> {
    let objects = input.cluster.objects();
    objects.filter(|(_, object)| HelmRelease::is(&object.object))
}
