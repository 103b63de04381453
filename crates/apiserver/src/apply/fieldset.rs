//! Sets of field paths.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::{ListShape, Shape};

/// One step of a field path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathElement {
    /// A field of a map.
    Field(String),
    /// The item of a keyed list, by its key fields and their values as JSON text.
    Key(Vec<(String, String)>),
    /// An item of a list that is a set, as JSON text.
    Item(String),
}

/// A set of field paths as a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    children: BTreeMap<PathElement, Node>,
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
        let mut set = FieldSet::default();
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    let node = Node::of(field, shape.field(name));
                    set.children.insert(PathElement::Field(name.clone()), node);
                }
            }
            Value::Array(items) => match shape.list() {
                ListShape::Atomic => {}
                list => {
                    for item in items {
                        let Some(element) = PathElement::of_item(item, &list) else {
                            continue;
                        };
                        let mut node = Node::of(item, shape.items());
                        node.member = true;
                        set.children.insert(element, node);
                    }
                }
            },
            _ => {}
        }
        set
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
        let Some(node) = self.children.get(first) else {
            return false;
        };
        if rest.is_empty() {
            node.member
        } else {
            node.below.contains(rest)
        }
    }

    /// Adds a path.
    pub fn insert(&mut self, path: &[PathElement]) {
        if let Some((first, rest)) = path.split_first() {
            let node = self.children.entry(first.clone()).or_default();
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
            let node = self.children.entry(element.clone()).or_default();
            node.member |= theirs.member;
            node.below.extend(&theirs.below);
        }
    }

    /// The paths of this set that are not in another.
    #[must_use]
    pub fn minus(&self, other: &FieldSet) -> FieldSet {
        let mut set = FieldSet::default();
        for (element, node) in &self.children {
            let left = match other.children.get(element) {
                None => node.clone(),
                Some(theirs) => Node {
                    member: node.member && !theirs.member,
                    below: node.below.minus(&theirs.below),
                },
            };
            if !left.is_empty() {
                set.children.insert(element.clone(), left);
            }
        }
        set
    }

    /// The paths that are in both sets.
    #[must_use]
    pub fn and(&self, other: &FieldSet) -> FieldSet {
        let mut set = FieldSet::default();
        for (element, node) in &self.children {
            if let Some(theirs) = other.children.get(element) {
                let both = Node {
                    member: node.member && theirs.member,
                    below: node.below.and(&theirs.below),
                };
                if !both.is_empty() {
                    set.children.insert(element.clone(), both);
                }
            }
        }
        set
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

    /// The elements at this level: whether the path that ends there is in the set, and the set below it.
    pub(crate) fn elements(&self) -> impl Iterator<Item = (&PathElement, bool, &FieldSet)> {
        self.children
            .iter()
            .map(|(element, node)| (element, node.member, &node.below))
    }

    /// The set below an element; `None` if neither the element nor anything below it is in the set.
    pub(crate) fn below(&self, element: &PathElement) -> Option<&FieldSet> {
        self.children.get(element).map(|node| &node.below)
    }

    pub(crate) fn insert_below(&mut self, element: PathElement, member: bool, below: FieldSet) {
        let node = Node { member, below };
        if !node.is_empty() {
            self.children.insert(element, node);
        }
    }

    /// Takes fields out by the names of maps on the way, with all that is below.
    pub(crate) fn forget(&mut self, path: &[&str]) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        let element = PathElement::Field((*first).to_owned());
        if rest.is_empty() {
            self.children.remove(&element);
        } else if let Some(node) = self.children.get_mut(&element) {
            node.below.forget(rest);
            if node.is_empty() {
                self.children.remove(&element);
            }
        }
    }
}

impl Node {
    fn of(value: &Value, shape: Shape<'_>) -> Node {
        let is_leaf = match value {
            Value::Object(fields) => fields.is_empty() || shape.is_atomic_map(),
            Value::Array(items) => items.is_empty() || matches!(shape.list(), ListShape::Atomic),
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
    /// How a list names one of its items; `None` if the item lacks all key fields, or the list is atomic.
    pub(crate) fn of_item(item: &Value, list: &ListShape<'_>) -> Option<PathElement> {
        match list {
            ListShape::Atomic => None,
            ListShape::Set => Some(PathElement::Item(item.to_string())),
            ListShape::Map(keys) => {
                let fields: Vec<(String, String)> = keys
                    .iter()
                    .filter_map(|key| {
                        let value = item.get(key.name).or(key.default.as_ref())?;
                        Some((key.name.to_owned(), value.to_string()))
                    })
                    .collect();
                (!fields.is_empty()).then_some(PathElement::Key(fields))
            }
        }
    }
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
