//! Admission webhooks: what they would say is unknown, but whether anything answers is not.
//!
//! A webhook that is reached agrees. One that is not reached refuses, if its failure policy says so.

use std::sync::Arc;

use firstpass_object::{GroupVersionKind, ObjectExt, ObjectId, group_of, selects};
use serde_json::{Value, json};

use super::ApiServer;
use crate::cel::{Expression, Library, Variable};
use crate::discovery::Resource;
use crate::error::{ApiError, Cause, Reason};

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

    /// Calls the webhooks that a request concerns: mutating ones first, each kind by configuration name.
    pub(super) fn check_webhooks(
        &self,
        resource: &Resource,
        id: &ObjectId,
        object: &Value,
        operation: &str,
    ) -> Result<(), ApiError> {
        // Webhooks are not asked about webhook configurations, or nobody could repair one.
        if resource.group == "admissionregistration.k8s.io" {
            return Ok(());
        }
        for webhook in self.active_webhooks() {
            let Some((namespace, name)) = &webhook.service else {
                continue;
            };
            if webhook.fails_closed
                && !self.is_service_serving(namespace, name)
                && webhook.concerns(resource, object, operation)
                && self.selectors_match(&webhook, id, object)
                && self.conditions_match(&webhook, resource, id, object, operation)
            {
                return Err(self.unreachable(&webhook, namespace, name));
            }
        }
        Ok(())
    }

    fn active_webhooks(&self) -> Vec<Webhook> {
        let configured = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]
            .into_iter()
            .flat_map(|kind| {
                let kind = firstpass_object::GroupKind::new("admissionregistration.k8s.io", kind);
                self.objects(&kind, None)
                    .flat_map(|(_, configuration)| configuration.items_at(&["webhooks"]).iter())
                    .map(Webhook::read)
                    .collect::<Vec<_>>()
            });
        configured.chain(self.webhooks.values().cloned()).collect()
    }

    fn selectors_match(&self, webhook: &Webhook, id: &ObjectId, object: &Value) -> bool {
        let namespace_object = match &id.namespace {
            Some(namespace) => self
                .object(&super::namespaces::namespace_id(namespace))
                .map(|namespace| &**namespace),
            None if id.is("", "Namespace") => Some(object),
            None => None,
        };
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

    /// Whether the match conditions of a webhook are all true. One that cannot be evaluated here is taken to be false: what
    /// nobody can judge refuses nothing.
    fn conditions_match(
        &self,
        webhook: &Webhook,
        resource: &Resource,
        id: &ObjectId,
        object: &Value,
        operation: &str,
    ) -> bool {
        if webhook.match_conditions.is_empty() {
            return true;
        }
        let gvk = object.gvk();
        let request = json!({
            "operation": operation,
            "name": id.name,
            "namespace": id.namespace.as_deref().unwrap_or_default(),
            "dryRun": false,
            "subResource": "",
            "kind": {"group": gvk.group, "version": gvk.version, "kind": gvk.kind},
            "resource": {"group": gvk.group, "version": gvk.version, "resource": resource.plural},
            "userInfo": {
                "username": "system:serviceaccount:flux-system:kustomize-controller",
                "groups": [
                    "system:serviceaccounts", "system:serviceaccounts:flux-system", "system:authenticated",
                ],
            },
        });
        let old = self.object(id).map_or(&Value::Null, |old| &**old);
        webhook.match_conditions.iter().all(|condition| {
            let variables = [
                ("object", Variable::Json(object)),
                ("oldObject", Variable::Json(old)),
                ("request", Variable::Json(&request)),
            ];
            Expression::compile(condition, Library::Kubernetes)
                .is_ok_and(|expression| expression.is_true(&variables) == Ok(true))
        })
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
            "Internal error occurred: failed calling webhook \"{}\": failed to call webhook: Post \"https://{name}.{namespace}.svc:443{}?timeout=10s\": {}",
            webhook.name,
            webhook.path,
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
        }
    }

    /// Whether its rules name the request.
    fn concerns(&self, resource: &Resource, object: &Value, operation: &str) -> bool {
        let names = |rule: &Value, field: &str, wanted: &str| {
            rule.items_at(&[field])
                .iter()
                .filter_map(Value::as_str)
                .any(|name| name == "*" || name == "*/*" || name == wanted)
        };
        let api_version = object.api_version();
        self.rules.iter().any(|rule| {
            let scope_fits = match rule.text_at(&["scope"]) {
                Some("Cluster") => !resource.is_namespaced(),
                Some("Namespaced") => resource.is_namespaced(),
                _ => true,
            };
            let version_fits = resource
                .versions
                .iter()
                .any(|version| names(rule, "apiVersions", version));
            scope_fits
                && version_fits
                && names(rule, "operations", operation)
                && names(rule, "apiGroups", group_of(api_version))
                && names(rule, "resources", &resource.plural)
        })
    }
}
