//! One object on its way through a build: its tree, its names past and present, and where it came from.
//!
//! kustomize keeps the notes of a build (previous names, prefixes, whether a hash is wanted) as annotations on the
//! object itself, where patches can see them and an object without annotations of its own suddenly has some. So do we.

mod identity;
pub(crate) mod notes;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use firstpass_object::{Origin, Step};
use firstpass_yaml::{Map, Node, NodeKind, Style};

use crate::resid::{Gvk, ResId};
use crate::scalar::{self, is_nil_or_empty, text_of};
use crate::schemas::Schemas;
use crate::shared::SharedValues;

pub(crate) use identity::{Identity, Key, id_of};

/// An object under way.
#[derive(Clone)]
pub(crate) struct Resource {
    node: Node,
    /// Where it came from and what has shaped it.
    pub(crate) origin: Origin,
    /// The vars that read a field of this object.
    pub(crate) vars: Vec<String>,
    /// Values that stand in several places of the tree and are one.
    pub(crate) shared: SharedValues,
    schemas: Rc<Schemas>,
    ids: OnceCell<Ids>,
}

/// The names of an object, read from its tree once per change.
#[derive(Clone)]
struct Ids {
    current: Identity,
    previous: Vec<Identity>,
}

/// What a generator does if the object is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behavior {
    /// Nothing was said: it must not be there.
    Unspecified,
    Create,
    Replace,
    Merge,
}

