//! Building one kustomization file: gather, generate, let components work, transform, validate. Bases are built first,
//! each by the same steps (F-808).

mod plugins;
mod said;
mod transformers;

use firstpass_source::RepoPath;
use firstpass_yaml::Mark;

use crate::Error;
use crate::accumulator::Accumulator;
use crate::ahead::{self, Ahead};
use crate::config::{self, Conflict, TransformerConfig};
use crate::file::{API_VERSIONS, KustomizationFile, Located};
use crate::first;
use crate::generator::{self, Kind, merged_options};
use crate::loader::{Entered, Loader};
use crate::objects;
use crate::provenance::{self, Provenance};
use crate::resmap::ResMap;
use crate::resource::notes;
use crate::session::{Session, Site};
use crate::transformer::By;

/// A kustomization file about to be obeyed.
pub(crate) struct Target<'a, 'tree> {
    session: &'a Session,
    loader: Loader<'tree>,
    path: RepoPath,
    file: KustomizationFile,
    /// The directory as seen from the one that the build was asked for, if `buildMetadata` wants to know.
    origin: Option<String>,
}

impl<'a, 'tree> Target<'a, 'tree> {
    /// Reads the kustomization file of a directory, or takes what has been made of it.
    pub(crate) fn load(
        session: &'a Session,
        loader: Loader<'tree>,
        given: Option<&KustomizationFile>,
    ) -> Result<Target<'a, 'tree>, Error> {
        let (path, file) = match given {
            Some(file) => (loader.kustomization_path()?, file.clone()),
            None => {
                let (path, bytes) = loader.kustomization()?;
                let text =
                    firstpass_yaml::decode(&bytes).map_err(|error| Error::unreadable(&path, &error))?;
                let file = KustomizationFile::read(&text, &path)?;
                (path, file)
            }
        };
        for (field, mark) in &file.deprecated {
            session.warn(deprecation(field), &path, mark.line);
        }
        if file.is_empty() {
            return Err(Error::new("kustomization.yaml is empty")
                .at(&path, Mark::NONE)
                .help("list resources in it, or remove it"));
        }
        check_type(&file).map_err(|error| error.at(&path, objects::START))?;
        Ok(Target {
            session,
            loader,
            path,
            file,
            origin: None,
        })
    }

    /// What the file says.
    pub(crate) fn file(&self) -> &KustomizationFile {
        &self.file
    }

    /// The kustomization file.
    pub(crate) fn path(&self) -> &RepoPath {
        &self.path
    }

    /// Starts keeping track of where objects come from, if the root wants to know.
    pub(crate) fn track_origins(&mut self) {
        self.origin = (!self.file.build_metadata.is_empty()).then(String::new);
    }

    fn site(&self) -> Site<'_, 'tree> {
        Site {
            session: self.session,
            loader: &self.loader,
            file: &self.path,
        }
    }

