//! Sets of field paths.

use std::fmt;

use ecow::EcoString;
use serde_json::Value;

use super::{ListShape, Shape};

/// One step of a field path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathElement {
    /// A field of a map.
    Field(EcoString),
    /// The item of a keyed list, by its key fields and their values as JSON text.
    Key(Box<[(EcoString, EcoString)]>),
    /// An item of a list that is a set, as JSON text.
    Item(EcoString),
}

/// A set of field paths as a tree.
///
/// The nodes are sorted lists: a cluster holds one set per object and manager, and ordered maps would take four times
/// the memory for the few fields that each level has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    children: Vec<(PathElement, Node)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Node {
    /// Whether the path that ends here is in the set.
    member: bool,
    below: FieldSet,
}

impl FieldSet {
    /// The paths that a configuration states (structured-merge-diff's `ToFieldSet`): its scalars, its atomic and empty
    /// maps and lists, and the items of keyed lists.
    pub(crate) fn of(value: &Value, shape: Shape<'_>) -> FieldSet {
        let mut children = Vec::new();
        match value {
            Value::Object(fields) => {
                children.reserve_exact(fields.len());
                for (name, field) in fields {
                    let mut node = Node::of(field, shape.field(name));
                    // Keys of free maps are owned besides what is below them.
                    node.member |= shape.is_free_key(name);
                    if !node.is_empty() {
                        children.push((PathElement::field(name), node));
                    }
                }
                // Maps come sorted, unless somebody builds serde_json in another way.
                children.sort_by(|(a, _), (b, _)| a.cmp(b));
            }
            Value::Array(items) => {
                let list = shape.list();
                if !matches!(list, ListShape::Atomic) {
                    children.reserve_exact(items.len());
                    for item in items {
                        if let Some(element) = PathElement::of_item(item, &list) {
                            let mut node = Node::of(item, shape.items());
                            node.member = true;
                            children.push((element, node));
                        }
                    }
                    children.sort_by(|(a, _), (b, _)| a.cmp(b));
                    children.dedup_by(|(a, _), (b, _)| a == b);
                }
            }
            _ => {}
        }
        FieldSet { children }
    }

    fn get(&self, element: &PathElement) -> Option<&Node> {
        let index = self
            .children
            .binary_search_by(|(candidate, _)| candidate.cmp(element))
            .ok()?;
        Some(&self.children[index].1)
    }

    fn node_mut(&mut self, element: &PathElement) -> &mut Node {
        let index = match self
            .children
            .binary_search_by(|(candidate, _)| candidate.cmp(element))
        {
            Ok(index) => index,
            Err(index) => {
                self.children.insert(index, (element.clone(), Node::default()));
                index
            }
        };
        &mut self.children[index].1
    }

    /// The nodes of this set, each with its counterpart in another, turned into nodes of a new set.
    fn zip(&self, other: &FieldSet, mut make: impl FnMut(&Node, Option<&Node>) -> Node) -> FieldSet {
        let mut theirs = other.children.iter().peekable();
        let mut children = Vec::new();
        for (element, node) in &self.children {
            while theirs.next_if(|(candidate, _)| candidate < element).is_some() {}
            let counterpart = theirs
                .next_if(|(candidate, _)| candidate == element)
                .map(|(_, node)| node);
            let made = make(node, counterpart);
            if !made.is_empty() {
                children.push((element.clone(), made));
            }
        }
        FieldSet { children }
    }

    /// Whether no path is in the set.
    pub fn is_empty(&self) -> bool {
        self.children.is_empty()
    }

    /// Whether the path is in the set.
    pub fn contains(&self, path: &[PathElement]) -> bool {
        let Some((first, rest)) = path.split_first() else {
            return false;
        };
        let Some(node) = self.get(first) else { return false };
        if rest.is_empty() {
            node.member
        } else {
            node.below.contains(rest)
        }
    }

    /// Adds a path.
    pub fn insert(&mut self, path: &[PathElement]) {
        if let Some((first, rest)) = path.split_first() {
            let node = self.node_mut(first);
            if rest.is_empty() {
                node.member = true;
            } else {
                node.below.insert(rest);
            }
        }
    }

    /// Adds all paths of another set.
    pub fn extend(&mut self, other: &FieldSet) {
        for (element, theirs) in &other.children {
            let node = self.node_mut(element);
            node.member |= theirs.member;
            node.below.extend(&theirs.below);
        }
    }

    /// The paths of this set that are not in another.
    #[must_use]
    pub fn minus(&self, other: &FieldSet) -> FieldSet {
        self.zip(other, |node, theirs| match theirs {
            None => node.clone(),
            Some(theirs) => Node {
                member: node.member && !theirs.member,
                below: node.below.minus(&theirs.below),
            },
        })
    }

    /// The paths that are in both sets.
    #[must_use]
    pub fn and(&self, other: &FieldSet) -> FieldSet {
        self.zip(other, |node, theirs| match theirs {
            None => Node::default(),
            Some(theirs) => Node {
                member: node.member && theirs.member,
                below: node.below.and(&theirs.below),
            },
        })
    }

