//! Admission webhooks: what they would say is unknown, but whether anything answers is not.
//!
//! A webhook that is reached agrees. One that is not reached refuses, if its failure policy says so.

use std::sync::Arc;

use firstpass_object::{GroupKind, GroupVersionKind, ObjectExt, ObjectId, group_of, selects, version_of};
use serde_json::{Value, json};

use super::ApiServer;
use super::policies::Judged;
use crate::cel::{Expression, Library, Variable};
use crate::discovery::Resource;
use crate::error::{ApiError, Cause, Reason};
use crate::request::Target;

const GROUP: &str = "admissionregistration.k8s.io";

/// A webhook as it is registered.
#[derive(Clone, Debug, PartialEq)]
pub struct Webhook {
    /// Name of the webhook, such as `webhook.cert-manager.io`.
    pub name: String,
    /// Namespace and name of the Service that serves it; `None` for a URL outside the cluster.
    pub service: Option<(String, String)>,
    /// Path of the URL.
    pub path: String,
    /// Whether a failed call refuses the request (`failurePolicy: Fail`).
    pub fails_closed: bool,
    /// The `rules` of a webhook configuration.
    pub rules: Vec<Value>,
    /// `namespaceSelector`, if there is one.
    pub namespace_selector: Option<Value>,
    /// `objectSelector`, if there is one.
    pub object_selector: Option<Value>,
    /// The expressions of `matchConditions`: the webhook is asked only if all are true.
    pub match_conditions: Vec<String>,
    /// Whether its rules mean their API versions alone, and not the same objects in others (`matchPolicy: Exact`).
    pub is_exact: bool,
    /// `timeoutSeconds`.
    pub timeout_s: u64,
}

impl ApiServer {
    /// Registers a webhook that a chart brings without an object in the repository.
    pub fn register_webhook(&mut self, webhook: Webhook) {
        Arc::make_mut(&mut self.webhooks).insert(webhook.name.clone(), webhook);
    }

    /// Takes a registered webhook away.
    pub fn remove_webhook(&mut self, name: &str) {
        Arc::make_mut(&mut self.webhooks).remove(name);
    }

    /// The webhooks that are registered, by a chart or by a configuration object.
    pub fn webhooks(&self) -> Vec<Webhook> {
        self.active_webhooks()
    }

    /// Says whether anything answers behind a Service: what its endpoints would say.
    pub fn set_service_serving(&mut self, namespace: &str, name: &str, serving: bool) {
        let service = (namespace.to_owned(), name.to_owned());
        if serving != self.serving.contains(&service) {
            self.serving_changes += 1;
            let services = Arc::make_mut(&mut self.serving);
            if serving {
                services.insert(service);
            } else {
                services.remove(&service);
            }
            self.apis_changed();
        }
    }

    /// How often a Service has begun or ceased to serve: a change that no object shows.
    pub fn serving_changes(&self) -> u64 {
        self.serving_changes
    }

    /// Whether anything answers behind a Service.
    pub fn is_service_serving(&self, namespace: &str, name: &str) -> bool {
        self.serving.contains(&(namespace.to_owned(), name.to_owned()))
    }

    /// What happens to a request before it is looked at: the mutating webhooks, by configuration name.
    pub(super) fn check_mutating(&self, judged: &Judged<'_>) -> Result<(), ApiError> {
        // Webhooks are not asked about webhook configurations, or nobody could repair one.
        if judged.resource.group == GROUP {
            return Ok(());
        }
        let registered = self.webhooks.values().cloned();
        self.call_all(
            self.configured("MutatingWebhookConfiguration")
                .into_iter()
                .chain(registered),
            judged,
        )
    }

    /// What happens to a request that is right in itself: policies, then the validating webhooks.
    pub(super) fn check_validating(&self, judged: &Judged<'_>) -> Result<(), ApiError> {
        if judged.resource.group == GROUP {
            return Ok(());
        }
        self.check_policies(judged)?;
        self.call_all(self.configured("ValidatingWebhookConfiguration"), judged)
    }

