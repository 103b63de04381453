//! Names that changed are changed wherever other objects mention them.

use std::collections::BTreeMap;

use firstpass_yaml::{Map, Node, NodeKind};
use indexmap::IndexMap;

use super::By;
use crate::Error;
use crate::config::NameReference;
use crate::fieldspec::FieldPath;
use crate::resid::Gvk;
use crate::resmap::{ResMap, transformed};
use crate::resource::{Identity, Resource, notes, set_field};
use crate::scalar::{set_scalar, shape_name, text_of};

/// Updates every reference to an object whose name or namespace has changed.
pub(crate) fn fix_name_references(
    references: &[NameReference],
    resources: &mut ResMap,
    by: &By<'_>,
) -> Result<(), Error> {
    let world = World::of(resources);
    let rules = rules(references);
    let mut rules_by_kind: BTreeMap<&Gvk, Vec<&Rule<'_>>> = BTreeMap::new();
    // A binding with a blank namespace is an error even if no name has changed.
    if world.by_former_name.is_empty() && !resources.iter().any(|resource| resource.kind() == "RoleBinding") {
        return Ok(());
    }
    for (position, resource) in resources.items_mut().iter_mut().enumerate() {
        let referrer = Referrer::new(resource, &world.objects[position])?;
        let mut changed = false;
        let kind = referrer.object.original_gvk();
        let rules = rules_by_kind.entry(kind).or_insert_with(|| {
            let is_meant = |rule: &&Rule<'_>| kind.is_selected_by(rule.referrer);
            rules.iter().filter(is_meant).collect()
        });
        for rule in rules.iter() {
            let reference = Reference {
                world: &world,
                referrer: &referrer,
                referral: rule.referral,
                role: rule
                    .field
                    .text()
                    .ends_with("roleRef/name")
                    .then(|| referrer.role.clone())
                    .flatten(),
            };
            let update = &mut |node: &mut Node| {
                changed |= reference.update(node)?;
                Ok(())
            };
            rule.field
                .for_each(resource.fields_mut(), None, update)
                .map_err(|mut error| {
                    error.what = format!(
                        "updating name reference in '{}' field of '{}': {}",
                        rule.field.text(),
                        referrer.object.current,
                        error.what
                    );
                    error
                })?;
        }
        if changed {
            resource.forget_ids();
            resource.shaped_by(transformed(by.file, "nameReference"));
        }
    }
    Ok(())
}

/// One field of one kind that holds names of another kind.
struct Rule<'a> {
    referral: &'a Gvk,
    referrer: &'a Gvk,
    field: FieldPath,
}

fn rules(references: &[NameReference]) -> Vec<Rule<'_>> {
    let mut rules = Vec::new();
    for reference in references {
        rules.extend(reference.referrers.0.iter().map(|spec| Rule {
            referral: &reference.referral,
            referrer: &spec.gvk,
            field: FieldPath::new(spec),
        }));
    }
    rules
}

/// What is known of all objects before the first reference is changed.
struct World {
    objects: Vec<Object>,
    /// Objects by each name that they had before.
    by_former_name: IndexMap<String, Vec<usize>>,
}

/// An object as one that others may refer to.
struct Object {
    current: Identity,
    previous: Vec<Identity>,
    prefixes: Vec<String>,
    suffixes: Vec<String>,
}

impl World {
    fn of(resources: &ResMap) -> World {
        let objects: Vec<Object> = resources.iter().map(Object::of).collect();
        let mut by_former_name: IndexMap<String, Vec<usize>> = IndexMap::new();
        for (position, object) in objects.iter().enumerate() {
            for id in &object.previous {
                let positions = by_former_name.entry(id.id.name.clone()).or_default();
                if positions.last() != Some(&position) {
                    positions.push(position);
                }
            }
        }
        World {
            objects,
            by_former_name,
        }
    }
}

impl Object {
    fn of(resource: &Resource) -> Object {
        let list = |note| resource.note_list(note).into_iter().map(str::to_owned).collect();
        Object {
            current: resource.current_id().clone(),
            previous: resource.previous_ids().to_vec(),
            prefixes: list(notes::PREFIXES),
            suffixes: list(notes::SUFFIXES),
        }
    }

    fn original(&self) -> &Identity {
        self.previous.first().unwrap_or(&self.current)
    }

    fn original_gvk(&self) -> &Gvk {
        &self.original().id.gvk
    }

