//! How the objects of a pass are divided into stages, and in which order a stage is applied (F-200, F-210).

use std::sync::Arc;

use firstpass_flux::ControllerSettings;
use firstpass_object::{GroupKind, ObjectExt};
use serde_json::Value;

/// The four stages, in the order in which they are applied (F-201).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// CRDs, Namespaces and, since Flux 2.7, ClusterRoles. Waited for.
    Definitions,
    /// Kinds whose name ends in `Class`. Waited for.
    Classes,
    /// Kinds named by `--custom-apply-stage-kinds`, since Flux 2.8.
    Custom,
    /// Everything else.
    Rest,
}

/// What the Flux version and the controller's flags say about stages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageRules {
    /// Whether ClusterRoles belong to the definitions, and the order of F-210 holds (since Flux 2.7: F-1730, F-1734).
    pub cluster_roles_first: bool,
    /// `--custom-apply-stage-kinds`.
    pub custom_kinds: Vec<GroupKind>,
}

impl Stage {
    /// Whether the objects of the stage are waited for before the next one begins (F-201).
    pub fn is_waited_for(self) -> bool {
        matches!(self, Stage::Definitions | Stage::Classes)
    }
}

impl StageRules {
    /// The rules of a Flux that is set up like this.
    pub fn of(settings: &ControllerSettings) -> StageRules {
        let kinds = settings.custom_apply_stage_kinds.iter();
        StageRules {
            cluster_roles_first: settings.flux.at_least(7),
            custom_kinds: kinds.filter_map(|text| custom_kind(text)).collect(),
        }
    }

    /// The stage of an object.
    pub fn stage_of(&self, object: &Value) -> Stage {
        let api_version = object.api_version();
        let kind = object.kind();
        let is_crd = kind == "CustomResourceDefinition" && api_version.starts_with("apiextensions.k8s.io/");
        let is_namespace = kind == "Namespace" && api_version == "v1";
        let is_cluster_role = kind == "ClusterRole" && api_version.starts_with("rbac.authorization.k8s.io/");
        let is_custom = |wanted: &GroupKind| {
            wanted.kind == kind && wanted.group == firstpass_object::group_of(api_version)
        };
        if is_crd || is_namespace || (is_cluster_role && self.cluster_roles_first) {
            Stage::Definitions
        } else if kind.ends_with("Class") {
            Stage::Classes
        } else if self.custom_kinds.iter().any(is_custom) {
            Stage::Custom
        } else {
            Stage::Rest
        }
    }

    /// Divides objects into stages, each in its order. Empty stages are left out, but the last one is always there.
    pub fn divide(&self, objects: &[Arc<Value>]) -> Vec<(Stage, Vec<Arc<Value>>)> {
        let stages = [Stage::Definitions, Stage::Classes, Stage::Custom, Stage::Rest];
        let mut divided: Vec<(Stage, Vec<Arc<Value>>)> = stages.map(|stage| (stage, Vec::new())).into();
        for object in objects {
            divided[self.stage_of(object) as usize].1.push(Arc::clone(object));
        }
        for (_, objects) in &mut divided {
            self.sort(objects);
        }
        divided.retain(|(stage, objects)| *stage == Stage::Rest || !objects.is_empty());
        divided
    }

    /// Sorts objects as Flux applies them: by kind index, then group, kind, namespace, name.
    pub fn sort(&self, objects: &mut [Arc<Value>]) {
        objects.sort_by_cached_key(|object| {
            let id = object.id();
            (
                self.kind_index(&id.kind),
                id.group,
                id.kind,
                id.namespace,
                id.name,
            )
        });
    }

    /// Where a kind stands in the order of application, the group ignored. Pruning goes the other way (F-411).
    pub fn kind_index(&self, kind: &str) -> usize {
        let order = if self.cluster_roles_first {
            &ORDER
        } else {
            &ORDER_UNTIL_2_6
        };
        let count = order.iter().map(|kinds| kinds.len()).sum::<usize>();
        let last = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];
        if let Some(index) = last.iter().position(|name| *name == kind) {
            return count + 1 + index;
        }
        let mut kinds = order.iter().copied().flatten();
        kinds.position(|name| *name == kind).unwrap_or(count)
    }
}