    /// What refuses a new object that a controller makes for `owner`, and the Service that does not answer. Only webhooks of
    /// configuration objects are asked, and on the first attempt, which follows the owner at once, only those that are older
    /// than it.
    pub fn refusal_of_made(
        &self,
        object: &Value,
        owner: &Value,
        is_first: bool,
    ) -> Option<(ApiError, ObjectId)> {
        let (resource, id) = self.locate(&Target::of(object)).ok()?;
        let judged = Judged {
            resource: &resource,
            id: &id,
            object,
            old: &Value::Null,
            operation: "CREATE",
        };
        let uid = |object: &Value| {
            object
                .text_at(&["metadata", "uid"])
                .unwrap_or_default()
                .to_owned()
        };
        let owner_uid = uid(owner);
        ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]
            .into_iter()
            .flat_map(|kind| self.objects(&GroupKind::new(GROUP, kind), None))
            .filter(|(_, configuration)| !is_first || uid(configuration) < owner_uid)
            .flat_map(|(_, configuration)| configuration.items_at(&["webhooks"]).iter())
            .map(Webhook::read)
            .find_map(|webhook| {
                let (namespace, name) = webhook.service.clone()?;
                let refusal = self.call_all([webhook], &judged).err()?;
                Some((refusal, ObjectId::new("", "Service", Some(&namespace), &name)))
            })
    }

    fn call_all(
        &self,
        webhooks: impl IntoIterator<Item = Webhook>,
        judged: &Judged<'_>,
    ) -> Result<(), ApiError> {
        let object = judged.shown();
        for webhook in webhooks {
            let Some((namespace, name)) = &webhook.service else {
                continue;
            };
            if webhook.fails_closed
                && !self.is_service_serving(namespace, name)
                && webhook.concerns(judged.resource, object, judged.operation)
                && self.selectors_match(&webhook, judged.id, object)
                && conditions_match(&webhook, judged)?
            {
                return Err(self.unreachable(&webhook, namespace, name));
            }
        }
        Ok(())
    }

    fn active_webhooks(&self) -> Vec<Webhook> {
        let mut active = self.configured("MutatingWebhookConfiguration");
        active.extend(self.configured("ValidatingWebhookConfiguration"));
        active.extend(self.webhooks.values().cloned());
        active
    }

    fn configured(&self, kind: &str) -> Vec<Webhook> {
        self.objects(&GroupKind::new(GROUP, kind), None)
            .flat_map(|(_, configuration)| configuration.items_at(&["webhooks"]).iter())
            .map(Webhook::read)
            .collect()
    }

    /// The namespace that selectors look at: that of the object, or the object itself if it is one.
    pub(super) fn namespace_of<'a>(&'a self, id: &ObjectId, object: &'a Value) -> Option<&'a Value> {
        match &id.namespace {
            Some(namespace) => self
                .object(&super::namespaces::namespace_id(namespace))
                .map(|namespace| &**namespace),
            None if id.is("", "Namespace") => Some(object),
            None => None,
        }
    }

    fn selectors_match(&self, webhook: &Webhook, id: &ObjectId, object: &Value) -> bool {
        let namespace_object = self.namespace_of(id, object);
        let namespace_matches = match (&webhook.namespace_selector, namespace_object) {
            (Some(selector), Some(namespace)) => selects(selector, namespace),
            _ => true,
        };
        let object_matches = webhook
            .object_selector
            .as_ref()
            .is_none_or(|selector| selects(selector, object));
        namespace_matches && object_matches
    }

    /// Whether objects of a custom kind can be had in a version: another than the stored one may take a webhook.
    pub(super) fn check_conversion(&self, gvk: &GroupVersionKind) -> Result<(), ApiError> {
        let Some(definition) = self.discovery.definition(&gvk.group_kind()) else {
            return Ok(());
        };
        match &definition.converter {
            Some((namespace, name, path))
                if gvk.version != definition.storage_version && !self.is_service_serving(namespace, name) =>
            {
                let message = format!(
                    "conversion webhook for {}, Kind={} failed: Post \"https://{name}.{namespace}.svc:443{path}?timeout=30s\": {}",
                    gvk.api_version(),
                    gvk.kind,
                    self.why_unreachable(namespace, name)
                );
                Err(ApiError::new(500, Reason::InternalError, message).because(Cause::WebhookUnreachable))
            }
            _ => Ok(()),
        }
    }

    fn unreachable(&self, webhook: &Webhook, namespace: &str, name: &str) -> ApiError {
        let message = format!(
            "Internal error occurred: failed calling webhook \"{}\": failed to call webhook: Post \"https://{name}.{namespace}.svc:443{}?timeout={}s\": {}",
            webhook.name,
            webhook.path,
            webhook.timeout_s,
            self.why_unreachable(namespace, name)
        );
        ApiError::new(500, Reason::InternalError, message).because(Cause::WebhookUnreachable)
    }

    /// Without a Service the name does not resolve; without endpoints nobody can be called.
    fn why_unreachable(&self, namespace: &str, name: &str) -> String {
        let service = ObjectId::new("", "Service", Some(namespace), name);
        if self.object(&service).is_some() {
            format!("no endpoints available for service \"{name}\"")
        } else {
            format!("service \"{name}\" not found")
        }
    }
}

