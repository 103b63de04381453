//! `patchesJson6902`.

use firstpass_source::RepoPath;

use super::selection::{apply_json_patch, patched_by_file, select};
use super::{By, Transform};
use crate::Error;
use crate::file::{Located, Patch, Selector};
use crate::patch::json6902;
use crate::resmap::ResMap;
use crate::session::Site;

/// An entry of `patchesJson6902`, ready to be applied.
pub(crate) struct PatchJson6902 {
    target: Selector,
    /// Nothing if the file lies elsewhere.
    patch: Option<json6902::Patch>,
    file: RepoPath,
}

impl PatchJson6902 {
    /// Loads the patch.
    pub(crate) fn new(entry: &Located<Patch>, site: Site<'_, '_>) -> Result<PatchJson6902, Error> {
        let wrong = |what: &str| Error::new(what).at(site.file, entry.mark);
        let Some(target) = entry.target.clone().filter(|target| !target.id.name.is_empty()) else {
            return Err(wrong("must specify the target name").help("set `target.name`"));
        };
        let (text, file) = match (entry.patch.as_str(), entry.path.as_str()) {
            ("", "") => return Err(wrong("empty file path and empty jsonOp").help("set `path` or `patch`")),
            (patch, "") => (patch.to_owned(), site.file.clone()),
            ("", path) => match site.read(path, entry.mark)? {
                Some(file) => (file.decode()?.into_owned(), file.path.clone()),
                None => {
                    return Ok(PatchJson6902 {
                        target,
                        patch: None,
                        file: site.file.clone(),
                    });
                }
            },
            _ => return Err(wrong("must specify a file path or jsonOp, not both").help("keep one of them")),
        };
        let patch = json6902::Patch::parse(&text).map_err(|error| error.at(&file, crate::objects::START))?;
        if patch.is_empty() {
            return Err(wrong("patch appears to be empty").help("list at least one operation"));
        }
        Ok(PatchJson6902 {
            target,
            patch: Some(patch),
            file,
        })
    }
}

impl Transform for PatchJson6902 {
    fn apply(&self, resources: &mut ResMap, by: &By<'_>) -> Result<(), Error> {
        let Some(patch) = &self.patch else { return Ok(()) };
        for position in select(resources, &self.target)? {
            let resource = resources.get_mut(position);
            apply_json_patch(resource, patch)?;
            resource.shaped_by(patched_by_file(by, self.file.as_str()));
        }
        Ok(())
    }
}
