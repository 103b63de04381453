//! Flux's own kinds where no CRD is at hand. Their shape is known (F-001, F-1702, F-1703): what cannot be read is refused,
//! and so is a field of `spec` that does not exist in the newest Flux.

use firstpass_flux::{FluxVersion, HelmRelease, Kustomization, Source, spec_schema};
use firstpass_object::ObjectExt;
use serde_json::Value;

use super::{ErrorClass, FieldError};

/// What the API server would refuse about an object of Flux's kinds; nothing for any other kind. Names of fields are looked
/// at `with_names`, where no schema has done so.
///
/// An object that holds an unknown value is not judged at all: which field it stands in is not known here.
pub(super) fn check(object: &Value, with_names: bool, unknown_tokens: &[String]) -> Vec<FieldError> {
    let problems = if Kustomization::is(object) {
        Kustomization::read(object).problems
    } else if HelmRelease::is(object) {
        HelmRelease::read(object).problems
    } else if let Some(read) = Source::read(object) {
        read.problems
    } else {
        return Vec::new();
    };
    let mut errors = if with_names {
        undeclared(object)
    } else {
        Vec::new()
    };
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

/// Fields of `spec` that the stable version does not have.
fn undeclared(object: &Value) -> Vec<FieldError> {
    let version = firstpass_object::version_of(object.api_version());
    let schema = spec_schema(&object.gvk().group_kind(), version, FluxVersion::NEWEST);
    let Some(known) = schema.as_ref().and_then(|schema| schema.get("properties")) else {
        return Vec::new();
    };
    let spec = object.get("spec").and_then(Value::as_object);
    let unknown = spec
        .into_iter()
        .flat_map(|spec| spec.keys())
        .filter(|key| known.get(key.as_str()).is_none());
    let error = |key: &String| FieldError {
        path: format!("spec.{key}"),
        message: "field not declared in schema".to_owned(),
        class: ErrorClass::Typed,
    };
    unknown.map(error).collect()
}
