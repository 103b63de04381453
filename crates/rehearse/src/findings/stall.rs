//! What keeps a tier from ever being Ready, classed by what it waits for.

use firstpass_controllers::ClaimWait;
use firstpass_controllers::kustomization::{DependencyState, Obstacle};
use firstpass_diagnostics::{Finding, Severity, TierState, Verdict, duration_text};
use firstpass_flux::names;
use firstpass_object::kstatus::StatusKind;
use firstpass_object::{ObjectExt, ObjectId, TierName};
use firstpass_order::{How, Need, server_of};
use firstpass_sim::World;

use super::{Own, place};
use crate::explain::{Explainer, TierView};
use crate::waits::{Wait, health_text};
use crate::why::{first_line, provided_by};

/// What keeps a tier from ever being Ready.
pub(super) fn stalls(explainer: &Explainer<'_>, view: &TierView) -> Vec<Own> {
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
        Obstacle::Source { source } => source_stall(explainer, tier, source)?,
        Obstacle::Unhealthy { object, .. } if in_circle => health_circle(explainer, view, object),
        _ if in_circle => {
            let names: Vec<String> = circle.into_iter().flatten().map(|tier| format!("`{tier}`")).collect();
            deadlock(
                "tiers-wait-for-each-other",
                format!("{} wait for each other: `{tier}` needs {}", names.join(" and "), crate::why::waiting_text(wait)),
            )
            .with_why("none of them can ever apply what the other needs")
            .with_help("move what needs it into a tier of its own, after the one that brings it")
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
        Obstacle::Unhealthy {
            object,
            status,
            message,
            ..
        } => unhealthy(explainer, view, object, *status, message),
        Obstacle::Webhook { message, .. } => never("never-healthy", format!("an admission webhook that `{tier}` needs never serves"))
            .with_why(first_line(message).to_owned())
            .with_help("let what serves the webhook come up in an earlier tier, and wait for it"),
        Obstacle::Refused { object, message, .. } => refused(explainer, tier, object, message),
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
            .with_help(if message.contains("feature gate") {
                "switch the feature gate on in the arguments of kustomize-controller (`--feature-gates=ExternalArtifact=true`), or build from another source"
            } else {
                "correct its spec"
            }),
        Obstacle::Prune { message, .. } => never("never-healthy", format!("`{tier}` cannot delete what is stale"))
            .with_why(first_line(message).to_owned())
            .with_help("remove what holds the object"),
        Obstacle::Release { .. } => return None,
    };
    Some(place(explainer, view, obstacle, finding))
}

/// A source without an artifact. Where something of this cluster would serve it, and comes from it, that is to blame, and
/// said once.
fn source_stall(explainer: &Explainer<'_>, tier: &TierName, source: &ObjectId) -> Option<Finding> {
    let cluster = &explainer.script.cluster;
    let unanswered = explainer.world.sources.unanswered_by(source).is_some();
    if unanswered && let Some(server) = server_of(cluster, &explainer.script.stage, source) {
        let object = server.object.id();
        if explainer.bringer(&object) != Some(tier)
            && server.tier.source.name().map(|name| name.id()).as_ref() == Some(source)
        {
            return None;
        }
        return Some(
            deadlock(
                "source-inside-cluster",
                format!("`{source}` is served by `{object}`, which never comes up"),
            )
            .with_why("nothing answers before it is there, so the source never has an artifact")
            .with_help("let Flux read from a server outside the cluster, or bring the server up before Flux")
            .with_object(&object),
        );
    }
    let said = explainer.world.server.object(source).and_then(|object| {
        let ready = object.condition(names::condition::READY)?;
        Some(ready.text_at(&["message"])?.to_owned())
    });
    let why = match said {
        Some(said) => format!(
            "source-controller says `{said}`; a Flux Kustomization without an artifact applies nothing"
        ),
        None => "a Flux Kustomization without an artifact applies nothing".to_owned(),
    };
    let finding = never(
        "source-missing",
        format!("`{source}`, the source of `{tier}`, never has an artifact"),
    );
    Some(
        finding
            .with_why(why)
            .with_help("let the source be fetched, or create it before the tiers that are built from it"),
    )
}

