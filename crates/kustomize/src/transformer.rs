//! Transformers: what changes the resources that a kustomization file has gathered. One file each.

mod annotations;
mod hash;
mod images;
mod labels;
mod name_affix;
mod name_reference;
mod namespace;
mod patch;
mod patch_json6902;
mod patch_strategic_merge;
mod replacements;
mod replicas;
mod selection;
mod value_add;
mod vars;

use firstpass_source::RepoPath;
use firstpass_yaml::Node;

use crate::Error;
use crate::fieldspec::{Create, FieldPath, FieldSpec};
use crate::resid::Gvk;
use crate::resmap::ResMap;
use crate::resource::Resource;
use crate::session::Session;

pub(crate) use annotations::Annotations;
pub(crate) use hash::Hash;
pub(crate) use images::ImageTag;
pub(crate) use labels::Labels;
pub(crate) use name_affix::{Affix, NameAffix};
pub(crate) use name_reference::fix_name_references;
pub(crate) use namespace::{Namespace, Subjects};
pub(crate) use patch::PatchEntry;
pub(crate) use patch_json6902::PatchJson6902;
pub(crate) use patch_strategic_merge::PatchStrategicMerge;
pub(crate) use replacements::Replacements;
pub(crate) use replicas::ReplicaCount;
pub(crate) use value_add::ValueAdd;
pub(crate) use vars::{VarSet, resolve_vars};

/// What changes resources.
pub(crate) trait Transform {
    /// Changes the resources. `by` names the kustomization file for their origins.
    fn apply(&self, resources: &mut ResMap, by: &By<'_>) -> Result<(), Error>;
}

/// On whose behalf a transformer works.
pub(crate) struct By<'a> {
    pub(crate) session: &'a Session,
    /// The kustomization file, for the origins of what is changed.
    pub(crate) file: &'a RepoPath,
}

/// Field specs ready to be used on many resources.
struct Fields {
    fields: Vec<(Gvk, FieldPath)>,
}

impl Fields {
    fn new<'s>(specs: impl IntoIterator<Item = &'s FieldSpec>) -> Fields {
        let field = |spec: &FieldSpec| (spec.gvk.clone(), FieldPath::new(spec));
        Fields {
            fields: specs.into_iter().map(field).collect(),
        }
    }

    /// Visits the fields of a resource that the specs mean. Returns whether `visit` changed anything.
    fn visit(
        &self,
        resource: &mut Resource,
        create: Option<&Create>,
        visit: &mut dyn FnMut(&mut Node) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let gvk = resource.gvk();
        let meant: Vec<&FieldPath> = self
            .fields
            .iter()
            .filter(|(kind, _)| gvk.is_selected_by(kind))
            .map(|(_, path)| path)
            .collect();
        let mut changed = false;
        let mut visit = |node: &mut Node| {
            changed |= visit(node)?;
            Ok(())
        };
        for path in meant {
            path.for_each(resource.fields_mut(), create, &mut visit)?;
        }
        if changed {
            resource.forget_ids();
        }
        Ok(changed)
    }
}
