//! Volumes that somebody made by hand: which one may a claim have? (Kubernetes, `FindMatchingVolume` of component-helpers and
//! `checkVolumeSatisfyClaim` of the volume controller.)

use std::collections::BTreeMap;

use firstpass_object::quantity::Quantity;
use firstpass_object::{GroupKind, ObjectExt, ObjectId, selects};
use serde_json::Value;

use crate::context::Context;

/// Whom a volume belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reserved {
    /// Nobody.
    Free,
    /// The claim that is asked for.
    Own,
    /// Another one.
    Other,
}

/// The volume of a class that a claim gets: reserved for it, or, unless `only_reserved`, the smallest that is free and fits.
pub(super) fn find(
    class: &str,
    claim: &Value,
    only_reserved: bool,
    taken: &BTreeMap<ObjectId, ObjectId>,
    context: &Context<'_>,
) -> Option<ObjectId> {
    let volumes = context
        .server
        .objects(&GroupKind::new("", "PersistentVolume"), None);
    let fitting = volumes.filter(|(id, volume)| {
        let reserved = reserved(volume, claim);
        let is_free = reserved == Reserved::Own || reserved == Reserved::Free && !only_reserved;
        is_free
            && !taken.contains_key(*id)
            && misfit(class, claim, volume).is_none()
            && is_selected(claim, volume)
    });
    let best = fitting.min_by_key(|(id, volume)| {
        let modes = volume.items_at(&["spec", "accessModes"]).len();
        (
            reserved(volume, claim) != Reserved::Own,
            modes,
            capacity(volume),
            (*id).clone(),
        )
    });
    best.map(|(id, _)| id.clone())
}

/// Why a claim cannot be bound to the volume that it names; `None` if it can.
pub(super) fn objection(class: &str, claim: &Value, volume: &Value, is_taken: bool) -> Option<&'static str> {
    if is_taken || reserved(volume, claim) == Reserved::Other {
        return Some("is bound to a different claim");
    }
    if reserved(volume, claim) == Reserved::Own {
        return None;
    }
    misfit(class, claim, volume)
}

/// What of a volume does not do for a claim.
fn misfit(class: &str, claim: &Value, volume: &Value) -> Option<&'static str> {
    if volume.at(&["metadata", "deletionTimestamp"]).is_some() {
        return Some("is being deleted");
    }
    if volume.text_at(&["spec", "storageClassName"]).unwrap_or_default() != class {
        return Some("has another storage class");
    }
    if capacity(volume) < request(claim) {
        return Some("is too small");
    }
    if mode(volume) != mode(claim) {
        return Some("has another volume mode");
    }
    let offered = volume.items_at(&["spec", "accessModes"]);
    let wanted = claim.items_at(&["spec", "accessModes"]);
    if wanted.iter().any(|wanted| !offered.contains(wanted)) {
        return Some("lacks an access mode");
    }
    None
}

fn reserved(volume: &Value, claim: &Value) -> Reserved {
    let Some(reference) = volume
        .at(&["spec", "claimRef"])
        .filter(|reference| !reference.is_null())
    else {
        return Reserved::Free;
    };
    let same_name = reference.text_at(&["name"]) == Some(claim.name());
    let same_namespace = reference
        .text_at(&["namespace"])
        .is_none_or(|namespace| Some(namespace) == claim.namespace());
    if same_name && same_namespace {
        Reserved::Own
    } else {
        Reserved::Other
    }
}

fn is_selected(claim: &Value, volume: &Value) -> bool {
    claim
        .at(&["spec", "selector"])
        .is_none_or(|selector| selects(selector, volume))
}

fn mode(object: &Value) -> &str {
    object.text_at(&["spec", "volumeMode"]).unwrap_or("Filesystem")
}

/// Bytes; what cannot be read counts as none.
fn capacity(volume: &Value) -> i128 {
    bytes(volume.at(&["spec", "capacity", "storage"]))
}

fn request(claim: &Value) -> i128 {
    bytes(claim.at(&["spec", "resources", "requests", "storage"]))
}

fn bytes(quantity: Option<&Value>) -> i128 {
    let parsed = quantity.and_then(|quantity| Quantity::from_value(quantity).ok());
    parsed.map_or(0, Quantity::ceil)
}
