//! What Flux refuses, told to a person: headline, reason, cure, place.

use std::collections::BTreeMap;

use firstpass_diagnostics::{Location, Severity};
use firstpass_flux::names::reason;
use firstpass_flux::{ControllerSettings, ControllerVersion, Kustomization, SourceKind, SourceName};
use firstpass_kustomize::Options;
use firstpass_kustomize::file::{self, KustomizationFile};
use firstpass_object::{GroupVersionKind, ObjectExt, ObjectId, Origin};
use firstpass_source::RepoPath;
use serde_json::Value;

use crate::artifacts::Files;
use crate::builder::BuiltObject;
use crate::generate::NO_MANIFEST;
use crate::substitute::{SubstituteError, VariableSet, VariablesError, not_set};
use crate::{RemotePart, RenderedObject, TierBuilder, TierFailure, locate};

/// Since this version messages name kind and name, before the name alone (F-1764).
const GVK_IN_MESSAGES_SINCE: ControllerVersion = ControllerVersion::new(7, 3);

/// What kustomize says of two resources with one id, before the id.
const ALREADY_REGISTERED: &str = "may not add resource with an already registered id: ";

/// Failures of one tier: a variable that is not defined is one failure, in however many objects.
#[derive(Default)]
pub(crate) struct Failures {
    failures: Vec<TierFailure>,
    by_variable: BTreeMap<String, usize>,
}

