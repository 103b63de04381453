//! What may not change once an object exists.

use firstpass_object::ObjectExt;
use firstpass_object::quantity::Quantity;
use serde_json::Value;

use super::{Checker, FieldError, Path};
use crate::crd::SKETCH;

/// Everything that an update of a built-in object must not change but does.
pub(crate) fn check_update(old: &Value, new: &Value, unknown_tokens: &[String]) -> Vec<FieldError> {
    // What is a default whether it is written out or not is no change.
    let shown = new;
    let (mut old, mut new) = (old.clone(), new.clone());
    crate::defaults::complete(&mut old);
    if new.kind() == "Pod" {
        keep_pull_policies(&old, &mut new);
    }
    crate::defaults::complete(&mut new);
    let (old, new) = (&old, &new);
    let mut update = Update {
        old,
        new,
        shown,
        checker: Checker::new(0, unknown_tokens),
    };
    let gvk = new.gvk();
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("batch", "Job") => update.job(),
        ("apps", "Deployment" | "ReplicaSet" | "DaemonSet") => update.fixed(&["spec", "selector"]),
        ("apps", "StatefulSet") => update.stateful_set(),
        ("", "PersistentVolumeClaim") => update.claim(),
        ("", "PersistentVolume") => update.volume(),
        ("", "Service") => update.service(),
        ("", "Secret") => {
            update.fixed(&["type"]);
            update.data(&["data"]);
        }
        ("", "ConfigMap") => update.data(&["data", "binaryData"]),
        ("", "Pod") => update.pod(),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            update.fixed_because(&["roleRef"], "cannot change roleRef");
        }
        ("storage.k8s.io", "StorageClass") => update.class(),
        ("networking.k8s.io", "IngressClass") => update.fixed(&["spec", "controller"]),
        ("node.k8s.io", "RuntimeClass") => update.fixed(&["handler"]),
        ("scheduling.k8s.io", "PriorityClass") => {
            update.forbid_change("value", "may not be changed in an update.");
            update.forbid_change("preemptionPolicy", "may not be changed in an update.");
        }
        ("discovery.k8s.io", "EndpointSlice") => update.fixed(&["addressType"]),
        ("apiextensions.k8s.io", "CustomResourceDefinition") if old.annotation(SKETCH).is_none() => {
            for path in [
                &["spec", "group"][..],
                &["spec", "scope"],
                &["spec", "names", "kind"],
                &["spec", "names", "plural"],
            ] {
                update.fixed(path);
            }
            update.stored_versions();
        }
        _ => {}
    }
    update.checker.into_errors()
}

/// The default of a pull policy follows from the first image, and stays when another one comes.
fn keep_pull_policies(old: &Value, new: &mut Value) {
    for list in ["containers", "initContainers"] {
        let containers = new["spec"].get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
            let before = old.items_at(&["spec", list]);
            let before = before
                .iter()
                .find(|before| Some(&before["name"]) == container.get("name"));
            if let Some(policy) = before.and_then(|before| before.get("imagePullPolicy"))
                && !container.contains_key("imagePullPolicy")
            {
                container.insert("imagePullPolicy".to_owned(), policy.clone());
            }
        }
    }
}

struct Update<'a> {
    /// Both with all defaults.
    old: &'a Value,
    new: &'a Value,
    /// The new one as it was written.
    shown: &'a Value,
    checker: Checker<'a>,
}

const STATEFUL_SET_MUTABLE: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

