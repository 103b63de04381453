//! `patchesStrategicMerge`: each entry is a patch, or the file that holds some.

use super::selection::merge_into_selected;
use super::{By, Transform};
use crate::Error;
use crate::file::Located;
use crate::objects;
use crate::resmap::ResMap;
use crate::resource::Resource;
use crate::session::Site;

/// All entries of `patchesStrategicMerge`, ready to be applied.
pub(crate) struct PatchStrategicMerge {
    patches: Vec<Resource>,
}

impl PatchStrategicMerge {
    /// Loads the patches: those of `paths`, each of which may be a patch itself, then those of a text.
    pub(crate) fn new(
        paths: &[Located<String>],
        text: &str,
        site: Site<'_, '_>,
    ) -> Result<PatchStrategicMerge, Error> {
        if paths.is_empty() && text.is_empty() {
            return Err(Error::new("empty file path and empty patch content"));
        }
        let mut patches = Vec::new();
        let mut elsewhere = false;
        for path in paths {
            // An entry that is no patch is a path.
            if let Ok(inline) = objects::read(path, site.file, site.session) {
                patches.extend(inline);
                continue;
            }
            match site.read(path, path.mark)? {
                Some(file) => patches.extend(objects::read(&file.decode()?, &file.path, site.session)?),
                None => elsewhere = true,
            }
        }
        patches.extend(objects::read(text, site.file, site.session)?);
        if patches.is_empty() && !elsewhere {
            return Err(
                Error::new("patch appears to be empty").help("remove the entry, or put a patch into it")
            );
        }
        Ok(PatchStrategicMerge { patches })
    }
}

impl Transform for PatchStrategicMerge {
    fn apply(&self, resources: &mut ResMap, by: &By<'_>) -> Result<(), Error> {
        for patch in &self.patches {
            match resources.position_for_patch(patch.original_id()) {
                Ok(position) => merge_into_selected(resources, &[position], patch, by)?,
                Err(_) if by.session.is_incomplete() => {}
                Err(error) => {
                    let error = error.because(format!(
                        "the patch is in {}:{}",
                        patch.origin.file, patch.origin.line
                    ));
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}
