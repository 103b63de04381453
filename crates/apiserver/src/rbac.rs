//! Who may do what: RBAC, for clients that act as a service account.
//!
//! Roles that a cluster brings along (`admin`, `edit`, `view`), aggregated ones and those that do not exist are unknown,
//! and what is unknown is allowed.

use firstpass_object::{GroupKind, ObjectExt, ObjectId};
use serde_json::Value;

use crate::discovery::Resource;
use crate::error::{ApiError, Reason};
use crate::server::ApiServer;

const GROUP: &str = "rbac.authorization.k8s.io";

/// A service account that a client acts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account<'a> {
    /// Namespace of the account.
    pub namespace: &'a str,
    /// Name of the account.
    pub name: &'a str,
}

/// What the rules that an account has say about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grant {
    Yes,
    /// Some role that the account has is not known.
    Unknown,
    No,
}

/// One thing that somebody wants to do.
#[derive(Clone, Copy, Debug)]
struct Wish<'a> {
    verb: &'a str,
    group: &'a str,
    resource: &'a str,
    name: &'a str,
    namespace: Option<&'a str>,
}

impl Account<'_> {
    /// `system:serviceaccount:NAMESPACE:NAME`
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }

    /// Whether a subject of a binding means the account.
    fn is_meant(&self, subject: &Value) -> bool {
        let name = subject.text_at(&["name"]).unwrap_or_default();
        match subject.text_at(&["kind"]).unwrap_or_default() {
            "ServiceAccount" => name == self.name && subject.text_at(&["namespace"]) == Some(self.namespace),
            "User" => name == self.user(),
            "Group" => {
                name == "system:serviceaccounts"
                    || name == "system:authenticated"
                    || name.strip_prefix("system:serviceaccounts:") == Some(self.namespace)
            }
            _ => false,
        }
    }
}

impl ApiServer {
    /// Whether any binding names a service account itself.
    pub fn is_bound(&self, account: Account<'_>) -> bool {
        ["ClusterRoleBinding", "RoleBinding"].into_iter().any(|kind| {
            let kind = GroupKind::new(GROUP, kind);
            self.objects(&kind, None)
                .any(|(_, binding)| binds(binding, account))
        })
    }

    /// What the server says to an account that wants to do something with an object: nothing, or 403.
    ///
    /// # Errors
    /// The refusal, and a 404 for a binding to a role that does not exist (F-223).
    pub fn authorize(&self, account: Account<'_>, verb: &str, object: &Value) -> Result<(), ApiError> {
        let Ok(resource) = self.resolve(&object.gvk()) else {
            return Ok(());
        };
        let id = object.id();
        let wish = Wish {
            verb,
            group: &resource.group,
            resource: &resource.plural,
            name: &id.name,
            namespace: id.namespace.as_deref().filter(|_| resource.is_namespaced()),
        };
        if self.grant(account, wish) == Grant::No {
            return Err(forbidden(account, &resource, wish));
        }
        if resource.group == GROUP && matches!(verb, "create" | "patch") {
            self.check_escalation(account, &resource, object, wish)?;
        }
        Ok(())
    }

    /// Nobody hands out more than they have.
    fn check_escalation(
        &self,
        account: Account<'_>,
        resource: &Resource,
        object: &Value,
        wish: Wish<'_>,
    ) -> Result<(), ApiError> {
        let may = |verb: &str, kind: &str, name: &str| {
            let resource = if kind == "ClusterRole" {
                "clusterroles"
            } else {
                "roles"
            };
            let wish = Wish {
                verb,
                group: GROUP,
                resource,
                name,
                namespace: wish.namespace,
            };
            self.grant(account, wish) != Grant::No
        };
        let rules = match resource.kind.as_str() {
            "Role" | "ClusterRole" => {
                if may("escalate", &resource.kind, wish.name) {
                    return Ok(());
                }
                object.items_at(&["rules"]).to_vec()
            }
            _ => {
                let kind = object.text_at(&["roleRef", "kind"]).unwrap_or_default();
                let name = object.text_at(&["roleRef", "name"]).unwrap_or_default();
                if may("bind", kind, name) {
                    return Ok(());
                }
                let namespace = wish.namespace.filter(|_| kind == "Role");
                match self.object(&ObjectId::new(GROUP, kind, namespace, name)) {
                    Some(role) => role.items_at(&["rules"]).to_vec(),
                    None if is_builtin(name) => return Ok(()),
                    None => return Err(ApiError::not_found(resource, name)),
                }
            }
        };
        if rules
            .iter()
            .all(|rule| self.covers(account, rule, wish.namespace))
        {
            return Ok(());
        }
        let message = format!(
            "{} \"{}\" is forbidden: user \"{}\" (groups=[\"system:serviceaccounts\" \"system:serviceaccounts:{}\" \"system:authenticated\"]) is attempting to grant RBAC permissions not currently held",
            resource.group_resource(),
            wish.name,
            account.user(),
            account.namespace
        );
        Err(ApiError::new(403, Reason::Forbidden, message))
    }

