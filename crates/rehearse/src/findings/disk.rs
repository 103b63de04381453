//! Disks that were made with other modes than their StorageProfile says in the end: nothing mends that.

use firstpass_controllers::Stamp;
use firstpass_diagnostics::{Finding, Location, Severity, Verdict, duration_text};
use firstpass_object::{GroupKind, ObjectExt, ObjectId};
use serde_json::Value;

use super::Own;
use crate::explain::Explainer;

/// Disks that keep for good what held only for a moment, with the tier of each.
pub(super) fn disks(explainer: &Explainer<'_>) -> Vec<(ObjectId, Own)> {
    let stamps = explainer.world.disks.stamps().iter();
    stamps
        .filter(|(_, stamp)| stamp.from_profile)
        .filter_map(|(volume, stamp)| Some((volume.clone(), disk(explainer, volume, stamp)?)))
        .collect()
}

fn disk(explainer: &Explainer<'_>, volume: &ObjectId, stamp: &Stamp) -> Option<Own> {
    let profile = ObjectId::new("cdi.kubevirt.io", "StorageProfile", None, &stamp.class);
    let stored = explainer.world.server.object(&profile)?;
    let set = stored.items_at(&["status", "claimPropertySets"]).first()?;
    let modes: Vec<&str> = set
        .items_at(&["accessModes"])
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let volume_mode = set.text_at(&["volumeMode"]).unwrap_or("Filesystem");
    if modes == stamp.access_modes && volume_mode == stamp.volume_mode {
        return None;
    }
    let tier = explainer.bringer(volume)?;
    let made = format!("{} and {}", stamp.access_modes.join(", "), stamp.volume_mode);
    let wanted = format!("{} and {volume_mode}", modes.join(", "));
    let loses_moves = !stamp.can_move() && modes.contains(&"ReadWriteMany");
    let machines = if loses_moves {
        machines(explainer, volume)
    } else {
        Vec::new()
    };
    let consequence = match machines.as_slice() {
        [] if loses_moves => " A machine on it can never move to another node while it runs.".to_owned(),
        [] => String::new(),
        machines => format!(
            " {} can never move to another node while it runs.",
            machines.join(", ")
        ),
    };
    let mut finding = Finding::new(
        "read-once-without-edge",
        Severity::Warning,
        Some(Verdict::Hazard),
        format!("`{volume}` is made before `{profile}` says how, and keeps what it was made with for good"),
    )
    .with_tier(tier)
    .with_object(volume)
    .with_related([profile.to_string()])
    .with_why("CDI takes the modes of a disk from its profile when it makes the claim, and a claim's modes cannot change")
    .with_help("order the tier of the disk after the tier of the profile, or write the modes into the disk itself");
    if let Some(rendered) = explainer.rendered(volume) {
        finding.location = Some(Location::new(
            &rendered.origin.file,
            rendered.origin.line.max(1),
            1,
        ));
    }
    Some(Own {
        finding,
        evidence: format!(
            "In the rehearsal `{volume}` was made at {} with {made}, and keeps them; `{profile}` says {wanted} in the \
             end.{consequence}",
            duration_text(explainer.seconds(stamp.at))
        ),
    })
}

/// The virtual machines that run on a disk.
fn machines(explainer: &Explainer<'_>, volume: &ObjectId) -> Vec<String> {
    let kind = GroupKind::new("kubevirt.io", "VirtualMachine");
    let machines = explainer.world.server.objects(&kind, volume.namespace.as_deref());
    let uses = |machine: &Value| {
        let volumes = machine.items_at(&["spec", "template", "spec", "volumes"]).iter();
        let names = volumes.filter_map(|entry| {
            entry
                .text_at(&["dataVolume", "name"])
                .or_else(|| entry.text_at(&["persistentVolumeClaim", "claimName"]))
        });
        names.into_iter().any(|name| name == volume.name)
    };
    machines
        .filter(|(_, machine)| uses(machine))
        .map(|(id, _)| format!("`{id}`"))
        .collect()
}