    /// All paths, in order.
    pub fn paths(&self) -> Vec<Vec<PathElement>> {
        fn walk(set: &FieldSet, prefix: &mut Vec<PathElement>, paths: &mut Vec<Vec<PathElement>>) {
            for (element, node) in &set.children {
                prefix.push(element.clone());
                if node.member {
                    paths.push(prefix.clone());
                }
                walk(&node.below, prefix, paths);
                prefix.pop();
            }
        }
        let mut paths = Vec::new();
        walk(self, &mut Vec::new(), &mut paths);
        paths
    }

    /// Whether the set has the value that the steps of a JSON pointer lead to in an object, or something in it.
    pub(crate) fn reaches(&self, value: &Value, steps: &[String]) -> bool {
        let Some((step, rest)) = steps.split_first() else {
            return true;
        };
        let is_meant = |element: &PathElement| match (value, element) {
            (Value::Array(items), element) => step
                .parse::<usize>()
                .ok()
                .and_then(|index| items.get(index))
                .is_some_and(|item| element.names(item)),
            (_, PathElement::Field(name)) => *name == step.as_str(),
            _ => false,
        };
        let below = match value {
            Value::Array(items) => step.parse::<usize>().ok().and_then(|index| items.get(index)),
            _ => value.get(step),
        };
        self.children
            .iter()
            .filter(|(element, _)| is_meant(element))
            .any(|(_, node)| {
                // An atomic value is a member as a whole.
                let is_atomic = node.member && node.below.is_empty();
                is_atomic || node.below.reaches(below.unwrap_or(&Value::Null), rest)
            })
    }

    /// The elements at this level: whether the path that ends there is in the set, and the set below it.
    pub(crate) fn elements(&self) -> impl Iterator<Item = (&PathElement, bool, &FieldSet)> {
        self.children
            .iter()
            .map(|(element, node)| (element, node.member, &node.below))
    }

    /// The set below an element; `None` if neither the element nor anything below it is in the set.
    pub(crate) fn below(&self, element: &PathElement) -> Option<&FieldSet> {
        self.get(element).map(|node| &node.below)
    }

    pub(crate) fn insert_below(&mut self, element: &PathElement, member: bool, below: FieldSet) {
        let node = Node { member, below };
        if !node.is_empty() {
            *self.node_mut(element) = node;
        }
    }

    /// Takes fields out by the names of maps on the way, with all that is below.
    pub(crate) fn forget(&mut self, path: &[&str]) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        let element = PathElement::field(first);
        let Ok(index) = self
            .children
            .binary_search_by(|(candidate, _)| candidate.cmp(&element))
        else {
            return;
        };
        let node = &mut self.children[index].1;
        if !rest.is_empty() {
            node.below.forget(rest);
        }
        if rest.is_empty() || node.is_empty() {
            self.children.remove(index);
        }
    }
}

impl Node {
    fn of(value: &Value, shape: Shape<'_>) -> Node {
        let is_leaf = match value {
            Value::Object(fields) => fields.is_empty() || shape.is_atomic_map(),
            // Of an empty list that merges there is nothing to own.
            Value::Array(_) => matches!(shape.list(), ListShape::Atomic),
            _ => true,
        };
        if is_leaf {
            Node {
                member: true,
                below: FieldSet::default(),
            }
        } else {
            Node {
                member: false,
                below: FieldSet::of(value, shape),
            }
        }
    }

    fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

impl PathElement {
    pub(crate) fn field(name: &str) -> PathElement {
        PathElement::Field(EcoString::from(name))
    }

    /// Whether the element names this item of a list.
    fn names(&self, item: &Value) -> bool {
        match self {
            PathElement::Field(_) => false,
            PathElement::Item(text) => *text == json_text(item),
            PathElement::Key(keys) => keys.iter().all(|(name, text)| {
                item.get(name.as_str())
                    .is_some_and(|value| *text == json_text(value))
            }),
        }
    }

    /// How a list names one of its items; `None` if the item lacks all key fields, or the list is atomic.
    pub(crate) fn of_item(item: &Value, list: &ListShape<'_>) -> Option<PathElement> {
        match list {
            ListShape::Atomic => None,
            ListShape::Set => Some(PathElement::Item(json_text(item))),
            ListShape::Map(keys) => {
                let fields: Box<[(EcoString, EcoString)]> = keys
                    .iter()
                    .filter_map(|key| {
                        let value = item.get(key.name).or(key.default.as_ref())?;
                        let is_scalar = !value.is_object() && !value.is_array();
                        let text = if is_scalar {
                            json_text(value)
                        } else {
                            EcoString::new()
                        };
                        Some((EcoString::from(key.name), text))
                    })
                    .collect();
                (!fields.is_empty()).then_some(PathElement::Key(fields))
            }
        }
    }
}

fn json_text(value: &Value) -> EcoString {
    ecow::eco_format!("{value}")
}

/// The way structured-merge-diff prints it: `.spec`, `[name="web"]`, `[="a"]`.
impl fmt::Display for PathElement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathElement::Field(name) => write!(formatter, ".{name}"),
            PathElement::Key(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                write!(formatter, "[{}]", fields.join(","))
            }
            PathElement::Item(value) => write!(formatter, "[={value}]"),
        }
    }
}
