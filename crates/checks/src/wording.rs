//! Words that several rules share: who brings a thing, and what to write so that the order is certain.

use firstpass_knowledge::{KindDef, Knowledge, VersionPoint};
use firstpass_object::{GroupKind, ObjectExt, ObjectId, TierName};
use firstpass_order::{Gate, How, Needed, Provider, TierIndex};
use serde_json::Value;

use crate::CheckInput;
use crate::needs::Cause;

/// What to do where the order is right all the same: a script applies the thing before Flux.
pub(crate) const WHAT_IS_THERE: &str =
    "If a script applies it before Flux, say so under `baseline` in firstpass.yaml.";

/// A list in a sentence: `a`, `b` and `c`.
pub(crate) fn and<T: AsRef<str>>(items: &[T]) -> String {
    match items {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [init @ .., last] => {
            let init: Vec<&str> = init.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", init.join(", "), last.as_ref())
        }
    }
}

/// Kinds in backticks, the first few by name.
pub(crate) fn kinds(kinds: &[&GroupKind]) -> String {
    named(kinds.iter().map(|kind| kind.kind.as_str()))
}

/// Objects in backticks, the first few by name.
pub(crate) fn objects(objects: &[&ObjectId]) -> String {
    named(objects.iter().map(ToString::to_string))
}

/// More than this many are counted.
const NAMED_MAX: usize = 3;

/// The first few of a list, and how many more there are.
pub(crate) fn few(items: &[String]) -> String {
    let more = items.len().saturating_sub(NAMED_MAX);
    let mut shown: Vec<String> = items.iter().take(NAMED_MAX).cloned().collect();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    and(&shown)
}

fn named<T: AsRef<str>>(items: impl ExactSizeIterator<Item = T>) -> String {
    let more = items.len().saturating_sub(NAMED_MAX);
    let mut shown: Vec<String> = items
        .take(NAMED_MAX)
        .map(|item| format!("`{}`", item.as_ref()))
        .collect();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    and(&shown)
}

/// Who brings a thing: `the chart kyverno 3.4.x of `HelmRelease/kyverno/kyverno` brings `ClusterPolicy``.
pub(crate) fn brings(provider: &Provider, what: &str) -> String {
    let object = match &provider.object {
        Some(object) => format!("`{object}`"),
        None => "a bootstrap stage".to_owned(),
    };
    match &provider.how {
        How::Manifest => format!("{object} brings {what}"),
        How::Chart { chart } => format!("the chart {chart} of {object} brings {what}"),
        How::OperatorStart { operator } => {
            format!("{operator} registers {what} when it starts, and {object} starts it")
        }
        How::OperatorObject {
            operator, trigger, ..
        } => format!("{operator} creates {what} only after it has reconciled `{trigger}`"),
    }
}

/// Where a fact comes from, in brackets.
pub(crate) fn source(provider: &Provider) -> String {
    if provider.source.is_empty() {
        String::new()
    } else {
        format!(" ({})", provider.source)
    }
}

/// The entry of `dependsOn` for a tier, as the other tier has to write it.
pub(crate) fn depends_on(on: &TierName, from: &TierName) -> String {
    let mut text = format!("  dependsOn:\n    - name: {}", on.name);
    if on.namespace != from.namespace {
        text.push_str(&format!("\n      namespace: {}", on.namespace));
    }
    text
}