impl Failures {
    pub(crate) fn push(&mut self, failure: TierFailure) {
        let Some(variable) = failure.variable.clone() else {
            self.failures.push(failure);
            return;
        };
        match self.by_variable.get(&variable) {
            Some(&index) => self.failures[index].related.extend(failure.object),
            None => {
                self.by_variable.insert(variable, self.failures.len());
                self.failures.push(failure);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.failures.is_empty()
    }

    pub(crate) fn into_vec(self) -> Vec<TierFailure> {
        self.failures
    }
}

/// The source may not be used (F-131).
pub(crate) fn source_denied(tier: &Kustomization, source: &SourceName) -> TierFailure {
    let message = format!("`{}` may not use its source {source}", tier.name);
    let mut failure = TierFailure::refused("build-failed", reason::ACCESS_DENIED, message);
    if source.kind == SourceKind::ExternalArtifact {
        failure.flux_message =
            "can't access ExternalArtifact: the feature gate ExternalArtifact is disabled".to_owned();
        failure.why =
            "kustomize-controller reads ExternalArtifacts only with the feature gate `ExternalArtifact`"
                .to_owned();
        failure.help = "start kustomize-controller with `--feature-gates=ExternalArtifact=true`".to_owned();
    } else {
        failure.flux_message =
            format!("can't access '{source}', cross-namespace references have been blocked");
        failure.why = "kustomize-controller runs with `--no-cross-namespace-refs`".to_owned();
        failure.help = "define the source in the Kustomization's own namespace".to_owned();
    }
    failure
}

/// `spec.path` is not in the artifact (F-815).
pub(crate) fn path_missing(tier: &Kustomization, files: &Files) -> TierFailure {
    let path = &tier.spec.path;
    let mut failure = TierFailure::refused(
        "build-failed",
        reason::ARTIFACT_FAILED,
        format!("the path `{path}` of `{}` does not exist", tier.name),
    );
    failure.flux_message = format!("kustomization path not found: stat {path}: no such file or directory");
    failure.why = match files.source.name() {
        Some(name) => format!(
            "the artifact of {name} holds no such directory; what `.sourceignore` or `spec.ignore` leave out is not in it"
        ),
        None => "the artifact holds no such directory".to_owned(),
    };
    failure.help = "correct `spec.path`; it is read from the root of the source".to_owned();
    failure
}

/// `spec.path` is a file.
pub(crate) fn path_is_file(tier: &Kustomization) -> TierFailure {
    let path = &tier.spec.path;
    let mut failure = TierFailure::refused(
        "build-failed",
        reason::BUILD_FAILED,
        format!("the path `{path}` of `{}` is a file", tier.name),
    );
    failure.flux_message = format!("{path} is not a directory");
    failure.why = "Flux builds directories".to_owned();
    failure.help = "point `spec.path` at the directory that holds the file".to_owned();
    failure
}

/// kustomize refuses.
pub(crate) fn build(error: &firstpass_kustomize::Error, files: &Files, tier: &Kustomization) -> TierFailure {
    let duplicate = error
        .what
        .find(ALREADY_REGISTERED)
        .map(|at| &error.what[at + ALREADY_REGISTERED.len()..]);
    let mut failure = match duplicate.and_then(parse_resource_id) {
        Some(object) => duplicate_in_build(object, error, files, tier),
        None => {
            let headline = format!("`{}` cannot be built: {}", tier.name, error.what);
            let mut failure = TierFailure::refused("build-failed", reason::BUILD_FAILED, headline);
            failure.why = match &error.why {
                Some(why) => format!("{why}; Flux applies nothing of a tier that it cannot build"),
                None => "Flux applies nothing of a tier that it cannot build".to_owned(),
            };
            failure
        }
    };
    let said = error.upstream_text();
    failure.flux_message = if error.what.starts_with(NO_MANIFEST) {
        // F-802: that is found before anything is built.
        said.to_owned()
    } else {
        format!("kustomize build failed: {said}")
    };
    failure.help = error.help.clone().unwrap_or_default();
    failure.location = error.file.as_ref().map(|file| {
        Location::new(
            files.places.file(file.as_str()),
            error.line.max(1),
            error.column.max(1),
        )
    });
    failure
}

fn duplicate_in_build(
    object: ObjectId,
    error: &firstpass_kustomize::Error,
    files: &Files,
    tier: &Kustomization,
) -> TierFailure {
    let is_kustomization = |file: &&RepoPath| file::NAMES.contains(&file.file_name());
    let root = || {
        file::find(&*files.tree, &RepoPath::clamped(&tier.spec.path))
            .into_iter()
            .next()
    };
    let file = error
        .file
        .as_ref()
        .filter(is_kustomization)
        .cloned()
        .or_else(root);
    let parts = file
        .map(|file| parts_with(&object, &file, files))
        .unwrap_or_default();
    let parts: Vec<String> = parts.iter().map(|part| format!("`{part}`")).collect();
    let headline = match parts.len() {
        0 | 1 => format!("`{object}` is in the build of `{}` twice", tier.name),
        _ => format!(
            "`{object}` is in the build of `{}` twice: from {}",
            tier.name,
            parts.join(" and ")
        ),
    };
    let mut failure = TierFailure::refused("duplicate-object", reason::BUILD_FAILED, headline);
    failure.why = "kustomize builds no two objects with the same kind, namespace and name".to_owned();
    if let Some(why) = &error.why {
        failure.why.push_str("; ");
        failure.why.push_str(why);
    }
    failure.object = Some(object);
    failure
}

/// The entries of a kustomization file that bring an object, each built by itself.
fn parts_with(object: &ObjectId, file: &RepoPath, files: &Files) -> Vec<String> {
    let tree = &*files.tree;
    let directory = file.parent().unwrap_or_default();
    let text = tree.read(file).unwrap_or_default();
    let text = firstpass_yaml::decode(&text).unwrap_or_default();
    let Ok(kustomization) = KustomizationFile::read_leniently(&text, file) else {
        return Vec::new();
    };
    // Transformers of the file itself are not in what an entry builds, so the namespace may still be missing.
    let is_it = |id: &ObjectId| {
        id.group == object.group
            && id.kind == object.kind
            && id.name == object.name
            && (id.namespace.is_none() || id.namespace == object.namespace)
    };
    let entries = kustomization
        .resources
        .iter()
        .filter_map(|entry| directory.join(entry).ok());
    let brings = |path: &RepoPath| {
        if tree.is_directory(path) {
            let build = firstpass_kustomize::build(tree, path, &Options::flux());
            return build
                .is_ok_and(|build| build.resources.iter().any(|resource| is_it(&resource.value.id())));
        }
        let text = tree.read(path).unwrap_or_default();
        let documents = firstpass_yaml::parse_all(&String::from_utf8_lossy(&text)).unwrap_or_default();
        let mut objects = documents
            .iter()
            .filter_map(|document| document.root.to_json().ok());
        objects.any(|value| is_it(&value.id()))
    };
    entries
        .filter(brings)
        .map(|path| files.places.file(path.as_str()))
        .collect()
}

/// `--no-remote-bases` is set (F-812).
pub(crate) fn remote_forbidden(part: &RemotePart) -> TierFailure {
    let message = format!(
        "`{}` is a remote base, which kustomize-controller is told to refuse",
        part.text
    );
    let mut failure = TierFailure::refused("build-failed", reason::BUILD_FAILED, message);
    failure.why = "kustomize-controller runs with `--no-remote-bases`".to_owned();
    failure.help = "vendor what it brings into the repository".to_owned();
    failure.location = Some(part.location.clone());
    failure
}

/// A resource without apiVersion, kind or name (F-801).
pub(crate) fn incomplete_object(object: &Value, origin: &Origin) -> TierFailure {
    let missing = match (object.api_version(), object.kind(), object.name()) {
        ("", _, _) => "apiVersion",
        (_, "", _) => "kind",
        _ => "metadata.name",
    };
    let message = format!("a resource lacks `{missing}`");
    let mut failure = TierFailure::refused("build-failed", reason::BUILD_FAILED, message);
    failure.flux_message =
        "failed to decode Kubernetes apiVersion, kind and name from the built resource".to_owned();
    failure.why = "Flux applies only objects that say what they are".to_owned();
    failure.help = format!("set `{missing}`, or leave the file out of the build");
    failure.location = locate::start_of(origin);
    failure
}

/// An encrypted Secret without `spec.decryption` (F-709).
pub(crate) fn encrypted_without_decryption(built: &BuiltObject, tier: &Kustomization) -> TierFailure {
    let id = built.object.id();
    let message = format!(
        "`{id}` is SOPS-encrypted, and `{}` has no `spec.decryption`",
        tier.name
    );
    let mut failure = TierFailure::refused(
        "encrypted-without-decryption",
        reason::RECONCILIATION_FAILED,
        message,
    );
    failure.flux_message = format!(
        "{id} is SOPS encrypted, configuring decryption is required for this secret to be reconciled"
    );
    failure.why = "Flux refuses the whole set rather than apply ciphertext; decryption is not inherited from a parent or \
                   from another Kustomization"
        .to_owned();
    failure.help =
        "add `decryption: {provider: sops, secretRef: {name: …}}` to the Kustomization's spec".to_owned();
    failure.location = locate::start_of(&built.origin);
    failure.object = Some(id);
    failure
}

/// Ciphertext that is applied as if it were the value (F-710).
pub(crate) fn ciphertext_applied(id: &ObjectId, origin: &Origin) -> TierFailure {
    let message = format!("`{id}` is applied with its ciphertext as values");
    let mut failure = TierFailure::refused("ciphertext-applied", "", message);
    failure.severity = Severity::Warning;
    failure.why = "the Kustomization has no `spec.decryption`, and Flux's guard sees only Secrets that SOPS encrypted under `data`".to_owned();
    failure.help = "add `spec.decryption` to the Kustomization".to_owned();
    failure.location = locate::start_of(origin);
    failure.object = Some(id.clone());
    failure
}

/// Two objects that substitution gave the same identity (F-609).
pub(crate) fn duplicate_after_substitution(first: &RenderedObject, second: &RenderedObject) -> TierFailure {
    let id = second.id();
    let message = format!("substitution makes two objects `{id}`");
    let mut failure = TierFailure::refused("duplicate-object", reason::BUILD_FAILED, message);
    failure.flux_message = format!("in Replace: id matched 2 resources: {id}");
    failure.why = format!("the other one is in {}:{}", first.origin.file, first.origin.line);
    failure.help = "give the two different names".to_owned();
    failure.location = locate::start_of(&second.origin);
    failure.object = Some(id);
    failure
}

/// Variables cannot be had (F-605, F-606).
pub(crate) fn variables(
    error: &VariablesError,
    tier: &Kustomization,
    first: Option<&BuiltObject>,
    settings: &ControllerSettings,
) -> TierFailure {
    let subject = first
        .map(|built| subject(&built.object, settings))
        .unwrap_or_default();
    match error {
        VariablesError::Missing { kind, name } => {
            let from = format!("{kind}/{}/{name}", tier.name.namespace);
            let message = format!(
                "`{from}`, which `{}` takes variables from, does not exist",
                tier.name
            );
            let mut failure = TierFailure::refused("substitution-failed", reason::BUILD_FAILED, message);
            failure.flux_message = format!(
                "post build failed for '{subject}': substitute from '{kind}/{name}' error: {}s \"{name}\" not found",
                kind.as_str().to_lowercase()
            );
            failure.why = "Flux builds nothing while a reference of `substituteFrom` is missing, unless it is `optional`".to_owned();
            failure.help = format!("bring `{from}` in a tier that this one depends on");
            failure.object = Some(ObjectId::new("", kind.as_str(), Some(&tier.name.namespace), name));
            failure
        }
        VariablesError::BadName { name, from } => {
            let message = format!("`{name}` in `{from}` is no name for a variable");
            let mut failure = TierFailure::refused("substitution-failed", reason::BUILD_FAILED, message);
            failure.flux_message = format!(
                "post build failed for '{subject}': envsubst error: '{name}' var name is invalid, must match \
                 '^[_[:alpha:]][_[:alpha:][:digit:]]*$'"
            );
            failure.why = format!(
                "every key of an object in `substituteFrom` has to be a name, used or not; `{}` reads this one",
                tier.name
            );
            failure.help = "keep variables in an object of their own".to_owned();
            failure.object = from.split_once('/').and_then(|(kind, name)| {
                let (namespace, name) = name.split_once('/')?;
                let group = if kind == "Kustomization" {
                    firstpass_flux::names::KUSTOMIZE_GROUP
                } else {
                    ""
                };
                Some(ObjectId::new(group, kind, Some(namespace), name))
            });
            failure.variable = Some(name.clone());
            failure
        }
    }
}

/// An object cannot be substituted (F-607, F-650).
pub(crate) fn substitution(
    error: SubstituteError,
    variables: Option<&VariableSet>,
    built: &BuiltObject,
    builder: &TierBuilder,
) -> Vec<TierFailure> {
    let settings = builder.settings();
    let id = built.object.id();
    let flux_prefix = format!(
        "post build failed for '{}': envsubst error: ",
        subject(&built.object, settings)
    );
    let tree = builder.artifacts().repository_tree();
    match error {
        SubstituteError::Expression { error, .. } if not_set(&error).is_some() => {
            let undefined = variables
                .map(|variables| variables.undefined(&built.object))
                .unwrap_or_default();
            let explain = |name: &String| {
                let mut failure = TierFailure::refused(
                    "undefined-variable",
                    reason::BUILD_FAILED,
                    format!("variable `{name}` is not defined"),
                );
                failure.flux_message = format!(
                    "{flux_prefix}variable substitution failed: variable not set (strict mode): \"{name}\""
                );
                failure.why = undefined_why(name, variables);
                failure.help = undefined_help(name, variables);
                failure.location = locate::text(tree, &built.origin, &format!("${{{name}"));
                failure.object = Some(id.clone());
                failure.variable = Some(name.clone());
                failure
            };
            undefined.iter().map(explain).collect()
        }
        SubstituteError::Expression { error, text } => {
            let message = format!("`{text}` is no substitution that Flux knows: {error}");
            let mut failure = TierFailure::refused("substitution-failed", reason::BUILD_FAILED, message);
            failure.flux_message = format!("{flux_prefix}variable substitution failed: {error}");
            failure.why = "Flux substitutes in every text of the object, scripts and dashboards included, and gives up at the \
                           first expression that it cannot parse"
                .to_owned();
            failure.help = "write `$$` for a literal `$`, or annotate the object with \
                            `kustomize.toolkit.fluxcd.io/substitute: disabled`"
                .to_owned();
            failure.location = locate::text(tree, &built.origin, &text);
            failure.object = Some(id);
            vec![failure]
        }
        SubstituteError::Yaml(error) => {
            let message = format!("`{id}` is no valid YAML once its variables are in it");
            let mut failure = TierFailure::refused("substitution-failed", reason::BUILD_FAILED, message);
            failure.flux_message = format!("{flux_prefix}YAMLToJSON: yaml: {error}");
            failure.why = format!(
                "{}; Flux substitutes in the text of the object, from which the quotes of the file are gone",
                error.message
            );
            failure.help = "choose a value without `: `, ` #`, quotes or special first characters, or give the default in quotes".to_owned();
            failure.location = locate::text(tree, &built.origin, "${");
            failure.object = Some(id);
            vec![failure]
        }
    }
}

fn undefined_why(name: &str, variables: Option<&VariableSet>) -> String {
    let sources = variables.map(VariableSet::sources).unwrap_or_default();
    let from = if sources.is_empty() {
        "nothing".to_owned()
    } else {
        sources.join(", ")
    };
    format!(
        "the tier's variables come from {from}, and none of them defines `{name}`; strict substitution refuses the build"
    )
}

fn undefined_help(name: &str, variables: Option<&VariableSet>) -> String {
    let near = variables.and_then(|variables| firstpass_yaml::nearest(name, variables.names()));
    match near {
        Some(near) => format!(
            "did you mean `{near}`? Else define `{name}`, give a default (`${{{name}:=…}}`), or write `$${{{name}}}` if it is meant literally"
        ),
        None => format!(
            "define `{name}`, give a default (`${{{name}:=…}}`), or write `$${{{name}}}` if it is meant literally"
        ),
    }
}

/// How Flux names a resource in its messages (F-607, F-1764).
fn subject(object: &Value, settings: &ControllerSettings) -> String {
    if settings.flux.kustomize_controller() < GVK_IN_MESSAGES_SINCE {
        return object.name().to_owned();
    }
    let GroupVersionKind { group, version, kind } = object.gvk();
    let group = if group.is_empty() {
        "[noGrp]"
    } else {
        group.as_str()
    };
    format!("{kind}.{version}.{group}/{}", object.name())
}

/// Reads kustomize's spelling of an id: `Provider.v1beta3.notification.toolkit.fluxcd.io/chat.billing`.
fn parse_resource_id(text: &str) -> Option<ObjectId> {
    let (gvk, name) = text.trim().split_once('/')?;
    let mut parts = gvk.splitn(3, '.');
    let (kind, _, group) = (parts.next()?, parts.next()?, parts.next()?);
    let (name, namespace) = name.rsplit_once('.')?;
    let given = |text: &'static str, value: &str| {
        if value == text {
            String::new()
        } else {
            value.to_owned()
        }
    };
    Some(ObjectId::new(
        &given("[noGrp]", group),
        kind,
        Some(&given("[noNs]", namespace)),
        name,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_kustomize_are_read() {
        let id = |text| parse_resource_id(text).map(|id| id.to_string());
        assert_eq!(
            id("Provider.v1beta3.notification.toolkit.fluxcd.io/chat.billing").as_deref(),
            Some("Provider/billing/chat")
        );
        assert_eq!(
            id("ConfigMap.v1.[noGrp]/a.b.[noNs]").as_deref(),
            Some("ConfigMap/a.b")
        );
    }
}
