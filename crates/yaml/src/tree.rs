//! The tree of a document, built out of its events: tags, anchors, merge keys, and limits on all of them.

use ecow::EcoString;

use crate::events::{DEPTH_MAX, Event, Place};
use crate::resolve::{Resolved, resolve};
use crate::{Map, Mark, Node, NodeKind, ParseError, Scalar, Style, Tag};

/// How much aliases may add to a document beyond its own size, counted in nodes. go-yaml, too, becomes strict at
/// 400,000: enough for half a megabyte of dense object declarations, and less than 100 MB of memory.
const ALIAS_ALLOWANCE: usize = 400_000;

/// So many bytes of text weigh as much as one node when aliases are counted.
const BYTES_PER_WEIGHT: usize = 64;

/// Builds the tree of one document out of its events.
#[derive(Default)]
pub(crate) struct Builder {
    open: Vec<Frame>,
    anchors: Vec<Anchor>,
    /// The weight of what the text itself holds, and of the copies made of it.
    own: usize,
    copied: usize,
    root: Option<Node>,
}

/// A list or mapping that has begun and not ended.
struct Frame {
    mark: Mark,
    anchor: Option<usize>,
    /// Whether it stands in brackets, its own or further out.
    flow: bool,
    content: Content,
    /// What has been spent before it began, to know its own weight at the end.
    weight_before: usize,
    /// Levels below it so far.
    height: usize,
}

enum Content {
    Seq(Vec<Node>),
    Map {
        entries: Vec<(Node, Node)>,
        key: Option<Key>,
        merge: Option<Node>,
    },
}

/// A key that waits for its value.
enum Key {
    Plain(Node),
    /// `<<`
    Merge(Mark),
}

/// What an anchor stands for.
#[derive(Clone, Default)]
enum Anchor {
    #[default]
    Unset,
    /// Its list or mapping has not ended yet.
    Open,
    Node {
        node: Node,
        weight: usize,
        height: usize,
    },
}

impl Builder {
    /// The tree, if there was anything.
    pub(crate) fn into_root(self) -> Option<Node> {
        self.root
    }

    /// Takes the next event in.
    pub(crate) fn take(&mut self, event: Event<'_>, place: Place) -> Result<(), ParseError> {
        let mark = place.mark;
        match event {
            Event::Scalar {
                text,
                style,
                properties,
            } => {
                let weight = 1 + text.len() / BYTES_PER_WEIGHT;
                self.own += weight;
                let explicit = properties.tag.as_deref();
                if self.expects_key() && is_merge_key(&text, style, explicit) {
                    return self.begin_merge(mark);
                }
                let scalar = self.scalar(&text, style, explicit);
                let node = Node {
                    kind: NodeKind::Scalar(scalar),
                    mark,
                };
                self.remember(properties.anchor, &node, weight, 0, mark)?;
                self.attach(node, 0, mark)
            }
            Event::SeqStart { flow, properties } => {
                self.begin(flow, properties.anchor, mark, Content::Seq(Vec::new()))
            }
            Event::MapStart { flow, properties } => {
                let content = Content::Map {
                    entries: Vec::new(),
                    key: None,
                    merge: None,
                };
                self.begin(flow, properties.anchor, mark, content)
            }
            Event::End => self.end(),
            Event::Alias(anchor) => self.expand(anchor, mark),
            Event::UnknownAlias(name) => Err(ParseError::new(
                format!("unknown anchor '{name}' referenced"),
                mark,
            )),
        }
    }

    fn scalar(&self, text: &str, style: Style, explicit: Option<&str>) -> Scalar {
        let mut tag = scalar_tag(text, style, explicit);
        let mut style = style;
        if explicit == Some("!!str") && style == Style::Plain {
            // As good as quoted; nobody shall take the text for something else later.
            style = Style::DoubleQuoted;
        }
        if explicit.is_none() && self.in_flow() {
            // When kustomize writes the object out, it has to quote these, and reads them back as texts.
            match tag {
                Tag::Timestamp if text.contains(':') => tag = Tag::Str,
                Tag::Null if text.is_empty() => style = Style::Nothing,
                _ => {}
            }
        }
        Scalar {
            text: text.into(),
            tag,
            style,
        }
    }

