//! Is an object one that the API server would take?
//!
//! ```text
//! types of fields ──► decoding (quantities, base64) ──► metadata ──► rules of the kind, or the schema of the CRD
//! ```
//!
//! The first stage that finds something ends the search, as on the real server. Texts whose value nobody knows are not
//! judged. Rules of built-in kinds are written by hand in one module per family; a kind without a module has only the
//! first three stages.

mod admissionregistration;
mod apiregistration;
mod autoscaling;
mod batch;
mod checker;
mod containers;
mod crd;
mod crd_schema;
mod decode;
mod endpoints;
mod expressions;
mod flux;
mod immutable;
mod limits;
mod metadata;
pub(crate) mod names;
mod network;
mod path;
mod pod;
mod policy;
mod probes;
mod rbac;
mod security;
mod selector;
mod service;
mod storage;
mod structural;
mod typed;
mod workloads;

use serde_json::Value;

use crate::apply::Shape;
use crate::crd::{Definition, Structural};
use firstpass_object::{ObjectExt, version_of};

pub(crate) use checker::Checker;
pub(crate) use expressions::Unread;
pub(crate) use immutable::check_update;
pub(crate) use path::Path;
pub(crate) use structural::{drop_nulls, prune_and_default};

/// Something wrong in an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Which field, as Kubernetes writes it; empty where Kubernetes does not say.
    pub path: String,
    /// What is wrong with it, in Kubernetes' words.
    pub message: String,
    /// How the server answers it.
    pub class: ErrorClass,
}

/// How the server answers a wrong object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The object does not fit the types of its kind: 500 without reason, from server-side apply.
    Typed,
    /// A text cannot be read as what it should be: 500 without reason, from server-side apply.
    Undecodable,
    /// A rule of the kind is broken: 422.
    Invalid,
}

/// Everything that the API server of Kubernetes 1.`minor` would find wrong with an object of a built-in kind. Of other
/// kinds only the metadata is looked at; [`validate_custom`] knows more.
///
/// Strings that hold one of `unknown_tokens`, and those that SOPS encrypted, are not judged.
///
/// ```
/// let ingress = serde_json::json!({
///     "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "blog", "namespace": "web"},
///     "spec": {"rules": [{"host": "blog.${DOMAIN}"}]},
/// });
/// let errors = firstpass_apiserver::validate(&ingress, 36, &[]);
/// assert_eq!(errors[0].path, "spec.rules[0].host");
/// assert!(firstpass_apiserver::validate(&ingress, 36, &["${DOMAIN}".to_owned()]).is_empty());
/// ```
pub fn validate(object: &Value, minor: u16, unknown_tokens: &[String]) -> Vec<FieldError> {
    let builtin = Shape::builtin(&object.gvk());
    let typed = typed::check_builtin(object, builtin, unknown_tokens);
    if !typed.is_empty() {
        return typed;
    }
    let mut errors = validate_builtin(object, minor, unknown_tokens);
    errors.extend(flux::check(object, true, unknown_tokens));
    errors
}