    pub(crate) fn by(&self) -> By<'_> {
        By {
            session: self.session,
            file: &self.path,
        }
    }

    /// Builds into `gathered`: empty for a kustomization, what the parent has so far for a component.
    pub(crate) fn accumulate(&self, gathered: &mut Accumulator) -> Result<(), Error> {
        self.accumulate_resources(gathered, &self.file.resources)
            .map_err(|error| error.said(|inner| format!("accumulating resources: {inner}")))?;
        self.merge_config(gathered)?;
        self.generate(gathered)?;
        self.accumulate_components(gathered)
            .map_err(|error| error.said(|inner| format!("accumulating components: {inner}")))?;
        self.transform(gathered)?;
        self.validate(gathered)?;
        gathered
            .vars
            .add(&self.file.vars, &mut gathered.resources)
            .map_err(|error| {
                let mark = self.file.vars.first().map_or(Mark::NONE, |var| var.mark);
                error.at(&self.path, mark)
            })
    }

    /// Adds what the paths hold: files of objects, and directories to build.
    fn accumulate_resources(
        &self,
        gathered: &mut Accumulator,
        paths: &[Located<String>],
    ) -> Result<(), Error> {
        for (path, read) in paths.iter().zip(ahead::read(&self.loader, paths)) {
            // What is no file of objects may be a directory.
            let Err(not_a_file) = read.and_then(|read| self.accumulate_file(gathered, path, read)) else {
                continue;
            };
            match self.loader.enter(path) {
                Ok(Entered::Remote) => self.site().elsewhere(path, path.mark)?,
                Ok(Entered::Directory(loader)) => {
                    let root = loader.root().clone();
                    self.accumulate_directory(gathered, loader, path, false)
                        .map_err(|error| error.said(|inner| said::directory(path, &root, inner)))?;
                }
                Err(not_a_directory) => {
                    let text = said::neither(
                        path,
                        &self.loader.root().join_clamped(path),
                        &not_a_file,
                        &not_a_directory,
                    );
                    let not_a_file = not_a_file.said(|_| text.clone());
                    if not_a_file.file.as_ref() == Some(&self.path) {
                        return Err(not_a_file);
                    }
                    if not_a_file.file.is_some() {
                        return Err(not_a_file.because(self.named_at(path)));
                    }
                    let cyclic = not_a_directory.what.starts_with("cycle");
                    let error = if cyclic || not_a_file.what.contains("must resolve to a file") {
                        not_a_directory
                    } else {
                        not_a_file
                    };
                    return Err(error
                        .said(|_| text)
                        .at(&self.path, path.mark)
                        .help("correct the path; it is read from the directory of the kustomization file"));
                }
            }
        }
        Ok(())
    }

    /// The place where a file or directory is named, as a reason.
    fn named_at(&self, path: &Located<String>) -> String {
        if path.mark.line == 0 {
            let directory = self.path.parent().unwrap_or_default();
            return format!("without a kustomization file, Flux lists every manifest below `{directory}`");
        }
        format!("{}:{} names it", self.path, path.mark.line)
    }

    fn accumulate_file(
        &self,
        gathered: &mut Accumulator,
        path: &Located<String>,
        read: Ahead,
    ) -> Result<(), Error> {
        let (file, parsed) = match read {
            Ahead::Parsed(file, parsed) => (file, parsed),
            Ahead::Remote => return self.site().elsewhere(path, path.mark),
        };
        let mut found = ResMap::default();
        for resource in parsed.into_resources(&file, self.session) {
            found.append(resource)?;
        }
        if let Some(origin) = &self.origin {
            let text = Provenance::of_file(provenance::joined(origin, path)).to_yaml("");
            for resource in found.items_mut() {
                resource.set_annotation(notes::ORIGIN, &text);
            }
        }
        gathered
            .resources
            .append_all(found)
            .map_err(|error| error.at(&file, objects::START))
    }

    /// Builds a directory and adds what comes out of it; a component works on what is there.
    fn accumulate_directory(
        &self,
        gathered: &mut Accumulator,
        loader: Loader<'tree>,
        path: &Located<String>,
        as_component: bool,
    ) -> Result<(), Error> {
        let root = loader.root().clone();
        let inside = |how: &'static str| {
            let root = root.clone();
            move |error: Error| error.said(|inner| format!("{how} path '…/{root}': {inner}"))
        };
        let mut target = Target::load(self.session, loader, None)
            .map_err(inside("couldn't make target for"))
            .map_err(|error| error.at(&self.path, path.mark))?;
        target.file.build_metadata.clone_from(&self.file.build_metadata);
        target.origin = self
            .origin
            .as_ref()
            .map(|origin| provenance::joined(origin, path));
        target.obey_openapi(false)?;
        let named_here = self.named_at(path);
        match (as_component, target.file.is_component()) {
            (true, false) => {
                let root = target.loader.root();
                let what = format!("expected kind 'Component' for path '{root}' but got 'Kustomization'");
                Err(Error::new(what)
                    .at(&self.path, path.mark)
                    .help("list it under `resources`, or make it a component"))
            }
            (false, true) => {
                let what = format!("expected kind != 'Component' for path '{}'", target.loader.root());
                Err(Error::new(what)
                    .at(&self.path, path.mark)
                    .help("list it under `components`"))
            }
            (true, true) => {
                target
                    .accumulate(gathered)
                    .map_err(inside("recursed accumulation of"))
                    .map_err(|error| error.because(named_here.clone()))?;
                // What a component leaves behind is added to nothing once more: clashes show, and field specs go that
                // others cover.
                let all = std::mem::take(gathered);
                gathered
                    .merge(all)
                    .map_err(inside("recursed merging from"))
                    .map_err(|error| error.because(named_here))
            }
            (false, false) => {
                let mut base = Accumulator::default();
                target
                    .accumulate(&mut base)
                    .map_err(inside("recursed accumulation of"))
                    .map_err(|error| error.because(named_here.clone()))?;
                gathered
                    .merge(base)
                    .map_err(inside("recursed merging from"))
                    .map_err(|error| error.at(&self.path, path.mark).because(named_here))
            }
        }
    }

    fn accumulate_components(&self, gathered: &mut Accumulator) -> Result<(), Error> {
        for path in &self.file.components {
            match self.loader.enter(path) {
                Ok(Entered::Remote) => self.site().elsewhere(path, path.mark)?,
                Ok(Entered::Directory(loader)) => self
                    .accumulate_directory(gathered, loader, path, true)
                    .map_err(|error| error.said(said::component))?,
                Err(error) => {
                    let place = self.loader.root().join_clamped(path);
                    let text = said::no_component(&place, &error);
                    return Err(error
                        .said(|_| text)
                        .at(&self.path, path.mark)
                        .help("correct the path; it is read from the directory of the kustomization file"));
                }
            }
        }
        Ok(())
    }

    /// Obeys the field `openapi`. Only the first one of a build counts; the root's always does.
    pub(crate) fn obey_openapi(&self, is_root: bool) -> Result<(), Error> {
        let version = self.file.openapi.get("version").map(String::as_str);
        let text = match self.file.openapi.get("path") {
            Some(path) => self.site().read(path, Mark::NONE)?,
            None => None,
        };
        let schemas = &self.session.schemas;
        if schemas.is_decided() && !is_root {
            return Ok(());
        }
        match (text, version) {
            (Some(_), Some(_)) => Err(Error::new(
                "builtin version and custom schema provided, cannot use both",
            )
            .at(&self.path, Mark::NONE)
            .help("keep `path` or `version` of `openapi`")),
            (Some(text), None) => {
                let document = first::document(&text.decode()?, &text.path)?
                    .to_json()
                    .map_err(|error| Error::unreadable(&text.path, &error))?;
                schemas.use_document(document).map_err(|error| {
                    Error::new(format!("invalid schema file: {error}")).at(&text.path, objects::START)
                })
            }
            (None, None | Some("")) => Ok(()),
            (None, Some("v1.21.2")) => {
                schemas.use_builtin();
                Ok(())
            }
            (None, Some(_)) => Err(Error::new("the specified OpenAPI version is not built in")
                .at(&self.path, Mark::NONE)
                .help("v1.21.2 is the one version that is built in; leave out `openapi.version`")),
        }
    }

    /// Adds kustomize's own field specs, those of `configurations`, and those that `crds` imply.
    fn merge_config(&self, gathered: &mut Accumulator) -> Result<(), Error> {
        let conflict = |error: Conflict, mark| error.into_error().at(&self.path, mark);
        let mut own = TransformerConfig::default();
        for path in &self.file.configurations {
            if let Some(text) = self.site().read(path, path.mark)? {
                let read = TransformerConfig::read(&text.decode()?, &text.path)?;
                own.merge(&read).map_err(|error| conflict(error, path.mark))?;
            }
        }
        if self.file.configurations.is_empty() {
            gathered
                .merge_config(config::defaults())
                .map_err(|error| conflict(error, Mark::NONE))?;
        } else {
            let mark = self.file.configurations[0].mark;
            let mut merged = config::defaults().clone();
            merged.merge(&own).map_err(|error| conflict(error, mark))?;
            gathered
                .merge_config(&merged)
                .map_err(|error| conflict(error, mark))?;
        }
        for path in &self.file.crds {
            if let Some(text) = self.site().read(path, path.mark)? {
                let definitions = first::document(&text.decode()?, &text.path)?
                    .to_json()
                    .map_err(|error| Error::unreadable(&text.path, &error))?;
                let found =
                    config::from_crds(&definitions).map_err(|error| error.at(&text.path, objects::START))?;
                gathered
                    .merge_config(&found)
                    .map_err(|error| conflict(error, path.mark))?;
            }
        }
        Ok(())
    }

    fn generate(&self, gathered: &mut Accumulator) -> Result<(), Error> {
        if let Some(mark) = self.file.helm_charts.first() {
            return Err(crate::plugin::helm_is_off().at(&self.path, *mark));
        }
        let options = self.file.generator_options.as_ref();
        for (kind, entries) in [
            (Kind::ConfigMap, &self.file.config_map_generator),
            (Kind::Secret, &self.file.secret_generator),
        ] {
            for entry in entries {
                let mut args = entry.clone();
                args.options = merged_options(args.options.as_ref(), options);
                let mut resource = generator::generate(kind, &args, self.site())?;
                if let Some(by) = self.builtin(kind.generator()) {
                    resource.set_annotation(notes::ORIGIN, &by.to_yaml(""));
                }
                gathered
                    .resources
                    .absorb(resource, self.session.is_incomplete())
                    .map_err(|error| error.at(&self.path, entry.mark))?;
            }
        }
        self.generate_by_plugins(gathered)
    }

    /// A builtin that this file configures, if someone keeps track.
    fn builtin(&self, kind: &str) -> Option<Provenance> {
        let origin = self.origin.as_ref()?;
        let file = provenance::joined(origin, self.path.file_name());
        Some(Provenance::of_builtin(file, kind))
    }
}

fn check_type(file: &KustomizationFile) -> Result<(), Error> {
    let kind = if file.kind.is_empty() {
        "Kustomization"
    } else {
        &file.kind
    };
    let Some((_, version)) = API_VERSIONS.iter().find(|(known, _)| *known == kind) else {
        return Err(
            Error::new("kind should be Kustomization or Component").help(format!("`{kind}` is neither"))
        );
    };
    if !file.api_version.is_empty() && file.api_version != *version {
        return Err(Error::new(format!("apiVersion for {kind} should be {version}"))
            .help(format!("`{}` is not known", file.api_version)));
    }
    Ok(())
}

fn deprecation(field: &str) -> String {
    let instead = match field {
        "bases" => "resources",
        "imageTags" => "images",
        "commonLabels" => "labels",
        "vars" => "replacements",
        _ => "patches",
    };
    format!("'{field}' is deprecated. Please use '{instead}' instead.")
}
