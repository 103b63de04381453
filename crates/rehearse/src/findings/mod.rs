//! From what stood in the way to findings: one per rule, tier and cause.
//!
//! What follows from the files alone is found by the rules already. A run adds its evidence to those findings, and findings
//! of its own for what only playing shows. Where both speak of the same thing, the more severe one stays.

mod address;
mod advice;
mod disk;
mod hazard;
mod stall;

use std::collections::BTreeSet;

use firstpass_controllers::kustomization::{DependencyState, Obstacle};
use firstpass_diagnostics::{Finding, Frequency, Location, Severity, TierState, Verdict};
use firstpass_flux::names;
use firstpass_object::{ObjectId, TierName};

use crate::explain::{Explainer, TierView};
use crate::rehearsal::Script;
use crate::why::first_line;

/// Marks a finding that a run has seen happen; [`crate::schedules`] counts the marks and takes them away.
pub(crate) const SEEN: Frequency = Frequency {
    count: 1,
    of: 1,
    seed: 0,
};

/// A finding of the run, before it meets those of the rules.
struct Own {
    finding: Finding,
    evidence: String,
}

/// Everything that there is to say about a run.
pub(crate) fn of_run(script: &Script, explainer: &Explainer<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = script.findings.to_vec();
    if !script.starts() {
        let is_said = findings.iter().any(|finding| finding.rule == "network-missing");
        if !is_said {
            findings.push(no_network(script));
        }
        return findings;
    }
    for view in &explainer.tiers {
        let own = if view.is_done() {
            hazard::hazards(explainer, view)
        } else if explainer.end == firstpass_sim::End::Horizon {
            // The run was cut off: what a tier waits for may be about to come, so nothing is said about it.
            Vec::new()
        } else {
            stall::stalls(explainer, view)
        };
        for own in own {
            attach(&mut findings, own, view, explainer);
        }
    }
    for (volume, own) in disk::disks(explainer)
        .into_iter()
        .chain(address::addresses(explainer))
    {
        let tier = explainer.bringer(&volume).and_then(|tier| explainer.tier(tier));
        if let Some(view) = tier {
            attach(&mut findings, own, view, explainer);
        }
    }
    findings
        .extend(crate::gate::starvation(explainer).filter(|_| explainer.end != firstpass_sim::End::Horizon));
    let at_rest = explainer.end != firstpass_sim::End::Horizon;
    for finding in at_rest.then(|| stuck_releases(explainer)).into_iter().flatten() {
        // A rule may have said why already.
        let is_said = findings
            .iter()
            .any(|known| known.object == finding.object && known.severity >= Severity::Warning);
        if !is_said {
            findings.push(finding);
        }
    }
    if at_rest {
        let unexplained = unexplained(explainer, &findings);
        findings.extend(unexplained);
    }
    if explainer.end == firstpass_sim::End::Livelock {
        findings.push(
            Finding::new(
                "livelock",
                Severity::Error,
                Some(Verdict::NeverReady),
                "the cluster changes all the time and never comes to rest",
            )
            .with_why("the same states came again and again without anything new")
            .with_help("look at the trace for what changes back and forth, such as one object in two tiers"),
        );
    }
    findings
}

/// Adds a finding of the run to those that are known: as evidence where a rule has found the same, else beside them.
fn attach(findings: &mut Vec<Finding>, own: Own, view: &TierView, explainer: &Explainer<'_>) {
    let Own {
        mut finding,
        evidence,
    } = own;
    let concerns = |known: &Finding| {
        let object = finding.object.as_ref();
        known.tier == finding.tier
            && (known.object.as_ref() == object
                || object.is_some_and(|object| known.related.contains(object)))
    };
    let circle = explainer.circles.get(&view.name);
    let same_circle = |known: &Finding| {
        finding.verdict == Some(Verdict::Deadlock)
            && known.verdict == Some(Verdict::Deadlock)
            && circle.is_some_and(|circle| known.tier.as_ref().is_some_and(|tier| circle.contains(tier)))
    };
    // Why a build fails has rules of its own: a duplicate, a variable, a Secret that nobody decrypts.
    let explains_build = |known: &Finding| {
        finding.rule == "build-failed"
            && known.tier == finding.tier
            && known.verdict == Some(Verdict::Invalid)
    };
    // Causes that ask for something else to be done are told apart.
    let same_cause = |known: &Finding| finding.rule != "never-healthy" || known.help == finding.help;
    let same_tier =
        |known: &Finding| known.rule == finding.rule && known.tier == finding.tier && same_cause(known);
    let best = findings
        .iter()
        .position(|known| known.rule == finding.rule && concerns(known))
        .or_else(|| {
            findings.iter().position(|known| {
                known.verdict >= finding.verdict && known.verdict.is_some() && concerns(known)
            })
        })
        .or_else(|| findings.iter().position(explains_build))
        .or_else(|| findings.iter().position(same_circle))
        .or_else(|| {
            findings
                .iter()
                .position(|known| known.verdict >= finding.verdict && same_tier(known))
        });
    match best {
        Some(index) => {
            let known = &mut findings[index];
            known.schedules = Some(SEEN);
            // The run has seen it end worse than the files alone prove.
            if finding.verdict > known.verdict {
                known.severity = known.severity.max(finding.severity);
                known.verdict = finding.verdict;
                known.message = finding.message;
            }
            add_evidence(known, &evidence);
            for tier in finding.blocks {
                if !known.blocks.contains(&tier) && known.tier.as_ref() != Some(&tier) {
                    known.blocks.push(tier);
                }
            }
        }
        None => {
            // What a rule took for a lesser evil is the same thing, seen better.
            findings.retain(|known| {
                !(concerns(known) && known.verdict.is_some() && known.verdict < finding.verdict)
            });
            finding.schedules = Some(SEEN);
            add_evidence(&mut finding, &evidence);
            findings.push(finding);
        }
    }
}

