//! The tree that a YAML text stands for, as faithful to the text as kustomize needs it.
//!
//! Aliases are expanded and merge keys resolved when the text is parsed, so a tree owns all of its nodes.

use ecow::EcoString;

/// One value of a YAML document, with the place where it starts.
#[derive(Clone, Debug)]
pub struct Node {
    /// What the node holds.
    pub kind: NodeKind,
    /// Where the node starts in the text that it was parsed from; [`Mark::NONE`] if it was made by a program.
    pub mark: Mark,
}

/// The three shapes of a node.
#[derive(Clone, Debug)]
pub enum NodeKind {
    /// A single value.
    Scalar(Scalar),
    /// A list.
    Seq(Vec<Node>),
    /// A mapping, in the order of the text.
    Map(Map),
}

/// A scalar: its text, and what go-yaml takes it for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// The text after unescaping and folding, before it is read as a number or the like.
    pub text: EcoString,
    /// The type that go-yaml resolves the text to.
    pub tag: Tag,
    /// How the text was written.
    pub style: Style,
}

/// The type of a scalar by go-yaml's rules (YAML 1.2 core with the 1.1 spellings that go-yaml v3 keeps).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tag {
    /// `null`, `~`, or nothing at all.
    Null,
    /// `true` or `false`.
    Bool,
    /// A whole number in any base.
    Int,
    /// A number with a fraction or an exponent, `.inf`, `.nan`.
    Float,
    /// Text.
    Str,
    /// A date or a point in time.
    Timestamp,
    /// Base64 text marked `!!binary`.
    Binary,
    /// A tag that is none of the above, such as `!secret`. The empty one is that of a text which a program put into a
    /// tree without saying what it is: without quotes it becomes what it looks like when it is written.
    Custom(EcoString),
}

/// How a scalar was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// In single quotes.
    SingleQuoted,
    /// In double quotes.
    DoubleQuoted,
    /// A literal block (`|`).
    Literal,
    /// A folded block (`>`).
    Folded,
    /// Nothing at all, inside of `[]` or `{}`. It is null until kustomize writes it out, as an empty text.
    Nothing,
}

/// A place in a text; lines and columns count from 1, columns in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// Line, from 1; 0 if there is no text behind the node.
    pub line: u32,
    /// Column in characters, from 1; 0 if there is no text behind the node.
    pub column: u32,
}

impl Mark {
    /// The mark of a node that no text stands behind.
    pub const NONE: Mark = Mark { line: 0, column: 0 };
}

/// A mapping: pairs in the order of the text. Keys may be any node; nearly always they are strings.
///
/// Look-ups walk the pairs: Kubernetes maps hold a dozen keys at most, and order matters to kustomize.
#[derive(Clone, Debug, Default)]
pub struct Map {
    entries: Vec<(Node, Node)>,
}

impl Node {
    /// A node made by a program, without a place.
    pub fn new(kind: NodeKind) -> Node {
        Node {
            kind,
            mark: Mark::NONE,
        }
    }

    /// A plain string. Its spelling is chosen when it is written.
    pub fn string(text: impl Into<EcoString>) -> Node {
        Node::new(NodeKind::Scalar(Scalar {
            text: text.into(),
            tag: Tag::Str,
            style: Style::Plain,
        }))
    }

    /// An empty mapping.
    pub fn map() -> Node {
        Node::new(NodeKind::Map(Map::default()))
    }

    /// An empty list.
    pub fn seq() -> Node {
        Node::new(NodeKind::Seq(Vec::new()))
    }

    /// The null value.
    pub fn null() -> Node {
        Node::new(NodeKind::Scalar(Scalar {
            text: EcoString::inline("null"),
            tag: Tag::Null,
            style: Style::Plain,
        }))
    }

    /// The scalar, if the node is one.
    pub fn as_scalar(&self) -> Option<&Scalar> {
        match &self.kind {
            NodeKind::Scalar(scalar) => Some(scalar),
            NodeKind::Seq(_) | NodeKind::Map(_) => None,
        }
    }

    /// The text of a scalar of any type: `8080` for a number, `true` for a boolean.
    pub fn as_text(&self) -> Option<&str> {
        self.as_scalar().map(|scalar| scalar.text.as_str())
    }

    /// The text of a scalar that is a string.
    pub fn as_str(&self) -> Option<&str> {
        self.as_scalar()
            .filter(|scalar| scalar.tag == Tag::Str)
            .map(|scalar| scalar.text.as_str())
    }

