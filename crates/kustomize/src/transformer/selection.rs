//! Which resources a patch is for, and what becomes of them when a strategic merge patch is applied.

use firstpass_object::Step;
use firstpass_yaml::Node;

use super::By;
use crate::Error;
use crate::file::Selector;
use crate::patch::{json6902, strategic};
use crate::resmap::ResMap;
use crate::resource::{Resource, notes};
use crate::selector::{SelectorRegex, matches_metadata};

/// The resources that a selector means, by their names of now or of the beginning.
pub(super) fn select(resources: &ResMap, selector: &Selector) -> Result<Vec<usize>, Error> {
    let regex = SelectorRegex::new(selector)?;
    let mut selected = Vec::new();
    for (position, resource) in resources.iter().enumerate() {
        let (original, current) = (resource.original_id(), resource.current_id());
        let is_meant = (regex.matches_namespace(original.effective_namespace())
            || regex.matches_namespace(current.effective_namespace()))
            && (regex.matches_name(&original.id.name) || regex.matches_name(&current.id.name))
            && regex.matches_gvk(resource.gvk());
        if is_meant && matches_metadata(selector, resource.node())? {
            selected.push(position);
        }
    }
    Ok(selected)
}

/// Merges a patch into a resource. Kind, name and namespace stay, unless the patch may change them.
pub(super) fn merge(resource: &mut Resource, patch: &Resource, by: &By<'_>) -> Result<(), Error> {
    let (name, namespace, kind) = (
        resource.name().to_owned(),
        resource.namespace().to_owned(),
        resource.kind().to_owned(),
    );
    let may_rename = patch.is_enabled(notes::ALLOW_NAME_CHANGE);
    let may_change_kind = patch.is_enabled(notes::ALLOW_KIND_CHANGE);
    if may_rename || may_change_kind {
        resource.store_previous_id();
    }
    let schema = by.session.schemas.for_merging();
    let outcome = strategic::apply(
        resource.node_mut(),
        patch.node(),
        &schema,
        strategic::ListOrder::default(),
    )?;
    if outcome == strategic::Outcome::Deleted {
        *resource.node_mut() = Node::null();
    }
    if resource.is_gone() {
        return Ok(());
    }
    if !may_change_kind {
        resource.set_kind(&kind);
    }
    if !may_rename {
        resource.set_name(&name);
    }
    resource.set_namespace(&namespace);
    resource.settle_shared();
    Ok(())
}

/// Merges a patch into the selected resources, whatever kind and name it gives itself, and checks that all resources
/// still differ.
pub(super) fn merge_into_selected(
    resources: &mut ResMap,
    selected: &[usize],
    patch: &Resource,
    by: &By<'_>,
) -> Result<(), Error> {
    for position in selected {
        let resource = resources.get_mut(*position);
        if resource.is_gone() {
            continue;
        }
        let mut patch_copy = patch.clone();
        patch_copy.take_metadata_from(patch);
        patch_copy.set_api_version(&resource.gvk().api_version());
        patch_copy.set_kind(patch.kind());
        merge(resource, &patch_copy, by)?;
        resource.shaped_by(patched(by, patch));
    }
    let items = std::mem::take(resources.items_mut());
    for resource in items.into_iter().filter(|resource| !resource.is_gone()) {
        resources.append(resource)?;
    }
    Ok(())
}

/// The step that a patch leaves in the origin of what it changed.
pub(super) fn patched(by: &By<'_>, patch: &Resource) -> Step {
    patched_by_file(by, &patch.origin.file)
}

pub(super) fn patched_by_file(by: &By<'_>, file: &str) -> Step {
    Step::Patched {
        by: by.file.as_str().to_owned(),
        file: (file != by.file.as_str()).then(|| file.to_owned()),
    }
}

/// Applies a JSON patch to a resource. The notes of the build survive it.
pub(super) fn apply_json_patch(resource: &mut Resource, patch: &json6902::Patch) -> Result<(), Error> {
    let kept = resource.string_map("annotations");
    json6902::apply(resource.node_mut(), patch)?;
    let mut annotations = resource.string_map("annotations");
    annotations.extend(kept.into_iter().filter(|(key, _)| notes::is_internal(key)));
    resource.set_string_map("annotations", &annotations);
    Ok(())
}
