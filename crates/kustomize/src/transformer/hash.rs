//! The hash suffix of generated names.

use super::{By, Transform};
use crate::Error;
use crate::resmap::ResMap;
use crate::resource::notes;

/// Appends the hash of their contents to the names of resources that want it.
pub(crate) struct Hash;

impl Transform for Hash {
    fn apply(&self, resources: &mut ResMap, _by: &By<'_>) -> Result<(), Error> {
        if !resources
            .iter()
            .any(|resource| resource.is_enabled(notes::NEEDS_HASH_SUFFIX))
        {
            return Ok(());
        }
        for resource in resources.items_mut() {
            if resource.is_enabled(notes::NEEDS_HASH_SUFFIX) {
                let hash = crate::hash::of(resource.node())?;
                resource.store_previous_id();
                let name = format!("{}-{hash}", resource.name());
                resource.set_name(&name);
            }
        }
        Ok(())
    }
}
