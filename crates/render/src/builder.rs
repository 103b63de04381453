//! The two steps of an attempt that make objects: build and substitute (F-113, F-600 to F-611, F-800 to F-816).
//!
//! A [`TierBuilder`] is pure and remembers: the same tier on the same sources is built once, and substituted again only
//! when its variables change. The static rendering and the simulator share one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use firstpass_flux::{CommonMetadata, ControllerSettings, ControllerVersion, Kustomization};
use firstpass_kustomize::Options;
use firstpass_object::{ObjectExt, ObjectId, Origin, Step, TierName};
use firstpass_source::{EntryKind, OverlayTree, RepoPath, Tree};
use rayon::prelude::*;
use serde_json::Value;

use crate::artifacts::{Artifact, Artifacts, Files};
use crate::substitute::{self, Uncertain, VariableSet};
use crate::{
    Data, Datum, Encryption, Outcome, RemotePart, RenderedObject, TierFailure, TierSource, Unrendered,
    UnrenderedReason, Variables,
};
use crate::{decrypt_sources, detect, explain, generate, metadata, sops};

/// Objects are substituted side by side if there are more than this: one takes some 50 µs.
const OBJECTS_AT_ONCE: usize = 16;

/// Builds and substitutes tiers.
pub struct TierBuilder {
    artifacts: Artifacts,
    settings: ControllerSettings,
    builds: Mutex<BTreeMap<String, Arc<BuildOutcome>>>,
    substitutions: Mutex<BTreeMap<TierName, Remembered>>,
    uncertain: Mutex<Uncertain>,
}

/// What a build comes to.
#[derive(Clone, Debug)]
pub enum BuildOutcome {
    /// Objects.
    Built(Built),
    /// A refusal.
    Failed(Box<TierFailure>),
    /// Nothing that can be seen.
    Unrendered(Unrendered),
}

/// Built objects, before substitution.
#[derive(Clone, Debug)]
pub struct Built {
    /// The objects in build order.
    pub objects: Arc<[BuiltObject]>,
    /// Parts that are fetched from elsewhere, and so are missing.
    pub remote: Vec<RemotePart>,
    /// Something wrong that Flux does not notice.
    pub warnings: Vec<TierFailure>,
}

/// One built object.
#[derive(Clone, Debug)]
pub struct BuiltObject {
    /// The object.
    pub object: Arc<Value>,
    /// Where it came from.
    pub origin: Arc<Origin>,
    /// What encryption did to it.
    pub encryption: Encryption,
    /// Flux refuses to apply it: it is encrypted, and nothing says how to decrypt it (F-709).
    pub refused: bool,
}

/// The last substitution of a tier, and what it depended on.
struct Remembered {
    objects: Arc<[BuiltObject]>,
    variables: Option<VariableSet>,
    common_metadata: Option<CommonMetadata>,
    result: Result<Arc<[RenderedObject]>, Vec<TierFailure>>,
}

impl std::fmt::Debug for TierBuilder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("TierBuilder")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl TierBuilder {
    pub(crate) fn new(artifacts: Artifacts, settings: ControllerSettings) -> TierBuilder {
        TierBuilder {
            artifacts,
            settings,
            builds: Mutex::default(),
            substitutions: Mutex::default(),
            uncertain: Mutex::default(),
        }
    }

    /// How Flux runs.
    pub fn settings(&self) -> &ControllerSettings {
        &self.settings
    }

    pub(crate) fn artifacts(&self) -> &Artifacts {
        &self.artifacts
    }

    /// Takes over what is known about sources now.
    pub(crate) fn set_sources(&mut self, sources: crate::artifacts::Sources) {
        self.artifacts.sources = sources;
    }

    /// Where a tier's files come from.
    pub fn source(&self, tier: &Kustomization) -> TierSource {
        match self.artifact(tier) {
            Ok(Artifact::Files(files)) => files.source,
            Ok(Artifact::Opaque(source, _)) => source,
            Err(_) => TierSource::Missing,
        }
    }

    /// Builds a tier: everything up to substitution. The same tier on the same files is built once.
    pub fn build(&self, tier: &Kustomization) -> Arc<BuildOutcome> {
        let files = match self.artifact(tier) {
            Ok(Artifact::Files(files)) => files,
            Ok(Artifact::Opaque(_, unrendered)) | Err(unrendered) => {
                return Arc::new(BuildOutcome::Unrendered(unrendered));
            }
        };
        let key = build_key(tier, &files);
        if let Some(known) = lock(&self.builds).get(&key) {
            return known.clone();
        }
        let outcome = Arc::new(self.build_anew(tier, &files));
        lock(&self.builds).insert(key, outcome.clone());
        outcome
    }

