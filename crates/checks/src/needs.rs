//! Needs of the order graph, brought together by their cause.

use std::collections::BTreeSet;

use firstpass_diagnostics::{Finding, Location};
use firstpass_knowledge::Scope;
use firstpass_object::{GroupKind, ObjectExt, ObjectId, Origin, Step, TierName};
use firstpass_order::{Need, Needed, Provider, TierIndex};

use crate::input::At as _;
use crate::{CheckInput, Rule};

/// Needs of one tier that have one cause: the same provider, or for lack of any the same missing thing.
pub(crate) struct Cause<'a> {
    /// The tier that needs.
    pub(crate) tier: TierIndex,
    /// The needs in the order of the graph; never empty.
    pub(crate) needs: Vec<&'a Need>,
}

/// The needs of the graph that a rule is about, by tier and cause, in the order of the graph.
pub(crate) fn causes<'a>(input: &CheckInput<'a>, concerns: impl Fn(&Need) -> bool) -> Vec<Cause<'a>> {
    let mut causes: Vec<(Key, Cause<'a>)> = Vec::new();
    for need in input.graph.needs.iter().filter(|need| concerns(need)) {
        let key = Key::of(need);
        match causes
            .iter_mut()
            .rev()
            .take_while(|(_, cause)| cause.tier == need.tier)
            .find(|(known, _)| *known == key)
        {
            Some((_, cause)) => cause.needs.push(need),
            None => {
                let cause = Cause {
                    tier: need.tier,
                    needs: vec![need],
                };
                causes.push((key, cause));
            }
        }
    }
    causes.into_iter().map(|(_, cause)| cause).collect()
}

/// What makes two needs of a tier one cause.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Key {
    Provider(Option<TierIndex>, Option<ObjectId>),
    Kind(GroupKind),
    Thing(Needed),
}

impl Key {
    fn of(need: &Need) -> Key {
        match (need.answer.provider(), &need.needed) {
            (Some(provider), _) => Key::Provider(provider.tier, provider.object.clone()),
            (None, Needed::Kind { kind, .. }) => Key::Kind(kind.clone()),
            (None, needed) => Key::Thing(needed.clone()),
        }
    }
}

impl<'a> Cause<'a> {
    /// The first need.
    pub(crate) fn first(&self) -> &'a Need {
        self.needs[0]
    }

    /// Who would bring it.
    pub(crate) fn provider(&self) -> Option<&'a Provider> {
        self.first().answer.provider()
    }

    /// The kinds that are needed, each once.
    pub(crate) fn kinds(&self) -> Vec<&'a GroupKind> {
        let mut kinds = Vec::new();
        for need in &self.needs {
            if let Needed::Kind { kind, .. } | Needed::Webhook { kind, .. } = &need.needed
                && !kinds.contains(&kind)
            {
                kinds.push(kind);
            }
        }
        kinds
    }

    /// The objects of the tier that it is about: the first in build order, then the others.
    pub(crate) fn objects(&self) -> Vec<&'a ObjectId> {
        let mut seen = BTreeSet::new();
        let all = self
            .needs
            .iter()
            .flat_map(|need| std::iter::once(&need.by).chain(&need.also));
        all.filter(|id| seen.insert(*id)).collect()
    }

    /// The name of the tier that needs.
    pub(crate) fn tier_name(&self, input: &CheckInput<'a>) -> &'a TierName {
        input.graph.tiers.name(self.tier)
    }

    /// A finding about this cause: tier, first object, the other objects and the provider as related, and the place of
    /// what needs.
    pub(crate) fn finding(&self, input: &CheckInput<'a>, rule: &Rule, message: String) -> Finding {
        let first = self.first();
        let objects = self.objects();
        let provider = self.provider().and_then(|provider| provider.object.as_ref());
        let others = objects[1..]
            .iter()
            .copied()
            .chain(provider.filter(|id| **id != first.by));
        let others = others.map(|id| shown(input, id).to_string());
        rule.finding(message)
            .with_tier(self.tier_name(input))
            .with_object(&shown(input, &first.by))
            .with_related(others)
            .with_cause(self.name(input))
            .at(place_of(input, first))
    }

    /// What tiers have in common that need the same: who brings it, or what nobody brings.
    fn name(&self, input: &CheckInput<'a>) -> String {
        match Key::of(self.first()) {
            Key::Provider(tier, object) => {
                let tier = tier.map(|tier| input.graph.tiers.name(tier).to_string());
                let object = object.map(|object| object.to_string());
                format!("{} of {}", object.unwrap_or_default(), tier.unwrap_or_default())
            }
            Key::Kind(kind) => kind.to_string(),
            Key::Thing(needed) => format!("{needed:?}"),
        }
    }
}

