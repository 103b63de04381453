//! Which pods answer behind which Service: an index by label, so that a change of one of them is no look at everything in
//! its namespace.

use std::collections::{BTreeMap, BTreeSet};

use firstpass_object::{ObjectExt, ObjectId};
use serde_json::{Map, Value};

use super::needs;

/// Services and what they may pick.
#[derive(Clone, Debug, Default)]
pub(super) struct Endpoints {
    /// The workloads whose pods carry each label.
    workloads: BTreeMap<Label, BTreeSet<ObjectId>>,
    /// The Services whose selector begins with each label.
    services: BTreeMap<Label, BTreeSet<ObjectId>>,
}

/// A label in a namespace: namespace, key, value.
type Label = (String, String, String);

impl Endpoints {
    /// Takes note of a Service, or a workload, that changed.
    pub(super) fn note(&mut self, old: Option<&Value>, new: Option<&Value>) {
        let Some(object) = new.or(old) else { return };
        let is_service = object.kind() == "Service";
        let labels = |object: Option<&Value>| -> Vec<Label> {
            let Some(object) = object else { return Vec::new() };
            if is_service {
                let selector = selector(object).into_iter();
                selector
                    .flat_map(|selector| labels(object, selector))
                    .take(1)
                    .collect()
            } else {
                let pods = needs::pod_labels(object).and_then(Value::as_object).into_iter();
                pods.flat_map(|pods| labels(object, pods)).collect()
            }
        };
        let (before, after) = (labels(old), labels(new));
        if before == after {
            return;
        }
        let index = if is_service {
            &mut self.services
        } else {
            &mut self.workloads
        };
        let id = object.id();
        for label in before {
            if let Some(ids) = index.get_mut(&label) {
                ids.remove(&id);
                if ids.is_empty() {
                    index.remove(&label);
                }
            }
        }
        for label in after {
            index.entry(label).or_default().insert(id.clone());
        }
    }

    /// The Services that may pick the pods of a workload.
    pub(super) fn services_of(&self, workload: &Value) -> BTreeSet<&ObjectId> {
        let pods = needs::pod_labels(workload).and_then(Value::as_object);
        let labels = pods.into_iter().flat_map(|pods| labels(workload, pods));
        labels
            .filter_map(|label| self.services.get(&label))
            .flatten()
            .collect()
    }

    /// The workloads whose pods a Service may pick: those with the rarest of the labels that it asks for.
    pub(super) fn workloads_of(&self, service: &Value) -> impl Iterator<Item = &ObjectId> {
        let labels = selector(service)
            .into_iter()
            .flat_map(|selector| labels(service, selector));
        let candidates = labels.map(|label| self.workloads.get(&label));
        let rarest = candidates.min_by_key(|candidates| candidates.map_or(0, BTreeSet::len));
        rarest.flatten().into_iter().flatten()
    }
}

/// Whether a kind has pods that a Service can pick.
pub(super) fn has_lasting_pods(id: &ObjectId) -> bool {
    match id.group.as_str() {
        "apps" => true,
        "" => id.kind == "Pod",
        _ => false,
    }
}

/// The labels that a Service asks for.
pub(super) fn selector(service: &Value) -> Option<&Map<String, Value>> {
    service.at(&["spec", "selector"]).and_then(Value::as_object)
}

/// Whether a Service's selector picks the pods of a workload. An empty one picks none.
pub(super) fn picks(service: &Value, workload: &Value) -> bool {
    let pods = needs::pod_labels(workload);
    selector(service).is_some_and(|selector| {
        let carries = |(key, value): (&String, &Value)| pods.and_then(|pods| pods.get(key)) == Some(value);
        !selector.is_empty() && selector.iter().all(carries)
    })
}

fn labels<'a>(object: &'a Value, labels: &'a Map<String, Value>) -> impl Iterator<Item = Label> + 'a {
    let namespace = object.namespace().unwrap_or_default();
    labels
        .iter()
        .filter_map(|(key, value)| Some((namespace.to_owned(), key.clone(), value.as_str()?.to_owned())))
}