    /// Substitutes variables into what was built and puts on what Flux puts on: owner labels and `commonMetadata`.
    ///
    /// # Errors
    /// What Flux refuses; the first one is what it reports. All variables that are not set are told at once.
    pub fn substitute(
        &self,
        tier: &Kustomization,
        built: &Built,
        variables: &dyn Variables,
    ) -> Result<Arc<[RenderedObject]>, Vec<TierFailure>> {
        // References are only read if there is an object to substitute (F-602).
        let any = built
            .objects
            .iter()
            .any(|built| !substitute::is_disabled(&built.object));
        let loaded = if any {
            VariableSet::load(tier, &self.settings, variables, &lock(&self.uncertain))
        } else {
            Ok(None)
        };
        let loaded = loaded.map_err(|error| {
            let first = built
                .objects
                .iter()
                .find(|built| !substitute::is_disabled(&built.object));
            vec![explain::variables(&error, tier, first, &self.settings)]
        })?;
        if let Some(remembered) = lock(&self.substitutions).get(&tier.name)
            && Arc::ptr_eq(&remembered.objects, &built.objects)
            && remembered.variables == loaded
            && remembered.common_metadata == tier.spec.common_metadata
        {
            return remembered.result.clone();
        }
        let result = self.substitute_anew(tier, built, loaded.as_ref());
        let remembered = Remembered {
            objects: built.objects.clone(),
            variables: loaded,
            common_metadata: tier.spec.common_metadata.clone(),
            result: result.clone(),
        };
        lock(&self.substitutions).insert(tier.name.clone(), remembered);
        result
    }

    /// Builds and substitutes. Suspension is not looked at.
    pub fn render(&self, tier: &Kustomization, variables: &dyn Variables) -> Outcome {
        match &*self.build(tier) {
            BuildOutcome::Built(built) => match self.substitute(tier, built, variables) {
                Ok(objects) => Outcome::Rendered(objects),
                Err(failures) => Outcome::Failed(failures),
            },
            BuildOutcome::Failed(failure) => Outcome::Failed(vec![(**failure).clone()]),
            BuildOutcome::Unrendered(unrendered) => Outcome::Unrendered(unrendered.clone()),
        }
    }

    fn artifact(&self, tier: &Kustomization) -> Result<Artifact, Unrendered> {
        let Some(source) = tier.source() else {
            return Err(Unrendered {
                reason: UnrenderedReason::SourceMissing,
                text: "it names no source that Flux knows".to_owned(),
                help: "set `spec.sourceRef` to a GitRepository, OCIRepository, Bucket or ExternalArtifact"
                    .to_owned(),
            });
        };
        Ok(self
            .artifacts
            .resolve(&source, &RepoPath::clamped(&tier.spec.path)))
    }

    fn build_anew(&self, tier: &Kustomization, files: &Files) -> BuildOutcome {
        if let Some(source) = tier.source()
            && detect::source_is_denied(tier, &source, &self.settings)
        {
            return BuildOutcome::Failed(Box::new(explain::source_denied(tier, &source)));
        }
        let path = &tier.spec.path;
        let directory = RepoPath::clamped(path);
        match files.tree.entry(&directory) {
            Some(EntryKind::Directory) => {}
            Some(_) => return BuildOutcome::Failed(Box::new(explain::path_is_file(tier))),
            None if path.contains("${") => {
                return BuildOutcome::Unrendered(Unrendered {
                    reason: UnrenderedReason::UnknownPath,
                    text: format!("its path `{path}` holds a variable that is not known here"),
                    help: "give the variable a value in the repository".to_owned(),
                });
            }
            None => return BuildOutcome::Failed(Box::new(explain::path_missing(tier, files))),
        }
        match self.build_directory(tier, files, &directory) {
            Ok(built) => BuildOutcome::Built(built),
            Err(failure) => BuildOutcome::Failed(failure),
        }
    }

