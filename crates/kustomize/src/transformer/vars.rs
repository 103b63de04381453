//! `vars`: values of fields, put wherever `$(NAME)` is written.

use std::collections::BTreeMap;

use super::By;
use crate::Error;
use crate::file::{Located, Var};
use crate::resmap::ResMap;
use crate::resource::Identity;

/// The vars of a build by name.
#[derive(Clone, Default)]
pub(crate) struct VarSet {
    vars: BTreeMap<String, Located<Var>>,
}

impl VarSet {
    /// Adds the vars of a kustomization file and marks the resources that hold their values.
    pub(crate) fn add(&mut self, vars: &[Located<Var>], resources: &mut ResMap) -> Result<(), Error> {
        for var in vars {
            let id = Identity::from(var.object.clone());
            let any_namespace = id.id.namespace.is_empty();
            let matching: Vec<usize> = resources
                .iter()
                .enumerate()
                .filter(|(_, resource)| !resource.is_gone())
                .filter(|(_, resource)| {
                    resource.all_ids().any(|have| {
                        if any_namespace {
                            have.means_but_for_namespace(&id)
                        } else {
                            have.means(&id)
                        }
                    })
                })
                .map(|(position, _)| position)
                .collect();
            match matching[..] {
                [] => {}
                [position] => resources.get_mut(position).vars.push(var.name.clone()),
                _ => {
                    return Err(Error::new(format!(
                        "found {} resId matches for var {} (unable to disambiguate)",
                        matching.len(),
                        var.name
                    ))
                    .help("say in `objref` which namespace is meant"));
                }
            }
        }
        vars.iter().try_for_each(|var| self.insert(var.clone()))
    }

    /// Adds the vars of a base.
    pub(crate) fn add_all(&mut self, other: VarSet) -> Result<(), Error> {
        other.vars.into_values().try_for_each(|var| self.insert(var))
    }

    fn insert(&mut self, var: Located<Var>) -> Result<(), Error> {
        if self.vars.contains_key(&var.name) {
            return Err(Error::new(format!("var '{}' already encountered", var.name))
                .help("give each var a name of its own, across all bases"));
        }
        self.vars.insert(var.name.clone(), var);
        Ok(())
    }
}

/// Replaces every `$(NAME)` in the fields that may hold one.
pub(crate) fn resolve_vars(vars: &VarSet, by: &By<'_>) -> Result<(), Error> {
    match vars.vars.values().next() {
        Some(first) => Err(Error::new("`vars` are not supported yet").at(by.file, first.mark)),
        None => Ok(()),
    }
}