    /// Whether the next node is a key.
    pub(crate) fn expects_key(&self) -> bool {
        matches!(
            self.open.last(),
            Some(Frame {
                content: Content::Map { key: None, .. },
                ..
            })
        )
    }

    /// Whether the next node stands in brackets.
    pub(crate) fn in_flow(&self) -> bool {
        self.open.last().is_some_and(|frame| frame.flow)
    }

    fn begin_merge(&mut self, mark: Mark) -> Result<(), ParseError> {
        if let Some(Frame {
            content: Content::Map { key, merge, .. },
            ..
        }) = self.open.last_mut()
        {
            if merge.is_some() {
                return Err(ParseError::new("duplicate merge key", mark));
            }
            *key = Some(Key::Merge(mark));
        }
        Ok(())
    }

    fn begin(
        &mut self,
        flow: bool,
        anchor: Option<usize>,
        mark: Mark,
        content: Content,
    ) -> Result<(), ParseError> {
        if self.open.len() >= DEPTH_MAX {
            return Err(too_deep(mark));
        }
        if let Some(anchor) = anchor {
            *self.slot(anchor) = Anchor::Open;
        }
        let weight_before = self.own + self.copied;
        self.own += 1;
        self.open.push(Frame {
            mark,
            anchor,
            flow: flow || self.in_flow(),
            content,
            weight_before,
            height: 0,
        });
        Ok(())
    }

    fn end(&mut self) -> Result<(), ParseError> {
        let Some(frame) = self.open.pop() else {
            return Ok(());
        };
        let kind = match frame.content {
            Content::Seq(items) => NodeKind::Seq(items),
            Content::Map { entries, merge, .. } => {
                let entries = match merge {
                    Some(value) => merged(entries, value)?,
                    None => entries,
                };
                NodeKind::Map(entries.into_iter().collect())
            }
        };
        let node = Node {
            kind,
            mark: frame.mark,
        };
        let weight = self.own + self.copied - frame.weight_before;
        let height = frame.height + 1;
        self.remember(frame.anchor, &node, weight, height, frame.mark)?;
        self.attach(node, height, frame.mark)
    }

    /// Puts a copy of what the anchor stands for in the alias's place.
    fn expand(&mut self, anchor: usize, mark: Mark) -> Result<(), ParseError> {
        let (node, weight, height) = match self.anchors.get(anchor) {
            None | Some(Anchor::Unset) => return Err(ParseError::new("unknown anchor referenced", mark)),
            Some(Anchor::Open) => return Err(ParseError::new("an anchor's value contains itself", mark)),
            Some(Anchor::Node { node, weight, height }) => (node, *weight, *height),
        };
        if self.open.len() + height > DEPTH_MAX {
            return Err(too_deep(mark));
        }
        if self.copied + weight > self.own + ALIAS_ALLOWANCE {
            return Err(excessive(mark));
        }
        let node = node.clone();
        self.copied += weight;
        self.attach(node, height, mark)
    }

    /// Keeps a copy of an anchored node for its aliases.
    fn remember(
        &mut self,
        anchor: Option<usize>,
        node: &Node,
        weight: usize,
        height: usize,
        mark: Mark,
    ) -> Result<(), ParseError> {
        let Some(anchor) = anchor else {
            return Ok(());
        };
        self.copied += weight;
        if self.copied > self.own + ALIAS_ALLOWANCE {
            return Err(excessive(mark));
        }
        *self.slot(anchor) = Anchor::Node {
            node: node.clone(),
            weight,
            height,
        };
        Ok(())
    }

    fn slot(&mut self, anchor: usize) -> &mut Anchor {
        if self.anchors.len() <= anchor {
            self.anchors.resize(anchor + 1, Anchor::Unset);
        }
        &mut self.anchors[anchor]
    }