    fn build_directory(
        &self,
        tier: &Kustomization,
        files: &Files,
        directory: &RepoPath,
    ) -> Result<Built, Box<TierFailure>> {
        let controller = self.settings.flux.kustomize_controller();
        let decrypts = tier.spec.decryption.is_some();
        let tree: Arc<dyn Tree> = if decrypts {
            let decrypted = decrypt_sources::decrypted_sources(&*files.tree, directory, controller);
            Arc::new(OverlayTree::new(Shared(files.tree.clone()), decrypted))
        } else {
            files.tree.clone()
        };
        let failed = |error: &firstpass_kustomize::Error| Box::new(explain::build(error, files, tier));
        let root = generate::root_kustomization(&*tree, directory, &tier.spec, controller)
            .map_err(|error| failed(&error))?;
        let build = firstpass_kustomize::build(&*tree, directory, &Options::flux_with_root(root))
            .map_err(|error| failed(&error))?;
        let remote = build.remote.iter().map(|remote| RemotePart {
            text: remote.text.clone(),
            location: firstpass_diagnostics::Location::new(
                files.places.file(remote.file.as_str()),
                remote.line.max(1),
                remote.column.max(1),
            ),
        });
        let remote: Vec<RemotePart> = remote.collect();
        if self.settings.no_remote_bases
            && let Some(part) = remote.first()
        {
            return Err(Box::new(explain::remote_forbidden(part)));
        }
        let mut warnings = Vec::new();
        let mut objects = Vec::with_capacity(build.resources.len());
        for resource in build.resources {
            let mut origin = resource.origin;
            origin.file = files.places.file(&origin.file);
            origin.steps.iter_mut().for_each(|step| place_step(step, files));
            let origin = Arc::new(origin);
            let mut object = resource.value;
            if object.api_version().is_empty() || object.kind().is_empty() || object.name().is_empty() {
                return Err(Box::new(explain::incomplete_object(&object, &origin)));
            }
            if is_kustomization_file(&object) {
                continue;
            }
            let (encryption, refused) = encryption_of(&mut object, decrypts, controller);
            if encryption == Encryption::Ciphertext && !refused {
                warnings.push(explain::ciphertext_applied(&object.id(), &origin));
            }
            objects.push(BuiltObject {
                object: Arc::new(object),
                origin,
                encryption,
                refused,
            });
        }
        Ok(Built {
            objects: objects.into(),
            remote,
            warnings,
        })
    }

    fn substitute_anew(
        &self,
        tier: &Kustomization,
        built: &Built,
        variables: Option<&VariableSet>,
    ) -> Result<Arc<[RenderedObject]>, Vec<TierFailure>> {
        let mut failures = explain::Failures::default();
        let mut rendered = Vec::with_capacity(built.objects.len());
        let substitute =
            |object: &BuiltObject| match variables.filter(|_| !substitute::is_disabled(&object.object)) {
                None => Ok(None),
                Some(variables) => variables.substitute(&object.object),
            };
        let substituted: Vec<_> = built
            .objects
            .par_iter()
            .with_min_len(OBJECTS_AT_ONCE)
            .map(substitute)
            .collect();
        for (object, substituted) in built.objects.iter().zip(substituted) {
            match substituted {
                Ok(None) => rendered.push(finished(tier, object, None)),
                Ok(Some(substituted)) => {
                    lock(&self.uncertain).note(&substituted.value, &substituted.unknown);
                    rendered.push(finished(tier, object, Some(substituted)));
                }
                Err(error) => {
                    let explained = explain::substitution(error, variables, object, self);
                    explained.into_iter().for_each(|failure| failures.push(failure));
                }
            }
        }
        for (first, second) in duplicates(built, &rendered) {
            failures.push(explain::duplicate_after_substitution(first, second));
        }
        if failures.is_empty() {
            built
                .objects
                .iter()
                .filter(|object| object.refused)
                .for_each(|object| failures.push(explain::encrypted_without_decryption(object, tier)));
        }
        if failures.is_empty() {
            Ok(rendered.into())
        } else {
            Err(failures.into_vec())
        }
    }
}

/// A tree behind an [`Arc`], for wrappers that want to own one.
struct Shared(Arc<dyn Tree>);

impl Tree for Shared {
    fn read(&self, path: &RepoPath) -> Result<Arc<[u8]>, firstpass_source::ReadError> {
        self.0.read(path)
    }

    fn entry(&self, path: &RepoPath) -> Option<EntryKind> {
        self.0.entry(path)
    }

    fn list(&self, directory: &RepoPath) -> Result<Vec<(String, EntryKind)>, firstpass_source::ReadError> {
        self.0.list(directory)
    }
}

