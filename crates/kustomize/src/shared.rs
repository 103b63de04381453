//! Values that stand in several places of an object and are one.
//!
//! kustomize puts a label into selectors, templates and metadata as one node of its tree. Whoever changes it later in
//! one place, a patch or another label, changes it in all of them. A node whose place in a text is line 0 and some
//! column is such a value: the column tells which. It loses that mark when it is replaced as a whole, as kustomize's
//! node does.

use std::cell::Cell;

use firstpass_yaml::{Mark, Node, NodeKind, Scalar};

/// Hands out the numbers of shared values for one build.
#[derive(Default)]
pub(crate) struct Numbers {
    used: Cell<u32>,
}

/// Which value is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SharedId(u32);

/// The shared values of one object.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedValues {
    values: Vec<(SharedId, Option<Scalar>)>,
}

impl Numbers {
    pub(crate) fn next(&self) -> SharedId {
        let number = self.used.get().saturating_add(1);
        self.used.set(number);
        SharedId(number)
    }
}

impl SharedId {
    /// Marks a node as one of the places of the value.
    pub(crate) fn put_on(self, node: &mut Node) {
        node.mark = Mark {
            line: 0,
            column: self.0,
        };
    }

    fn of(node: &Node) -> Option<SharedId> {
        (node.mark.line == 0 && node.mark.column > 0).then_some(SharedId(node.mark.column))
    }
}

impl SharedValues {
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Keeps an eye on a value that has been put into several places.
    pub(crate) fn add(&mut self, id: SharedId) {
        self.values.push((id, None));
    }

    /// Takes a value that was changed in one place to its other places.
    pub(crate) fn settle(&mut self, root: &mut Node) {
        let mut changed: Vec<(SharedId, Scalar)> = Vec::new();
        visit(root, &mut |id, scalar| {
            let Some((_, value)) = self.values.iter_mut().find(|(known, _)| *known == id) else {
                return;
            };
            match value {
                None => *value = Some(scalar.clone()),
                Some(value) if value != scalar => changed.push((id, scalar.clone())),
                Some(_) => {}
            }
        });
        for (id, new) in &changed {
            if let Some((_, value)) = self.values.iter_mut().find(|(known, _)| known == id) {
                *value = Some(new.clone());
            }
        }
        if changed.is_empty() {
            return;
        }
        visit(root, &mut |id, scalar| {
            if let Some((_, Some(value))) = self.values.iter().find(|(known, _)| *known == id) {
                scalar.clone_from(value);
            }
        });
    }
}

/// Calls `visit` on every shared scalar. Trees are never deeper than the parser lets them be.
fn visit(node: &mut Node, then: &mut dyn FnMut(SharedId, &mut Scalar)) {
    let id = SharedId::of(node);
    match &mut node.kind {
        NodeKind::Scalar(scalar) => {
            if let Some(id) = id {
                then(id, scalar);
            }
        }
        NodeKind::Seq(items) => items.iter_mut().for_each(|item| visit(item, then)),
        NodeKind::Map(map) => map.iter_mut().for_each(|(_, value)| visit(value, then)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_in_one_place_is_a_change_in_all() {
        let mut node = firstpass_yaml::parse_one("{a: {x: 1}, b: {x: 1}, c: {x: 1}}").unwrap();
        let id = Numbers::default().next();
        for field in ["a", "b"] {
            id.put_on(node.get_mut(field).unwrap().get_mut("x").unwrap());
        }
        let mut shared = SharedValues::default();
        shared.add(id);
        shared.settle(&mut node);
        for changed in ["b", "a"] {
            let text = if changed == "b" { "2" } else { "3" };
            crate::scalar::set_entry(node.get_mut(changed).unwrap(), "x", text, None).unwrap();
            shared.settle(&mut node);
            let new: i64 = text.parse().unwrap();
            assert_eq!(
                node.to_json().unwrap(),
                serde_json::json!({"a": {"x": new}, "b": {"x": new}, "c": {"x": 1}})
            );
        }
    }
}
