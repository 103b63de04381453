//! Claims: with a class that binds late, a claim is bound only when a pod uses it (F-525).

use firstpass_object::{ObjectExt, ObjectId};
use serde_json::Value;

use crate::need::{Answer, Need, Needed};
use crate::tiers::{Before, Gate, TierIndex};
use crate::world::{Place, World};

/// Marks the class that claims without one get.
const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

/// The claims that a tier waits for and that need a pod.
pub(crate) fn needs(world: &World<'_>, tier: TierIndex, _before: &Before) -> Vec<Need> {
    let waited = |id: &ObjectId| match &world.tiers.node(tier).gate {
        Gate::Nothing => false,
        Gate::Everything => true,
        Gate::Listed(targets) => targets.contains(id),
    };
    let mut needs = Vec::new();
    for object in world.objects(tier) {
        let id = object.id();
        if !id.is("", "PersistentVolumeClaim") || !waited(&id) || !binds_late(world, &object.object) {
            continue;
        }
        needs.push(Need {
            tier,
            needed: Needed::Consumer { claim: id.clone() },
            by: id.clone(),
            also: Vec::new(),
            origin: object.origin.clone(),
            answer: answer(world, tier, &id),
        });
    }
    needs
}

fn answer(world: &World<'_>, tier: TierIndex, claim: &ObjectId) -> Answer {
    let consumers: Vec<Place<'_>> = world
        .by_id
        .values()
        .flatten()
        .filter(|place| place.object.object.namespace() == claim.namespace.as_deref())
        .filter(|place| uses(&place.object.object, &claim.name))
        .copied()
        .collect();
    let answers = consumers.iter().map(|place| {
        let provider = world.manifest(*place);
        if place.tier == tier {
            return Answer::SamePass;
        }
        match world.waits_for(place.tier, tier) {
            Some(how @ crate::Blocked::BehindUs(_)) => Answer::Blocked { provider, how },
            _ => Answer::Guaranteed {
                provider,
                barrier: "the wait lasts until a pod uses the claim".to_owned(),
            },
        }
    });
    answers.reduce(Answer::better).unwrap_or_else(|| {
        let in_namespace = |namespace: &str| claim.namespace.as_deref() == Some(namespace);
        let release = world
            .releases
            .iter()
            .any(|at| in_namespace(&at.release.namespace));
        Answer::Nobody {
            provable: world.unknowns.is_empty() && !release && world.operators.is_empty(),
            hint: None,
        }
    })
}

/// Whether a claim waits for its first pod: its class says so, in git or in the baseline.
fn binds_late(world: &World<'_>, claim: &Value) -> bool {
    let class = match claim.at(&["spec", "storageClassName"]).and_then(Value::as_str) {
        // An empty class asks for a volume that is there already; that binds at once.
        Some("") => return false,
        Some(name) => find_class(world, |class| class.name() == name),
        None => find_class(world, |class| class.annotation(DEFAULT_CLASS) == Some("true")),
    };
    class.is_some_and(|class| class.text_at(&["volumeBindingMode"]) == Some("WaitForFirstConsumer"))
}

fn find_class<'w>(world: &'w World<'_>, is: impl Fn(&Value) -> bool) -> Option<&'w Value> {
    let in_git = world
        .by_id
        .iter()
        .filter(|(id, _)| id.is("storage.k8s.io", "StorageClass"));
    let in_git = in_git
        .flat_map(|(_, places)| places)
        .map(|place| &*place.object.object);
    let staged = world
        .stage
        .objects
        .iter()
        .map(|(object, _)| &**object)
        .filter(|object| object.kind() == "StorageClass");
    let charts = world
        .releases
        .iter()
        .filter_map(|at| at.facts.as_ref())
        .flat_map(|facts| &facts.objects);
    let charts = charts.filter(|object| object.kind() == "StorageClass");
    in_git.chain(staged).chain(charts).find(|class| is(class))
}

/// Whether an object starts pods that mount a claim.
fn uses(object: &Value, claim: &str) -> bool {
    let template: &[&str] = match object.kind() {
        "Pod" => &["spec"],
        "CronJob" => &["spec", "jobTemplate", "spec", "template", "spec"],
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job" => &["spec", "template", "spec"],
        _ => return false,
    };
    // A workload that is scaled to nothing or suspended starts no pod.
    let idle = object.at(&["spec", "replicas"]) == Some(&Value::from(0))
        || object.at(&["spec", "suspend"]) == Some(&Value::Bool(true));
    let pod = object.at(template).unwrap_or(&Value::Null);
    !idle
        && pod
            .items_at(&["volumes"])
            .iter()
            .any(|volume| volume.text_at(&["persistentVolumeClaim", "claimName"]) == Some(claim))
}
