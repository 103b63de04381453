//! Finding all fields that a path means, and making those that are missing.
//!
//! Parts are keys, indices, `*` for every element, and `[field=value]` for the elements whose field matches `value`: a
//! regular expression, searched in the field as YAML writes it. `[name=web]` finds `web-1` as well.

use firstpass_yaml::{Node, NodeKind};
use regex::Regex;

use super::layout::Layout;
use super::write::write;
use crate::Error;
use crate::fieldspec::{PathPart, Step, get};
use crate::scalar::{undecided, wrong_shape};
use crate::selector::compile;

/// How deep a path may lead.
const DEPTH_MAX: usize = 200;

/// What to make at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Make {
    Scalar,
    Seq,
    Map,
}

impl Make {
    /// Something of the shape of a value.
    pub(super) fn like(value: &Node) -> Make {
        match value.kind {
            NodeKind::Scalar(_) => Make::Scalar,
            NodeKind::Seq(_) => Make::Seq,
            NodeKind::Map(_) => Make::Map,
        }
    }

    /// What to make before the rest of a path.
    fn before(self, rest: &[String]) -> Node {
        match rest.first().map(String::as_str) {
            Some("") | None => self.node(),
            Some(part) => match PathPart::parse(part) {
                Ok(PathPart::Index(_) | PathPart::Element { .. }) => Node::seq(),
                _ => Node::map(),
            },
        }
    }

    fn node(self) -> Node {
        match self {
            Make::Scalar => fresh(""),
            Make::Seq => Node::seq(),
            Make::Map => Node::map(),
        }
    }
}

fn fresh(text: &str) -> Node {
    Node::new(NodeKind::Scalar(undecided(text)))
}

/// A field that a path means.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Found {
    /// It is in the tree.
    Field(Vec<Step>),
    /// It is in a text, or below a null: kustomize finds it there, and what it writes is lost.
    Elsewhere(Node),
}

/// All fields that a path means.
pub(super) fn find(root: &mut Node, parts: &[String], make: Option<Make>) -> Result<Vec<Found>, Error> {
    let mut matcher = Matcher {
        make,
        steps: Vec::new(),
        found: Vec::new(),
    };
    matcher.walk(root, parts)?;
    Ok(matcher.found)
}

struct Matcher {
    make: Option<Make>,
    /// Where the walk is.
    steps: Vec<Step>,
    found: Vec<Found>,
}

impl Matcher {
    fn walk(&mut self, node: &mut Node, parts: &[String]) -> Result<(), Error> {
        let Some((part, rest)) = parts.split_first() else {
            self.found.push(Found::Field(self.steps.clone()));
            return Ok(());
        };
        if self.steps.len() >= DEPTH_MAX {
            return Err(Error::new("the field path is too long"));
        }
        // Only a look-up refuses negative indices; here they are keys.
        let part = match part
            .strip_prefix('-')
            .is_some_and(|rest| rest.parse::<u64>().is_ok())
        {
            true => PathPart::Field(part),
            false => PathPart::parse(part)?,
        };
        match part {
            PathPart::Index(index) => self.index(node, index, rest),
            PathPart::Element { field, value } => self.elements(node, field, value, rest),
            PathPart::Every => self.every(node, rest),
            PathPart::Last => self.field(node, "-", rest),
            PathPart::Field(name) => self.field(node, name, rest),
        }
    }

    fn step(&mut self, step: Step, node: &mut Node, rest: &[String]) -> Result<(), Error> {
        self.steps.push(step);
        let result = self.walk(node, rest);
        self.steps.pop();
        result
    }

    /// What is made below a null is found, but never becomes part of the object.
    fn below_null(&mut self, make: Make, rest: &[String]) -> Result<(), Error> {
        let mut made = make.before(rest);
        let found = find(&mut made, rest, self.make)?;
        self.found_in(&made, found);
        Ok(())
    }

    /// Takes over what was found in a tree of its own.
    fn found_in(&mut self, tree: &Node, found: Vec<Found>) {
        self.found.extend(found.into_iter().map(|found| match found {
            Found::Field(steps) => Found::Elsewhere(get(tree, &steps).cloned().unwrap_or_else(Node::null)),
            elsewhere @ Found::Elsewhere(_) => elsewhere,
        }));
    }