/// What makes a tier Ready only when kinds are really there: YAML for its spec, or `None` if its Ready proves it already.
pub(crate) fn barrier(input: &CheckInput<'_>, from: TierIndex, cause: &Cause<'_>) -> Option<String> {
    let provider = cause.provider()?;
    let gate = &input.graph.tiers.node(from).gate;
    let crds = || {
        let names: Vec<String> = cause
            .kinds()
            .into_iter()
            .filter_map(|kind| crd_name(input.knowledge, kind))
            .collect();
        health_checks_on_crds(&names)
    };
    match &provider.how {
        How::Manifest => match gate {
            // What is stored is there, except for what a controller makes of it.
            Gate::Nothing if is_made_from(cause) => Some("  wait: true".to_owned()),
            Gate::Listed(targets) if is_made_from(cause) => {
                let maker = provider.object.as_ref();
                maker
                    .filter(|maker| !targets.contains(maker))
                    .map(|object| health_check_on(input.knowledge, object))
            }
            _ => None,
        },
        How::Chart { .. } => match gate {
            Gate::Everything => None,
            Gate::Nothing => Some("  wait: true".to_owned()),
            Gate::Listed(targets) => {
                let release = provider.object.as_ref();
                release
                    .filter(|release| !targets.contains(release))
                    .map(|object| health_check_on(input.knowledge, object))
            }
        },
        How::OperatorStart { operator } => {
            let kind = cause.kinds().first().copied()?.clone();
            let proves = input.knowledge.operator(operator).is_some_and(|operator| {
                let mut effects = operator.at_start.iter();
                effects.any(|effect| effect.may_bring(&kind.group, &kind.kind) && effect.before_ready)
            });
            match gate {
                Gate::Everything if proves => None,
                Gate::Nothing if proves => Some("  wait: true".to_owned()),
                Gate::Listed(targets) if proves => {
                    let starter = provider.object.as_ref();
                    starter
                        .filter(|starter| !targets.contains(starter))
                        .map(|object| health_check_on(input.knowledge, object))
                }
                _ => crds(),
            }
        }
        // What is made at runtime is in no tier, so no wait covers it.
        How::OperatorObject { trigger, .. } if input.cluster.find(trigger).is_none() => crds(),
        How::OperatorObject {
            operator, trigger, ..
        } => match expression(input.knowledge, operator, trigger, cause) {
            Some(expression) => Some(match gate {
                Gate::Nothing => format!("  wait: true\n{expression}"),
                Gate::Everything => expression,
                Gate::Listed(targets) if targets.contains(trigger) => expression,
                Gate::Listed(_) => format!("{}\n{expression}", health_check_on(input.knowledge, trigger)),
            }),
            None => crds(),
        },
    }
}

/// Whether what is needed is made by a controller from the provider's object, as a Secret from an ExternalSecret.
fn is_made_from(cause: &Cause<'_>) -> bool {
    let object = cause.provider().and_then(|provider| provider.object.as_ref());
    match (&cause.first().needed, object) {
        (Needed::Data { object: needed, .. }, Some(object)) => needed.kind != object.kind,
        _ => false,
    }
}

/// The name of the CRD of a kind.
pub(crate) fn crd_name(knowledge: &Knowledge, kind: &GroupKind) -> Option<String> {
    knowledge
        .custom_kind(&kind.group, &kind.kind)
        .map(KindDef::crd_name)
}

fn health_checks_on_crds(names: &[String]) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let entries: Vec<String> = names
        .iter()
        .map(|name| {
            format!("    - apiVersion: apiextensions.k8s.io/v1\n      kind: CustomResourceDefinition\n      name: {name}")
        })
        .collect();
    Some(format!(
        "  healthChecks:   # instead of wait: true, which makes Flux overlook this list\n{}",
        entries.join("\n")
    ))
}

fn health_check_on(knowledge: &Knowledge, object: &ObjectId) -> String {
    let served = knowledge
        .custom_kind(&object.group, &object.kind)
        .and_then(|kind| Some((*kind.served(VersionPoint::Newest).first()?).to_owned()));
    let version = match (served, object.group.as_str()) {
        (Some(version), group) => format!("{group}/{version}"),
        (None, "") => "v1".to_owned(),
        (None, "helm.toolkit.fluxcd.io") => format!("{}/v2", object.group),
        (None, group) => format!("{group}/v1"),
    };
    let mut text = format!(
        "  healthChecks:\n    - apiVersion: {version}\n      kind: {}\n      name: {}",
        object.kind, object.name
    );
    if let Some(namespace) = &object.namespace {
        text.push_str(&format!("\n      namespace: {namespace}"));
    }
    text
}

