//! A machine that is to migrate and whose disk stays behind.

use firstpass_diagnostics::{Finding, Severity};
use firstpass_render::{RenderedObject, Tier};

use crate::input::At as _;
use crate::virt::{Storage, eviction, fixed_disk};
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "vm-disk-not-migratable",
    summary: "a virtual machine that is to migrate live from a disk that one node holds",
    severity: Severity::Warning,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/vm-disk-not-migratable.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let mut machines = machines(input).peekable();
    if machines.peek().is_none() {
        return Vec::new();
    }
    let storage = Storage::of(input);
    machines
        .filter_map(|(tier, machine)| finding(input, &storage, tier, machine))
        .collect()
}

/// The virtual machines of a cluster.
pub(crate) fn machines<'a>(input: &CheckInput<'a>) -> impl Iterator<Item = (&'a Tier, &'a RenderedObject)> {
    let objects = input.cluster.objects();
    objects.filter(|(_, object)| object.id().is("kubevirt.io", "VirtualMachine"))
}

fn finding(
    input: &CheckInput<'_>,
    storage: &Storage<'_>,
    tier: &Tier,
    machine: &RenderedObject,
) -> Option<Finding> {
    let eviction = eviction(input, &machine.object).filter(|eviction| eviction.strategy == "LiveMigrate")?;
    let disk = fixed_disk(storage, &machine.object)?;
    let id = machine.id();
    let from = match &eviction.from {
        Some(kubevirt) => format!("`{kubevirt}` asks for `LiveMigrate`"),
        None => "its `evictionStrategy` is `LiveMigrate`".to_owned(),
    };
    Some(
        RULE.finding(format!("`{id}` is to migrate live, and `{}` cannot be on two nodes at once", disk.volume))
            .with_tier(&tier.name)
            .with_object(&id)
            .with_related([disk.volume.to_string()])
            .with_why(format!(
                "{from}, so KubeVirt refuses to evict the machine until it has moved, and it cannot move: {}. A drain of its node \
                 waits for ever",
                disk.why
            ))
            .with_help(
                "put the disk on a class with `ReadWriteMany`, or set `evictionStrategy: None` (or `LiveMigrateIfPossible`), so that the \
                 machine is shut down when its node is drained",
            )
            .at(input.repository.locate(&machine.origin, &["spec", "template", "spec", "evictionStrategy"])),
    )
}