/// An object that the API server never accepts; if another tier has made it, the two are at odds.
fn refused(explainer: &Explainer<'_>, tier: &TierName, object: &ObjectId, message: &str) -> Finding {
    let mut others = explainer
        .script
        .cluster
        .tiers
        .iter()
        .filter(|other| other.name != *tier);
    let holder = others.find(|other| other.objects().iter().any(|held| held.id() == *object));
    match holder.map(|holder| &holder.name) {
        Some(holder) => invalid(
            "object-in-two-tiers",
            format!("`{tier}` cannot change `{object}`, which `{holder}` has made otherwise"),
        )
        .with_help("declare it in one tier, and let the other one depend on that"),
        None => invalid(
            "invalid-object",
            format!("the API server refuses `{object}` of `{tier}`"),
        )
        .with_help("correct the object; nothing of its stage is applied before"),
    }
    .with_why(first_line(message).to_owned())
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
    .with_help("bring what it needs in a tier of its own before this one, or leave it out of what this tier waits for")
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
        (DependencyState::ExpressionFalse, Some(other)) if other.is_done() => never(
            "never-healthy",
            format!("the `readyExpr` with which `{tier}` looks at `{dependency}` is never true"),
        )
        .with_why(format!(
            "`{dependency}` is Ready and stays as it is. With `readyExpr` the expression alone decides, and one that fails to evaluate, \
             such as for a label or a field that is not there, counts as not ready and is tried again for ever"
        ))
        .with_help(format!(
            "correct the expression, or leave it out: then `{dependency}` has to be Ready at the same revision"
        )),
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
fn unhealthy(
    explainer: &Explainer<'_>,
    view: &TierView,
    object: &ObjectId,
    status: StatusKind,
    seen: &str,
) -> Finding {
    let tier = &view.name;
    if status == StatusKind::NotFound && explainer.bringer(object).is_none() {
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
    .with_why(health_text(object, seen, explainer.world))
    .with_help(
        super::advice::for_unhealthy(explainer, tier, object)
            .unwrap_or_else(|| advice(object, explainer.world).to_owned()),
    )
    .with_related(behind.iter().map(ToString::to_string))
}

/// A tier that never comes up, for no reason that has words of its own.
pub(super) fn unexplained(explainer: &Explainer<'_>, view: &TierView) -> Finding {
    let tier = &view.name;
    let waits: Vec<String> = view.waits.iter().map(crate::why::waiting_text).collect();
    let why = match (waits.is_empty(), stall_evidence(explainer, view)) {
        (true, evidence) => evidence,
        (false, evidence) => format!("It waits for {}. {evidence}", waits.join(", ")),
    };
    let mut finding = never("never-healthy", format!("`{tier}` never comes up"))
        .with_why(why.trim_end())
        .with_help("compare what it waits for with what the cluster has: list under `baseline` in firstpass.yaml what is there before Flux")
        .with_tier(tier)
        .with_object(&ObjectId::new(
            names::KUSTOMIZE_GROUP,
            names::KUSTOMIZATION,
            Some(&tier.namespace),
            &tier.name,
        ))
        .with_blocks(explainer.blocked_by(tier));
    finding.location = explainer
        .script
        .cluster
        .tier(tier)
        .and_then(|tier| tier.location.clone());
    finding
}

/// What to do about an object that never becomes healthy. Different causes have different advice, which tells findings apart.
fn advice(object: &ObjectId, world: &World) -> &'static str {
    let claim = world.storage.claims().get(object);
    match claim.and_then(|record| record.waits_for.as_ref()) {
        Some(ClaimWait::Mode { .. }) => {
            return "ask for an access mode that the provisioner has, or use a class of another one";
        }
        Some(ClaimWait::Named {
            objection: Some(_), ..
        }) => {
            return "let the volume be what the claim asks for, or leave out `spec.volumeName`";
        }
        _ => {}
    }
    let workload = world.workloads.workloads().get(object);
    if workload.is_some_and(|record| !record.missing_keys.is_empty()) {
        return "add the key, or mark the reference with `optional: true`";
    }
    if workload.is_some_and(|record| record.unplaced.is_some()) {
        return "let it ask for a node that there is; `baseline.nodes` of `firstpass.yaml` lists them";
    }
    "make it healthy, or leave it out of what the tier waits for"
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
        "In the rehearsal {attempts} failed{applied}; the last one said `{}`, and after {} nothing changes any more.",
        first_line(&last.failure.message),
        duration_text(now)
    )
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