/// An object as the cluster has it: a namespace that kustomize has put on a cluster-scoped one is none (F-217, F-305).
fn shown(input: &CheckInput<'_>, id: &ObjectId) -> ObjectId {
    let mut id = id.clone();
    let built_in = !firstpass_schema::kinds::versions_of(&id.group, &id.kind).is_empty();
    if id.namespace.is_some() && !built_in && is_cluster_wide(input, &id.group_kind()) {
        id.namespace = None;
    }
    id
}

/// Whether objects of a custom kind live in no namespace, as far as anybody knows.
fn is_cluster_wide(input: &CheckInput<'_>, kind: &GroupKind) -> bool {
    let staged = input.stage.kinds.get(kind).map(|staged| !staged.namespaced);
    let known = || {
        let def = input.knowledge.custom_kind(&kind.group, &kind.kind)?;
        Some(def.scope == Scope::Cluster)
    };
    let in_git = || {
        input.cluster.objects().find_map(|(_, object)| {
            let text = |path: &[&str]| object.object.text_at(path);
            let defines = text(&["spec", "group"]) == Some(&kind.group)
                && text(&["spec", "names", "kind"]) == Some(&kind.kind);
            defines.then(|| text(&["spec", "scope"]) == Some("Cluster"))
        })
    };
    staged.or_else(known).or_else(in_git).unwrap_or_default()
}

/// Where one sees what is needed.
fn place_of(input: &CheckInput<'_>, need: &Need) -> Option<Location> {
    if let Needed::Namespace(_) = need.needed {
        let tier = input.tier(need.tier);
        if let Some(tier) = tier.filter(|tier| tier.kustomization.spec.target_namespace.is_some()) {
            return input.place_in_tier(tier, &["spec", "targetNamespace"]);
        }
        let mut steps = need.origin.steps.iter().rev();
        let by = steps.find_map(|step| match step {
            Step::Transformed { by, what } if what == "namespace" => Some(by),
            _ => None,
        });
        if let Some(by) = by {
            let kustomization = Origin {
                file: by.clone(),
                line: 1,
                ..Origin::default()
            };
            return input.repository.locate(&kustomization, &["namespace"]);
        }
    }
    let field = field_of(input, need);
    let field: Vec<&str> = field.iter().map(String::as_str).collect();
    input.repository.locate(&need.origin, &field)
}

/// The field that shows what is needed.
fn field_of(input: &CheckInput<'_>, need: &Need) -> Vec<String> {
    let path = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect();
    let listed = |list: &[&str], index: Option<usize>| {
        let mut field: Vec<String> = path(list);
        field.extend(index.map(|index| index.to_string()));
        field.push("name".to_owned());
        field
    };
    let spec = input.tier(need.tier).map(|tier| &tier.kustomization.spec);
    match &need.needed {
        Needed::Kind { .. } | Needed::Webhook { .. } | Needed::ReadOnce { .. } => path(&["kind"]),
        Needed::Namespace(_) => path(&["metadata", "namespace"]),
        Needed::Consumer { .. } => path(&["metadata", "name"]),
        Needed::Data { object, .. } => {
            let from = spec.and_then(|spec| spec.post_build.as_ref());
            let index = from.and_then(|from| {
                from.substitute_from
                    .iter()
                    .position(|source| source.kind == object.kind && source.name == object.name)
            });
            listed(&["spec", "postBuild", "substituteFrom"], index)
        }
        Needed::HealthTarget(target) => {
            let index = spec.and_then(|spec| {
                spec.health_checks
                    .iter()
                    .position(|check| check.kind == target.kind && check.name == target.name)
            });
            listed(&["spec", "healthChecks"], index)
        }
    }
}
