//! Lists whose elements the schema tells apart by keys.
//!
//! Upstream keeps elements by pointer: one element may stand in the old list, in the list that is being made and, while
//! a patch is merged with itself, in the patch as well, and a change shows in all of them. Here the elements stand in
//! one table and the lists hold numbers, so that the same holds.

use firstpass_schema::TypeRef;
use firstpass_yaml::{Node, NodeKind, Scalar, Tag};

use super::directive::{self, Directive};
use super::{ListOrder, Taken, Walker, inside, is_missing};
use crate::Error;
use crate::scalar::{is_nil_or_empty, text_of, untyped, wrong_shape};

type ElementId = usize;
type List = Vec<ElementId>;

/// The values under the merge keys of an element, in the order of the keys; empty where the element has none.
type Values = Vec<String>;

impl<'s> Walker<'s> {
    pub(super) fn walk_list(
        self,
        target: Option<&mut Node>,
        patch: Option<&mut Node>,
        ty: Option<TypeRef<'s>>,
        depth: usize,
    ) -> Result<Taken, Error> {
        let Some(target) = target.filter(|node| !node.is_null()) else {
            if let Some(patch) = patch {
                self.settle_list(patch, ty, depth)?;
            }
            return Ok(Taken::Patch);
        };
        let Some(patch) = patch else {
            self.merge_lists(target, None, ty, depth)?;
            return Ok(Taken::Target);
        };
        if patch.is_null() {
            return Ok(Taken::Nothing);
        }
        match directive::of_list(patch)? {
            Directive::Delete => Ok(Taken::Nothing),
            Directive::Replace => {
                self.settle_list(patch, ty, depth)?;
                Ok(Taken::Patch)
            }
            Directive::Merge => {
                self.merge_lists(target, Some(patch), ty, depth)?;
                Ok(Taken::Target)
            }
        }
    }

    /// Merges a list of the patch with itself.
    pub(super) fn settle_list(
        self,
        list: &mut Node,
        ty: Option<TypeRef<'s>>,
        depth: usize,
    ) -> Result<(), Error> {
        let Some(items) = list.as_seq_mut() else {
            return Ok(());
        };
        let mut merge = Merge::new(self, ty, depth);
        merge.target = merge.take(items);
        merge.is_settling = true;
        *items = merge.run()?;
        Ok(())
    }

    fn merge_lists(
        self,
        target: &mut Node,
        patch: Option<&mut Node>,
        ty: Option<TypeRef<'s>>,
        depth: usize,
    ) -> Result<(), Error> {
        let Some(items) = target.as_seq_mut() else {
            return Ok(());
        };
        let mut merge = Merge::new(self, ty, depth);
        merge.target = merge.take(items);
        if let Some(patched) = patch.and_then(Node::as_seq_mut) {
            merge.patch = merge.take(patched);
        }
        *items = merge.run()?;
        Ok(())
    }
}

/// One merge of two lists.
struct Merge<'s> {
    walker: Walker<'s>,
    /// The type of the elements.
    element: Option<TypeRef<'s>>,
    /// The merge keys; one empty key for a list of scalars.
    keys: Vec<String>,
    depth: usize,
    elements: Vec<Node>,
    target: List,
    patch: List,
    /// Whether the target is the patch as well.
    is_settling: bool,
}

