//! `commonAnnotations`.

use std::collections::BTreeMap;

use super::{By, Transform, labels::set_pairs};
use crate::Error;
use crate::config::FieldSpecs;
use crate::resmap::ResMap;

/// Sets annotations.
pub(crate) struct Annotations {
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) specs: FieldSpecs,
}

impl Transform for Annotations {
    fn apply(&self, resources: &mut ResMap, by: &By<'_>) -> Result<(), Error> {
        set_pairs(&self.annotations, &self.specs, "commonAnnotations", resources, by)
    }
}
