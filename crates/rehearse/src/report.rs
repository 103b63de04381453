//! The report of a run.

use std::collections::BTreeMap;

use firstpass_apiserver::Time;
use firstpass_baseline::Release;
use firstpass_diagnostics::{Assumption, ClusterReport, Tier, TierState, Verdict};
use firstpass_flux::HelmRelease;
use firstpass_object::ObjectExt;
use firstpass_sim::End;

use crate::explain::{Explainer, TierView};
use crate::rehearsal::Script;
use crate::{critical, findings};

/// The report of one schedule; the verdict is not drawn yet.
pub(crate) fn of_run(
    script: &Script,
    explainer: &Explainer<'_>,
    seed: u64,
    mut assumptions: Vec<Assumption>,
) -> ClusterReport {
    assumptions.extend(script.stage.assumptions.iter().cloned());
    assumptions.extend(script.cluster.assumptions.iter().cloned());
    assumptions.extend(of_charts(script, explainer));
    assumptions.extend(of_the_run(explainer));
    let undecided = explainer.end == End::Horizon && !explainer.tiers.iter().all(TierView::is_done);
    ClusterReport {
        entry: script.cluster.entry.path().to_owned(),
        verdict: if undecided {
            Verdict::Undecided
        } else {
            Verdict::Converges
        },
        seed,
        schedules: 1,
        duration_s: duration(explainer),
        baseline: script.stage.report(),
        assumptions,
        faults: explainer
            .world
            .faults()
            .all()
            .iter()
            .map(ToString::to_string)
            .collect(),
        sampled: None,
        critical_path: critical::path(explainer),
        tiers: tiers(script, explainer),
        effects: Vec::new(),
        coverage: Vec::new(),
        findings: findings::of_run(script, explainer),
        suppressed: Vec::new(),
    }
}

/// Seconds until the last tier was Ready; suspended ones are left out.
fn duration(explainer: &Explainer<'_>) -> Option<f64> {
    let expected = explainer
        .tiers
        .iter()
        .filter(|tier| tier.state != TierState::Suspended);
    let ready: Option<Vec<Time>> = expected
        .map(|tier| tier.record.ready_at.filter(|_| tier.is_done()))
        .collect();
    ready?.into_iter().max().map(|at| explainer.seconds(at))
}

/// The tiers in the order in which they came up; the others follow in the order of rendering.
fn tiers(script: &Script, explainer: &Explainer<'_>) -> Vec<Tier> {
    let mut views: Vec<&TierView> = explainer.tiers.iter().collect();
    views.sort_by_key(|view| {
        view.record
            .ready_at
            .filter(|_| view.is_done())
            .unwrap_or(Time::NEVER)
    });
    views
        .into_iter()
        .map(|view| {
            let kustomization = script.cluster.tier(&view.name).map(|tier| &tier.kustomization);
            Tier {
                name: view.name.clone(),
                state: view.state,
                applied_at_s: view.record.applied_at.map(|at| explainer.seconds(at)),
                ready_at_s: view
                    .record
                    .ready_at
                    .filter(|_| view.is_done())
                    .map(|at| explainer.seconds(at)),
                attempts: view.record.attempts,
                failed_attempts: u32::try_from(view.record.failures.len()).unwrap_or(u32::MAX),
                depends_on: kustomization
                    .map(|tier| tier.dependencies().collect())
                    .unwrap_or_default(),
                waiting_on: view.waits.iter().map(|wait| wait.on.clone()).collect(),
                proves: None,
                blast_radius: None,
            }
        })
        .collect()
}

/// What knowledge says that the charts of the cluster bring.
fn of_charts(script: &Script, explainer: &Explainer<'_>) -> Vec<Assumption> {
    let server = &explainer.world.server;
    let releases = script
        .cluster
        .objects()
        .filter(|(_, object)| HelmRelease::is(&object.object));
    releases
        .map(|(_, object)| {
            let release = Release::of_object(&object.object, &|id| server.object(id).cloned());
            let subject = object.object.id().to_string();
            match release.facts(&script.knowledge) {
                Some(facts) => {
                    let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
                    for kind in &facts.kinds {
                        *groups.entry(&kind.def.group).or_default() += 1;
                    }
                    let kinds: Vec<String> = groups
                        .iter()
                        .map(|(group, count)| format!("{count} kinds of {group}"))
                        .collect();
                    let brings = if kinds.is_empty() {
                        "no kinds".to_owned()
                    } else {
                        kinds.join(", ")
                    };
                    Assumption {
                        about: "chart".to_owned(),
                        subject,
                        assumed: format!("{} brings {brings}", release.chart_text()),
                        source: facts.chart.file.clone(),
                    }
                }
                None => Assumption {
                    about: "chart".to_owned(),
                    subject,
                    assumed: format!(
                        "{} installs and becomes ready; what it brings is not known",
                        release.chart_text()
                    ),
                    source: "default".to_owned(),
                },
            }
        })
        .collect()
}

/// What the models took for granted on the way.
fn of_the_run(explainer: &Explainer<'_>) -> Vec<Assumption> {
    let assumption = |about: &str, subject: String, user: String| Assumption {
        about: about.to_owned(),
        subject,
        assumed: format!("exists in the cluster; {user} uses it and nothing in the repository brings it"),
        source: "default".to_owned(),
    };
    let world = explainer.world;
    let used = world.workloads.assumed().iter().chain(world.releases.assumed());
    let objects = used.map(|(object, user)| assumption("object", object.to_string(), user.to_string()));
    let classes = world.storage.assumed().iter().map(|(class, claim)| {
        let subject = if class.is_empty() {
            "the default StorageClass".to_owned()
        } else {
            format!("StorageClass/{class}")
        };
        assumption("object", subject, claim.to_string())
    });
    let nodes = world.workloads.assumed_nodes().iter().map(|(asked, user)| Assumption {
        about: "nodes".to_owned(),
        subject: asked.clone(),
        assumed: format!("some node has it and takes pods; {user} asks for it (`baseline.nodes` says what nodes there are)"),
        source: "default".to_owned(),
    });
    let rules = world
        .server
        .unread_rules()
        .map(|(kind, rule, reason)| Assumption {
            about: "rule".to_owned(),
            subject: kind.to_string(),
            assumed: format!("holds, though it cannot be judged here: {rule} ({reason})"),
            source: "default".to_owned(),
        });
    objects.chain(classes).chain(nodes).chain(rules).collect()
}
