//! Strategic merge: a patch that looks like a part of the object.
//!
//! `apply` walks the target and the patch together. Mappings merge key by key, a null deletes, and a list is replaced
//! unless the schema knows keys that tell its elements apart; then it [merges](lists). `$patch` says otherwise:
//! `merge`, `replace` or `delete`, in a mapping or as an element of a list of its own.
//!
//! The walk visits all of the target, also where the patch is silent, and leaves traces there as kustomize does: fields
//! without a value vanish, and elements of a merging list that are the same to the schema become one.
//!
//! Upstream: `kyaml/yaml/merge2/merge2.go`, `kyaml/yaml/walk/*.go`. What `kubectl patch` knows besides
//! (`$setElementOrder`, `$retainKeys`, `$deleteFromPrimitiveList`) kustomize does not, and neither does this.

mod directive;
mod lists;

use std::collections::BTreeSet;

use firstpass_schema::{Schema, TypeRef};
use firstpass_yaml::{Map, Node, NodeKind, Style};

use crate::Error;
use crate::scalar::{is_nil_or_empty, protect, text_of, written, wrong_shape};
use directive::Directive;

/// How deep objects may be. Those that were read from text are never that deep.
const DEPTH_MAX: usize = 500;

/// Where new elements of a merging list go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListOrder {
    /// Before the old ones, as in every build.
    #[default]
    Prepend,
    /// Behind the old ones.
    Append,
}

/// What became of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was changed in place.
    Merged,
    /// The patch deletes it.
    Deleted,
}

/// Merges a patch into an object.
///
/// A patch that says `$patch: replace` of the object as a whole changes nothing, in kustomize as here.
///
/// # Errors
/// A `$patch` with another word, and places where the object has a list and the patch a mapping or the like. The
/// target is then half merged.
pub fn apply(target: &mut Node, patch: &Node, schema: &Schema, order: ListOrder) -> Result<Outcome, Error> {
    let mut patch = patch.clone();
    let walker = Walker { schema, order };
    let taken = walker.walk(Some(target), Some(&mut patch), None, DEPTH_MAX)?;
    Ok(match taken {
        Taken::Nothing => Outcome::Deleted,
        Taken::Target | Taken::Patch => Outcome::Merged,
    })
}

/// Which of the two nodes of a place is its value after the merge. Either was changed in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    Target,
    Patch,
    Nothing,
}

#[derive(Clone, Copy)]
struct Walker<'s> {
    schema: &'s Schema,
    order: ListOrder,
}

impl<'s> Walker<'s> {
    /// Merges the two nodes of one place. What is null counts as missing where kustomize sees it so.
    fn walk(
        self,
        target: Option<&mut Node>,
        patch: Option<&mut Node>,
        ty: Option<TypeRef<'s>>,
        depth: usize,
    ) -> Result<Taken, Error> {
        let depth = deeper(depth)?;
        let ty = ty.or_else(|| {
            [target.as_deref(), patch.as_deref()]
                .into_iter()
                .flatten()
                .find_map(|node| self.type_of(node))
        });
        let first = [target.as_deref(), patch.as_deref()]
            .into_iter()
            .flatten()
            .find(|node| !node.is_null());
        let Some(first) = first else {
            return self.walk_map(target, patch, ty, depth);
        };
        let shape = std::mem::discriminant(&first.kind);
        let expected = crate::scalar::shape_name(first);
        for node in [target.as_deref(), patch.as_deref()].into_iter().flatten() {
            if !node.is_null() && std::mem::discriminant(&node.kind) != shape {
                return Err(wrong_shape(expected, node));
            }
        }
        match first.kind {
            NodeKind::Map(_) => self.walk_map(target, patch, ty, depth),
            NodeKind::Seq(_) if merges(ty) => self.walk_list(target, patch, ty, depth),
            NodeKind::Seq(_) | NodeKind::Scalar(_) if patch.is_some() => Ok(Taken::Patch),
            NodeKind::Seq(_) | NodeKind::Scalar(_) => Ok(Taken::Target),
        }
    }