/// Everything of a tier that its build depends on.
fn build_key(tier: &Kustomization, files: &Files) -> String {
    let spec = &tier.spec;
    format!(
        "{:?}",
        (
            &files.identity,
            &spec.path,
            (&spec.target_namespace, &spec.name_prefix, &spec.name_suffix),
            (
                &spec.patches,
                &spec.images,
                &spec.components,
                spec.ignore_missing_components
            ),
            &spec.build_metadata,
            spec.decryption.is_some(),
            &tier.name,
        )
    )
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // What is remembered is whole at any time, whoever panicked while holding the lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kustomization files are dropped before an apply (F-118).
fn is_kustomization_file(object: &Value) -> bool {
    object.kind() == "Kustomization"
        && firstpass_object::group_of(object.api_version()) == "kustomize.config.k8s.io"
}

/// Does to an object what decryption does to it, and says whether Flux refuses it (F-704, F-709, F-710).
fn encryption_of(object: &mut Value, decrypts: bool, controller: ControllerVersion) -> (Encryption, bool) {
    /// Since this version an annotation keeps an object from being decrypted (F-1766).
    const ANNOTATION_SINCE: ControllerVersion = ControllerVersion::new(8, 0);
    let disabled = controller >= ANNOTATION_SINCE && sops::decryption_is_disabled(object);
    if decrypts && !disabled {
        let decrypted = sops::decrypt_object(object) || holds_unknown(object);
        return (
            if decrypted {
                Encryption::Decrypted
            } else {
                Encryption::None
            },
            false,
        );
    }
    if !sops::is_encrypted(object) {
        let generated = !disabled && sops::holds_ciphertext(object);
        return (
            if generated {
                Encryption::Ciphertext
            } else {
                Encryption::None
            },
            false,
        );
    }
    let is_secret = object.kind() == "Secret" && object.api_version() == "v1";
    if is_secret && sops::guard_notices(object) {
        return (Encryption::Ciphertext, !disabled);
    }
    if is_secret || object.kind() == "ConfigMap" && object.api_version() == "v1" {
        sops::remove_block(object);
    }
    (Encryption::Ciphertext, false)
}

/// Whether a generator made the object from an input that was decrypted before the build: its values are not known.
fn holds_unknown(object: &Value) -> bool {
    let unknown = |datum: &Datum| *datum == Datum::Unknown;
    object.kind() == "Secret" && Data::of(object).values.values().any(unknown)
}

fn finished(
    tier: &Kustomization,
    built: &BuiltObject,
    substituted: Option<substitute::Substituted>,
) -> RenderedObject {
    let (mut object, template, unknown_variables, origin) = match substituted {
        None => ((*built.object).clone(), None, Vec::new(), built.origin.clone()),
        Some(substituted) => {
            let mut origin = (*built.origin).clone();
            origin.steps.push(Step::Substituted {
                by: tier.name.to_string(),
            });
            (
                substituted.value,
                Some(built.object.clone()),
                substituted.unknown,
                Arc::new(origin),
            )
        }
    };
    metadata::set_owner(&mut object, &tier.name);
    if let Some(common) = &tier.spec.common_metadata {
        metadata::set_common(&mut object, common);
    }
    RenderedObject {
        object: Arc::new(object),
        origin,
        template,
        unknown_variables,
        encryption: built.encryption,
    }
}

/// Pairs of objects that substitution gave the same identity (F-609).
fn duplicates<'r>(
    built: &Built,
    rendered: &'r [RenderedObject],
) -> Vec<(&'r RenderedObject, &'r RenderedObject)> {
    if rendered.len() != built.objects.len() {
        return Vec::new();
    }
    let mut seen: BTreeMap<(ObjectId, String), usize> = BTreeMap::new();
    let mut found = Vec::new();
    for (index, object) in rendered.iter().enumerate() {
        let key = (object.id(), object.object.api_version().to_owned());
        match seen.get(&key) {
            Some(&first) if object.template.is_some() || rendered[first].template.is_some() => {
                found.push((&rendered[first], object));
            }
            Some(_) => {}
            None => {
                seen.insert(key, index);
            }
        }
    }
    found
}

fn place_step(step: &mut Step, files: &Files) {
    match step {
        Step::Generated { by } | Step::Transformed { by, .. } => *by = files.places.file(by),
        Step::Patched { by, file } => {
            *by = files.places.file(by);
            *file = file.take().map(|file| files.places.file(&file));
        }
        Step::Substituted { .. } => {}
    }
}
