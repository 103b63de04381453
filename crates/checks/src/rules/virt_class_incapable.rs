//! A default class for virtual disks that cannot do what virtual machines need.

use firstpass_diagnostics::{Finding, Severity};
use firstpass_object::ObjectExt;

use crate::input::At as _;
use crate::virt::{DEFAULT_VIRT_CLASS, Storage};
use crate::{Context, Rule, Status, wording};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "virt-class-incapable",
    summary: "a default class for virtual disks that cannot be shared between nodes, or cannot be cloned by the storage",
    severity: Severity::Warning,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/virt-class-incapable.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let storage = Storage::of(input);
    let marked = storage
        .classes()
        .filter(|class| class.object.annotation(DEFAULT_VIRT_CLASS) == Some("true"));
    let mut findings = Vec::new();
    for class in marked {
        let Some(abilities) = storage.abilities(&class.object) else {
            continue;
        };
        let mut lacks: Vec<&str> = Vec::new();
        if !abilities.shares() {
            lacks.push("share a disk between nodes (`ReadWriteMany`)");
        }
        if !abilities.clones() {
            lacks.push("clone a disk without copying it byte by byte");
        }
        if lacks.is_empty() {
            continue;
        }
        let id = class.id();
        let tier = input
            .cluster
            .objects()
            .find(|(_, object)| std::ptr::eq(*object, class))
            .map(|(tier, _)| tier);
        let mut finding = RULE
            .finding(format!("`{id}` is the default class for virtual disks and cannot {}", lacks.join(", nor ")))
            .with_object(&id)
            .with_why(format!(
                "CDI makes every disk that names no class of this one. Without shared access a machine cannot be migrated; without \
                 smart clones each new machine copies its whole image. By {} the class has {} and clones by `{}`",
                abilities.source,
                modes(&abilities.sets),
                abilities.clone
            ))
            .with_help(
                "mark another class, give this one the parameters that make it capable (Longhorn: `migratable: \"true\"`), bring a \
                 VolumeSnapshotClass of its driver, or say in its StorageProfile what it can do",
            )
            .at(input.repository.locate(&class.origin, &["metadata", "annotations", DEFAULT_VIRT_CLASS]));
        if let Some(tier) = tier {
            finding = finding.with_tier(&tier.name);
        }
        findings.push(finding);
    }
    findings
}

fn modes(sets: &[firstpass_knowledge::ClaimPropertySet]) -> String {
    let shown: Vec<String> = sets
        .iter()
        .map(|set| format!("`{} {}`", set.access_modes.join("/"), set.volume_mode))
        .collect();
    if shown.is_empty() {
        "no access mode".to_owned()
    } else {
        wording::and(&shown)
    }
}