type Kinds = &'static [&'static str];

const DEFINITIONS: Kinds = &["CustomResourceDefinition", "Namespace"];
const CLASSES: Kinds = &[
    "ClusterClass",
    "RuntimeClass",
    "PriorityClass",
    "StorageClass",
    "VolumeSnapshotClass",
    "IngressClass",
    "GatewayClass",
];
const REST: Kinds = &[
    "ConfigMap",
    "Secret",
    "Service",
    "LimitRange",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];

const ORDER: [Kinds; 5] = [
    DEFINITIONS,
    &["ClusterRole"],
    CLASSES,
    &[
        "ClusterRoleBinding",
        "ResourceQuota",
        "ServiceAccount",
        "Role",
        "RoleBinding",
    ],
    REST,
];

/// F-1734: the roles follow the service accounts.
const ORDER_UNTIL_2_6: [Kinds; 5] = [
    DEFINITIONS,
    CLASSES,
    &["ResourceQuota", "ServiceAccount"],
    &["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"],
    REST,
];

fn custom_kind(text: &str) -> Option<GroupKind> {
    let (group, kind) = text.trim().rsplit_once('/')?;
    Some(GroupKind::new(group, kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(api_version: &str, kind: &str, name: &str) -> Arc<Value> {
        Arc::new(json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}))
    }

    fn rules(cluster_roles_first: bool) -> StageRules {
        StageRules {
            cluster_roles_first,
            custom_kinds: Vec::new(),
        }
    }

    #[test]
    fn objects_go_to_their_stages() {
        // F-200
        let rules = StageRules {
            custom_kinds: vec![GroupKind::new("rbac.authorization.k8s.io", "Role")],
            ..rules(true)
        };
        let table = [
            (
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                Stage::Definitions,
            ),
            ("v1", "Namespace", Stage::Definitions),
            ("example.com/v1", "Namespace", Stage::Rest),
            ("rbac.authorization.k8s.io/v1", "ClusterRole", Stage::Definitions),
            ("storage.k8s.io/v1", "StorageClass", Stage::Classes),
            ("example.com/v1", "WidgetClass", Stage::Classes),
            ("example.com/v1", "Widgetclass", Stage::Rest),
            ("rbac.authorization.k8s.io/v1", "Role", Stage::Custom),
            ("v1", "ConfigMap", Stage::Rest),
        ];
        for (api_version, kind, stage) in table {
            assert_eq!(
                rules.stage_of(&object(api_version, kind, "x")),
                stage,
                "{api_version} {kind}"
            );
        }
    }

    #[test]
    fn cluster_roles_come_first_since_flux_2_7() {
        // F-1730
        let role = object("rbac.authorization.k8s.io/v1", "ClusterRole", "x");
        assert_eq!(rules(false).stage_of(&role), Stage::Rest);
        assert_eq!(rules(true).stage_of(&role), Stage::Definitions);
    }

    #[test]
    fn a_stage_is_sorted_by_kind_then_by_name() {
        // F-210
        let mut objects = vec![
            object(
                "admissionregistration.k8s.io/v1",
                "ValidatingWebhookConfiguration",
                "w",
            ),
            object("example.com/v1", "Widget", "b"),
            object("example.com/v1", "Widget", "a"),
            object("apps/v1", "Deployment", "d"),
            object("v1", "ConfigMap", "c"),
            object("v1", "ServiceAccount", "s"),
        ];
        rules(true).sort(&mut objects);
        let names: Vec<_> = objects.iter().map(|object| object.name().to_owned()).collect();
        assert_eq!(names, ["s", "c", "d", "a", "b", "w"]);
    }

    #[test]
    fn the_last_stage_is_there_even_if_empty() {
        let divided = rules(true).divide(&[object("v1", "Namespace", "x")]);
        let stages: Vec<_> = divided
            .iter()
            .map(|(stage, objects)| (*stage, objects.len()))
            .collect();
        assert_eq!(stages, [(Stage::Definitions, 1), (Stage::Rest, 0)]);
    }
}