impl Webhook {
    fn read(webhook: &Value) -> Webhook {
        let service = webhook.at(&["clientConfig", "service"]).map(|service| {
            let text = |field| service.text_at(&[field]).unwrap_or_default().to_owned();
            (text("namespace"), text("name"))
        });
        Webhook {
            name: webhook.text_at(&["name"]).unwrap_or_default().to_owned(),
            service,
            path: webhook
                .text_at(&["clientConfig", "service", "path"])
                .unwrap_or("/")
                .to_owned(),
            fails_closed: webhook.text_at(&["failurePolicy"]) != Some("Ignore"),
            rules: webhook.items_at(&["rules"]).to_vec(),
            namespace_selector: webhook.get("namespaceSelector").cloned(),
            object_selector: webhook.get("objectSelector").cloned(),
            match_conditions: webhook
                .items_at(&["matchConditions"])
                .iter()
                .filter_map(|condition| condition.text_at(&["expression"]).map(str::to_owned))
                .collect(),
            is_exact: webhook.text_at(&["matchPolicy"]) == Some("Exact"),
            timeout_s: webhook
                .at(&["timeoutSeconds"])
                .and_then(Value::as_u64)
                .unwrap_or(10),
        }
    }

    /// Whether its rules name the request.
    fn concerns(&self, resource: &Resource, object: &Value, operation: &str) -> bool {
        Rules(&self.rules).are_about(resource, object, operation, self.is_exact)
    }
}

/// The rules of a webhook or of a policy.
pub(super) struct Rules<'a>(pub(super) &'a [Value]);

impl Rules<'_> {
    /// Whether one of the rules names the request, in whatever version.
    pub(super) fn concern(&self, resource: &Resource, object: &Value, operation: &str) -> bool {
        self.are_about(resource, object, operation, false)
    }

    fn are_about(&self, resource: &Resource, object: &Value, operation: &str, is_exact: bool) -> bool {
        let names = |rule: &Value, field: &str, wanted: &str| {
            rule.items_at(&[field])
                .iter()
                .filter_map(Value::as_str)
                .any(|name| name == "*" || name == "*/*" || name == wanted)
        };
        let api_version = object.api_version();
        self.0.iter().any(|rule| {
            let scope_fits = match rule.text_at(&["scope"]) {
                Some("Cluster") => !resource.is_namespaced(),
                Some("Namespaced") => resource.is_namespaced(),
                _ => true,
            };
            let version_fits = if is_exact {
                names(rule, "apiVersions", version_of(api_version))
            } else {
                resource
                    .versions
                    .iter()
                    .any(|version| names(rule, "apiVersions", version))
            };
            let listed = rule.items_at(&["resourceNames"]);
            let name_fits = listed.is_empty() || listed.iter().any(|name| name == object.name());
            scope_fits
                && version_fits
                && name_fits
                && names(rule, "operations", operation)
                && names(rule, "apiGroups", group_of(api_version))
                && names(rule, "resources", &resource.plural)
        })
    }
}

impl<'a> Judged<'a> {
    /// The object, or that which a deletion is about.
    pub(super) fn shown(&self) -> &'a Value {
        if self.object.is_null() {
            self.old
        } else {
            self.object
        }
    }
}

/// The request as expressions see it.
pub(super) fn request_of(judged: &Judged<'_>) -> Value {
    let gvk = judged.shown().gvk();
    json!({
        "operation": judged.operation,
        "name": judged.id.name,
        "namespace": judged.id.namespace.as_deref().unwrap_or_default(),
        "dryRun": false,
        "subResource": "",
        "kind": {"group": gvk.group, "version": gvk.version, "kind": gvk.kind},
        "resource": {"group": gvk.group, "version": gvk.version, "resource": judged.resource.plural},
        "userInfo": {
            "username": "system:serviceaccount:flux-system:kustomize-controller",
            "groups": [
                "system:serviceaccounts", "system:serviceaccounts:flux-system", "system:authenticated",
            ],
        },
    })
}

/// Whether the match conditions of a webhook are all true. One that fails on the object refuses the request; one that
/// cannot be evaluated here is taken to be false: what nobody can judge refuses nothing.
fn conditions_match(webhook: &Webhook, judged: &Judged<'_>) -> Result<bool, ApiError> {
    if webhook.match_conditions.is_empty() {
        return Ok(true);
    }
    let request = request_of(judged);
    for condition in &webhook.match_conditions {
        let variables = [
            ("object", Variable::Json(judged.object)),
            ("oldObject", Variable::Json(judged.old)),
            ("request", Variable::Json(&request)),
        ];
        let said = Expression::compile(condition, Library::Kubernetes)
            .and_then(|expression| expression.is_true(&variables));
        match said {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) => {
                let Some(key) = error.strip_prefix("No such key: ") else {
                    return Ok(false);
                };
                let message = format!(
                    "{} \"{}\" is forbidden: expression '{condition}' resulted in error: no such key: {key}",
                    judged.resource.group_resource(),
                    judged.id.name
                );
                return Err(ApiError::new(403, Reason::Forbidden, message));
            }
        }
    }
    Ok(true)
}