/// A `healthCheckExprs` entry that is true only once an operator has brought the kinds: it reads a status that the
/// operator writes afterwards.
fn expression(
    knowledge: &Knowledge,
    operator: &str,
    trigger: &ObjectId,
    cause: &Cause<'_>,
) -> Option<String> {
    let operator = knowledge.operator(operator)?;
    let needed = cause.kinds();
    let effect = operator
        .on_object
        .iter()
        .filter(|on_object| on_object.kind.matches(&trigger.group, &trigger.kind))
        .flat_map(|on_object| &on_object.effects)
        .find(|effect| {
            needed
                .iter()
                .any(|kind| effect.may_bring(&kind.group, &kind.kind))
        })?;
    let status = effect.before_status.as_deref()?;
    let kind = knowledge.custom_kind(&trigger.group, &trigger.kind)?;
    let write = kind
        .status
        .iter()
        .position(|write| write.name.as_deref() == Some(status))?;
    let before: Vec<&Value> = kind.status[..write].iter().map(|write| &write.set).collect();
    let current = condition_of(&kind.status[write].set, &before)?;
    let version = kind.served(VersionPoint::Newest);
    let version = version.first()?;
    Some(format!(
        "  healthCheckExprs:\n    - apiVersion: {}/{version}\n      kind: {}\n      current: {current}",
        kind.group, kind.kind
    ))
}

/// A CEL expression that holds once a status has been written, and does not hold before.
fn condition_of(set: &Value, before: &[&Value]) -> Option<String> {
    if let Some(phase) = set.text_at(&["phase"]) {
        return Some(format!("status.phase == '{phase}'"));
    }
    let is_met = |condition: &&Value| condition.text_at(&["status"]) == Some("True");
    let was_met = |condition: &Value| {
        let mut earlier = before.iter().flat_map(|set| set.items_at(&["conditions"]));
        earlier.any(|other| is_met(&other) && other.text_at(&["type"]) == condition.text_at(&["type"]))
    };
    let mut conditions = set.items_at(&["conditions"]).iter().filter(is_met);
    let met = conditions.find(|condition| !was_met(condition))?;
    let condition_type = met.text_at(&["type"])?;
    Some(format!(
        "status.conditions.exists(c, c.type == '{condition_type}' && c.status == 'True')"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_read_as_a_sentence() {
        let ids: Vec<ObjectId> = ["a", "b", "c", "d", "e"]
            .iter()
            .map(|name| ObjectId::new("", "Pod", None, name))
            .collect();
        let refs: Vec<&ObjectId> = ids.iter().collect();
        assert_eq!(objects(&refs[..1]), "`Pod/a`");
        assert_eq!(objects(&refs[..2]), "`Pod/a` and `Pod/b`");
        assert_eq!(objects(&refs), "`Pod/a`, `Pod/b`, `Pod/c` and 2 more");
    }

    #[test]
    fn expressions_read_the_status_that_operators_write() {
        assert_eq!(
            condition_of(&json!({"phase": "Deployed", "conditions": []}), &[]).unwrap(),
            "status.phase == 'Deployed'"
        );
        assert_eq!(
            condition_of(
                &json!({"conditions": [{"type": "Available", "status": "True"}]}),
                &[]
            )
            .unwrap(),
            "status.conditions.exists(c, c.type == 'Available' && c.status == 'True')"
        );
        let installed = json!({"conditions": [{"type": "Installed", "status": "True"}]});
        let healthy = json!({"conditions": [{"type": "Installed", "status": "True"}, {"type": "Healthy", "status": "True"}]});
        assert_eq!(
            condition_of(&healthy, &[&installed]).unwrap(),
            "status.conditions.exists(c, c.type == 'Healthy' && c.status == 'True')"
        );
        assert_eq!(condition_of(&json!({}), &[]), None);
    }
}
