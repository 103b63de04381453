//! From what stood in the way to findings: one per rule, tier and cause.
//!
//! What follows from the files alone is found by the rules already. A run adds its evidence to those findings, and findings
//! of its own for what only playing shows. Where both speak of the same thing, the more severe one stays.

use std::collections::BTreeSet;

use firstpass_controllers::ClaimWait;
use firstpass_controllers::kustomization::{DependencyState, Obstacle};
use firstpass_diagnostics::{Finding, Location, Severity, TierState, Verdict};
use firstpass_flux::names;
use firstpass_object::kstatus::StatusKind;
use firstpass_object::{ObjectId, TierName};
use firstpass_order::{Answer, How, Need};

use crate::explain::{Explainer, TierView};
use crate::rehearsal::Script;
use crate::waits::{Wait, health_text};
use crate::why::{first_line, provided_by};

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
            hazards(explainer, view)
        } else {
            stalls(explainer, view)
        };
        for own in own {
            attach(&mut findings, own, view, explainer);
        }
    }
    findings.extend(stuck_releases(explainer));
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
    let same_tier = |known: &Finding| known.rule == finding.rule && known.tier == finding.tier;
    let best = findings
        .iter()
        .position(|known| known.rule == finding.rule && concerns(known))
        .or_else(|| {
            findings.iter().position(|known| {
                known.verdict >= finding.verdict && known.verdict.is_some() && concerns(known)
            })
        })
        .or_else(|| findings.iter().position(same_circle))
        .or_else(|| {
            findings
                .iter()
                .position(|known| known.verdict >= finding.verdict && same_tier(known))
        });
    match best {
        Some(index) => {
            let known = &mut findings[index];
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

/// What keeps a tier from ever being Ready.
fn stalls(explainer: &Explainer<'_>, view: &TierView) -> Vec<Own> {
    if view.state == TierState::Suspended {
        return Vec::new();
    }
    let evidence = stall_evidence(explainer, view);
    let mut own: Vec<Own> = Vec::new();
    for wait in &view.waits {
        let Some(obstacle) = &wait.obstacle else { continue };
        let Some(finding) = stall(explainer, view, wait, obstacle) else {
            continue;
        };
        // One finding per rule and cause: further objects of the same cause are related.
        let same = own
            .iter_mut()
            .find(|known| known.finding.rule == finding.rule && cause(&known.finding) == cause(&finding));
        match same {
            Some(known) => {
                let objects = finding
                    .object
                    .into_iter()
                    .filter(|object| known.finding.object.as_ref() != Some(object));
                known.finding.related.extend(objects);
            }
            None => own.push(Own {
                finding,
                evidence: evidence.clone(),
            }),
        }
    }
    own
}

fn cause(finding: &Finding) -> &str {
    &finding.help
}

fn stall(explainer: &Explainer<'_>, view: &TierView, wait: &Wait, obstacle: &Obstacle) -> Option<Finding> {
    let tier = &view.name;
    let circle = explainer.circles.get(tier);
    let in_circle = circle.is_some_and(|circle| wait.tiers.iter().any(|other| circle.contains(other)));
    let waits_for_itself = wait.tiers.contains(tier);
    let bringers = explainer.bringers();
    let need = bringers.need(tier, obstacle);
    let waits_for_stuck_tier = wait
        .tiers
        .iter()
        .any(|other| other != tier && explainer.tier(other).is_some_and(|other| !other.is_done()));
    let finding = match obstacle {
        Obstacle::Dependency { tier: dependency, state } => {
            return dependency_stall(explainer, view, dependency, *state, in_circle);
        }
        Obstacle::UnknownKind { .. } | Obstacle::NamespaceMissing { .. } if waits_for_itself => {
            same_pass(view, obstacle, need)?
        }
        Obstacle::Unhealthy { object, .. } if in_circle => health_circle(explainer, view, object),
        _ if in_circle => {
            let names: Vec<String> = circle.into_iter().flatten().map(|tier| format!("`{tier}`")).collect();
            deadlock(
                "tiers-wait-for-each-other",
                format!("{} wait for each other: `{tier}` needs {}", names.join(" and "), crate::why::waiting_text(wait)),
            )
            .with_why("none of them can ever apply what the other needs")
            .with_help("move what is needed into a tier that comes first, and let the others depend on it")
        }
        // Somebody else is to blame.
        _ if waits_for_stuck_tier => return None,
        Obstacle::UnknownKind { gvk, .. } => never(
            "kind-without-provider",
            format!("nothing brings the kind `{}` that `{tier}` needs", gvk.kind),
        )
        .with_why(format!("no CRD, chart or operator of the repository or of the baseline serves {}", gvk.api_version()))
        .with_help("add the CRD or the chart that brings it in an earlier tier, or list it in the baseline of `firstpass.yaml`"),
        Obstacle::NamespaceMissing { namespace, .. } => never(
            "namespace-missing",
            format!("nothing creates the namespace `{namespace}` that `{tier}` needs"),
        )
        .with_why("Flux creates no namespaces by itself, and the API server refuses objects of a missing one")
        .with_help(format!("add a Namespace `{namespace}` to `{tier}` or to a tier before it")),
        Obstacle::NamespaceTerminating { namespace, .. } => never(
            "never-healthy",
            format!("the namespace `{namespace}` that `{tier}` needs is being deleted and never goes"),
        )
        .with_why("the API server takes nothing new into a namespace that is being deleted")
        .with_help("remove what holds the namespace, such as a finalizer whose controller is gone"),
        Obstacle::Unhealthy { object, status, .. } => unhealthy(explainer, view, object, *status),
        Obstacle::Webhook { message, .. } => never("never-healthy", format!("an admission webhook that `{tier}` needs never serves"))
            .with_why(first_line(message).to_owned())
            .with_help("let what serves the webhook come up in an earlier tier, and wait for it"),
        Obstacle::Refused { message, .. } => invalid("invalid-object", format!("the API server refuses an object of `{tier}`"))
            .with_why(first_line(message).to_owned())
            .with_help("correct the object; nothing of its stage is applied before"),
        Obstacle::NamespaceUnset { object } => invalid("invalid-object", format!("`{object}` names no namespace"))
            .with_why("Flux has no default namespace: a namespaced object without one is refused, and nothing of its stage is applied")
            .with_help("set `metadata.namespace`, `namespace` in the kustomization file, or `spec.targetNamespace`"),
        Obstacle::Build { message } => invalid("build-failed", format!("`{tier}` cannot be built"))
            .with_why(first_line(message).to_owned())
            .with_help("correct what the message names"),
        Obstacle::UndefinedVariable { name, .. } => invalid("undefined-variable", format!("the variable `{name}` of `{tier}` is not defined"))
            .with_why("substitution is strict: an undefined variable fails the build")
            .with_help("define it in what `postBuild` names, or give it a default"),
        Obstacle::VariableSource { object } => invalid("substitution-failed", format!("`{object}`, which holds variables of `{tier}`, never comes to be"))
            .with_why("`substituteFrom` names it without `optional: true`")
            .with_help("apply it in an earlier tier, or mark it as optional"),
        Obstacle::Configuration { message } => invalid("invalid-object", format!("the Flux Kustomization `{tier}` makes no sense"))
            .with_why(message.clone())
            .with_help("correct its spec"),
        Obstacle::Source { source } => never("source-missing", format!("`{source}`, the source of `{tier}`, never has an artifact"))
            .with_why("a Kustomization without an artifact applies nothing")
            .with_help("let something before it create the source"),
        Obstacle::Prune { message, .. } => never("never-healthy", format!("`{tier}` cannot delete what is stale"))
            .with_why(first_line(message).to_owned())
            .with_help("remove what holds the object"),
        Obstacle::Release { .. } => return None,
    };
    Some(place(explainer, view, obstacle, finding))
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
    let rendered = explainer
        .rendered(&object)
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

/// A kind or namespace that only this very pass could bring, and it fails before it applies anything (F-212, F-221).
fn same_pass(view: &TierView, obstacle: &Obstacle, need: Option<&Need>) -> Option<Finding> {
    let tier = &view.name;
    let provider = need.and_then(|need| need.answer.provider())?;
    let why = |what: &str| {
        format!(
            "{what}; Flux dry-runs every object of a stage before it applies any, so the pass fails every time and what \
             would bring it is never applied"
        )
    };
    let brings = provided_by(&provider.how, provider.object.as_ref());
    let related = |finding: Finding| match (&provider.how, &provider.object) {
        (How::OperatorObject { trigger, .. }, _) => finding.with_related([trigger.to_string()]),
        (_, Some(object)) => finding.with_related([object.to_string()]),
        _ => finding,
    };
    let finding = match obstacle {
        Obstacle::UnknownKind { object, gvk } => {
            let (rule, message) = match &provider.how {
                How::OperatorStart { .. } | How::OperatorObject { .. } => (
                    "second-order-kind-in-same-pass",
                    format!("`{object}` can never be applied: the kind {} exists only after this pass", gvk.kind),
                ),
                How::Chart { .. } | How::Manifest => (
                    "chart-kind-in-same-pass",
                    format!("`{object}` can never be applied: the chart that brings the kind {} is in the same pass", gvk.kind),
                ),
            };
            deadlock(rule, message).with_why(why(&brings)).with_help(format!(
                "move the objects of kind {} into a tier of their own that depends on `{tier}`, with a barrier in `{tier}` \
                 that proves that the kind is served, such as a `healthChecks` entry for its CRD",
                gvk.kind
            ))
        }
        Obstacle::NamespaceMissing { object, namespace } => deadlock(
            "namespace-in-same-pass",
            format!("`{object}` can never be applied: the namespace `{namespace}` is made by a chart of the same pass"),
        )
        .with_why(why(&brings))
        .with_help(format!("add a Namespace `{namespace}` to `{tier}`: namespaces are applied in an earlier stage")),
        _ => return None,
    };
    Some(related(finding))
}

/// A tier whose health depends on something that waits for the tier.
fn health_circle(explainer: &Explainer<'_>, view: &TierView, object: &ObjectId) -> Finding {
    let tier = &view.name;
    if object.is(names::KUSTOMIZE_GROUP, names::KUSTOMIZATION) {
        return deadlock(
            "parent-waits-for-child",
            format!("`{tier}` waits for its child `{object}`, which waits for `{tier}`"),
        )
        .with_why("with `wait` or a health check a parent is Ready only when the child is, and the child depends on the parent")
        .with_help("drop the child's `dependsOn` on its parent, or do not let the parent wait for it");
    }
    let consumer = explainer
        .world
        .storage
        .claims()
        .get(object)
        .and_then(|record| record.waits_for.as_ref());
    if let Some(ClaimWait::Consumer { class }) = consumer {
        let users = explainer.bringers().consumers(object);
        return deadlock(
            "claim-waits-for-consumer",
            format!("`{tier}` waits for `{object}` to be bound, and its consumer waits for `{tier}`"),
        )
        .with_why(format!(
            "StorageClass `{class}` binds a claim when the first pod uses it, and the only consumer comes in a tier that \
             depends on this one"
        ))
        .with_help("put the claim into the tier of its consumer, or leave it out of what this tier waits for")
        .with_related(users.iter().map(ToString::to_string));
    }
    let behind: Vec<String> = explainer
        .bringers()
        .behind(object)
        .iter()
        .map(|object| format!("`{object}`"))
        .collect();
    deadlock(
        "tiers-wait-for-each-other",
        format!("`{tier}` waits for `{object}`, which waits for something that waits for `{tier}`"),
    )
    .with_why(format!(
        "`{object}` needs {}, which comes in a tier that waits for this one",
        behind.join(", ")
    ))
    .with_help("bring what it needs in this tier or in one before it")
}

fn dependency_stall(
    explainer: &Explainer<'_>,
    view: &TierView,
    dependency: &TierName,
    state: DependencyState,
    in_circle: bool,
) -> Option<Finding> {
    let tier = &view.name;
    let other = explainer.tier(dependency);
    let obstacle = Obstacle::Dependency {
        tier: dependency.clone(),
        state,
    };
    let id = ObjectId::new(
        names::KUSTOMIZE_GROUP,
        names::KUSTOMIZATION,
        Some(&dependency.namespace),
        &dependency.name,
    );
    let finding = match (state, other) {
        (DependencyState::Missing, None) => never(
            "dependency-missing",
            format!("`{tier}` depends on `{dependency}`, which does not exist"),
        )
        .with_why("nothing creates a Flux Kustomization of that name; `dependsOn` of a Kustomization names Kustomizations only")
        .with_help("correct the name or namespace, or remove the entry"),
        (_, Some(other)) if other.state == TierState::Suspended => never(
            "dependency-suspended",
            format!("`{tier}` depends on `{dependency}`, which is suspended"),
        )
        .with_why("a suspended tier never becomes Ready on an empty cluster")
        .with_help(format!("resume `{dependency}`, or remove it from `dependsOn`")),
        // A circle of dependencies alone; others are told where something else closes them.
        _ if in_circle && is_dependency_circle(explainer, tier) => deadlock(
            "dependency-cycle",
            format!("`{tier}` and `{dependency}` depend on each other"),
        )
        .with_why("a tier begins only when its dependencies are Ready, so none of them ever begins")
        .with_help("remove one of the `dependsOn` entries"),
        _ => return None,
    };
    let finding = finding.with_object(&id);
    Some(place(explainer, view, &obstacle, finding))
}

/// Whether the tiers of a circle wait for each other by `dependsOn` alone.
fn is_dependency_circle(explainer: &Explainer<'_>, tier: &TierName) -> bool {
    let Some(circle) = explainer.circles.get(tier) else {
        return false;
    };
    let only_dependencies = |view: &TierView| {
        view.waits
            .iter()
            .filter(|wait| wait.tiers.iter().any(|other| circle.contains(other)))
            .all(|wait| matches!(wait.obstacle, Some(Obstacle::Dependency { .. })))
    };
    circle
        .iter()
        .filter_map(|member| explainer.tier(member))
        .all(only_dependencies)
}

/// An object that a tier checks and that never becomes healthy, and nobody waits for us.
fn unhealthy(explainer: &Explainer<'_>, view: &TierView, object: &ObjectId, status: StatusKind) -> Finding {
    let tier = &view.name;
    if status == StatusKind::NotFound && !explainer.by_id.contains_key(object) {
        return never(
            "health-check-missing-object",
            format!("`{tier}` checks the health of `{object}`, which nothing creates"),
        )
        .with_why("a health check on an object that does not exist waits until its timeout, every time")
        .with_help("correct the name in `spec.healthChecks`, or set `wait: true` instead");
    }
    let behind = explainer.bringers().behind(object);
    never(
        "never-healthy",
        format!("`{object}`, which `{tier}` waits for, never becomes healthy"),
    )
    .with_why(health_text(object, explainer.world))
    .with_help("make it healthy, or leave it out of what the tier waits for")
    .with_related(behind.iter().map(ToString::to_string))
}

/// What went wrong on the way of a tier that came up in the end.
fn hazards(explainer: &Explainer<'_>, view: &TierView) -> Vec<Own> {
    let mut own: Vec<Own> = Vec::new();
    for failure in &view.record.failures {
        let mut seen: BTreeSet<String> = BTreeSet::new();
        for obstacle in &failure.failure.obstacles {
            let Some((rule, finding)) = hazard(explainer, view, obstacle) else {
                continue;
            };
            if !seen.insert(rule.to_owned()) && own.iter().any(|known| known.finding.rule == rule) {
                if let (Some(known), Some(object)) = (
                    own.iter_mut().find(|known| known.finding.rule == rule),
                    finding.object,
                ) {
                    let is_new = known.finding.object.as_ref() != Some(&object)
                        && !known.finding.related.contains(&object);
                    if is_new {
                        known.finding.related.push(object);
                    }
                }
                continue;
            }
            if own.iter().any(|known| known.finding.rule == rule) {
                continue;
            }
            own.push(Own {
                finding,
                evidence: hazard_evidence(explainer, view),
            });
        }
    }
    own
}

fn hazard(
    explainer: &Explainer<'_>,
    view: &TierView,
    obstacle: &Obstacle,
) -> Option<(&'static str, Finding)> {
    let tier = &view.name;
    let bringers = explainer.bringers();
    let need = bringers.need(tier, obstacle);
    let has_edge = need.is_some_and(|need| {
        matches!(
            need.answer,
            Answer::WithoutBarrier { .. } | Answer::Guaranteed { .. } | Answer::There { .. }
        )
    });
    let (rule, message, help) = match obstacle {
        Obstacle::UnknownKind { gvk, .. } if has_edge => (
            "kind-without-barrier",
            format!(
                "`{tier}` begins before the kind {} is served, although it comes after what brings it",
                gvk.kind
            ),
            "let the tier that brings the kind prove that it is served: `wait: true` on a release that reports its health, \
             a `healthChecks` entry for the CRD, or `healthCheckExprs`",
        ),
        Obstacle::UnknownKind { gvk, .. } => (
            "kind-without-edge",
            format!("nothing orders `{tier}` after what brings the kind {}", gvk.kind),
            "add the tier that brings the kind to `dependsOn`, and let that tier wait for it",
        ),
        Obstacle::Webhook { .. } => (
            "webhook-without-barrier",
            format!("`{tier}` applies objects before the admission webhook that is asked about them serves"),
            "depend on the tier of the webhook, and let that tier wait until it serves",
        ),
        Obstacle::NamespaceMissing { namespace, .. } => (
            "namespace-without-edge",
            format!("nothing orders `{tier}` after what creates the namespace `{namespace}`"),
            "add the Namespace to this tier, or depend on the tier that creates it",
        ),
        Obstacle::VariableSource { .. } | Obstacle::UndefinedVariable { .. } => (
            "variable-without-edge",
            format!("nothing orders `{tier}` after what defines its variables"),
            "depend on the tier that applies them",
        ),
        Obstacle::Unhealthy { object, .. } => (
            "health-timeout",
            format!("`{tier}` gave up waiting for `{object}` before it was healthy"),
            "raise `spec.timeout`, or let the tier wait for less",
        ),
        Obstacle::Refused { object, .. } => (
            "apply-refused-once",
            format!("the API server refused `{object}` of `{tier}` at first"),
            "order the tier after what it needs",
        ),
        _ => return None,
    };
    let finding = Finding::new(rule, Severity::Warning, Some(Verdict::Hazard), message).with_help(help);
    Some((rule, place(explainer, view, obstacle, finding)))
}

fn hazard_evidence(explainer: &Explainer<'_>, view: &TierView) -> String {
    let failures = &view.record.failures;
    let Some(first) = failures.first() else {
        return String::new();
    };
    let attempts = if failures.len() == 1 {
        "one attempt".to_owned()
    } else {
        format!("{} attempts", failures.len())
    };
    let ready = view.record.ready_at.map_or(0.0, |at| explainer.seconds(at));
    format!(
        "In the rehearsal {attempts} failed, first at {:.1} s with \"{}\", and the tier was Ready only at {ready:.1} s.",
        explainer.seconds(first.ended_at),
        first_line(&first.failure.message)
    )
}

fn stall_evidence(explainer: &Explainer<'_>, view: &TierView) -> String {
    let now = explainer.seconds(explainer.world.now());
    let Some(last) = view.record.failures.last() else {
        return String::new();
    };
    let attempts = if view.record.failures.len() == 1 {
        "an attempt".to_owned()
    } else {
        format!("{} attempts", view.record.failures.len())
    };
    let applied = if view.has_applied() {
        ""
    } else {
        " and nothing of its last stage was applied"
    };
    format!(
        "In the rehearsal {attempts} failed{applied}; the last one said \"{}\", and after {now:.0} s nothing changes any more.",
        first_line(&last.failure.message)
    )
}

/// HelmReleases that never become Ready although their tier is: nothing waits for them, so no tier tells.
fn stuck_releases(explainer: &Explainer<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, record) in explainer.world.releases.releases() {
        let Some(failure) = record.last_failure.as_ref().filter(|_| !record.settled) else {
            continue;
        };
        let id = crate::waits::release_id(name);
        let Some(tier) = explainer.by_id.get(&id).and_then(|tier| explainer.tier(tier)) else {
            continue;
        };
        // A release that waits for another stuck one, or for a tier that never applies, is not to blame.
        let is_secondary = failure.obstacles.iter().any(|obstacle| match obstacle {
            Obstacle::Release { state, .. } => *state != DependencyState::Missing,
            Obstacle::Source { source } => explainer.by_id.contains_key(source),
            Obstacle::VariableSource { object } => explainer.by_id.contains_key(object),
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
            "`{}` applies it and is Ready all the same. helm-controller says \"{}\".",
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

/// Flux's own pods need a network.
fn no_network(script: &Script) -> Finding {
    Finding::new(
        "network-missing",
        Severity::Error,
        Some(Verdict::NeverReady),
        format!("nothing ever starts: {} brings no network plugin, and no bootstrap stage installs one", script.stage.distribution),
    )
    .with_why("Flux runs in pods, and pods stay pending until a node has a network")
    .with_help("install the network plugin before Flux, and list that under `baseline.bootstrap` in `firstpass.yaml`")
}

fn deadlock(rule: &str, message: String) -> Finding {
    Finding::new(rule, Severity::Error, Some(Verdict::Deadlock), message)
}

fn never(rule: &str, message: String) -> Finding {
    Finding::new(rule, Severity::Error, Some(Verdict::NeverReady), message)
}

fn invalid(rule: &str, message: String) -> Finding {
    Finding::new(rule, Severity::Error, Some(Verdict::Invalid), message)
}
