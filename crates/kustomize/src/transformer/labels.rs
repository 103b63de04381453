//! `labels` and `commonLabels`.

use std::collections::BTreeMap;

use firstpass_yaml::{Node, Tag};

use super::{By, Fields, Transform};
use crate::Error;
use crate::config::FieldSpecs;
use crate::fieldspec::Create;
use crate::resmap::{ResMap, transformed};
use crate::scalar::set_entry;
use crate::shared::SharedId;

/// Sets labels.
pub(crate) struct Labels {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) specs: FieldSpecs,
}

impl Transform for Labels {
    fn apply(&self, resources: &mut ResMap, by: &By<'_>) -> Result<(), Error> {
        set_pairs(&self.labels, &self.specs, "labels", resources, by)
    }
}

/// Sets entries in the mappings that the specs mean, making those that are missing.
pub(super) fn set_pairs(
    pairs: &BTreeMap<String, String>,
    specs: &FieldSpecs,
    what: &str,
    resources: &mut ResMap,
    by: &By<'_>,
) -> Result<(), Error> {
    if pairs.is_empty() {
        return Ok(());
    }
    let fields = Fields::new(&specs.0);
    for resource in resources.items_mut() {
        // A value that is put into several places at once stays one value.
        let ids: Vec<SharedId> = pairs.iter().map(|_| by.session.shared.next()).collect();
        let mut places = vec![0_usize; pairs.len()];
        let changed = fields.visit(resource, Some(&Create::Map), &mut |node| {
            let mut changed = false;
            for (index, (key, value)) in pairs.iter().enumerate() {
                let was_there = node.get(key).is_some();
                changed |= node.get(key).and_then(Node::as_str) != Some(value);
                set_entry(node, key, value, Some(Tag::Str))?;
                if let Some(made) = node.get_mut(key).filter(|_| !was_there) {
                    ids[index].put_on(made);
                    places[index] += 1;
                }
            }
            Ok(changed)
        })?;
        for (id, places) in ids.into_iter().zip(places) {
            if places > 1 {
                resource.shared.add(id);
            }
        }
        if changed {
            resource.shaped_by(transformed(by.file, what));
        }
    }
    Ok(())
}
