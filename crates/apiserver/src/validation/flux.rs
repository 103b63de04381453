//! Flux's own kinds. Their CRDs are usually not in the repository, but their shape is known (F-001, F-1702, F-1703): what
//! cannot be read is refused, and so is a field of `spec` that does not exist.

use firstpass_flux::{FieldProblem, HelmRelease, Kustomization, Source};
use firstpass_object::ObjectExt;
use serde_json::Value;

use super::{ErrorClass, FieldError};

/// `spec` of a Flux Kustomization v1, over all minors (F-001).
const KUSTOMIZATION_FIELDS: [&str; 27] = [
    "buildMetadata",
    "commonMetadata",
    "components",
    "decryption",
    "deletionPolicy",
    "dependsOn",
    "force",
    "healthCheckExprs",
    "healthChecks",
    "ignore",
    "ignoreMissingComponents",
    "images",
    "interval",
    "kubeConfig",
    "namePrefix",
    "nameSuffix",
    "patches",
    "path",
    "postBuild",
    "prune",
    "retryInterval",
    "serviceAccountName",
    "sourceRef",
    "suspend",
    "targetNamespace",
    "timeout",
    "wait",
];

/// `spec` of a HelmRelease v2, over all minors (F-1000, F-1703).
const HELM_RELEASE_FIELDS: [&str; 26] = [
    "chart",
    "chartRef",
    "commonMetadata",
    "dependsOn",
    "driftDetection",
    "healthCheckExprs",
    "install",
    "interval",
    "kubeConfig",
    "maxHistory",
    "persistentClient",
    "postRenderStrategy",
    "postRenderers",
    "releaseName",
    "rollback",
    "serviceAccountName",
    "storageNamespace",
    "suspend",
    "targetNamespace",
    "test",
    "timeout",
    "uninstall",
    "upgrade",
    "values",
    "valuesFrom",
    "waitStrategy",
];

/// What the API server would refuse about an object of Flux's kinds; nothing for any other kind.
///
/// An object that holds an unknown value is not judged at all: which field it stands in is not known here.
pub(super) fn check(object: &Value, unknown_tokens: &[String]) -> Vec<FieldError> {
    let (problems, fields): (Vec<FieldProblem>, &[&str]) = if Kustomization::is(object) {
        (Kustomization::read(object).problems, &KUSTOMIZATION_FIELDS)
    } else if HelmRelease::is(object) {
        (HelmRelease::read(object).problems, &HELM_RELEASE_FIELDS)
    } else if let Some(read) = Source::read(object) {
        (read.problems, &[])
    } else {
        return Vec::new();
    };
    let mut errors = undeclared(object, fields);
    errors.extend(problems.into_iter().map(|problem| FieldError {
        path: problem.path,
        message: problem.message,
        class: ErrorClass::Invalid,
    }));
    if errors.is_empty() || holds_unknown(object, unknown_tokens) {
        Vec::new()
    } else {
        errors
    }
}

fn holds_unknown(object: &Value, unknown_tokens: &[String]) -> bool {
    let text = object.to_string();
    unknown_tokens.iter().any(|token| text.contains(token))
}

/// Fields of `spec` that no minor of the stable version has.
fn undeclared(object: &Value, fields: &[&str]) -> Vec<FieldError> {
    let is_stable = matches!(firstpass_object::version_of(object.api_version()), "v1" | "v2");
    let spec = object.get("spec").and_then(Value::as_object);
    if fields.is_empty() || !is_stable {
        return Vec::new();
    }
    let unknown = spec
        .into_iter()
        .flat_map(|spec| spec.keys())
        .filter(|key| !fields.contains(&key.as_str()));
    let error = |key: &String| FieldError {
        path: format!("spec.{key}"),
        message: "field not declared in schema".to_owned(),
        class: ErrorClass::Typed,
    };
    unknown.map(error).collect()
}
