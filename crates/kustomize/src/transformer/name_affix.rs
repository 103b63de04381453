//! `namePrefix` and `nameSuffix`.

use firstpass_yaml::{Node, Tag};

use super::{By, Transform};
use crate::Error;
use crate::config::FieldSpecs;
use crate::fieldspec::{self, Create};
use crate::resid::Gvk;
use crate::resmap::{ResMap, transformed};
use crate::resource::{Resource, notes};
use crate::scalar::{set_scalar, text_of};

/// On which side of the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Affix {
    Prefix,
    Suffix,
}

/// Puts a text before or behind names.
pub(crate) struct NameAffix {
    pub(crate) side: Affix,
    pub(crate) text: String,
    pub(crate) specs: FieldSpecs,
}

impl Affix {
    fn note(self) -> &'static str {
        match self {
            Affix::Prefix => notes::PREFIXES,
            Affix::Suffix => notes::SUFFIXES,
        }
    }

    fn field(self) -> &'static str {
        match self {
            Affix::Prefix => "namePrefix",
            Affix::Suffix => "nameSuffix",
        }
    }
}

impl Transform for NameAffix {
    fn apply(&self, resources: &mut ResMap, by: &By<'_>) -> Result<(), Error> {
        for resource in resources.items_mut() {
            let gvk = resource.original_id().id.gvk.clone();
            if keeps_its_name(&gvk) {
                continue;
            }
            for spec in self.specs.0.iter().filter(|spec| gvk.is_selected_by(&spec.gvk)) {
                if spec.path == "metadata/name" {
                    self.remember(resource);
                }
                fieldspec::for_each(
                    resource.node_mut(),
                    spec,
                    Some(&Create::Scalar(Tag::Str)),
                    &mut |node: &mut Node| {
                        let name = match self.side {
                            Affix::Prefix => format!("{}{}", self.text, text_of(node)),
                            Affix::Suffix => format!("{}{}", text_of(node), self.text),
                        };
                        set_scalar(node, &name, None)
                    },
                )?;
                if !self.text.is_empty() {
                    resource.shaped_by(transformed(by.file, self.side.field()));
                }
            }
        }
        Ok(())
    }
}

impl NameAffix {
    /// References to the object are found by its former name and told apart by what was put around it.
    fn remember(&self, resource: &mut Resource) {
        resource.append_note(self.side.note(), &self.text);
        if !self.text.is_empty() {
            resource.store_previous_id();
        }
    }
}

/// Kinds whose names mean something by themselves.
fn keeps_its_name(gvk: &Gvk) -> bool {
    match gvk.kind.as_str() {
        "CustomResourceDefinition" | "Namespace" => true,
        "APIService" => gvk.group == "apiregistration.k8s.io",
        _ => false,
    }
}