    /// The type of an object by what it says of itself, wherever it stands.
    fn type_of(self, node: &Node) -> Option<TypeRef<'s>> {
        let text = |key: &str| node.get(key).map(text_of).filter(|text| !text.is_empty());
        self.schema.type_of(text("apiVersion")?, text("kind")?)
    }

    fn walk_map(
        self,
        target: Option<&mut Node>,
        patch: Option<&mut Node>,
        ty: Option<TypeRef<'s>>,
        depth: usize,
    ) -> Result<Taken, Error> {
        let target = match target {
            Some(target) if !target.is_null() => target,
            missing => return self.add(missing.as_deref(), patch, ty, depth),
        };
        let Some(patch) = patch else {
            return self.merge_fields(target, None, ty, depth);
        };
        if patch.is_null() {
            return Ok(Taken::Nothing);
        }
        match directive::of_map(patch)? {
            Directive::Delete => Ok(Taken::Nothing),
            Directive::Replace => {
                self.settle_fields(patch, ty, depth)?;
                Ok(Taken::Patch)
            }
            Directive::Merge => self.merge_fields(target, Some(patch), ty, depth),
        }
    }

    /// The value of a place where the target has nothing, or a null.
    fn add(
        self,
        target: Option<&Node>,
        patch: Option<&mut Node>,
        ty: Option<TypeRef<'s>>,
        depth: usize,
    ) -> Result<Taken, Error> {
        let Some(patch) = patch else {
            // A null that was written stays, a value that was left out does not.
            let is_written = target.is_some_and(|null| !text_of(null).is_empty());
            return Ok(if is_written { Taken::Target } else { Taken::Nothing });
        };
        // An unknown word is let pass here, and stays in the object.
        if let Ok(Directive::Delete) = directive::of_map(patch) {
            return Ok(Taken::Nothing);
        }
        self.settle_fields(patch, ty, depth)?;
        Ok(Taken::Patch)
    }

    /// Merges the fields of two mappings into the target's.
    fn merge_fields(
        self,
        target: &mut Node,
        mut patch: Option<&mut Node>,
        ty: Option<TypeRef<'s>>,
        depth: usize,
    ) -> Result<Taken, Error> {
        let names: BTreeSet<String> = [Some(&*target), patch.as_deref()]
            .into_iter()
            .flatten()
            .filter_map(Node::as_map)
            .flat_map(|map| map.keys().map(str::to_owned))
            .collect();
        let Some(fields) = target.as_map_mut() else {
            return Ok(Taken::Target);
        };
        for name in &names {
            let ty = ty.and_then(|ty| ty.field(name));
            let new = patch.as_deref_mut().and_then(|patch| patch.get_mut(name));
            let taken = self
                .walk(fields.get_mut(name), new, ty, depth)
                .map_err(|error| inside(name, error))?;
            match (taken, patch.as_deref_mut().and_then(Node::as_map_mut)) {
                (Taken::Patch, Some(patch)) => set_field(fields, name, patch),
                (Taken::Nothing, _) => drop(fields.remove(name)),
                (Taken::Target | Taken::Patch, _) => {
                    if let Some(NodeKind::Scalar(kept)) = fields.get_mut(name).map(|kept| &mut kept.kind) {
                        protect(kept);
                    }
                }
            }
        }
        Ok(Taken::Target)
    }

    /// Walks a node that came from the patch as if it were merged with itself: directives are carried out and nulls go.
    fn settle(self, node: &mut Node, ty: Option<TypeRef<'s>>, depth: usize) -> Result<Taken, Error> {
        let depth = deeper(depth)?;
        let ty = ty.or_else(|| self.type_of(node));
        match &node.kind {
            NodeKind::Map(_) => {
                if directive::of_map(node)? == Directive::Delete {
                    return Ok(Taken::Nothing);
                }
                self.settle_fields(node, ty, depth)?;
            }
            NodeKind::Seq(_) if merges(ty) => {
                if directive::of_list(node)? == Directive::Delete {
                    return Ok(Taken::Nothing);
                }
                self.settle_list(node, ty, depth)?;
            }
            NodeKind::Seq(_) | NodeKind::Scalar(_) => {}
        }
        Ok(Taken::Patch)
    }

    fn settle_fields(self, node: &mut Node, ty: Option<TypeRef<'s>>, depth: usize) -> Result<(), Error> {
        let Some(fields) = node.as_map_mut() else {
            return Ok(());
        };
        let names: BTreeSet<String> = fields.keys().map(str::to_owned).collect();
        for name in &names {
            let ty = ty.and_then(|ty| ty.field(name));
            let Some(value) = fields.get_mut(name) else {
                continue;
            };
            let taken = self
                .settle(value, ty, depth)
                .map_err(|error| inside(name, error))?;
            if taken == Taken::Nothing || value.is_null() {
                fields.remove(name);
            } else if let NodeKind::Scalar(kept) = &mut value.kind {
                protect(kept);
            }
        }
        Ok(())
    }
}

/// Puts a value of the patch into a mapping of the target. The quotes of the old value stay, and decide with the type
/// of the new one what it means. They show in the patch as well, which may be merged once more.
fn set_field(fields: &mut Map, name: &str, patch: &mut Map) {
    let Some(key) = patch.key(name).cloned() else {
        return;
    };
    let Some(value) = patch.get_mut(name) else { return };
    if value.is_null() {
        fields.remove(name);
        return;
    }
    let old = fields.get_mut(name);
    if let NodeKind::Scalar(scalar) = &mut value.kind {
        match &old {
            Some(old) => {
                let style = old.as_scalar().map_or(Style::Plain, |old| old.style);
                *scalar = written(scalar.text.clone(), scalar.tag.clone(), style);
            }
            None => protect(scalar),
        }
    }
    match old {
        // The place stays that of the old value: it may be one of several that share a value.
        Some(old) => old.kind.clone_from(&value.kind),
        None => fields.push(key, value.clone()),
    }
}

fn merges(ty: Option<TypeRef<'_>>) -> bool {
    ty.is_some_and(|ty| ty.merge_keys().is_some())
}

fn deeper(depth: usize) -> Result<usize, Error> {
    depth
        .checked_sub(1)
        .ok_or_else(|| Error::new("the object is nested too deep"))
}

/// Says in which field an error is.
fn inside(name: &str, mut error: Error) -> Error {
    error.what = match error.what.strip_prefix("in field `") {
        Some(rest) => format!("in field `{name}.{rest}"),
        None => format!("in field `{name}`: {}", error.what),
    };
    error
}

/// Whether an element holds nothing that could be an element.
fn is_missing(node: &Node) -> bool {
    node.is_null() || (node.as_map().is_some() && is_nil_or_empty(node))
}

#[cfg(test)]
mod tests;