impl Update<'_> {
    fn changed(&self, path: &[&str]) -> bool {
        let value = |object: &'_ Value| object.at(path).filter(|value| !value.is_null()).cloned();
        let new = value(self.new);
        value(self.old) != new && !new.is_some_and(|new| self.checker.holds_unknown(&new))
    }

    fn fixed(&mut self, path: &[&str]) {
        self.fixed_because(path, "field is immutable");
    }

    fn fixed_because(&mut self, path: &[&str], why: &str) {
        if self.changed(path) {
            let value = self.shown.at(path).unwrap_or(&Value::Null);
            self.checker
                .push(path.join("."), format!("Invalid value: {value}: {why}"));
        }
    }

    fn forbid_change(&mut self, field: &str, why: &str) {
        if self.changed(&[field]) {
            self.checker.forbidden(field, why);
        }
    }

    fn job(&mut self) {
        let is_indexed = self.old.text_at(&["spec", "completionMode"]) == Some("Indexed");
        if !is_indexed {
            self.fixed(&["spec", "completions"]);
        }
        self.fixed(&["spec", "selector"]);
        // A Job that is suspended and has not started yet may still change where it runs.
        let waits = self.old.at(&["spec", "suspend"]) == Some(&Value::Bool(true))
            && self.old.at(&["status", "startTime"]).is_none();
        if waits {
            let strip = |object: &Value| {
                let mut template = object.at(&["spec", "template"]).cloned().unwrap_or_default();
                if let Some(Value::Object(metadata)) = template.get_mut("metadata") {
                    metadata.retain(|field, _| !matches!(field.as_str(), "labels" | "annotations"));
                }
                if let Some(Value::Object(spec)) = template.get_mut("spec") {
                    spec.retain(|field, _| {
                        !matches!(
                            field.as_str(),
                            "nodeSelector" | "tolerations" | "affinity" | "schedulingGates"
                        )
                    });
                    for list in ["containers", "initContainers"] {
                        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
                        for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
                            container.remove("resources");
                        }
                    }
                }
                if let Value::Object(fields) = &mut template {
                    fields.retain(|_, part| part.as_object().is_none_or(|part| !part.is_empty()));
                }
                template
            };
            if strip(self.old) == strip(self.new) {
                return;
            }
        }
        self.fixed(&["spec", "template"]);
        self.fixed(&["spec", "completionMode"]);
        self.fixed(&["spec", "podFailurePolicy"]);
        self.fixed(&["spec", "backoffLimitPerIndex"]);
    }

    fn stateful_set(&mut self) {
        let fields = |object: &Value| {
            object["spec"]
                .as_object()
                .map(|spec| spec.keys().cloned().collect::<Vec<_>>())
        };
        let names = fields(self.old).into_iter().chain(fields(self.new)).flatten();
        let names: Vec<String> = names
            .filter(|name| !STATEFUL_SET_MUTABLE.contains(&name.as_str()))
            .collect();
        if names.iter().any(|name| self.changed(&["spec", name])) {
            self.checker.forbidden(
                "spec",
                "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
            );
        }
    }

    fn claim(&mut self) {
        let is_bound = self.old.text_at(&["status", "phase"]) == Some("Bound");
        let strip = |object: &Value| {
            let mut spec = object["spec"].as_object().cloned().unwrap_or_default();
            let before = &self.old["spec"];
            if is_bound {
                spec.remove("volumeAttributesClassName");
            }
            // A source that is no longer stated is still there under its other name.
            for field in ["dataSource", "dataSourceRef"] {
                if self.new["spec"].get(field).is_none() {
                    spec.remove(field);
                }
            }
            // What was left open may be filled in later: the volume by the binder, the class by a new default.
            for field in ["volumeName", "storageClassName", "volumeMode"] {
                if before.get(field).is_none() {
                    spec.remove(field);
                }
            }
            if let Some(Value::Object(resources)) = spec.get_mut("resources") {
                resources.remove("requests");
                if resources.is_empty() {
                    spec.remove("resources");
                }
            }
            spec
        };
        let storage = ["spec", "resources", "requests", "storage"];
        let amount = |object: &Value| {
            object
                .at(&storage)
                .and_then(|value| Quantity::from_value(value).ok())
        };
        let (before, after) = (amount(self.old), amount(self.new));
        let is_unknown = self.checker.holds_unknown(&self.new["spec"]);
        let other_changed = strip(self.old) != strip(self.new);
        if !is_unknown && (other_changed || (!is_bound && before != after)) {
            self.checker.forbidden(
                "spec",
                "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
            );
        } else if is_bound && after < before {
            self.checker.forbidden(
                "spec.resources.requests.storage",
                "field can not be less than status.capacity",
            );
        }
    }

    fn volume(&mut self) {
        const MUTABLE: [&str; 8] = [
            "accessModes",
            "capacity",
            "claimRef",
            "mountOptions",
            "nodeAffinity",
            "persistentVolumeReclaimPolicy",
            "storageClassName",
            "volumeAttributesClassName",
        ];
        let source = |object: &Value| {
            let mut spec = object["spec"].as_object().cloned().unwrap_or_default();
            spec.retain(|field, _| !MUTABLE.contains(&field.as_str()) && field != "volumeMode");
            spec
        };
        if source(self.old) != source(self.new) && !self.checker.holds_unknown(&self.new["spec"]) {
            let message = "spec.persistentvolumesource is immutable after creation";
            self.checker.forbidden("spec.persistentvolumesource", message);
        }
        if self.old["spec"].get("volumeMode").is_some() {
            self.fixed(&["spec", "volumeMode"]);
        }
    }

    fn service(&mut self) {
        let is_external = |object: &Value| object.text_at(&["spec", "type"]) == Some("ExternalName");
        let ip = |object: &Value| {
            object
                .text_at(&["spec", "clusterIP"])
                .unwrap_or_default()
                .to_owned()
        };
        let (old, new) = (ip(self.old), ip(self.new));
        if !old.is_empty() && old != new && !is_external(self.old) && !is_external(self.new) {
            let message = format!("Invalid value: [{new:?}]: may not change once set");
            if !self.checker.is_unknown(&new) {
                self.checker.push("spec.clusterIPs[0]", message);
            }
        }
    }

    fn data(&mut self, fields: &[&str]) {
        if self.old.get("immutable") != Some(&Value::Bool(true)) {
            return;
        }
        for field in fields.iter().chain(&["immutable"]) {
            self.forbid_change(field, "field is immutable when `immutable` is set");
        }
    }

    fn pod(&mut self) {
        let strip = |object: &Value| {
            let mut spec = object["spec"].clone();
            for list in ["containers", "initContainers"] {
                for container in spec
                    .get_mut(list)
                    .and_then(Value::as_array_mut)
                    .into_iter()
                    .flatten()
                {
                    if let Value::Object(fields) = container {
                        fields.remove("image");
                    }
                }
            }
            if let Value::Object(fields) = &mut spec {
                for field in ["activeDeadlineSeconds", "tolerations"] {
                    fields.remove(field);
                }
                if object["spec"].get("nodeName").is_some() {
                    fields.remove("nodeName");
                }
            }
            spec
        };
        let spec = Path::ROOT.field("spec");
        for list in ["containers", "initContainers"] {
            let count = |object: &Value| object.items_at(&["spec", list]).len();
            if count(self.old) != count(self.new) {
                let message = "pod updates may not add or remove containers";
                return self.checker.forbidden(spec.field(list), message);
            }
        }
        let plain = |toleration: &Value| {
            let mut toleration = toleration.clone();
            if let Value::Object(fields) = &mut toleration {
                fields.remove("tolerationSeconds");
            }
            toleration
        };
        let now: Vec<Value> = self
            .new
            .items_at(&["spec", "tolerations"])
            .iter()
            .map(plain)
            .collect();
        let mut before = self.old.items_at(&["spec", "tolerations"]).iter().map(plain);
        if before.any(|toleration| !now.contains(&toleration)) {
            let message = "existing toleration can not be modified except its tolerationSeconds";
            self.checker.forbidden(spec.field("tolerations"), message);
        }
        let deadline = |object: &Value| object["spec"]["activeDeadlineSeconds"].as_i64();
        match (deadline(self.old), deadline(self.new)) {
            (Some(_), None) => {
                let message = "must not update from a positive integer to nil value";
                self.checker
                    .invalid(spec.field("activeDeadlineSeconds"), &Value::Null, message);
            }
            (Some(before), Some(now)) if now > before => {
                let message = "must be less than or equal to previous value";
                self.checker
                    .invalid(spec.field("activeDeadlineSeconds"), &Value::from(now), message);
            }
            _ => {}
        }
        if strip(self.old) != strip(self.new) && !self.checker.holds_unknown(&self.new["spec"]) {
            self.checker.forbidden(
                spec,
                "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
            );
        }
    }

    /// A version in which objects may still be stored must stay in a CRD.
    fn stored_versions(&mut self) {
        let versions = self.new.items_at(&["spec", "versions"]);
        for (index, stored) in self
            .old
            .items_at(&["status", "storedVersions"])
            .iter()
            .enumerate()
        {
            let stored = stored.as_str().unwrap_or_default();
            if !versions
                .iter()
                .any(|version| version.text_at(&["name"]) == Some(stored))
            {
                let message = format!(
                    "missing from spec.versions; {stored} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {stored} and removes {stored} from status.storedVersions"
                );
                self.checker
                    .invalid_text(format!("status.storedVersions[{index}]"), stored, message);
            }
        }
    }

    fn class(&mut self) {
        for field in ["parameters", "provisioner", "reclaimPolicy"] {
            self.forbid_change(field, &format!("updates to {field} are forbidden."));
        }
        self.fixed(&["volumeBindingMode"]);
    }
}
