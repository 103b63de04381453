//! What a kustomization file gathers: resources, where transformers act, and vars.

use std::borrow::Cow;

use crate::Error;
use crate::config::{Conflict, TransformerConfig, defaults};
use crate::resmap::ResMap;
use crate::transformer::VarSet;

/// Resources and what is needed to finish them.
#[derive(Default)]
pub(crate) struct Accumulator {
    pub(crate) resources: ResMap,
    pub(crate) vars: VarSet,
    /// Nothing yet, the defaults as they are, or more than those.
    config: Option<Cow<'static, TransformerConfig>>,
}

impl Accumulator {
    /// Where transformers act.
    pub(crate) fn config(&self) -> &TransformerConfig {
        self.config.as_deref().unwrap_or(defaults())
    }

    /// Adds field specs. Adding the defaults to the defaults is the usual case and changes nothing.
    pub(crate) fn merge_config(&mut self, other: &TransformerConfig) -> Result<(), Conflict> {
        let is_default = std::ptr::eq(other, defaults());
        match &mut self.config {
            None if is_default => self.config = Some(Cow::Borrowed(defaults())),
            None => {
                // What is merged loses the specs that others cover, even if there was nothing before.
                let mut config = TransformerConfig::default();
                config.merge(other)?;
                self.config = Some(Cow::Owned(config));
            }
            Some(Cow::Borrowed(_)) if is_default || other.is_empty() => {}
            Some(config) => config.to_mut().merge(other)?,
        }
        Ok(())
    }

    /// Adds what a base has gathered.
    pub(crate) fn merge(&mut self, base: Accumulator) -> Result<(), Error> {
        self.resources.append_all(base.resources)?;
        match base.config {
            None => {}
            Some(Cow::Borrowed(config)) => self.merge_config(config).map_err(Conflict::into_error)?,
            Some(Cow::Owned(config)) => self.merge_config(&config).map_err(Conflict::into_error)?,
        }
        self.vars.add_all(base.vars)
    }
}
