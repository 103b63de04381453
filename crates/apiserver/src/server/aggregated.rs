//! Aggregated APIs: groups that another server answers for, and what happens while it does not.
//!
//! Which kinds such a group has nobody here knows. What shows is that the discovery of everything fails in part, so that a
//! namespace under deletion cannot be found to be empty and stays.

use firstpass_object::{GroupKind, ObjectExt, ObjectId};
use serde_json::{Value, json};

use super::{ApiServer, timers::Timer};

const GROUP: &str = "apiregistration.k8s.io";
const DISCOVERY_FAILURE: &str = "NamespaceDeletionDiscoveryFailure";

impl ApiServer {
    /// An aggregated API that does not answer: its Service exists and nobody serves it. A Service that is not there at all
    /// comes from somewhere that cannot be seen, and is taken to answer.
    pub fn unavailable_api(&self) -> Option<&ObjectId> {
        let kind = GroupKind::new(GROUP, "APIService");
        self.objects(&kind, None)
            .find(|(_, api)| {
                let Some(service) = api.at(&["spec", "service"]) else {
                    return false;
                };
                let text = |field: &str| service.text_at(&[field]).unwrap_or_default();
                let (namespace, name) = (text("namespace"), text("name"));
                let exists = self
                    .object(&ObjectId::new("", "Service", Some(namespace), name))
                    .is_some();
                exists && !self.is_service_serving(namespace, name)
            })
            .map(|(id, _)| id)
    }

    /// Whether the namespace controller can see all that a namespace holds; if not, the namespace's status says so.
    pub(super) fn can_discover_all(&mut self, namespace: &ObjectId, by: &std::sync::Arc<str>) -> bool {
        let Some(api) = self.unavailable_api().map(|api| api.name.clone()) else {
            return true;
        };
        let Some(stored) = self.objects.get(namespace).cloned() else {
            return true;
        };
        // APIServices are named VERSION.GROUP.
        let (version, group) = api.split_once('.').unwrap_or((&api, ""));
        let message = format!(
            "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: {group}/{version}: stale GroupVersion discovery: {group}/{version}"
        );
        let status = json!({"phase": "Terminating", "conditions": [{
            "type": DISCOVERY_FAILURE, "status": "True", "reason": "DiscoveryFailed", "message": message,
            "lastTransitionTime": self.now.timestamp(),
        }]});
        self.has_waiting_namespaces = true;
        let says_so = |object: &Value| object.condition(DISCOVERY_FAILURE).is_some();
        if !says_so(&stored.object) {
            let mut next = (*stored).clone();
            std::sync::Arc::make_mut(&mut next.object)["status"] = status;
            self.persist(next, by);
        }
        false
    }

    /// Namespaces that could not be looked through are looked at again.
    pub(super) fn apis_changed(&mut self) {
        if !self.has_waiting_namespaces {
            return;
        }
        self.has_waiting_namespaces = false;
        let kind = GroupKind::new("", "Namespace");
        let waiting: Vec<String> = self
            .objects(&kind, None)
            .filter(|(_, namespace)| namespace.condition(DISCOVERY_FAILURE).is_some())
            .map(|(id, _)| id.name.to_string())
            .collect();
        for name in waiting {
            self.set_timer(self.delays.namespace_deletion, Timer::EmptyNamespace(name));
        }
    }
}