impl<'s> Merge<'s> {
    fn new(walker: Walker<'s>, ty: Option<TypeRef<'s>>, depth: usize) -> Merge<'s> {
        let keys = ty.and_then(TypeRef::merge_keys).unwrap_or_default();
        Merge {
            walker,
            element: ty.and_then(TypeRef::elements),
            keys: if keys.is_empty() {
                vec![String::new()]
            } else {
                keys.to_vec()
            },
            depth,
            elements: Vec::new(),
            target: List::new(),
            patch: List::new(),
            is_settling: false,
        }
    }

    fn take(&mut self, items: &mut Vec<Node>) -> List {
        let start = self.elements.len();
        self.elements.append(items);
        (start..self.elements.len()).collect()
    }

    fn run(mut self) -> Result<Vec<Node>, Error> {
        let mut table = self.values();
        if self.keys.len() > 1 {
            complete(&mut table);
        }
        let mut made = List::new();
        let mut used_keys = Vec::new();
        for values in &table {
            let (keys, values) = usable(&table, values, &self.keys);
            let taken = self.merge_element(&keys, &values)?;
            self.keep(&mut made, taken, &keys, &values)?;
            used_keys = keys;
        }
        let list = if table.is_empty() {
            std::mem::take(&mut self.target)
        } else {
            let target = std::mem::take(&mut self.target);
            match self.walker.order {
                ListOrder::Prepend => self.append(made, &target, &used_keys)?,
                ListOrder::Append => self.append(target, &made, &used_keys)?,
            }
        };
        Ok(self.into_nodes(&list))
    }

    /// The values of all elements under the merge keys, each once, those of the preferred list first.
    fn values(&self) -> Vec<Values> {
        let lists = match self.walker.order {
            ListOrder::Prepend => [&self.patch, &self.target],
            ListOrder::Append => [&self.target, &self.patch],
        };
        let mut table: Vec<Values> = Vec::new();
        for id in lists.into_iter().flatten() {
            let element = &self.elements[*id];
            let values: Values = match self.keys.as_slice() {
                [key] if key.is_empty() => vec![text_of(element).to_owned()],
                keys => keys.iter().map(|key| value_under(element, key)).collect(),
            };
            if !table.contains(&values) {
                table.push(values);
            }
        }
        table
    }

    /// Merges the elements that have these values.
    fn merge_element(&mut self, keys: &[String], values: &[String]) -> Result<Option<ElementId>, Error> {
        let (keys, values) = usable(&[values.to_vec()], values, keys);
        let target = self.find(&self.target, &keys, &values);
        let (walker, element, depth) = (self.walker, self.element, self.depth);
        let in_element = |error| inside(&format!("[{}]", values.join(",")), error);
        if self.is_settling {
            let Some(id) = target else { return Ok(None) };
            let taken = walker
                .settle(&mut self.elements[id], element, depth)
                .map_err(in_element)?;
            return Ok((taken != Taken::Nothing).then_some(id));
        }
        let patch = self.find(&self.patch, &keys, &values);
        let mut patched = patch.map(|id| std::mem::replace(&mut self.elements[id], Node::null()));
        let taken = walker.walk(
            target.and_then(|id| self.elements.get_mut(id)),
            patched.as_mut(),
            element,
            depth,
        );
        if let (Some(id), Some(node)) = (patch, patched) {
            self.elements[id] = node;
        }
        Ok(match taken.map_err(in_element)? {
            Taken::Target => target,
            Taken::Patch => patch,
            Taken::Nothing => None,
        })
    }

    /// Puts a merged element into the list that is being made, or takes it out of the old one if nothing is left of it.
    fn keep(
        &mut self,
        made: &mut List,
        taken: Option<ElementId>,
        keys: &[String],
        values: &[String],
    ) -> Result<(), Error> {
        let Some(id) = taken.filter(|id| !is_missing(&self.elements[*id])) else {
            let mut target = std::mem::take(&mut self.target);
            for _ in keys {
                self.set(&mut target, None, keys, values)?;
            }
            self.target = target;
            return Ok(());
        };
        for (key, value) in keys.iter().zip(values).filter(|(_, value)| !value.is_empty()) {
            match &mut self.elements[id].kind {
                NodeKind::Map(map) if !map.contains_key(key) => {
                    map.insert(key, Node::string(value.as_str()));
                }
                // The elements of a list of scalars forget what type they were of.
                NodeKind::Scalar(old) if key.is_empty() => *old = untyped(value.into(), old.style),
                _ => {}
            }
        }
        self.set(made, Some(id), keys, values)
    }

    /// Adds elements to a list; those that have the same values take the place of the old ones.
    fn append(&self, mut list: List, new: &[ElementId], keys: &[String]) -> Result<List, Error> {
        for &id in new {
            let element = &self.elements[id];
            if keys[0].is_empty() {
                let values = [text_of(element).to_owned()];
                self.set(&mut list, Some(id), &keys[..1], &values)?;
                continue;
            }
            let mut values = Values::new();
            for key in keys {
                match self.field(id, key)? {
                    Some(value) => values.push(text_of(value).to_owned()),
                    // An element that lacks a key is added for it at once, and below once more.
                    None => list.push(id),
                }
            }
            if keys.len() > 1 {
                self.set(&mut list, None, keys, &values)?;
            }
            self.set(&mut list, Some(id), keys, &values)?;
        }
        Ok(list)
    }

    /// Replaces the elements of a list that have these values; without any, the new one goes to the end. No new one
    /// means that they are taken out. Empty elements go in any case.
    ///
    /// There may be fewer values than keys. Keys without a value then match if the key before did, and without any
    /// value at all nothing matches and nothing of the list is kept.
    fn set(
        &self,
        list: &mut List,
        new: Option<ElementId>,
        keys: &[String],
        values: &[String],
    ) -> Result<(), Error> {
        let is_about_maps = keys.first().is_some_and(|key| !key.is_empty())
            && values.first().is_some_and(|value| !value.is_empty());
        let mut kept = List::new();
        let mut is_found = false;
        for &id in list.iter() {
            let element = &self.elements[id];
            if is_missing(element) {
                continue;
            }
            if element.as_map().is_none() && is_about_maps {
                kept.push(id);
                continue;
            }
            if !self.has_values(id, keys, values)? {
                if !values.is_empty() {
                    kept.push(id);
                }
                continue;
            }
            is_found = true;
            kept.extend(new);
        }
        *list = kept;
        if let Some(id) = new
            && !is_found
            && !self.elements[id].is_null()
        {
            list.push(id);
        }
        Ok(())
    }

    fn has_values(&self, id: ElementId, keys: &[String], values: &[String]) -> Result<bool, Error> {
        let element = &self.elements[id];
        if values.is_empty() {
            return Ok(false);
        }
        for (key, value) in keys.iter().zip(values) {
            let matches = if key.is_empty() {
                let scalar = element
                    .as_scalar()
                    .ok_or_else(|| wrong_shape("ScalarNode", element))?;
                scalar.text == *value
            } else {
                let field = self.field(id, key)?;
                field.is_some_and(|field| value.is_empty() || text_of(field) == value)
            };
            if !matches {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn field(&self, id: ElementId, key: &str) -> Result<Option<&Node>, Error> {
        let element = &self.elements[id];
        match &element.kind {
            NodeKind::Map(map) => Ok(map.get(key)),
            NodeKind::Scalar(Scalar { tag: Tag::Null, .. }) => Ok(None),
            _ => Err(wrong_shape("MappingNode", element)),
        }
    }

    /// The first element of a list that has exactly these values.
    fn find(&self, list: &[ElementId], keys: &[String], values: &[String]) -> Option<ElementId> {
        list.iter().copied().find(|id| {
            let element = &self.elements[*id];
            if keys.first().is_none_or(String::is_empty) {
                return values.first().map_or("", String::as_str) == text_of(element);
            }
            keys.len() == values.len()
                && element.as_map().is_some_and(|map| {
                    let has = |(key, value): (&String, &String)| {
                        map.get(key).is_some_and(|field| text_of(field) == value)
                    };
                    keys.iter().zip(values).all(has)
                })
        })
    }

    fn into_nodes(self, list: &[ElementId]) -> Vec<Node> {
        let mut uses = vec![0_usize; self.elements.len()];
        for id in list {
            uses[*id] += 1;
        }
        let mut elements: Vec<Option<Node>> = self.elements.into_iter().map(Some).collect();
        list.iter()
            .filter_map(|&id| {
                uses[id] -= 1;
                if uses[id] == 0 {
                    elements[id].take()
                } else {
                    elements[id].clone()
                }
            })
            .collect()
    }
}

fn value_under(element: &Node, key: &str) -> String {
    element
        .get(key)
        .filter(|value| !is_nil_or_empty(value))
        .map(text_of)
        .unwrap_or_default()
        .to_owned()
}

/// Lets elements that differ only in what one of them leaves out have the same values: a port without a protocol
/// is the same as the port with the one protocol that the other list gives it.
fn complete(table: &mut [Values]) {
    for i in 0..table.len() {
        // Upstream looks at the values as they were when it came to this row.
        let row = table[i].clone();
        for j in 0..table.len() {
            if let Some(both) = common(&row, &table[j]) {
                table[i].clone_from(&both);
                table[j] = both;
            }
        }
    }
}

fn common(a: &Values, b: &Values) -> Option<Values> {
    let is_equal = |(a, b): (&String, &String)| a == b;
    let is_compatible = |(a, b): (&String, &String)| a == b || a.is_empty() || b.is_empty();
    let pairs = || a.iter().zip(b);
    (pairs().all(is_compatible) && pairs().any(is_equal)).then(|| {
        pairs()
            .map(|(a, b)| if a.is_empty() { b.clone() } else { a.clone() })
            .collect()
    })
}

/// The keys under which any row of the table has a value, and the values of one row for them. If there is none, all.
fn usable(table: &[Values], values: &[String], keys: &[String]) -> (Vec<String>, Values) {
    let is_used = |index: usize| {
        table
            .iter()
            .any(|row| row.get(index).is_some_and(|value| !value.is_empty()))
    };
    if !(0..keys.len()).any(is_used) {
        return (keys.to_vec(), values.to_vec());
    }
    (0..keys.len())
        .filter(|index| is_used(*index))
        .map(|index| (keys[index].clone(), values[index].clone()))
        .unzip()
}
