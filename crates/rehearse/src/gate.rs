//! What a tier's being Ready proves, and what stays blocked while it is not. Both follow from the files and from knowledge.

use firstpass_controllers::kustomization::Obstacle;
use firstpass_diagnostics::{
    BlastRadius, ClusterReport, Finding, Proof, ProofLevel, Severity, TierState, Verdict,
};
use firstpass_flux::{HealthCheckExpr, names};
use firstpass_knowledge::{KindDef, Knowledge};
use firstpass_object::{ObjectExt, ObjectId, TierName, group_of};
use firstpass_order::{Gate, TierGraph, TierIndex};
use firstpass_render::Outcome;

use crate::explain::Explainer;
use crate::rehearsal::Script;

/// Beyond this many tiers nobody reads who blocks whom, and the lists grow with the square of the number.
const TIERS_MAX: usize = 1000;

/// Objects beyond this many are counted in words, not listed.
const LISTED_MAX: usize = 3;

/// Puts proofs and blast radii on the tiers of a report.
pub(crate) fn describe(script: &Script, report: &mut ClusterReport) {
    if report.tiers.len() > TIERS_MAX {
        return;
    }
    for tier in &mut report.tiers {
        let Some(index) = script.graph.tiers.find(&tier.name) else {
            continue;
        };
        tier.proves = Some(proof(script, index));
        tier.blast_radius = Some(blast_radius(script, index));
    }
}

fn proof(script: &Script, index: TierIndex) -> Proof {
    let node = script.graph.tiers.node(index);
    let applied = |text: &str| Proof {
        level: ProofLevel::Applied,
        text: text.to_owned(),
        silent: Vec::new(),
    };
    if !node.rendered {
        return Proof {
            level: ProofLevel::Unseen,
            text: "its contents cannot be seen".to_owned(),
            silent: Vec::new(),
        };
    }
    match &node.gate {
        Gate::Nothing => applied("its objects were applied; whether they work is not checked"),
        Gate::Listed(objects) => {
            let names: Vec<String> = objects.iter().map(ToString::to_string).collect();
            Proof {
                level: ProofLevel::Partly,
                text: format!("{} healthy; the rest was applied", counted(&names, "is", "are")),
                silent: Vec::new(),
            }
        }
        Gate::Everything => everything(script, index),
    }
}

/// `wait: true`: everything that can tell is healthy.
fn everything(script: &Script, index: TierIndex) -> Proof {
    let tier = &script.cluster.tiers[index.position()];
    let expressions = &tier.kustomization.spec.health_check_exprs;
    let objects = match &tier.outcome {
        Outcome::Rendered(objects) => &objects[..],
        _ => &[],
    };
    let ids = objects.iter().map(|object| object.id());
    let silent: Vec<String> = ids
        .filter(|id| is_silent(id, expressions, &script.knowledge))
        .map(|id| id.to_string())
        .collect();
    if silent.is_empty() {
        return Proof {
            level: ProofLevel::Healthy,
            text: "everything of it that can tell is healthy".to_owned(),
            silent,
        };
    }
    let one = silent.len() == 1;
    Proof {
        level: ProofLevel::Partly,
        text: format!(
            "everything of it that can tell is healthy; {} nothing about {}: healthy the moment {} applied",
            counted(&silent, "says", "say"),
            if one { "itself" } else { "themselves" },
            if one { "it is" } else { "they are" },
        ),
        silent,
    }
}

/// Whether an object of a custom kind counts as healthy the moment it is stored although a controller has yet to act on it
/// (F-515). Kinds of which nothing is known are left out.
fn is_silent(id: &ObjectId, expressions: &[HealthCheckExpr], knowledge: &Knowledge) -> bool {
    let is_checked = expressions.iter().any(|check| {
        group_of(&check.api_version) == id.group && check.kind.as_ref().is_none_or(|kind| *kind == id.kind)
    });
    let def = knowledge.custom_kind(&id.group, &id.kind);
    let has_controller = |def: &&KindDef| def.controller.is_some() && !def.status.is_empty();
    let is_flux = id.group.ends_with(".fluxcd.io");
    !is_checked && !is_flux && def.filter(has_controller).is_some_and(|def| !tells(def))
}

/// Whether a kind's controller reports in a way that kstatus understands.
fn tells(def: &KindDef) -> bool {
    def.status.iter().any(|write| {
        let conditions = write.set.items_at(&["conditions"]).iter();
        let kinds: Vec<&str> = conditions
            .filter_map(|condition| condition.text_at(&["type"]))
            .collect();
        kinds
            .iter()
            .any(|kind| ["Ready", "Reconciling", "Stalled"].contains(kind))
            || write.set.get("observedGeneration").is_some()
    })
}