    fn name(&self) -> &str {
        &self.current.id.name
    }

    fn namespace(&self) -> &str {
        &self.current.id.namespace
    }

    fn was(&self, gvk: &Gvk) -> bool {
        self.previous.iter().any(|id| id.id.gvk.is_selected_by(gvk))
    }

    /// Whether the same prefixes and suffixes were put on both, from the outside in, as far as both have some; with
    /// `strict`, having none is no match for having some.
    fn has_affixes_of(&self, other: &Object, strict: bool) -> bool {
        let matches = |ours: &[String], theirs: &[String]| {
            (!strict && (ours.is_empty() || theirs.is_empty())) || same_ending(ours, theirs)
        };
        matches(&self.prefixes, &other.prefixes) && matches(&self.suffixes, &other.suffixes)
    }
}

/// Whether the shorter list is the end of the longer one. An empty list ends only an empty one.
fn same_ending(a: &[String], b: &[String]) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if short.is_empty() {
        return long.is_empty();
    }
    long.ends_with(short)
}

/// The object whose references are being changed.
struct Referrer<'a> {
    object: &'a Object,
    /// Namespaces that a RoleBinding reaches into, beyond its own.
    reaches: Vec<String>,
    /// The group and kind of the role that a binding refers to.
    role: Option<Gvk>,
}

impl<'a> Referrer<'a> {
    fn new(resource: &Resource, object: &'a Object) -> Result<Referrer<'a>, Error> {
        let reaches = if object.current.cluster_scoped || resource.kind() != "RoleBinding" {
            Vec::new()
        } else {
            service_account_namespaces(resource)?
        };
        let part = |name| resource.node().at(&["roleRef", name]).map(text_of);
        let role = match (part("apiGroup"), part("kind")) {
            (Some(group), Some(kind)) => Some(Gvk {
                group: group.to_owned(),
                version: String::new(),
                kind: kind.to_owned(),
            }),
            _ => None,
        };
        Ok(Referrer {
            object,
            reaches,
            role,
        })
    }

    /// Whether the referrer can see an object at all.
    fn may_refer_to(&self, object: &Object) -> bool {
        let ours = &self.object.current;
        ours.cluster_scoped
            || object.current.cluster_scoped
            || ours.same_namespace(&object.current)
            || self
                .reaches
                .iter()
                .any(|namespace| namespace == object.namespace())
    }

    /// Whether an object is in a namespace from which a name without namespace can mean it.
    fn shares_namespace_with(&self, object: &Object) -> bool {
        let ours = &self.object.current;
        ours.cluster_scoped
            || object.current.cluster_scoped
            || object.current.id.gvk.kind == "ServiceAccount"
            || ours.same_namespace(&object.current)
    }
}

fn service_account_namespaces(resource: &Resource) -> Result<Vec<String>, Error> {
    let Some(subjects) = resource.node().get("subjects").and_then(Node::as_seq) else {
        return Ok(Vec::new());
    };
    let mut namespaces = Vec::new();
    for subject in subjects {
        let is_account = subject.get("kind").and_then(Node::as_text) == Some("ServiceAccount");
        match subject.get("namespace") {
            Some(namespace) if is_account => match namespace.as_str() {
                Some(namespace) => namespaces.push(namespace.to_owned()),
                None => {
                    return Err(Error::new(format!(
                        "Invalid Input: namespace is blank for resource \"{}\"",
                        resource.current_id()
                    ))
                    .help("give the subject a namespace, or leave the field out"));
                }
            },
            _ => {}
        }
    }
    Ok(namespaces)
}

/// One field of the referrer that may hold names.
struct Reference<'a> {
    world: &'a World,
    referrer: &'a Referrer<'a>,
    referral: &'a Gvk,
    role: Option<Gvk>,
}