/// What [`validate`] finds after the types are known to fit.
pub(crate) fn validate_builtin(object: &Value, minor: u16, unknown_tokens: &[String]) -> Vec<FieldError> {
    let undecodable = decode::check(object, unknown_tokens);
    if !undecodable.is_empty() {
        return undecodable;
    }
    let mut checker = Checker::new(minor, unknown_tokens);
    metadata::check(&mut checker, object);
    let spec = Path::ROOT.field("spec");
    let gvk = object.gvk();
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("", "Pod") => pod::check_pod(&mut checker, object),
        ("", "Service") => service::check(&mut checker, object),
        ("", "Namespace") => policy::check_namespace(&mut checker, object),
        ("", "Endpoints") => endpoints::check_endpoints(&mut checker, object),
        ("", "ConfigMap") => storage::check_config_map(&mut checker, object),
        ("", "Secret") => storage::check_secret(&mut checker, object),
        ("", "PersistentVolumeClaim") => storage::check_claim(&mut checker, &object["spec"], spec),
        ("", "PersistentVolume") => storage::check_volume(&mut checker, object),
        ("", "LimitRange") => limits::check_range(&mut checker, object),
        ("", "ResourceQuota") => limits::check_quota(&mut checker, object),
        ("apps", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet") => {
            workloads::check(&mut checker, object);
        }
        ("batch", "Job") => batch::check_job_spec(&mut checker, &object["spec"], spec),
        ("batch", "CronJob") => batch::check_cron_job(&mut checker, object),
        ("networking.k8s.io", "Ingress") => network::check_ingress(&mut checker, object),
        ("networking.k8s.io", "IngressClass") => network::check_ingress_class(&mut checker, object),
        ("networking.k8s.io", "NetworkPolicy") => network::check_policy(&mut checker, object),
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaling::check(&mut checker, object),
        ("policy", "PodDisruptionBudget") => policy::check_disruption_budget(&mut checker, object),
        ("scheduling.k8s.io", "PriorityClass") => policy::check_priority_class(&mut checker, object),
        ("node.k8s.io", "RuntimeClass") => policy::check_runtime_class(&mut checker, object),
        ("coordination.k8s.io", "Lease") => policy::check_lease(&mut checker, object),
        ("discovery.k8s.io", "EndpointSlice") => endpoints::check_slice(&mut checker, object),
        ("apiregistration.k8s.io", "APIService") => apiregistration::check(&mut checker, object),
        ("storage.k8s.io", "CSIDriver") => storage::check_csi_driver(&mut checker, object),
        ("storage.k8s.io", "StorageClass") => storage::check_class(&mut checker, object),
        ("rbac.authorization.k8s.io", _) => rbac::check(&mut checker, object),
        ("admissionregistration.k8s.io", _) => admissionregistration::check(&mut checker, object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => crd::check(&mut checker, object),
        _ => {}
    }
    checker.into_errors()
}

/// Everything that the API server would find wrong with a custom resource, given its CRD.
pub fn validate_custom(
    object: &Value,
    definition: &Definition,
    unknown_tokens: &[String],
) -> Vec<FieldError> {
    let schema = definition.schemas.get(version_of(object.api_version()));
    if let Some(schema) = schema {
        let typed = typed::check_custom(object, schema, unknown_tokens);
        if !typed.is_empty() {
            return typed;
        }
        let mut object = object.clone();
        prune_and_default(&mut object, schema);
        return validate_structural(&object, None, Some(schema), unknown_tokens, &mut Vec::new());
    }
    validate_structural(object, None, None, unknown_tokens, &mut Vec::new())
}

/// What [`validate_custom`] finds after the types are known to fit and defaults are set. `old` is what is stored, of a
/// change; CEL rules that cannot be judged go to `unread`.
pub(crate) fn validate_structural(
    object: &Value,
    old: Option<&Value>,
    schema: Option<&Structural>,
    unknown_tokens: &[String],
    unread: &mut Unread,
) -> Vec<FieldError> {
    let mut checker = Checker::new(0, unknown_tokens);
    metadata::check(&mut checker, object);
    if let Some(schema) = schema {
        structural::check(&mut checker, object, schema, Path::ROOT);
        expressions::check(&mut checker, object, old, schema, unread);
    }
    let mut errors = checker.into_errors();
    if errors.is_empty() {
        let declares_fields = schema.is_some_and(|schema| schema.field("spec").is_some());
        errors = flux::check(object, !declares_fields, unknown_tokens);
    }
    errors
}

/// The first two stages alone, for an object of a built-in kind: does it fit the types of its kind, whatever it means?
pub fn misfits(object: &Value, unknown_tokens: &[String]) -> Vec<FieldError> {
    let mut misfits = typed::check_builtin(object, Shape::builtin(&object.gvk()), unknown_tokens);
    misfits.extend(decode::check(object, unknown_tokens));
    misfits
}

/// Whether a text holds something whose value nobody knows: one of the tokens, or a value that SOPS encrypted.
fn is_unknown(text: &str, unknown_tokens: &[String]) -> bool {
    text.starts_with("ENC[") || unknown_tokens.iter().any(|token| text.contains(token.as_str()))
}

/// The first stage alone, for an object as it is applied.
pub(crate) fn check_types(
    object: &Value,
    schema: Option<&Structural>,
    shape: Shape<'_>,
    unknown_tokens: &[String],
) -> Vec<FieldError> {
    match schema {
        Some(schema) => typed::check_custom(object, schema, unknown_tokens),
        None => typed::check_builtin(object, shape, unknown_tokens),
    }
}

/// `path: message`, or the message alone.
impl std::fmt::Display for FieldError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.path.is_empty() {
            formatter.write_str(&self.message)
        } else {
            write!(formatter, "{}: {}", self.path, self.message)
        }
    }
}