fn blast_radius(script: &Script, index: TierIndex) -> BlastRadius {
    let tiers = &script.graph.tiers;
    let name = |tier: &TierIndex| tiers.name(*tier).clone();
    let blocks: Vec<TierIndex> = tiers
        .never_apply(&[index], true)
        .into_iter()
        .filter(|tier| *tier != index)
        .collect();
    let holders = holders(tiers, index);
    let all_held = holders.len() >= script.cluster.settings.kustomize_concurrent as usize;
    let starves = tiers.indices().filter(|tier| {
        all_held && !blocks.contains(tier) && !holders.contains(tier) && !tiers.node(*tier).suspended
    });
    BlastRadius {
        starves: starves.map(|tier| name(&tier)).collect(),
        blocks: blocks.iter().map(name).collect(),
        holds_workers: holders.iter().map(name).collect(),
    }
}

/// The tiers whose workers wait while a tier is not Ready: itself, if it checks health, and everybody whose health check
/// includes it (F-162, F-536).
fn holders(tiers: &TierGraph, index: TierIndex) -> Vec<TierIndex> {
    let mut holders = Vec::new();
    if tiers.node(index).gate != Gate::Nothing {
        holders.push(index);
    }
    let mut open = vec![index];
    let mut seen = vec![index];
    while let Some(current) = open.pop() {
        for tier in tiers.indices() {
            if !seen.contains(&tier) && tiers.gated(tier).contains(&current) {
                seen.push(tier);
                open.push(tier);
                holders.push(tier);
            }
        }
    }
    holders.sort();
    holders
}

/// Tiers whose health never comes, as many as there are workers: nobody else gets a turn but when a wait times out (F-162).
pub(crate) fn starvation(explainer: &Explainer<'_>) -> Option<Finding> {
    let world = explainer.world;
    let waits_for_health = |view: &&crate::explain::TierView| {
        let stuck = |wait: &crate::waits::Wait| matches!(wait.obstacle, Some(Obstacle::Unhealthy { .. }));
        !view.is_done() && view.has_applied() && view.waits.iter().any(stuck)
    };
    let stuck: Vec<&TierName> = explainer
        .tiers
        .iter()
        .filter(waits_for_health)
        .map(|view| &view.name)
        .collect();
    let workers = world.kustomizations.workers_max();
    let first = *stuck.first().filter(|_| stuck.len() >= workers)?;
    let wants_a_turn =
        |view: &&crate::explain::TierView| !stuck.contains(&&view.name) && view.state != TierState::Suspended;
    let others = explainer.tiers.iter().filter(wants_a_turn);
    let others: Vec<String> = others.map(|view| view.name.to_string()).collect();
    let names: Vec<String> = stuck.iter().map(ToString::to_string).collect();
    let rest = if others.is_empty() {
        String::new()
    } else {
        format!(
            " {} only when one of these waits times out.",
            counted(&others, "gets a turn", "get their turn")
        )
    };
    let place = ObjectId::new(
        names::KUSTOMIZE_GROUP,
        names::KUSTOMIZATION,
        Some(&first.namespace),
        &first.name,
    );
    let mut finding = Finding::new(
        "workers-starved",
        Severity::Warning,
        Some(Verdict::Hazard),
        format!(
            "{} for health that never comes, and {workers} workers are all there are",
            counted(&names, "waits", "wait")
        ),
    )
    .with_tier(first)
    .with_object(&place)
    .with_related(stuck.iter().skip(1).map(|tier| format!("Kustomization/{tier}")))
    .with_blocks(explainer.blocked_by(first))
    .with_why(format!(
        "a health check holds its worker for its whole timeout, and kustomize-controller has {workers}.{rest}"
    ))
    .with_help(
        "make them healthy; until then shorter `spec.timeout`s free the workers sooner, and `--concurrent` of \
         kustomize-controller gives more of them",
    );
    finding.location = explainer
        .script
        .cluster
        .tier(first)
        .and_then(|tier| tier.location.clone());
    Some(finding)
}

/// `a` is, `a` and `b` are, `a`, `b`, `c` and 4 more are.
fn counted(names: &[String], one: &str, many: &str) -> String {
    let quoted: Vec<String> = names
        .iter()
        .take(LISTED_MAX)
        .map(|name| format!("`{name}`"))
        .collect();
    match names.len() {
        1 => format!("{} {one}", quoted[0]),
        count if count > LISTED_MAX => {
            format!("{} and {} more {many}", quoted.join(", "), count - LISTED_MAX)
        }
        _ => format!("{} {many}", quoted.join(" and ")),
    }
}
