//! Finding one node by a path, as kustomize's plain look-up does.

use firstpass_yaml::{Node, NodeKind};

use super::path::PathPart;
use crate::Error;
use crate::scalar::{text_of, wrong_shape};

/// The way from a node to one of its children. A list of steps names a node for later, while the tree is borrowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// To the value under a key.
    Key(String),
    /// To an element.
    Index(usize),
}

/// The node that steps lead to.
pub fn get<'n>(node: &'n Node, steps: &[Step]) -> Option<&'n Node> {
    steps.iter().try_fold(node, |node, step| match step {
        Step::Key(key) => node.get(key),
        Step::Index(index) => node.as_seq()?.get(*index),
    })
}

/// The node that steps lead to, for change.
pub fn get_mut<'n>(node: &'n mut Node, steps: &[Step]) -> Option<&'n mut Node> {
    steps.iter().try_fold(node, |node, step| match step {
        Step::Key(key) => node.get_mut(key),
        Step::Index(index) => node.as_seq_mut()?.get_mut(*index),
    })
}

/// The steps along a path; nothing if a part of it is missing.
///
/// Parts are keys, indices, `-` for the last element and `[field=value]` for the first element that has the value.
pub fn look_up(node: &Node, parts: &[String]) -> Result<Option<Vec<Step>>, Error> {
    let mut steps = Vec::new();
    let mut at = node;
    for part in parts
        .iter()
        .map(|part| part.trim())
        .filter(|part| !part.is_empty())
    {
        let Some(step) = step_into(at, part)? else {
            return Ok(None);
        };
        let Some(next) = get(at, std::slice::from_ref(&step)) else {
            return Ok(None);
        };
        at = next;
        steps.push(step);
    }
    Ok(Some(steps))
}

/// The step that one part of a path means; nothing if it leads nowhere, or if the node is null.
pub fn step_into(node: &Node, part: &str) -> Result<Option<Step>, Error> {
    let part = PathPart::parse(part)?;
    if part == PathPart::Every {
        return Err(Error::new("wildcard is not supported in PathGetter"));
    }
    if node.is_null() {
        return match part {
            PathPart::Last => Err(empty_list()),
            _ => Ok(None),
        };
    }
    match part {
        PathPart::Field(name) => {
            let NodeKind::Map(map) = &node.kind else {
                return Err(wrong_shape("MappingNode", node));
            };
            Ok(map.contains_key(name).then(|| Step::Key(name.to_owned())))
        }
        PathPart::Index(index) => Ok((index < elements(node)?.len()).then_some(Step::Index(index))),
        PathPart::Last => match elements(node)?.len() {
            0 => Err(empty_list()),
            length => Ok(Some(Step::Index(length - 1))),
        },
        PathPart::Element { field, value } => {
            let position = elements(node)?.iter().position(|item| match field {
                "" => text_of(item) == value,
                field => item.get(field).is_some_and(|found| text_of(found) == value),
            });
            Ok(position.map(Step::Index))
        }
        PathPart::Every => Ok(None),
    }
}

fn elements(node: &Node) -> Result<&Vec<Node>, Error> {
    node.as_seq().ok_or_else(|| wrong_shape("SequenceNode", node))
}

fn empty_list() -> Error {
    Error::new("`-` means the last element, but the list is empty")
}
