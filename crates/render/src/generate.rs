//! The root kustomization of a build: found or generated, then rewritten as the Flux Kustomization asks (F-800 to F-807).
//!
//! Behaves as `kustomize_generator.go` of fluxcd/pkg/kustomize:
//! <https://github.com/fluxcd/pkg/blob/kustomize/v1.39.0/kustomize/kustomize_generator.go>

use firstpass_flux::{ControllerVersion, KustomizationSpec};
use firstpass_kustomize::Error;
use firstpass_kustomize::file::{self, Image, KustomizationFile, Patch, Selector};
use firstpass_kustomize::resid::{Gvk, ResId};
use firstpass_source::{EntryKind, RepoPath, Tree};

/// Directories below directories; deeper trees are refused.
const DEPTH_MAX: usize = 100;

/// Since this version images merge field by field; before, an entry of the Kustomization replaced the file's (F-1768).
const IMAGES_MERGE_SINCE: ControllerVersion = ControllerVersion::new(9, 4);

/// What Flux says of a file that is no manifest, before anything is built (F-802).
pub(crate) const NO_MANIFEST: &str = "failed to decode Kubernetes YAML from";

/// What kustomize says of a document without metadata.
const MISSING_METADATA: &str = "missing Resource metadata";

/// The root kustomization that Flux hands to kustomize.
pub(crate) fn root_kustomization(
    tree: &dyn Tree,
    directory: &RepoPath,
    spec: &KustomizationSpec,
    controller: ControllerVersion,
) -> Result<KustomizationFile, Error> {
    let mut root = match file::find(tree, directory).first() {
        Some(path) => existing(tree, path)?,
        None => generated(tree, directory)?,
    };
    rewrite(&mut root, tree, directory, spec, controller)?;
    Ok(root)
}

/// The kustomization file of a directory, as Flux reads it.
pub(crate) fn existing(tree: &dyn Tree, path: &RepoPath) -> Result<KustomizationFile, Error> {
    let bytes = tree.read(path).map_err(|error| Error::new(error.to_string()))?;
    let text = firstpass_yaml::decode(&bytes).map_err(|error| at(path, error.mark, &error.message))?;
    let mut root = KustomizationFile::read_leniently(&text, path)?;
    if root.resources.is_empty() {
        // Flux does so lest kustomize call the file empty (F-805).
        root.build_metadata = vec!["originAnnotations".to_owned()];
    }
    Ok(root)
}

/// Lists every manifest below the directory; a directory with a kustomization of its own is listed as such (F-802).
pub(crate) fn generated(tree: &dyn Tree, directory: &RepoPath) -> Result<KustomizationFile, Error> {
    let mut root = KustomizationFile::default();
    scan(tree, directory, directory, &mut root, 0)?;
    if root.resources.is_empty() {
        root.namespace = "_placeholder".to_owned();
    }
    Ok(root)
}

fn scan(
    tree: &dyn Tree,
    base: &RepoPath,
    directory: &RepoPath,
    root: &mut KustomizationFile,
    depth: usize,
) -> Result<(), Error> {
    if depth > DEPTH_MAX {
        return Err(Error::new(format!(
            "`{directory}`: directories are nested deeper than {DEPTH_MAX}"
        )));
    }
    let entries = tree
        .list(directory)
        .map_err(|error| Error::new(error.to_string()))?;
    for (name, kind) in entries {
        let path = directory.join_clamped(&name);
        let resource = || format!("./{}", path.relative_to(base));
        match kind {
            EntryKind::Directory if !file::find(tree, &path).is_empty() => {
                root.resources.push(located(resource()));
            }
            EntryKind::Directory => scan(tree, base, &path, root, depth + 1)?,
            EntryKind::File if name.ends_with(".yaml") || name.ends_with(".yml") => {
                check_manifest(tree, &path)?;
                root.resources.push(located(resource()));
            }
            EntryKind::File | EntryKind::Symlink | EntryKind::Special => {}
        }
    }
    Ok(())
}