impl Reference<'_> {
    fn update(&self, node: &mut Node) -> Result<bool, Error> {
        if node.is_null() {
            return Ok(false);
        }
        if let NodeKind::Seq(items) = &mut node.kind {
            let mut changed = false;
            for item in items.iter_mut().filter(|item| !item.is_null()) {
                if item.as_seq().is_some() {
                    return Err(Error::new(
                        "a list is expected to be either a string or a map of string",
                    ));
                }
                changed |= self.update_one(item)?;
            }
            return Ok(changed);
        }
        self.update_one(node)
    }

    fn update_one(&self, node: &mut Node) -> Result<bool, Error> {
        match &mut node.kind {
            NodeKind::Scalar(_) => self.update_name(node),
            NodeKind::Map(map) => self.update_mapping(map),
            NodeKind::Seq(_) => Err(Error::new(format!("unexpected {}", shape_name(node)))),
        }
    }

    fn update_name(&self, node: &mut Node) -> Result<bool, Error> {
        let old = text_of(node);
        let Some(referral) = self.find(old, None)? else {
            return Ok(false);
        };
        if referral.name() == old || referral.name().is_empty() {
            return Ok(false);
        }
        set_scalar(node, referral.name(), None)?;
        Ok(true)
    }

    /// A mapping with name and perhaps namespace gets both from what it refers to.
    fn update_mapping(&self, map: &mut Map) -> Result<bool, Error> {
        let Some(name) = map.get("name") else {
            return Err(Error::new("path config error; no 'name' field in node"));
        };
        let old = text_of(name).to_owned();
        let namespace = map
            .get("namespace")
            .map(|namespace| text_of(namespace).to_owned());
        let Some(referral) = self.find(&old, Some(namespace.as_deref()))? else {
            return Ok(false);
        };
        let mut changed = false;
        if referral.name() != old {
            set_field(map, "name", referral.name());
            changed = true;
        }
        if !referral.namespace().is_empty() && namespace.as_deref() != Some(referral.namespace()) {
            set_field(map, "namespace", referral.namespace());
            changed = true;
        }
        Ok(changed)
    }

    /// The object that a name means. `mapping` holds the namespace beside the name if the reference is a mapping.
    fn find(&self, name: &str, mapping: Option<Option<&str>>) -> Result<Option<&Object>, Error> {
        let Some(positions) = self.world.by_former_name.get(name) else {
            return Ok(None);
        };
        let in_namespace = mapping
            .flatten()
            .map(|namespace| self.namespace_filter(namespace));
        let mut candidates: Vec<&Object> = positions
            .iter()
            .map(|position| &self.world.objects[*position])
            .filter(|object| self.referrer.may_refer_to(object))
            .filter(|object| in_namespace.as_ref().is_none_or(|filter| filter.accepts(object)))
            .filter(|object| object.was(self.referral))
            .filter(|object| self.role.as_ref().is_none_or(|role| object.was(role)))
            .filter(|object| self.referrer.shares_namespace_with(object))
            .collect();
        if candidates.len() == 1 {
            return Ok(candidates.pop());
        }
        candidates.retain(|object| object.has_affixes_of(self.referrer.object, false));
        if candidates.len() > 1 {
            candidates.retain(|object| object.has_affixes_of(self.referrer.object, true));
        }
        let Some((first, rest)) = candidates.split_first() else {
            return Ok(None);
        };
        let is_same = |other: &&Object| {
            other.name() == first.name() && (mapping.is_none() || other.namespace() == first.namespace())
        };
        if rest.iter().all(is_same) {
            return Ok(Some(first));
        }
        let ids: Vec<String> = candidates
            .iter()
            .map(|object| object.current.to_string())
            .collect();
        Err(
            Error::new(format!("found multiple possible referrals: {}", ids.join(", ")))
                .help("give the objects different names before prefixes and suffixes are added"),
        )
    }

    /// A namespace means the one that objects had at first; only if none had it, the one they have now.
    fn namespace_filter<'n>(&self, namespace: &'n str) -> NamespaceFilter<'n> {
        let had_it = self
            .world
            .objects
            .iter()
            .filter(|object| self.referrer.may_refer_to(object))
            .any(|object| object.original().effective_namespace() == namespace);
        NamespaceFilter {
            namespace,
            original: had_it,
        }
    }
}

struct NamespaceFilter<'n> {
    namespace: &'n str,
    original: bool,
}

impl NamespaceFilter<'_> {
    fn accepts(&self, object: &Object) -> bool {
        let id = if self.original {
            object.original()
        } else {
            &object.current
        };
        id.effective_namespace() == self.namespace
    }
}

#[cfg(test)]
mod tests {
    use super::same_ending;

    #[test]
    fn the_shorter_list_ends_the_longer() {
        let list = |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        assert!(same_ending(&list("b"), &list("a b")));
        assert!(same_ending(&list(""), &list("")));
        assert!(!same_ending(&list("a b"), &list("b a")));
        assert!(!same_ending(&list("a"), &list("")));
    }
}