    /// Whether an account has everything that a rule grants.
    fn covers(&self, account: Account<'_>, rule: &Value, namespace: Option<&str>) -> bool {
        let texts =
            |field: &str| -> Vec<&str> { rule.items_at(&[field]).iter().filter_map(Value::as_str).collect() };
        let names = texts("resourceNames");
        let names = if names.is_empty() { vec![""] } else { names };
        texts("apiGroups").into_iter().all(|group| {
            texts("resources").into_iter().all(|resource| {
                texts("verbs").into_iter().all(|verb| {
                    names.iter().all(|name| {
                        let wish = Wish {
                            verb,
                            group,
                            resource,
                            name,
                            namespace,
                        };
                        self.grant(account, wish) != Grant::No
                    })
                })
            })
        })
    }

    fn grant(&self, account: Account<'_>, wish: Wish<'_>) -> Grant {
        let cluster = GroupKind::new(GROUP, "ClusterRoleBinding");
        let local = GroupKind::new(GROUP, "RoleBinding");
        let everywhere = self.objects(&cluster, None).map(|(_, binding)| (binding, None));
        let here = wish.namespace.into_iter().flat_map(|namespace| {
            self.objects(&local, Some(namespace))
                .map(move |(_, binding)| (binding, Some(namespace)))
        });
        let mut best = Grant::No;
        for (binding, namespace) in everywhere.chain(here) {
            let is_meant = binding
                .items_at(&["subjects"])
                .iter()
                .any(|subject| account.is_meant(subject));
            if !is_meant {
                continue;
            }
            match self.role_grants(binding, namespace, wish) {
                Grant::Yes => return Grant::Yes,
                Grant::Unknown => best = Grant::Unknown,
                Grant::No => {}
            }
        }
        best
    }

    fn role_grants(&self, binding: &Value, namespace: Option<&str>, wish: Wish<'_>) -> Grant {
        let kind = binding.text_at(&["roleRef", "kind"]).unwrap_or_default();
        let name = binding.text_at(&["roleRef", "name"]).unwrap_or_default();
        if kind == "ClusterRole" && name == "cluster-admin" {
            return Grant::Yes;
        }
        let namespace = namespace.filter(|_| kind == "Role");
        let Some(role) = self.object(&ObjectId::new(GROUP, kind, namespace, name)) else {
            return Grant::Unknown;
        };
        if role.get("aggregationRule").is_some() {
            return Grant::Unknown;
        }
        let is_granted = role
            .items_at(&["rules"])
            .iter()
            .any(|rule| rule_grants(rule, wish));
        if is_granted { Grant::Yes } else { Grant::No }
    }
}

/// Whether a binding names the account itself.
pub(crate) fn binds(binding: &Value, account: Account<'_>) -> bool {
    binding
        .items_at(&["subjects"])
        .iter()
        .any(|subject| subject.text_at(&["kind"]) == Some("ServiceAccount") && account.is_meant(subject))
}

fn is_builtin(role: &str) -> bool {
    matches!(role, "cluster-admin" | "admin" | "edit" | "view") || role.starts_with("system:")
}

fn rule_grants(rule: &Value, wish: Wish<'_>) -> bool {
    let has = |field: &str, wanted: &str| {
        rule.items_at(&[field])
            .iter()
            .filter_map(Value::as_str)
            .any(|text| text == "*" || text == wanted)
    };
    let names = rule.items_at(&["resourceNames"]);
    // What is created has no name yet.
    let names_fit = names.is_empty() || (wish.verb != "create" && names.iter().any(|name| name == wish.name));
    has("verbs", wish.verb) && has("apiGroups", wish.group) && has("resources", wish.resource) && names_fit
}

fn forbidden(account: Account<'_>, resource: &Resource, wish: Wish<'_>) -> ApiError {
    let place = match wish.namespace {
        Some(namespace) => format!("in the namespace \"{namespace}\""),
        None => "at the cluster scope".to_owned(),
    };
    let message = format!(
        "{} \"{}\" is forbidden: User \"{}\" cannot {} resource \"{}\" in API group \"{}\" {place}",
        resource.group_resource(),
        wish.name,
        account.user(),
        wish.verb,
        wish.resource,
        wish.group
    );
    ApiError::new(403, Reason::Forbidden, message)
}