    fn attach(&mut self, node: Node, height: usize, mark: Mark) -> Result<(), ParseError> {
        let Some(frame) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        frame.height = frame.height.max(height);
        match &mut frame.content {
            Content::Seq(items) => items.push(node),
            Content::Map { entries, key, merge } => match key.take() {
                None => *key = Some(Key::Plain(node)),
                Some(Key::Plain(key)) => entries.push((key, node)),
                Some(Key::Merge(at)) => {
                    check_mergeable(&node, if node.mark == Mark::NONE { at } else { mark })?;
                    *merge = Some(node);
                }
            },
        }
        Ok(())
    }
}

fn too_deep(mark: Mark) -> ParseError {
    ParseError::new(format!("nested more than {DEPTH_MAX} levels deep"), mark)
}

fn excessive(mark: Mark) -> ParseError {
    ParseError::new(
        "document contains excessive aliasing: its aliases multiply it too much",
        mark,
    )
}

fn is_merge_key(text: &str, style: Style, explicit: Option<&str>) -> bool {
    match explicit {
        None => text == "<<" && style == Style::Plain,
        Some(tag) => tag == "!!merge",
    }
}

impl Scalar {
    /// The scalar that a text is if it is written without quotes: `8080` a number, `true` a boolean.
    ///
    /// ```
    /// use firstpass_yaml::{Scalar, Tag};
    /// assert_eq!(Scalar::plain("8080").tag, Tag::Int);
    /// ```
    pub fn plain(text: impl Into<EcoString>) -> Scalar {
        let text = text.into();
        Scalar {
            tag: scalar_tag(&text, Style::Plain, None),
            text,
            style: Style::Plain,
        }
    }
}

/// The tag of a scalar: the explicit one, or what quotes or the spelling tell.
fn scalar_tag(text: &str, style: Style, explicit: Option<&str>) -> Tag {
    match explicit {
        None | Some("!") if style == Style::Plain => match resolve(text, true) {
            Resolved::Null => Tag::Null,
            Resolved::Bool(_) => Tag::Bool,
            Resolved::Int(_) | Resolved::Uint(_) => Tag::Int,
            Resolved::Float(_) => Tag::Float,
            Resolved::Timestamp(_) => Tag::Timestamp,
            Resolved::Str => Tag::Str,
        },
        None | Some("!" | "!!str") => Tag::Str,
        Some("!!null") => Tag::Null,
        Some("!!bool") => Tag::Bool,
        Some("!!int") => Tag::Int,
        Some("!!float") => Tag::Float,
        Some("!!timestamp") => Tag::Timestamp,
        Some("!!binary") => Tag::Binary,
        Some(custom) => Tag::Custom(custom.into()),
    }
}

/// Whether a merge key may have this value: a mapping, or a list of mappings.
fn check_mergeable(value: &Node, mark: Mark) -> Result<(), ParseError> {
    let message = match &value.kind {
        NodeKind::Map(_) => return Ok(()),
        NodeKind::Scalar(_) => "map merge requires map or sequence of maps as the value",
        NodeKind::Seq(items) => {
            match items
                .iter()
                .find(|item| item.as_map().is_none())
                .map(|item| &item.kind)
            {
                None => return Ok(()),
                Some(NodeKind::Seq(_)) => "invalid map merge: received a nested sequence",
                Some(_) => "map merge requires map or sequence of maps as the value",
            }
        }
    };
    Err(ParseError::new(message, mark))
}

/// A mapping's own pairs and, behind them, the merged ones it lacks; of several mappings an earlier one wins.
fn merged(own: Vec<(Node, Node)>, value: Node) -> Result<Vec<(Node, Node)>, ParseError> {
    let sources: Vec<Map> = match value.kind {
        NodeKind::Map(map) => vec![map],
        NodeKind::Seq(items) => items
            .into_iter()
            .rev()
            .filter_map(|item| match item.kind {
                NodeKind::Map(map) => Some(map),
                NodeKind::Scalar(_) | NodeKind::Seq(_) => None,
            })
            .collect(),
        NodeKind::Scalar(_) => Vec::new(),
    };
    let own_count = own.len();
    let mut all = own;
    for (key, value) in sources.into_iter().flatten() {
        match all.iter().position(|(have, _)| have.as_text() == key.as_text()) {
            Some(at) if at < own_count => {}
            Some(at) => all[at] = (key, value),
            None => all.push((key, value)),
        }
    }
    Ok(all)
}
