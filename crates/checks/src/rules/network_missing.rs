//! A cluster without a network for pods, so that Flux itself never runs.

use firstpass_baseline::Release;
use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_knowledge::chart_name;
use firstpass_object::ObjectExt;

use super::{circle, release};
use crate::input::At as _;
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "network-missing",
    summary: "a cluster whose network plugin only Flux would install",
    severity: Severity::Error,
    verdict: Some(Verdict::Deadlock),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/network-missing.md"),
    check,
};

/// Charts that bring a network to pods.
const NETWORK_CHARTS: [&str; 7] = [
    "antrea",
    "canal",
    "cilium",
    "flannel",
    "kube-ovn",
    "kube-router",
    "tigera-operator",
];

fn check(input: &Context<'_>) -> Vec<Finding> {
    finding(input).into_iter().collect()
}

/// Flux's own pods are no host pods: without a network they stay Pending.
fn finding(input: &CheckInput<'_>) -> Option<Finding> {
    let stage = input.stage;
    let by_manifest = stage
        .objects
        .iter()
        .any(|(object, _)| object.kind() == "DaemonSet");
    if stage.network.is_some() || stage.has_unknown_parts || by_manifest || !stage.releases.is_empty() {
        return None;
    }
    let roots: Vec<_> = input
        .cluster
        .roots
        .iter()
        .filter_map(|root| input.graph.tiers.find(root))
        .collect();
    let root = input.cluster.tier(input.cluster.roots.first()?)?;
    let brings = release::all(input).find(|(_, object)| {
        let chart = Release::of_object(&object.object, &|_| None).chart.name;
        NETWORK_CHARTS.contains(&chart_name(&chart))
    });
    let (tier, object, place, verdict) = match brings {
        Some((tier, object)) => (
            tier,
            object.id(),
            input.repository.locate(&object.origin, &["metadata", "name"]),
            Verdict::Deadlock,
        ),
        None => (
            root,
            circle::object(&root.name),
            root.location.clone(),
            Verdict::NeverReady,
        ),
    };
    let only = if verdict == Verdict::Deadlock {
        format!(": only `{object}` would bring one")
    } else {
        String::new()
    };
    let message = format!("no network for pods before Flux starts{only}");
    let why = format!(
        "{} brings no network plugin, and no bootstrap stage of the repository installs one. Pods that are not on the host's network, \
         Flux's among them, stay Pending, so nothing is ever applied",
        stage.distribution_text()
    );
    let help = "install the network plugin before Flux (a helmfile below `bootstrap/` is found), or say under `baseline` in \
                firstpass.yaml what is there";
    let never = input.graph.tiers.never_apply(&roots, false);
    let mut finding = RULE
        .finding(message)
        .with_tier(&tier.name)
        .with_object(&object)
        .with_why(why)
        .with_help(help)
        .with_blocks(never.into_iter().map(|tier| input.graph.tiers.name(tier).clone()))
        .at(place);
    finding.verdict = Some(verdict);
    Some(finding)
}
