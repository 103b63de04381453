//! Claims of a StorageClass that nobody has.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use firstpass_baseline::Release;
use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_knowledge::Operator;
use firstpass_object::{ObjectExt, ObjectId};
use firstpass_render::{RenderedObject, Tier};
use serde_json::Value;

use super::waited_for::never_healthy;
use super::{missing, release};
use crate::input::At as _;
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "storage-class-missing",
    summary: "a claim of a StorageClass that neither the repository nor the distribution has",
    severity: Severity::Error,
    verdict: Some(Verdict::NeverReady),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/storage-class-missing.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let in_git = input.cluster.objects().map(|(_, object)| object.id());
    let staged = input.stage.objects.iter().map(|(object, _)| object.id());
    let known = names_of(in_git.chain(staged));
    let made: OnceCell<BTreeSet<String>> = OnceCell::new();
    // Volumes made by hand can name a class that does not exist.
    let by_volume: BTreeSet<String> = input
        .cluster
        .objects()
        .filter(|(_, object)| object.id().is("", "PersistentVolume"))
        .filter_map(|(_, object)| {
            object
                .object
                .text_at(&["spec", "storageClassName"])
                .map(str::to_owned)
        })
        .collect();
    let mut findings = Vec::new();
    for (tier, object) in input.cluster.objects() {
        for (path, class) in claimed(object) {
            let certain: Vec<&str> = path.iter().map(String::as_str).collect();
            let is_there = known.contains(&class) || by_volume.contains(&class);
            if !is_there
                && object.is_certain(&certain)
                && !made.get_or_init(|| made_at_runtime(input)).contains(&class)
            {
                findings.push(finding(input, tier, object, &certain, &class));
            }
        }
    }
    findings
}

/// The classes that claims of an object name: its own, or those of a StatefulSet's templates.
fn claimed(object: &RenderedObject) -> Vec<(Vec<String>, String)> {
    let content = &*object.object;
    let class = |path: &[&str], claim: &Value| {
        let name = claim
            .text_at(&["spec", "storageClassName"])
            .filter(|name| !name.is_empty())?;
        let path = path.iter().chain(&["spec", "storageClassName"]);
        Some((path.map(|part| (*part).to_owned()).collect(), name.to_owned()))
    };
    match content.kind() {
        "PersistentVolumeClaim" => class(&[], content).into_iter().collect(),
        "StatefulSet" => {
            let templates = content
                .items_at(&["spec", "volumeClaimTemplates"])
                .iter()
                .enumerate();
            let found = templates.filter_map(|(index, template)| {
                class(&["spec", "volumeClaimTemplates", &index.to_string()], template)
            });
            found.collect()
        }
        _ => Vec::new(),
    }
}

fn names_of(ids: impl Iterator<Item = ObjectId>) -> BTreeSet<String> {
    let classes = ids.filter(|id| id.is("storage.k8s.io", "StorageClass"));
    classes.map(|id| id.name.to_string()).collect()
}

/// The classes that charts and operators make.
fn made_at_runtime(input: &CheckInput<'_>) -> BTreeSet<String> {
    let found = |id: &ObjectId| {
        let found = input.cluster.find(id);
        found.map(|(_, object)| Arc::clone(&object.object))
    };
    let mut ids: Vec<ObjectId> = Vec::new();
    for (_, object) in release::all(input) {
        if let Some(facts) = Release::of_object(&object.object, &found).facts(input.knowledge) {
            ids.extend(facts.objects.iter().map(ObjectExt::id));
            let operators = facts.operators.iter();
            ids.extend(operators.flat_map(|(operator, _)| made_by(operator)));
        }
    }
    for (_, object) in input.cluster.objects() {
        let name = object.object.name();
        let operators = input.knowledge.operators_of_workload(name, std::iter::empty());
        ids.extend(operators.into_iter().flat_map(made_by));
    }
    names_of(ids.into_iter())
}

/// The objects that an operator makes, as its facts spell them.
fn made_by(operator: &Operator) -> Vec<ObjectId> {
    let later = operator.on_object.iter().flat_map(|on_object| &on_object.effects);
    let effects = operator.at_start.iter().chain(later);
    let objects = effects.flat_map(|effect| &effect.objects);
    objects.map(|object| object.manifest.id()).collect()
}

fn finding(
    input: &CheckInput<'_>,
    tier: &Tier,
    object: &RenderedObject,
    path: &[&str],
    class: &str,
) -> Finding {
    let id = object.id();
    let message = format!("`{id}` claims storage of class `{class}`, which nothing brings");
    let why = format!(
        "neither the repository nor {} has a StorageClass of that name, so the claim stays Pending and its pods with it",
        input.stage.distribution_text()
    );
    let help =
        "correct the name, bring the class, or say under `baseline` in firstpass.yaml what the cluster has";
    let finding = RULE
        .finding(message)
        .with_tier(&tier.name)
        .with_object(&id)
        .with_why(why)
        .with_help(help)
        .at(input.repository.locate(&object.origin, path));
    let finding = never_healthy(input, tier, &id, finding);
    missing::weigh(finding, input.graph.unknowns.is_empty())
}