/// A manifest has to hold Kubernetes objects and nothing else; empty documents are fine (F-802).
fn check_manifest(tree: &dyn Tree, path: &RepoPath) -> Result<(), Error> {
    let refuse = |mark: firstpass_yaml::Mark, why: &str| {
        let mut error = at(path, mark, &format!("{NO_MANIFEST} `{path}`: {why}"));
        let said = if why.starts_with(MISSING_METADATA) {
            MISSING_METADATA
        } else {
            why
        };
        error.upstream = Some(format!("{NO_MANIFEST} …/{path}: {said}").into());
        error.help = Some(
            "a directory without a kustomization file is built from every YAML file below it: add a kustomization file \
             that lists the manifests, or move the file out of the path"
                .to_owned(),
        );
        error
    };
    let bytes = tree
        .read(path)
        .map_err(|error| refuse(firstpass_yaml::Mark::NONE, &error.to_string()))?;
    let text = firstpass_yaml::decode(&bytes).map_err(|error| refuse(error.mark, &error.message))?;
    let documents = firstpass_yaml::parse_all(&text).map_err(|error| refuse(error.mark, &error.message))?;
    for document in documents {
        let root = &document.root;
        let kind = root
            .get("kind")
            .and_then(|kind| kind.as_str())
            .unwrap_or_default();
        if root.as_map().is_none() {
            return Err(refuse(root.mark, "the document is no mapping"));
        }
        if kind.is_empty() {
            return Err(refuse(
                root.mark,
                &format!("{MISSING_METADATA}: the document has no `kind`"),
            ));
        }
        let has_name = root
            .at(&["metadata", "name"])
            .and_then(|name| name.as_text())
            .is_some_and(|name| !name.is_empty());
        if !has_name && !kind.ends_with("List") {
            return Err(refuse(
                root.mark,
                &format!("missing metadata.name in object of kind `{kind}`"),
            ));
        }
    }
    Ok(())
}

/// Puts in what the Flux Kustomization says (F-806, F-807).
fn rewrite(
    root: &mut KustomizationFile,
    tree: &dyn Tree,
    directory: &RepoPath,
    spec: &KustomizationSpec,
    controller: ControllerVersion,
) -> Result<(), Error> {
    if let Some(namespace) = &spec.target_namespace {
        root.namespace.clone_from(namespace);
    }
    if let Some(prefix) = &spec.name_prefix {
        root.name_prefix.clone_from(prefix);
    }
    if let Some(suffix) = &spec.name_suffix {
        root.name_suffix.clone_from(suffix);
    }
    for patch in &spec.patches {
        let target = patch.target.as_ref().map(|target| {
            let part = |part: &Option<String>| part.clone().unwrap_or_default();
            Selector {
                id: ResId {
                    gvk: Gvk {
                        group: part(&target.group),
                        version: part(&target.version),
                        kind: part(&target.kind),
                    },
                    name: part(&target.name),
                    namespace: part(&target.namespace),
                },
                label_selector: part(&target.label_selector),
                annotation_selector: part(&target.annotation_selector),
            }
        });
        root.patches.push(located(Patch {
            patch: patch.patch.clone(),
            target,
            ..Patch::default()
        }));
    }
    for component in &spec.components {
        if component.contains("://") || component.starts_with('/') {
            return Err(Error::new(format!(
                "component path `{component}` must be local and relative"
            )));
        }
        let there = directory
            .join(component)
            .is_ok_and(|path| tree.entry(&path).is_some());
        if there || !spec.ignore_missing_components {
            root.components.push(located(component.clone()));
        }
    }
    merge_images(root, spec, controller);
    if !spec.build_metadata.is_empty() {
        root.build_metadata.clone_from(&spec.build_metadata);
    }
    Ok(())
}

fn merge_images(root: &mut KustomizationFile, spec: &KustomizationSpec, controller: ControllerVersion) {
    for image in &spec.images {
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        let ours = Image {
            name: image.name.clone(),
            new_name: text(&image.new_name),
            new_tag: text(&image.new_tag),
            digest: text(&image.digest),
            ..Image::default()
        };
        match root.images.iter_mut().find(|entry| entry.name == image.name) {
            None => root.images.push(ours),
            Some(entry) if controller < IMAGES_MERGE_SINCE => *entry = ours,
            Some(entry) => {
                if !ours.new_name.is_empty() {
                    entry.new_name = ours.new_name;
                }
                if !ours.new_tag.is_empty() || !ours.digest.is_empty() {
                    entry.new_tag = ours.new_tag;
                    entry.digest = ours.digest;
                }
            }
        }
    }
}

fn located<T>(value: T) -> file::Located<T> {
    file::Located::from(value)
}

fn at(path: &RepoPath, mark: firstpass_yaml::Mark, what: &str) -> Error {
    let mut error = Error::new(what);
    error.file = Some(path.clone());
    error.line = mark.line;
    error.column = mark.column;
    error
}
