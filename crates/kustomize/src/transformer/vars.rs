//! `vars`: values of fields, put wherever `$(NAME)` is written.

use std::collections::BTreeMap;

use super::By;
use crate::Error;
use crate::config::FieldSpecs;
use crate::fieldspec;
use crate::file::{Located, Var};
use crate::resmap::ResMap;
use crate::resource::{Identity, Resource};
use crate::vars::{Replacer, value_of};

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
pub(crate) fn resolve_vars(
    vars: &VarSet,
    specs: &FieldSpecs,
    resources: &mut ResMap,
    by: &By<'_>,
) -> Result<(), Error> {
    let mut values = BTreeMap::new();
    for var in vars.vars.values() {
        match value(var, resources) {
            Ok(value) => {
                values.insert(var.name.clone(), value);
            }
            Err(_) if by.session.is_incomplete() => {}
            Err(error) => return Err(error),
        }
    }
    if values.is_empty() {
        return Ok(());
    }
    let mut replacer = Replacer::new(values);
    for resource in resources.items_mut() {
        for spec in &specs.0 {
            if resource.gvk().is_selected_by(&spec.gvk) {
                replacer.apply(resource.node_mut(), spec)?;
            }
        }
    }
    let unused = replacer.unused();
    if !unused.is_empty() {
        let message = format!("well-defined vars that were never replaced: {}", unused.join(","));
        by.session.warn(message, by.file, 0);
    }
    Ok(())
}

/// The value of a var, from the resource that was marked for it.
fn value(var: &Var, resources: &ResMap) -> Result<crate::vars::Value, Error> {
    let holder = resources
        .iter()
        .find(|resource| resource.vars.contains(&var.name));
    let Some(holder) = holder else {
        return Err(Error::new(format!(
            "var '{}' cannot be mapped to a field in the set of known resources",
            var.name
        ))
        .help(format!("nothing is {}: correct `objref`", var.object)));
    };
    field_value(holder, &var.field_path)?.ok_or_else(|| {
        Error::new(format!(
            "field specified in var '{}' not found in corresponding resource",
            var.name
        ))
        .help(format!(
            "{} has no field `{}`",
            holder.current_id(),
            var.field_path
        ))
    })
}

fn field_value(resource: &Resource, path: &str) -> Result<Option<crate::vars::Value>, Error> {
    let parts: Vec<String> = fieldspec::split_path_smart(path, '.')
        .into_iter()
        .flat_map(with_index)
        .collect();
    let found = fieldspec::look_up(resource.node(), &parts)?;
    Ok(found
        .and_then(|steps| fieldspec::get(resource.node(), &steps))
        .and_then(value_of))
}

/// `ports[0]` is two parts, `ports` and `0`.
fn with_index(part: String) -> Vec<String> {
    let split = part.strip_suffix(']').and_then(|rest| {
        let (name, index) = rest.rsplit_once('[')?;
        let is_index = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
        is_index.then(|| (name.to_owned(), index.to_owned()))
    });
    match split {
        None => vec![part],
        Some((name, index)) if name.is_empty() => vec![index],
        Some((name, index)) => vec![name, index],
    }
}