    /// The mapping, if the node is one.
    pub fn as_map(&self) -> Option<&Map> {
        match &self.kind {
            NodeKind::Map(map) => Some(map),
            NodeKind::Scalar(_) | NodeKind::Seq(_) => None,
        }
    }

    /// The mapping for change, if the node is one.
    pub fn as_map_mut(&mut self) -> Option<&mut Map> {
        match &mut self.kind {
            NodeKind::Map(map) => Some(map),
            NodeKind::Scalar(_) | NodeKind::Seq(_) => None,
        }
    }

    /// The list, if the node is one.
    pub fn as_seq(&self) -> Option<&Vec<Node>> {
        match &self.kind {
            NodeKind::Seq(items) => Some(items),
            NodeKind::Scalar(_) | NodeKind::Map(_) => None,
        }
    }

    /// The list for change, if the node is one.
    pub fn as_seq_mut(&mut self) -> Option<&mut Vec<Node>> {
        match &mut self.kind {
            NodeKind::Seq(items) => Some(items),
            NodeKind::Scalar(_) | NodeKind::Map(_) => None,
        }
    }

    /// Whether the node is null (`null`, `~`, or nothing).
    pub fn is_null(&self) -> bool {
        self.as_scalar().is_some_and(|scalar| scalar.tag == Tag::Null)
    }

    /// The value under `key`, if the node is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.as_map()?.get(key)
    }

    /// The value under `key` for change, if the node is a mapping that has it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.as_map_mut()?.get_mut(key)
    }

    /// Walks down mappings by key.
    pub fn at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }
}

/// Nodes are equal when they mean the same: places do not count, spellings and tags do.
impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        match (&self.kind, &other.kind) {
            (NodeKind::Scalar(a), NodeKind::Scalar(b)) => a.text == b.text && a.tag == b.tag,
            (NodeKind::Seq(a), NodeKind::Seq(b)) => a == b,
            (NodeKind::Map(a), NodeKind::Map(b)) => a.entries == b.entries,
            _ => false,
        }
    }
}

impl Map {
    /// How many pairs there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value under the key with this text.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.position(key).map(|index| &self.entries[index].1)
    }

    /// The value under the key with this text, for change.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.position(key).map(|index| &mut self.entries[index].1)
    }

    /// The key node with this text: its mark is where a finding about the field points.
    pub fn key(&self, key: &str) -> Option<&Node> {
        self.position(key).map(|index| &self.entries[index].0)
    }

    /// Whether the key is there.
    pub fn contains_key(&self, key: &str) -> bool {
        self.position(key).is_some()
    }

    /// Puts a value under a key: in place if the key is there, else at the end. Returns the value it replaced.
    pub fn insert(&mut self, key: &str, value: Node) -> Option<Node> {
        if let Some(old) = self.get_mut(key) {
            return Some(std::mem::replace(old, value));
        }
        self.entries.push((Node::string(key), value));
        None
    }

    /// Appends a pair as it is, without looking for the key.
    pub fn push(&mut self, key: Node, value: Node) {
        self.entries.push((key, value));
    }

    /// Takes the pair out and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<Node> {
        self.position(key).map(|index| self.entries.remove(index).1)
    }

    /// The value under the key; if it is missing, what `make` gives is put there first.
    pub fn get_or_insert_with(&mut self, key: &str, make: impl FnOnce() -> Node) -> &mut Node {
        let index = self.position(key).unwrap_or_else(|| {
            self.entries.push((Node::string(key), make()));
            self.entries.len() - 1
        });
        &mut self.entries[index].1
    }

    /// The pairs in order.
    pub fn iter(&self) -> std::slice::Iter<'_, (Node, Node)> {
        self.entries.iter()
    }

    /// The pairs in order, for change.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, (Node, Node)> {
        self.entries.iter_mut()
    }

    /// The texts of the keys in order; keys that are no scalars are passed over.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter_map(|(key, _)| key.as_text())
    }

    /// Keeps the pairs for which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &Node) -> bool) {
        self.entries
            .retain(|(key, value)| keep(key.as_text().unwrap_or_default(), value));
    }

    fn position(&self, key: &str) -> Option<usize> {
        self.entries
            .iter()
            .position(|(candidate, _)| candidate.as_text() == Some(key))
    }
}

impl IntoIterator for Map {
    type Item = (Node, Node);
    type IntoIter = std::vec::IntoIter<(Node, Node)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl FromIterator<(Node, Node)> for Map {
    fn from_iter<I: IntoIterator<Item = (Node, Node)>>(pairs: I) -> Map {
        Map {
            entries: pairs.into_iter().collect(),
        }
    }
}
