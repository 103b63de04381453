//! The objects, by owner.

use std::fmt::Write as _;

use firstpass_rehearse::{FieldManager, OwnedObject, Owner};

use crate::clean::clean;
use crate::text::{Paint, Style};

pub(super) fn render(objects: &[OwnedObject], style: Style) -> String {
    let mut text = String::new();
    for group in objects.chunk_by(|one, other| one.owner == other.owner) {
        let owner = &group[0].owner;
        let count = group.len();
        let head = format!(
            "{}: {count} object{}",
            title(owner),
            if count == 1 { "" } else { "s" }
        );
        let _ = writeln!(text, "\n{}", style.paint(Paint::Bold, &clean(&head)));
        if *owner == Owner::Baseline && !style.verbose {
            let _ = writeln!(text, "  {}", style.paint(Paint::Dim, "-v lists them"));
            continue;
        }
        let width = group
            .iter()
            .map(|object| object.object.chars().count())
            .max()
            .unwrap_or(0);
        for object in group {
            let line = format!("{:width$}  {}", object.object, managers(object, style));
            let _ = writeln!(text, "  {}", clean(line.trim_end()));
        }
    }
    text
}

fn title(owner: &Owner) -> String {
    match owner {
        Owner::Baseline => "there before Flux".to_owned(),
        Owner::Tier(tier) => format!("Flux Kustomization {tier}"),
        Owner::LabelsOnly(tier) => {
            format!("Flux Kustomization {tier} by their labels, and not in its inventory")
        }
        Owner::Release(release) => format!("HelmRelease {release}"),
        Owner::Operator(operator) => format!("operator {operator}"),
        Owner::Object(object) => format!("owner reference to {object}"),
        Owner::Controller(controller) => controller.clone(),
    }
}

/// Who owns fields of it, where that is more than one: `cdi-controller, kustomize-controller`. Whoever writes the status
/// and nothing else is no news.
fn managers(object: &OwnedObject, style: Style) -> String {
    let is_shown = |manager: &&FieldManager| style.verbose || !manager.status_only;
    let word = |manager: &FieldManager| match manager.status_only {
        true => format!("{} (status)", manager.name),
        false => manager.name.clone(),
    };
    let shown: Vec<String> = object.managers.iter().filter(is_shown).map(word).collect();
    if shown.len() < 2 {
        String::new()
    } else {
        shown.join(", ")
    }
}
