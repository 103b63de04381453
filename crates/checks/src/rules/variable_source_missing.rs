//! A ConfigMap or Secret of variables that nobody makes.

use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_object::{ObjectExt, ObjectId};
use firstpass_order::{Answer, Needed};
use serde_json::Value;

use super::values_under_another_name;
use crate::needs::{Cause, causes};
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "variable-source-missing",
    summary: "a `substituteFrom` entry whose ConfigMap or Secret nothing makes",
    severity: Severity::Info,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/variable-source-missing.md"),
    check,
};

/// Shorter names are near each other by chance.
const NAME_LENGTH_MIN: usize = 8;

/// As many wrong letters are a slip.
const LETTERS_WRONG_MAX: usize = 2;

fn check(input: &Context<'_>) -> Vec<Finding> {
    let found = causes(input, |need| {
        matches!(need.needed, Needed::Data { optional: false, .. })
            && matches!(need.answer, Answer::Nobody { .. })
    });
    found.iter().filter_map(|cause| finding(input, cause)).collect()
}

fn finding(input: &CheckInput<'_>, cause: &Cause<'_>) -> Option<Finding> {
    let tier = cause.tier_name(input);
    let first = cause.first();
    let (Needed::Data { object, .. }, Answer::Nobody { hint, .. }) = (&first.needed, &first.answer) else {
        return None;
    };
    let hint = hint
        .as_ref()
        .map(|hint| format!("; {}", hint.says))
        .unwrap_or_default();
    let why = format!(
        "a `substituteFrom` entry without `optional: true` has to exist before anything of `{tier}` is built{hint}. A cold \
         start needs somebody to create it first"
    );
    let message = format!("nothing in the repository makes `{object}`, from which `{tier}` takes variables");
    let Some(meant) = meant(input, object) else {
        let help = "bring it in a tier before this one, or list it under `baseline.secrets` in firstpass.yaml if the \
                    bootstrap creates it";
        return Some(cause.finding(input, &RULE, message).with_why(why).with_help(help));
    };
    let (hint, help) = match &meant {
        Meant::Misspelt(id) => (format!("did you mean `{}`?", id.name), format!("correct the name: `{}`", id.name)),
        Meant::Hashed(id) => (
            format!("kustomize has called it `{}`", id.name),
            "set `disableNameSuffixHash: true` under `options` of the generator: `substituteFrom` takes names as they are written".to_owned(),
        ),
        Meant::Elsewhere(id) => (
            format!("`{id}` is in another namespace"),
            format!(
                "`substituteFrom` reads the namespace of the Flux Kustomization: apply the object to `{}` as well, or move the Flux \
                 Kustomization",
                object.namespace.as_deref().unwrap_or_default()
            ),
        ),
    };
    let mut finding = cause
        .finding(input, &RULE, format!("{message}: {hint}"))
        .with_related([meant.id().to_string()])
        .with_why(why)
        .with_help(help)
        .with_blocks(input.blocked_by(cause.tier, false));
    finding.severity = Severity::Error;
    finding.verdict = Some(Verdict::NeverReady);
    Some(finding)
}

/// What somebody may have meant by a name that nothing makes.
enum Meant {
    /// One or two letters away.
    Misspelt(ObjectId),
    /// The same name with the hash of a generator behind it.
    Hashed(ObjectId),
    /// The same name in another namespace.
    Elsewhere(ObjectId),
}

impl Meant {
    fn id(&self) -> &ObjectId {
        let (Meant::Misspelt(id) | Meant::Hashed(id) | Meant::Elsewhere(id)) = self;
        id
    }
}

fn meant(input: &CheckInput<'_>, wanted: &ObjectId) -> Option<Meant> {
    let same_kind: Vec<ObjectId> = input
        .cluster
        .objects()
        .map(|(_, object)| object.id())
        .filter(|id| id.group_kind() == wanted.group_kind())
        .collect();
    let here: Vec<&ObjectId> = same_kind
        .iter()
        .filter(|id| id.namespace == wanted.namespace)
        .collect();
    if let Some(hashed) = values_under_another_name::hashed_twin(input, wanted) {
        return Some(Meant::Hashed(hashed));
    }
    if let Some(misspelt) = here.iter().find(|id| is_misspelt(&id.name, &wanted.name)) {
        return Some(Meant::Misspelt((*misspelt).clone()));
    }
    let elsewhere = same_kind.iter().find(|id| id.name == wanted.name)?;
    // Somebody may copy it, and a namespace that was there before the cluster's first pass may hold it already.
    let is_new = input.cluster.objects().any(|(_, object)| {
        let id = object.id();
        id.is("", "Namespace") && Some(&id.name) == wanted.namespace.as_ref()
    });
    (is_new && !may_be_copied(input, elsewhere)).then(|| Meant::Elsewhere(elsewhere.clone()))
}

/// Whether something copies ConfigMaps and Secrets between namespaces: an annotation for it, or a policy that generates.
fn may_be_copied(input: &CheckInput<'_>, object: &ObjectId) -> bool {
    let annotated = |annotation: &str| COPIERS.iter().any(|copier| annotation.contains(copier));
    let generates = |kind: &str| {
        matches!(
            kind,
            "ClusterPolicy" | "Policy" | "GeneratingPolicy" | "ClusterExternalSecret" | "ClusterConfigMap"
        )
    };
    !input.graph.unknowns.is_empty()
        || input.cluster.objects().any(|(_, other)| {
            let annotations = other
                .object
                .at(&["metadata", "annotations"])
                .and_then(Value::as_object);
            generates(other.object.kind())
                || other.id() == *object
                    && annotations.is_some_and(|annotations| annotations.keys().any(|key| annotated(key)))
        })
}

/// Parts of the annotations by which controllers are asked to copy an object.
const COPIERS: [&str; 4] = ["reflector", "replicator", "kubed", "config-syncer"];

/// One or two letters away, and more than a number apart.
fn is_misspelt(name: &str, wanted: &str) -> bool {
    let letters = |name: &str| -> String { name.chars().filter(|letter| !letter.is_ascii_digit()).collect() };
    let length = name.chars().count().min(wanted.chars().count());
    length >= NAME_LENGTH_MIN
        && firstpass_yaml::distance(name, wanted) <= LETTERS_WRONG_MAX
        && letters(name) != letters(wanted)
}
