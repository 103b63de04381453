//! A machine that no drain gets rid of.

use firstpass_diagnostics::{Finding, Severity};
use firstpass_object::ObjectExt;
use firstpass_render::{RenderedObject, Tier};
use serde_json::Value;

use super::vm_disk_not_migratable::machines;
use crate::input::At as _;
use crate::virt::eviction;
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "vm-blocks-drain",
    summary: "a virtual machine whose eviction strategy would hold up a drain for ever",
    severity: Severity::Warning,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/vm-blocks-drain.md"),
    check,
};

/// Lets a machine with a bridge to the pod network migrate all the same.
const MAY_MIGRATE: &str = "kubevirt.io/allow-pod-bridge-network-live-migration";

fn check(input: &Context<'_>) -> Vec<Finding> {
    machines(input)
        .filter_map(|(tier, machine)| finding(input, tier, machine))
        .collect()
}

/// Why a drain waits, and the field that shows it.
struct Obstacle {
    why: String,
    field: Vec<&'static str>,
}

fn finding(input: &CheckInput<'_>, tier: &Tier, machine: &RenderedObject) -> Option<Finding> {
    let eviction = eviction(input, &machine.object)?;
    let obstacle = match eviction.strategy.as_str() {
        "External" => (!has_external_evictor(input)).then(|| Obstacle {
            why: "with `External` KubeVirt refuses the eviction and leaves the move to a controller of yours, and no such controller is \
                  in this cluster"
                .to_owned(),
            field: vec!["evictionStrategy"],
        }),
        "LiveMigrate" => fixed_by(&machine.object),
        _ => None,
    }?;
    let id = machine.id();
    let field: Vec<&str> = ["spec", "template", "spec"]
        .into_iter()
        .chain(obstacle.field)
        .collect();
    Some(
        RULE.finding(format!("`{id}` cannot be evicted with `evictionStrategy: {}`", eviction.strategy))
            .with_tier(&tier.name)
            .with_object(&id)
            .with_why(format!("{}. A drain of the node that it runs on waits for ever", obstacle.why))
            .with_help(
                "set `evictionStrategy: None` (or `LiveMigrateIfPossible`), so that the machine is shut down when its node is drained, \
                 or remove what keeps it there",
            )
            .at(input.repository.locate(&machine.origin, &field)),
    )
}

/// What other than a disk keeps a machine on its node.
fn fixed_by(machine: &Value) -> Option<Obstacle> {
    let at = |path: &[&str]| {
        machine
            .at(&[&["spec", "template", "spec"], path].concat())
            .cloned()
    };
    let list = |path: &[&str]| {
        at(path)
            .and_then(|value| value.as_array().cloned())
            .unwrap_or_default()
    };
    for (devices, what) in [("hostDevices", "a device"), ("gpus", "a GPU")] {
        if !list(&["domain", "devices", devices]).is_empty() {
            return Some(Obstacle {
                why: format!(
                    "`LiveMigrate` means that the machine has to move first, and {what} of its node cannot move with it"
                ),
                field: vec!["domain", "devices", devices],
            });
        }
    }
    let pinned =
        at(&["nodeSelector"]).is_some_and(|selector| selector.get("kubernetes.io/hostname").is_some());
    if pinned {
        return Some(Obstacle {
            why: "`LiveMigrate` means that the machine has to move first, and its `nodeSelector` allows one node alone".to_owned(),
            field: vec!["nodeSelector"],
        });
    }
    let may_migrate = machine
        .at(&["spec", "template", "metadata", "annotations", MAY_MIGRATE])
        .is_some();
    let interfaces = list(&["domain", "devices", "interfaces"]);
    let networks = list(&["networks"]);
    let bridged = interfaces.iter().any(|interface| {
        let network = networks
            .iter()
            .find(|network| network.name_key() == interface.name_key());
        interface.get("bridge").is_some() && network.is_some_and(|network| network.get("pod").is_some())
    });
    (bridged && !may_migrate).then(|| Obstacle {
        why: "`LiveMigrate` means that the machine has to move first, and a bridge to the pod network cannot move: its address belongs \
              to the node"
            .to_owned(),
        field: vec!["domain", "devices", "interfaces"],
    })
}

trait NameKey {
    fn name_key(&self) -> Option<&str>;
}

impl NameKey for Value {
    fn name_key(&self) -> Option<&str> {
        self.get("name").and_then(Value::as_str)
    }
}

/// Cluster API and Kubermatic move machines with `External`.
fn has_external_evictor(input: &CheckInput<'_>) -> bool {
    input.cluster.objects().any(|(_, object)| {
        let id = object.id();
        ["capk", "cluster-api", "machine-controller"]
            .iter()
            .any(|word| id.name.contains(word))
    })
}
