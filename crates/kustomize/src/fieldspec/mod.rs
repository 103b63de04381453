//! Field specs: which fields of which kinds a transformer touches.
//!
//! A path such as `spec/template/metadata/labels` walks down mappings; lists on the way are walked element by element,
//! whether the path says `[]` or not. A slash that belongs to a key is written `\/`.

mod lookup;
mod path;

use firstpass_yaml::{Node, NodeKind, Scalar, Style, Tag};

use crate::Error;
use crate::resid::{Gvk, ResId};

pub use lookup::{Step, get, get_mut, look_up, step_into};
pub(crate) use path::as_go_int;
pub use path::{PathPart, split_path, split_path_smart};

/// How deep a tree may be for a walk. Trees that were read from text are never that deep.
const DEPTH_MAX: usize = 1_000;

/// Which field of which kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSpec {
    /// Which kinds; empty parts match anything.
    pub gvk: Gvk,
    /// The path with slashes.
    pub path: String,
    /// Whether the field is made if it is missing.
    pub create: bool,
}

/// What to make of a field that is missing or null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Create {
    /// A scalar; the tag is put on a null that is there already.
    Scalar(Tag),
    /// A list.
    Seq,
    /// A mapping.
    Map,
}

impl Create {
    fn node(&self) -> Node {
        match self {
            Create::Scalar(tag) => Node::new(NodeKind::Scalar(Scalar {
                text: "".into(),
                tag: tag.clone(),
                style: Style::Plain,
            })),
            Create::Seq => Node::seq(),
            Create::Map => Node::map(),
        }
    }

    /// A null that is there becomes what would be made, except that a scalar keeps its text.
    fn convert_null(&self, node: &mut Node) {
        match (self, &mut node.kind) {
            (Create::Scalar(tag), NodeKind::Scalar(null)) => null.tag = tag.clone(),
            _ => node.kind = self.node().kind,
        }
    }
}

/// Calls `visit` on every field of `target` that the spec means.
///
/// A target of another kind, and a path that leads nowhere, are no errors. Missing fields are made only if both the
/// spec and `create` say so.
pub fn for_each(
    target: &mut Node,
    spec: &FieldSpec,
    create: Option<&Create>,
    visit: &mut dyn FnMut(&mut Node) -> Result<(), Error>,
) -> Result<(), Error> {
    if !Gvk::of(target).is_selected_by(&spec.gvk) {
        return Ok(());
    }
    FieldPath::new(spec).for_each(target, create, visit)
}

/// The path of a field spec, cut into its parts for objects that are known to be of its kind.
#[derive(Clone, Debug)]
pub struct FieldPath {
    path: String,
    parts: Vec<String>,
    create: bool,
}

impl FieldPath {
    /// Cuts the path of a spec.
    pub fn new(spec: &FieldSpec) -> FieldPath {
        FieldPath {
            path: spec.path.clone(),
            parts: split_path(&spec.path, '/'),
            create: spec.create,
        }
    }

    /// The path as it was written.
    pub fn text(&self) -> &str {
        &self.path
    }

    /// Calls `visit` on every field of `target` at the path, as [`for_each`] does, whatever kind the target is of.
    ///
    /// # Errors
    /// As [`for_each`].
    pub fn for_each(
        &self,
        target: &mut Node,
        create: Option<&Create>,
        visit: &mut dyn FnMut(&mut Node) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut walk = Walk {
            create: create.filter(|_| self.create),
            visit,
        };
        let result = walk.visit(target, &self.parts, DEPTH_MAX);
        result.map_err(|mut error| {
            error.what = format!(
                "considering field '{}' of object {}: {}",
                self.path,
                ResId::of(target),
                error.what
            );
            error
        })
    }
}

struct Walk<'a> {
    create: Option<&'a Create>,
    visit: &'a mut dyn FnMut(&mut Node) -> Result<(), Error>,
}

impl Walk<'_> {
    fn visit(&mut self, node: &mut Node, parts: &[String], depth: usize) -> Result<(), Error> {
        let Some((part, rest)) = parts.split_first() else {
            return (self.visit)(node);
        };
        if node.is_null() {
            return Ok(());
        }
        let depth = depth
            .checked_sub(1)
            .ok_or_else(|| Error::new("the object is nested too deep"))?;
        match &mut node.kind {
            NodeKind::Seq(items) => items.iter_mut().try_for_each(|item| {
                self.visit(item, parts, depth).map_err(|mut error| {
                    error.what = format!("visit traversal on path: [{}]: {}", parts.join(" "), error.what);
                    error
                })
            }),
            NodeKind::Map(_) => self.step(node, part, rest, depth),
            NodeKind::Scalar(_) => Err(Error::new("expected sequence or mapping node")),
        }
    }

    /// Goes from a mapping into the field that the first part of the path names.
    fn step(&mut self, node: &mut Node, part: &str, rest: &[String], depth: usize) -> Result<(), Error> {
        let (name, is_seq) = match part.strip_suffix("[]") {
            Some(name) => (name, true),
            None => (part, false),
        };
        if name.is_empty() {
            return Err(Error::new("cannot set or create an empty field name"));
        }
        // What a null is turned into, and whether a missing field is made at all.
        let (made, is_made) = match self.create {
            Some(_) if !is_seq && !rest.is_empty() => (Some(Create::Map), true),
            Some(create) if !is_seq => (Some(create.clone()), true),
            _ => (is_seq.then_some(Create::Seq), false),
        };
        let named = |mut error: Error| {
            error.what = format!("fieldName: {name}: {}", error.what);
            error
        };
        let trimmed = name.trim();
        if trimmed.is_empty() {
            // Nothing is left to look up, and looking up nothing leads to the mapping itself.
            return self.visit(node, rest, depth);
        }
        let part = PathPart::parse(trimmed).map_err(named)?;
        let (PathPart::Field(key), NodeKind::Map(map)) = (part, &mut node.kind) else {
            // Everything but a key leads into lists, and this is none.
            return step_into(node, trimmed).map(|_| ()).map_err(named);
        };
        let field = match &made {
            Some(create) if is_made => Some(map.get_or_insert_with(key, || create.node())),
            _ => map.get_mut(key),
        };
        let Some(field) = field else {
            return Ok(());
        };
        if let Some(create) = made.filter(|_| field.is_null()) {
            create.convert_null(field);
        }
        self.visit(field, rest, depth)
    }
}

#[cfg(test)]
mod tests;
