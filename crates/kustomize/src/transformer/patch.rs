//! `patches`: an entry is a strategic merge patch, several of them, or a JSON patch.

use firstpass_source::RepoPath;

use super::selection::{apply_json_patch, merge, merge_into_selected, patched, patched_by_file, select};
use super::{By, Transform};
use crate::Error;
use crate::file::{Located, Patch, Selector};
use crate::objects;
use crate::patch::json6902;
use crate::resmap::ResMap;
use crate::resource::{Resource, notes};
use crate::session::Site;

/// An entry of `patches`, ready to be applied.
pub(crate) struct PatchEntry {
    content: Content,
    target: Option<Selector>,
    /// The text or the file, for messages.
    source: String,
    /// The file that holds the patch.
    file: RepoPath,
}

enum Content {
    Strategic(Vec<Resource>),
    Json(json6902::Patch),
    /// The file holds nothing, or lies elsewhere.
    Nothing,
}

impl PatchEntry {
    /// Loads the patch and finds out what it is.
    pub(crate) fn new(entry: &Located<Patch>, site: Site<'_, '_>) -> Result<PatchEntry, Error> {
        let patch = entry.patch.trim();
        let (text, file, source) = match (patch, entry.path.as_str()) {
            ("", "") => {
                return Err(Error::new("must specify one of patch and path").at(site.file, entry.mark));
            }
            (_, "") => (patch.to_owned(), site.file.clone(), format!("[patch: {patch:?}]")),
            ("", path) => {
                let source = format!("[path: {path:?}]");
                match site.read(path, entry.mark).map_err(|mut error| {
                    error.what = format!("failed to get the patch file from path({path}): {}", error.what);
                    error
                })? {
                    Some(file) => (file.decode()?.into_owned(), file.path.clone(), source),
                    None => (String::new(), site.file.clone(), source),
                }
            }
            _ => {
                return Err(
                    Error::new("patch and path can't be set at the same time").at(site.file, entry.mark)
                );
            }
        };
        let content = Content::parse(&text, &file, entry, &source, site)?;
        Ok(PatchEntry {
            content,
            target: entry.target.clone(),
            source,
            file,
        })
    }
}

impl Content {
    fn parse(
        text: &str,
        file: &RepoPath,
        entry: &Located<Patch>,
        source: &str,
        site: Site<'_, '_>,
    ) -> Result<Content, Error> {
        if text.is_empty() {
            return Ok(Content::Nothing);
        }
        let strategic = objects::read(text, file, site.session);
        let json = || json6902::Patch::parse(text);
        match strategic {
            Ok(patches) if patches.is_empty() => Ok(Content::Nothing),
            Ok(mut patches) => {
                for patch in &mut patches {
                    let options = entry.options.unwrap_or_default();
                    if options.allow_name_change {
                        patch.enable(notes::ALLOW_NAME_CHANGE);
                    }
                    if options.allow_kind_change {
                        patch.enable(notes::ALLOW_KIND_CHANGE);
                    }
                }
                Ok(Content::Strategic(patches))
            }
            Err(not_strategic) => match json() {
                Ok(patch) => Ok(Content::Json(patch)),
                Err(not_json) => {
                    let mut error = Error::new(format!("unable to parse SM or JSON patch from {source}"));
                    let looks_like_json = matches!(text.trim_start().as_bytes().first(), Some(b'[' | b'-'));
                    let reason = if looks_like_json { not_json } else { not_strategic };
                    error = error.because(reason.what.clone());
                    error = match (&reason.file, reason.line) {
                        (Some(place), line) if place == file && line > 0 && !entry.path.is_empty() => error
                            .at(
                                file,
                                firstpass_yaml::Mark {
                                    line,
                                    column: reason.column,
                                },
                            ),
                        _ => error.at(site.file, entry.mark),
                    };
                    Err(error)
                }
            },
        }
    }
}

impl Transform for PatchEntry {
    fn apply(&self, resources: &mut ResMap, by: &By<'_>) -> Result<(), Error> {
        match &self.content {
            Content::Nothing => Ok(()),
            Content::Strategic(patches) => self.apply_strategic(patches, resources, by),
            Content::Json(patch) => self.apply_json(patch, resources, by),
        }
    }
}

impl PatchEntry {
    fn apply_strategic(
        &self,
        patches: &[Resource],
        resources: &mut ResMap,
        by: &By<'_>,
    ) -> Result<(), Error> {
        if let Some(target) = &self.target {
            let [patch] = patches else {
                return Err(Error::new(format!(
                    "Multiple Strategic-Merge Patches in one `patches` entry is not allowed to set `patches.target` \
                     field: {}",
                    self.source
                ))
                .help("make an entry of each patch, or leave out the target"));
            };
            let selected = select(resources, target).map_err(|mut error| {
                error.what = format!("unable to find patch target in `resources`: {}", error.what);
                error
            })?;
            return merge_into_selected(resources, &selected, patch, by);
        }
        for patch in patches {
            match resources.position_for_patch(patch.original_id()) {
                Ok(position) => {
                    let resource = resources.get_mut(position);
                    merge(resource, patch, by)?;
                    resource.shaped_by(patched(by, patch));
                }
                Err(_) if by.session.is_incomplete() => {}
                Err(mut error) => {
                    error.what = format!(
                        "no resource matches strategic merge patch \"{}\": {}",
                        patch.original_id(),
                        error.what
                    );
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn apply_json(&self, patch: &json6902::Patch, resources: &mut ResMap, by: &By<'_>) -> Result<(), Error> {
        let Some(target) = &self.target else {
            return Err(
                Error::new(format!("must specify a target for JSON patch {}", self.source))
                    .help("a JSON patch does not say which resource it is for: add a `target`"),
            );
        };
        for position in select(resources, target)? {
            let resource = resources.get_mut(position);
            resource.store_previous_id();
            apply_json_patch(resource, patch).map_err(|error| {
                error.because(format!("the patch is applied to {}", resource.current_id()))
            })?;
            resource.shaped_by(patched_by_file(by, self.file.as_str()));
        }
        Ok(())
    }
}
