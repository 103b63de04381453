//! Defaults that depend on the rest of the cluster: addresses, default classes.

use firstpass_object::quantity::Quantity;
use firstpass_object::{GroupKind, ObjectExt, ObjectId};
use serde_json::{Value, json};

use super::ApiServer;
use crate::error::{ApiError, Reason};

impl ApiServer {
    /// Fills in what a new object leaves open and the cluster decides.
    pub(super) fn set_defaults_of_cluster(&self, object: &mut Value) {
        let gvk = object.gvk();
        match (gvk.group.as_str(), gvk.kind.as_str()) {
            ("", "Service") => self.allocate_cluster_ip(object),
            ("", "PersistentVolumeClaim") if object.at(&["spec", "storageClassName"]).is_none() => {
                let annotation = "storageclass.kubernetes.io/is-default-class";
                if let Some(class) =
                    self.default_class(&GroupKind::new("storage.k8s.io", "StorageClass"), annotation)
                {
                    object["spec"]["storageClassName"] = json!(class);
                }
            }
            ("networking.k8s.io", "Ingress")
                if object.at(&["spec", "ingressClassName"]).is_none()
                    && object.annotation("kubernetes.io/ingress.class").is_none() =>
            {
                let annotation = "ingressclass.kubernetes.io/is-default-class";
                if let Some(class) =
                    self.default_class(&GroupKind::new("networking.k8s.io", "IngressClass"), annotation)
                    && object["spec"].is_object()
                {
                    object["spec"]["ingressClassName"] = json!(class);
                }
            }
            _ => {}
        }
    }

    /// The newest class that an annotation marks as the default; of several as new the first by name.
    fn default_class(&self, kind: &GroupKind, annotation: &str) -> Option<String> {
        self.objects(kind, None)
            .filter(|(_, class)| class.annotation(annotation) == Some("true"))
            .map(|(id, class)| {
                (
                    class
                        .text_at(&["metadata", "creationTimestamp"])
                        .unwrap_or_default(),
                    &id.name,
                )
            })
            .reduce(|best, next| if next.0 > best.0 { next } else { best })
            .map(|(_, name)| name.to_string())
    }

    /// Addresses are handed out in order and never twice.
    fn allocate_cluster_ip(&self, object: &mut Value) {
        let is_external = object.text_at(&["spec", "type"]) == Some("ExternalName");
        if !is_external
            && object
                .text_at(&["spec", "clusterIP"])
                .unwrap_or_default()
                .is_empty()
        {
            let number = self.uid + 1;
            object["spec"]["clusterIP"] = json!(format!(
                "10.{}.{}.{}",
                43 + (number >> 16) % 200,
                (number >> 8) & 255,
                number & 255
            ));
        }
    }
}

impl ApiServer {
    /// A claim that is bound grows only if its class lets it.
    pub(super) fn check_resize(&self, old: &Value, new: &Value) -> Result<(), ApiError> {
        let amount = |claim: &Value| {
            let requests = claim.at(&["spec", "resources", "requests", "storage"]);
            requests.and_then(|amount| Quantity::from_value(amount).ok())
        };
        let is_bound = old.text_at(&["status", "phase"]) == Some("Bound");
        let grows = matches!((amount(old), amount(new)), (Some(before), Some(now)) if now > before);
        if !is_bound || !grows {
            return Ok(());
        }
        let class = new.text_at(&["spec", "storageClassName"]).unwrap_or_default();
        let class = self.object(&ObjectId::new("storage.k8s.io", "StorageClass", None, class));
        // A class that cannot be seen comes from somewhere else, and may allow it.
        let is_known = class.is_some() || new.text_at(&["spec", "storageClassName"]) == Some("");
        let allows = class.is_some_and(|class| class.get("allowVolumeExpansion") == Some(&Value::Bool(true)));
        if allows || !is_known {
            return Ok(());
        }
        let message = format!(
            "persistentvolumeclaims \"{}\" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
            new.name()
        );
        Err(ApiError::new(403, Reason::Forbidden, message))
    }
}

/// What was given to a Service stays with it, unless it says otherwise; a port for health checks goes when nobody needs it.
pub(super) fn keep_addresses(object: &mut Value, live: &Value) {
    let is_external = |object: &Value| object.text_at(&["spec", "type"]) == Some("ExternalName");
    let is_open = object
        .text_at(&["spec", "clusterIP"])
        .unwrap_or_default()
        .is_empty();
    if is_open
        && !is_external(object)
        && !is_external(live)
        && let Some(address) = live.at(&["spec", "clusterIP"])
    {
        object["spec"]["clusterIP"] = address.clone();
    }
    let needs_health_port = object.text_at(&["spec", "type"]) == Some("LoadBalancer")
        && object.text_at(&["spec", "externalTrafficPolicy"]) == Some("Local");
    let port = object.at(&["spec", "healthCheckNodePort"]);
    if !needs_health_port
        && port == live.at(&["spec", "healthCheckNodePort"])
        && let Some(Value::Object(spec)) = object.get_mut("spec")
    {
        spec.remove("healthCheckNodePort");
    }
}