fn add_evidence(finding: &mut Finding, evidence: &str) {
    if evidence.is_empty() || finding.why.contains(evidence) {
        return;
    }
    if !finding.why.is_empty() {
        if !finding.why.ends_with(['.', '!', '?', ':']) {
            finding.why.push('.');
        }
        finding.why.push(' ');
    }
    finding.why.push_str(evidence);
}

/// Puts tier, object, place and consequences on a finding.
fn place(explainer: &Explainer<'_>, view: &TierView, obstacle: &Obstacle, finding: Finding) -> Finding {
    let tier = &view.name;
    let mut finding = finding.with_tier(tier).with_blocks(explainer.blocked_by(tier));
    let fallback = ObjectId::new(
        names::KUSTOMIZE_GROUP,
        names::KUSTOMIZATION,
        Some(&tier.namespace),
        &tier.name,
    );
    let object = obstacle.object().cloned().unwrap_or_else(|| fallback.clone());
    if finding.object.is_none() {
        finding = finding.with_object(&object);
    }
    // Another tier may hold the object as well.
    let here = explainer.script.cluster.tier(tier);
    let rendered = here
        .and_then(|tier| tier.objects().iter().find(|held| held.id() == object))
        .or_else(|| explainer.rendered(&object))
        .or_else(|| explainer.rendered(&fallback));
    if let Some(rendered) = rendered {
        finding.location = Some(Location::new(
            &rendered.origin.file,
            rendered.origin.line.max(1),
            1,
        ));
    } else {
        finding.location = explainer
            .script
            .cluster
            .tier(tier)
            .and_then(|tier| tier.location.clone());
    }
    finding
}

/// HelmReleases that never become Ready although their tier is: nothing waits for them, so no tier tells.
fn stuck_releases(explainer: &Explainer<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, record) in explainer.world.releases.releases() {
        let Some(failure) = record.last_failure.as_ref().filter(|_| !record.settled) else {
            continue;
        };
        let id = crate::waits::release_id(name);
        let Some(tier) = explainer.bringer(&id).and_then(|tier| explainer.tier(tier)) else {
            continue;
        };
        // A release that waits for another stuck one, or for a tier that never applies, is not to blame.
        let is_secondary = failure.obstacles.iter().any(|obstacle| match obstacle {
            Obstacle::Release { release, state } => match state {
                // The other one is what it is; the expression asks for something else.
                DependencyState::ExpressionFalse => {
                    let releases = explainer.world.releases.releases();
                    releases.get(release).is_some_and(|other| !other.settled)
                }
                DependencyState::Missing => explainer.bringer(&crate::waits::release_id(release)).is_some(),
                DependencyState::NotReady | DependencyState::OtherRevision => true,
            },
            Obstacle::Source { source } => explainer.bringer(source).is_some(),
            // One that is there lacks what is asked for.
            Obstacle::VariableSource { object } => {
                explainer.bringer(object).is_some() && explainer.world.server.object(object).is_none()
            }
            _ => false,
        });
        if !tier.is_done() || is_secondary {
            continue;
        }
        let mut finding = Finding::new(
            "release-never-ready",
            Severity::Warning,
            Some(Verdict::Hazard),
            format!("`{id}` is never Ready, and nothing waits for it"),
        )
        .with_tier(&tier.name)
        .with_object(&id)
        .with_why(format!(
            "`{}` applies it and is Ready all the same. helm-controller says `{}`.",
            tier.name,
            first_line(&failure.message)
        ))
        .with_help("correct what the message names; with `wait: true` the tier would tell");
        if let Some(rendered) = explainer.rendered(&id) {
            finding.location = Some(Location::new(
                &rendered.origin.file,
                rendered.origin.line.max(1),
                1,
            ));
        }
        findings.push(finding);
    }
    findings
}

/// Tiers that never come up although no finding says why: a cluster with one of them does not converge.
fn unexplained(explainer: &Explainer<'_>, findings: &[Finding]) -> Vec<Finding> {
    let stuck = || {
        let tiers = explainer.tiers.iter().filter(|view| !view.is_done());
        tiers.filter(|view| !matches!(view.state, TierState::Suspended | TierState::Unrendered))
    };
    let grave = findings
        .iter()
        .filter(|finding| finding.verdict >= Some(Verdict::NeverReady));
    let mut explained: BTreeSet<&TierName> = grave
        .flat_map(|finding| finding.tier.iter().chain(&finding.blocks))
        .collect();
    // Whoever waits for an explained tier is explained by it.
    loop {
        let before = explained.len();
        let waits_for_explained = |view: &&TierView| {
            let mut tiers = view.waits.iter().flat_map(|wait| &wait.tiers);
            tiers.any(|tier| explained.contains(tier))
        };
        let more: Vec<&TierName> = stuck()
            .filter(waits_for_explained)
            .map(|view| &view.name)
            .collect();
        explained.extend(more);
        if explained.len() == before {
            break;
        }
    }
    let left = stuck().filter(|view| !explained.contains(&view.name));
    left.map(|view| stall::unexplained(explainer, view)).collect()
}

/// Flux's own pods need a network.
fn no_network(script: &Script) -> Finding {
    Finding::new(
        "network-missing",
        Severity::Error,
        Some(Verdict::NeverReady),
        format!("nothing ever starts: {} brings no network plugin, and no bootstrap stage installs one", script.stage.distribution_text()),
    )
    .with_why("Flux runs in pods, and pods stay pending until a node has a network")
    .with_help("install the network plugin before Flux, and list that under `baseline.bootstrap` in `firstpass.yaml`")
}
