//! `labels` and `commonLabels`.

use std::collections::BTreeMap;

use firstpass_yaml::{Node, Tag};

use super::{By, Transform, visit_fields};
use crate::Error;
use crate::config::FieldSpecs;
use crate::fieldspec::Create;
use crate::resmap::{ResMap, transformed};
use crate::scalar::set_entry;

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
    for resource in resources.items_mut() {
        let changed = visit_fields(resource, specs, Some(&Create::Map), &mut |node| {
            let mut changed = false;
            for (key, value) in pairs {
                changed |= node.get(key).and_then(Node::as_str) != Some(value);
                set_entry(node, key, value, Some(Tag::Str))?;
            }
            Ok(changed)
        })?;
        if changed {
            resource.shaped_by(transformed(by.file, what));
        }
    }
    Ok(())
}
