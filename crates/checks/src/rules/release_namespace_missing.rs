//! A HelmRelease that installs into a namespace which nothing makes.

use firstpass_baseline::Release;
use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_flux::HelmRelease;
use firstpass_object::ObjectId;
use firstpass_order::{Answer, Needed};
use firstpass_render::{RenderedObject, Tier};

use super::waited_for::never_healthy;
use super::{missing, release};
use crate::input::At as _;
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "release-namespace-missing",
    summary: "a HelmRelease that installs into a namespace which nothing makes",
    severity: Severity::Error,
    verdict: Some(Verdict::NeverReady),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/release-namespace-missing.md"),
    check,
};

/// Namespaces that every cluster has.
const ALWAYS: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

fn check(input: &Context<'_>) -> Vec<Finding> {
    release::all(input)
        .filter_map(|(tier, object)| finding(input, tier, object))
        .collect()
}

fn finding(input: &CheckInput<'_>, tier: &Tier, object: &RenderedObject) -> Option<Finding> {
    let read = HelmRelease::read(&object.object).value;
    let target = read.spec.target_namespace.clone()?;
    let creates = read.spec.install.create_namespace;
    if creates || read.spec.suspend || target == read.name.namespace || read.spec.kube_config.is_some() {
        return None;
    }
    let is_certain = object.is_certain(&["spec", "targetNamespace"]);
    if !is_certain || is_there(input, &target) {
        return None;
    }
    let id = object.id();
    let finding = RULE
        .finding(format!(
            "`{id}` installs into the namespace `{target}`, which nothing makes"
        ))
        .with_tier(&tier.name)
        .with_object(&id)
        .with_related([namespace(&target).to_string()])
        .with_why("Helm creates the namespace of a release only with `install.createNamespace: true`; without it the install fails")
        .with_help(format!(
            "set `install.createNamespace: true`, or add a Namespace `{target}`"
        ))
        .at(input
            .repository
            .locate(&object.origin, &["spec", "targetNamespace"]));
    let provable = is_provable(input, &target);
    Some(missing::weigh(never_healthy(input, tier, &id, finding), provable))
}

fn namespace(name: &str) -> ObjectId {
    ObjectId::new("", "Namespace", None, name)
}

fn is_there(input: &CheckInput<'_>, target: &str) -> bool {
    let wanted = namespace(target);
    let by_release = || {
        release::all(input).any(|(_, object)| {
            let other = Release::of_object(&object.object, &|_| None);
            other.creates_namespace && other.namespace == target
        })
    };
    ALWAYS.contains(&target)
        || input.stage.has_namespace(target)
        || input.cluster.roots.iter().any(|root| root.namespace == target)
        || input.cluster.seeds.iter().any(|seed| seed.id() == wanted)
        || input.cluster.find(&wanted).is_some()
        || by_release()
}

/// Whether nothing unseen may make it. Where objects live in it, the order graph has asked already.
fn is_provable(input: &CheckInput<'_>, target: &str) -> bool {
    let asked = input
        .graph
        .needs
        .iter()
        .find_map(|need| match (&need.needed, &need.answer) {
            (Needed::Namespace(name), Answer::Nobody { provable, .. }) if name == target => Some(*provable),
            _ => None,
        });
    let makes_namespaces = || {
        release::all(input).any(|(_, object)| {
            let found = |id: &ObjectId| {
                input
                    .cluster
                    .find(id)
                    .map(|(_, object)| std::sync::Arc::clone(&object.object))
            };
            let facts = Release::of_object(&object.object, &found).facts(input.knowledge);
            facts.is_none_or(|facts| facts.chart.makes_namespaces)
        })
    };
    asked.unwrap_or_else(|| input.graph.unknowns.is_empty() && !makes_namespaces())
}