impl Resource {
    pub(crate) fn new(node: Node, origin: Origin, schemas: &Rc<Schemas>) -> Resource {
        Resource {
            node,
            origin,
            vars: Vec::new(),
            shared: SharedValues::default(),
            schemas: Rc::clone(schemas),
            ids: OnceCell::new(),
        }
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    /// The tree and where it came from.
    pub(crate) fn into_parts(self) -> (Node, Origin) {
        (self.node, self.origin)
    }

    /// The tree for change; the names are read again afterwards.
    pub(crate) fn node_mut(&mut self) -> &mut Node {
        self.ids.take();
        &mut self.node
    }

    /// The tree for changes of fields that no name depends on.
    pub(crate) fn fields_mut(&mut self) -> &mut Node {
        &mut self.node
    }

    /// Forgets the names, to be read again when they are asked for.
    pub(crate) fn forget_ids(&mut self) {
        self.ids.take();
    }

    /// Takes what was changed in one place to the other places that share the value.
    pub(crate) fn settle_shared(&mut self) {
        if !self.shared.is_empty() {
            self.ids.take();
            self.shared.settle(&mut self.node);
        }
    }

    /// Whether nothing is left of the object, because a patch deleted it.
    pub(crate) fn is_gone(&self) -> bool {
        is_nil_or_empty(&self.node)
    }

    /// The identity by the fields as they are now. Unique among the resources of a build.
    pub(crate) fn current_id(&self) -> &Identity {
        &self.ids().current
    }

    /// The identities that the object had before, oldest first.
    pub(crate) fn previous_ids(&self) -> &[Identity] {
        &self.ids().previous
    }

    /// The identity by which users know the object. Not always unique.
    pub(crate) fn original_id(&self) -> &Identity {
        self.previous_ids().first().unwrap_or_else(|| self.current_id())
    }

    /// Every identity, oldest first.
    pub(crate) fn all_ids(&self) -> impl Iterator<Item = &Identity> {
        self.previous_ids()
            .iter()
            .chain(std::iter::once(self.current_id()))
    }

    fn ids(&self) -> &Ids {
        self.ids.get_or_init(|| Ids {
            current: Identity::current(&self.node, &self.schemas),
            previous: Identity::previous(&self.node),
        })
    }

    pub(crate) fn gvk(&self) -> &Gvk {
        &self.current_id().id.gvk
    }

    pub(crate) fn kind(&self) -> &str {
        &self.gvk().kind
    }

    pub(crate) fn name(&self) -> &str {
        &self.current_id().id.name
    }

    /// The namespace as written; empty if there is none.
    pub(crate) fn namespace(&self) -> &str {
        &self.current_id().id.namespace
    }

    /// Remembers the present name, namespace and kind, because they are about to change.
    pub(crate) fn store_previous_id(&mut self) {
        let current = self.current_id();
        let namespace = current.effective_namespace().to_owned();
        let ResId { gvk, name, .. } = current.id.clone();
        self.append_note(notes::PREVIOUS_NAMES, &name);
        self.append_note(notes::PREVIOUS_NAMESPACES, &namespace);
        self.append_note(notes::PREVIOUS_KINDS, &gvk.kind);
    }

    pub(crate) fn set_name(&mut self, name: &str) {
        if let Some(metadata) = metadata_mut(self.node_mut()) {
            set_field(metadata, "name", name);
        }
    }

    pub(crate) fn set_kind(&mut self, kind: &str) {
        if let Some(map) = self.node_mut().as_map_mut() {
            set_field(map, "kind", kind);
        }
    }

    pub(crate) fn set_api_version(&mut self, api_version: &str) {
        if let Some(map) = self.node_mut().as_map_mut() {
            set_field(map, "apiVersion", api_version);
        }
    }

    /// Sets the namespace, or takes it away if the text is empty.
    pub(crate) fn set_namespace(&mut self, namespace: &str) {
        if let Some(metadata) = metadata_mut(self.node_mut()) {
            if namespace.is_empty() {
                metadata.remove("namespace");
            } else {
                set_field(metadata, "namespace", namespace);
            }
        }
    }

    /// A string map in the metadata, `labels` or `annotations`; values of any type count by their text.
    pub(crate) fn string_map(&self, field: &str) -> BTreeMap<String, String> {
        match self.node.at(&["metadata", field]).and_then(Node::as_map) {
            Some(map) => map
                .iter()
                .map(|(key, value)| (text_of(key).to_owned(), text_of(value).to_owned()))
                .collect(),
            None => BTreeMap::new(),
        }
    }

    /// Writes a string map in the metadata anew; an empty one is taken away.
    pub(crate) fn set_string_map(&mut self, field: &str, values: &BTreeMap<String, String>) {
        if let Some(metadata) = metadata_mut(self.node_mut()) {
            metadata.remove(field);
            if !values.is_empty() {
                metadata.insert(field, string_map_node(values));
            }
        }
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        let value = self.node.at(&["metadata", "annotations", key])?;
        Some(value.as_text().unwrap_or_default())
    }

    /// Sets one annotation and leaves the others as they are.
    pub(crate) fn set_annotation(&mut self, key: &str, value: &str) {
        let Some(metadata) = metadata_mut(self.node_mut()) else {
            return;
        };
        let annotations = metadata.get_or_insert_with("annotations", Node::map);
        if annotations.as_map().is_none() {
            *annotations = Node::map();
        }
        if let Some(annotations) = annotations.as_map_mut() {
            match annotations.get_mut(key) {
                Some(old) => *old = Node::string(value),
                None => annotations.push(scalar::key(key), Node::string(value)),
            }
        }
    }

    /// Switches a note of the build on. All annotations are written anew by this, and are strings afterwards: a patch
    /// that takes annotations away by null no longer does.
    pub(crate) fn enable(&mut self, note: &str) {
        let mut annotations = self.string_map("annotations");
        annotations.insert(note.to_owned(), notes::ENABLED.to_owned());
        self.set_string_map("annotations", &annotations);
    }

    /// Whether a note of the build says `enabled`.
    pub(crate) fn is_enabled(&self, note: &str) -> bool {
        self.annotation(note) == Some(notes::ENABLED)
    }

    /// The entries of a note that holds a list.
    pub(crate) fn note_list(&self, note: &str) -> Vec<&str> {
        self.annotation(note)
            .map(|text| text.split(',').collect())
            .unwrap_or_default()
    }

    /// Appends to a note that holds a list.
    pub(crate) fn append_note(&mut self, note: &str, value: &str) {
        if value.is_empty() {
            return;
        }
        let list = match self.annotation(note) {
            Some(list) => format!("{list},{value}"),
            None => value.to_owned(),
        };
        self.set_annotation(note, &list);
    }

    pub(crate) fn behavior(&self) -> Behavior {
        match self.annotation(notes::GENERATOR_BEHAVIOR) {
            Some("create") => Behavior::Create,
            Some("replace") => Behavior::Replace,
            Some("merge") => Behavior::Merge,
            _ => Behavior::Unspecified,
        }
    }

    /// Takes over what a generated object keeps of the one that it replaces: labels and annotations that it does not
    /// set itself, name, namespace, and the notes of the build.
    pub(crate) fn take_metadata_from(&mut self, other: &Resource) {
        let mut labels = other.string_map("labels");
        labels.extend(self.string_map("labels"));
        self.set_string_map("labels", &labels);

        let ours = self.string_map("annotations");
        let theirs = other.string_map("annotations");
        let wants_hash = ours.contains_key(notes::NEEDS_HASH_SUFFIX);
        let mut merged = theirs.clone();
        merged.extend(ours);
        for note in notes::OF_THE_BUILD {
            match theirs.get(*note) {
                Some(value) => merged.insert((*note).to_owned(), value.clone()),
                None => merged.remove(*note),
            };
        }
        if !wants_hash {
            merged.remove(notes::NEEDS_HASH_SUFFIX);
        }
        self.set_string_map("annotations", &merged);

        self.set_name(other.name());
        self.set_namespace(other.namespace());
        self.vars.clone_from(&other.vars);
    }

    /// Notes that something shaped the object.
    pub(crate) fn shaped_by(&mut self, step: Step) {
        if self.origin.steps.last() != Some(&step) {
            self.origin.steps.push(step);
        }
    }
}

/// A mapping of strings, sorted by key.
pub(crate) fn string_map_node(values: &BTreeMap<String, String>) -> Node {
    Node::new(NodeKind::Map(
        values
            .iter()
            .map(|(key, value)| (scalar::key(key), Node::string(value.as_str())))
            .collect(),
    ))
}

/// Sets a field of a mapping to a text without a type: the quotes that were there stay, and without quotes it is
/// whatever it looks like.
pub(crate) fn set_field(map: &mut Map, field: &str, text: &str) {
    let style = map
        .get(field)
        .and_then(Node::as_scalar)
        .map_or(Style::Plain, |scalar| scalar.style);
    let scalar = NodeKind::Scalar(scalar::untyped(text.into(), style));
    map.insert(field, Node::new(scalar));
}

/// The metadata of an object, made if it is missing; none if the tree is no mapping.
fn metadata_mut(node: &mut Node) -> Option<&mut Map> {
    let metadata = node.as_map_mut()?.get_or_insert_with("metadata", Node::map);
    if metadata.as_map().is_none() {
        *metadata = Node::map();
    }
    metadata.as_map_mut()
}
