//! `replicas`.

use firstpass_yaml::{Node, Tag};

use super::{By, Transform};
use crate::Error;
use crate::config::FieldSpecs;
use crate::fieldspec::{self, Create};
use crate::file::Replica;
use crate::resmap::{ResMap, transformed};
use crate::scalar::set_scalar;

/// Sets the number of replicas of a workload.
pub(crate) struct ReplicaCount {
    pub(crate) replica: Replica,
    pub(crate) specs: FieldSpecs,
}

impl Transform for ReplicaCount {
    fn apply(&self, resources: &mut ResMap, by: &By<'_>) -> Result<(), Error> {
        let mut found = false;
        let count = self.replica.count.to_string();
        for spec in &self.specs.0 {
            for resource in resources.items_mut() {
                let is_meant = !resource.is_gone()
                    && resource
                        .all_ids()
                        .any(|id| id.id.name == self.replica.name && id.id.gvk.is_selected_by(&spec.gvk));
                if !is_meant {
                    continue;
                }
                found = true;
                let create = Create::Scalar(Tag::Int);
                fieldspec::for_each(
                    resource.node_mut(),
                    spec,
                    Some(&create),
                    &mut |node: &mut Node| set_scalar(node, &count, Some(Tag::Int)),
                )?;
                resource.shaped_by(transformed(by.file, "replicas"));
            }
        }
        if found || by.session.is_incomplete() {
            return Ok(());
        }
        let kinds: Vec<String> = self.specs.0.iter().map(|spec| spec.gvk.to_string()).collect();
        Err(Error::new(format!(
            "resource with name {} does not match a config with the following GVK [{}]",
            self.replica.name,
            kinds.join(" ")
        ))
        .help("correct the name in `replicas`, or add the workload"))
    }
}