    fn field(&mut self, node: &mut Node, name: &str, rest: &[String]) -> Result<(), Error> {
        if node.is_null() {
            return self.make.map_or(Ok(()), |make| self.below_null(make, rest));
        }
        let NodeKind::Map(map) = &mut node.kind else {
            return Err(wrong_shape("MappingNode", node));
        };
        if !map.contains_key(name) {
            let Some(make) = self.make else { return Ok(()) };
            map.insert(name, make.before(rest));
        }
        let Some(field) = map.get_mut(name) else {
            return Ok(());
        };
        match &field.kind {
            NodeKind::Scalar(scalar) if !rest.is_empty() => self.inside(&scalar.text.clone(), rest),
            _ => self.step(Step::Key(name.to_owned()), field, rest),
        }
    }

    /// Goes on inside of a text.
    fn inside(&mut self, text: &str, rest: &[String]) -> Result<(), Error> {
        let mut node = super::structured::parse(text)?;
        let found = find(&mut node, rest, self.make)?;
        self.found_in(&node, found);
        Ok(())
    }

    fn index(&mut self, node: &mut Node, index: usize, rest: &[String]) -> Result<(), Error> {
        if node.is_null() {
            return match self.make {
                Some(make) if index == 0 => self.below_null(make, rest),
                _ => Err(out_of_bounds(index, 0)),
            };
        }
        let make = self.make;
        let items = elements_of(node)?;
        if items.len() == index
            && let Some(make) = make
        {
            items.push(make.before(rest));
        }
        let length = items.len();
        let item = items.get_mut(index).ok_or_else(|| out_of_bounds(index, length))?;
        self.step(Step::Index(index), item, rest)
    }

    fn every(&mut self, node: &mut Node, rest: &[String]) -> Result<(), Error> {
        if node.is_null() {
            return Ok(());
        }
        let items = elements_of(node)?;
        for (index, item) in items.iter_mut().enumerate() {
            self.step(Step::Index(index), item, rest)?;
        }
        Ok(())
    }

    fn elements(&mut self, node: &mut Node, field: &str, value: &str, rest: &[String]) -> Result<(), Error> {
        let is_null = node.is_null();
        if is_null && self.make.is_none() {
            return Ok(());
        }
        let mut made_list = Node::seq();
        let list = if is_null { &mut made_list } else { &mut *node };
        let before = self.found.len();
        self.matching(list, field, value, rest)?;
        if self.make.is_some() && self.found.len() == before {
            elements_of(list)?.push(new_element(field, value));
            self.matching(list, field, value, rest)?;
            if self.found.len() == before {
                return Err(Error::new(format!(
                    "`[{field}={value}]` is a regular expression that does not match its own text: no element can be made for it"
                )));
            }
        }
        if is_null {
            let made = self.found.split_off(before);
            let count = made.len();
            self.found
                .extend((0..count).map(|_| Found::Elsewhere(Node::null())));
        }
        Ok(())
    }

    fn matching(&mut self, node: &mut Node, field: &str, value: &str, rest: &[String]) -> Result<(), Error> {
        let mut regex: Option<Regex> = None;
        for (index, item) in elements_of(node)?.iter_mut().enumerate() {
            // Compiled when it is first needed: a bad expression on an empty list is no error.
            let regex = match &mut regex {
                Some(regex) => regex,
                none => none.insert(compile(value)?),
            };
            let is_match = |node: &Node| regex.is_match(write(node, &Layout::default()).trim());
            if field.is_empty() {
                // Behind a scalar there is nothing: the rest of the path does not count.
                if is_match(item) {
                    self.step(Step::Index(index), item, &[])?;
                }
            } else if item.get(field).is_some_and(is_match) {
                self.step(Step::Index(index), item, rest)?;
            }
        }
        Ok(())
    }
}

fn new_element(field: &str, value: &str) -> Node {
    let value = fresh(value);
    if field.is_empty() {
        return value;
    }
    let mut element = Node::map();
    if let Some(map) = element.as_map_mut() {
        map.insert(field, value);
    }
    element
}

fn elements_of(node: &mut Node) -> Result<&mut Vec<Node>, Error> {
    if node.as_seq().is_none() {
        return Err(wrong_shape("SequenceNode", node));
    }
    node.as_seq_mut().ok_or_else(|| Error::new("the list is gone"))
}

fn out_of_bounds(index: usize, length: usize) -> Error {
    Error::new(format!(
        "index {index} specified but only {length} elements found"
    ))
}
