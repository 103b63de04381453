//! ValidatingAdmissionPolicies: rules about requests that the server judges by itself.
//!
//! Real Kubernetes learns of a policy a moment after it is stored; here it counts at once.

use firstpass_object::{GroupKind, ObjectExt, ObjectId, group_of, selects};
use serde_json::Value;

use super::ApiServer;
use super::webhooks::{Rules, request_of};
use crate::cel::{Expression, Library, Variable};
use crate::discovery::Resource;
use crate::error::{ApiError, Reason};

const GROUP: &str = "admissionregistration.k8s.io";

/// A request under judgement.
pub(super) struct Judged<'a> {
    pub(super) resource: &'a Resource,
    pub(super) id: &'a ObjectId,
    /// The object as it would be; null for a deletion.
    pub(super) object: &'a Value,
    pub(super) old: &'a Value,
    pub(super) operation: &'a str,
}

/// How a policy refuses.
struct Denial {
    reason: &'static str,
    message: String,
}

impl ApiServer {
    /// Asks the policies that a binding with `Deny` brings into force.
    pub(super) fn check_policies(&self, judged: &Judged<'_>) -> Result<(), ApiError> {
        if judged.resource.group == GROUP {
            return Ok(());
        }
        let kind = GroupKind::new(GROUP, "ValidatingAdmissionPolicyBinding");
        for (id, binding) in self.objects(&kind, None) {
            let denies = binding
                .items_at(&["spec", "validationActions"])
                .iter()
                .any(|action| action == "Deny");
            let name = binding.text_at(&["spec", "policyName"]).unwrap_or_default();
            let policy = ObjectId::new(GROUP, "ValidatingAdmissionPolicy", None, name);
            let Some(policy) = self.object(&policy).filter(|_| denies) else {
                continue;
            };
            let fits = self.matches(&policy["spec"]["matchConstraints"], judged)
                && self.matches(&binding["spec"]["matchResources"], judged);
            if fits && let Some(denial) = self.judge(policy, binding, judged) {
                return Err(refusal(judged, name, &id.name, &denial));
            }
        }
        Ok(())
    }

    /// Whether the constraints of a policy or of a binding mean the request.
    fn matches(&self, constraints: &Value, judged: &Judged<'_>) -> bool {
        let object = judged.shown();
        let concerns = |rules: &[Value]| Rules(rules).concern(judged.resource, object, judged.operation);
        let rules = constraints.items_at(&["resourceRules"]);
        let is_meant = rules.is_empty() || concerns(rules);
        let is_excluded = concerns(constraints.items_at(&["excludeResourceRules"]));
        let object_fits = constraints.get("objectSelector").is_none_or(|selector| {
            [judged.object, judged.old]
                .iter()
                .any(|object| selects(selector, object))
        });
        let namespace_fits = match (
            constraints.get("namespaceSelector"),
            self.namespace_of(judged.id, object),
        ) {
            (Some(selector), Some(namespace)) => selects(selector, namespace),
            _ => true,
        };
        is_meant && !is_excluded && object_fits && namespace_fits
    }

    fn judge(&self, policy: &Value, binding: &Value, judged: &Judged<'_>) -> Option<Denial> {
        let spec = &policy["spec"];
        let fails_closed = spec.text_at(&["failurePolicy"]) != Some("Ignore");
        let params = match self.params(spec, &binding["spec"]["paramRef"], judged) {
            Ok(params) => params,
            Err(message) => return fails_closed.then(|| Denial::invalid(message)),
        };
        let request = request_of(judged);
        let object = judged.shown();
        let namespace = self.namespace_of(judged.id, object).unwrap_or(&Value::Null);
        // With several parameters, each must agree.
        params.iter().find_map(|params| {
            let variables = [
                ("object", Variable::Json(judged.object)),
                ("oldObject", Variable::Json(judged.old)),
                ("request", Variable::Json(&request)),
                ("params", Variable::Json(params)),
                ("namespaceObject", Variable::Json(namespace)),
            ];
            judge_with(spec, &variables, fails_closed)
        })
    }

    /// The objects that a binding hands to its policy; one that is null if the policy asks for none.
    fn params(&self, spec: &Value, reference: &Value, judged: &Judged<'_>) -> Result<Vec<Value>, String> {
        let (Some(version), Some(kind)) = (
            spec.text_at(&["paramKind", "apiVersion"]),
            spec.text_at(&["paramKind", "kind"]),
        ) else {
            return Ok(vec![Value::Null]);
        };
        if !reference.is_object() {
            return Ok(vec![Value::Null]);
        }
        let kind = GroupKind::new(group_of(version), kind);
        let stated = reference
            .text_at(&["namespace"])
            .or(judged.id.namespace.as_deref());
        let is_namespaced = self
            .resource(&kind)
            .is_some_and(|resource| resource.is_namespaced());
        let namespace = stated.filter(|_| is_namespaced);
        let name = reference.text_at(&["name"]).filter(|name| !name.is_empty());
        let found: Vec<Value> = self
            .objects(&kind, namespace)
            .filter(|(id, object)| match name {
                Some(name) => id.name == name,
                None => selects(&reference["selector"], object),
            })
            .map(|(_, object)| (**object).clone())
            .collect();
        if found.is_empty() && reference.text_at(&["parameterNotFoundAction"]) == Some("Deny") {
            return Err(
                "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
                    .to_owned(),
            );
        }
        Ok(found)
    }
}

impl Denial {
    fn invalid(message: String) -> Denial {
        Denial {
            reason: "Invalid",
            message,
        }
    }
}

fn judge_with(spec: &Value, variables: &[(&str, Variable<'_>)], fails_closed: bool) -> Option<Denial> {
    let is_true = |text: &str| evaluate(&with_variables(text, spec), variables);
    for condition in spec.items_at(&["matchConditions"]) {
        let text = condition.text_at(&["expression"]).unwrap_or_default();
        match is_true(text) {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => return broken(text, &error).filter(|_| fails_closed),
        }
    }
    for validation in spec.items_at(&["validations"]) {
        let text = validation.text_at(&["expression"]).unwrap_or_default();
        match is_true(text) {
            Ok(true) => {}
            Ok(false) => return Some(denial(validation, spec, variables)),
            Err(error) if fails_closed => {
                if let Some(denial) = broken(text, &error) {
                    return Some(denial);
                }
            }
            Err(_) => {}
        }
    }
    None
}

fn evaluate(text: &str, variables: &[(&str, Variable<'_>)]) -> Result<bool, String> {
    Expression::compile(text, Library::Kubernetes)?.is_true(variables)
}

/// An expression that fails on the object denies. One that cannot be evaluated here says nothing.
fn broken(text: &str, error: &str) -> Option<Denial> {
    let key = error.strip_prefix("No such key: ")?;
    Some(Denial::invalid(format!(
        "expression '{text}' resulted in error: no such key: {key}"
    )))
}

fn denial(validation: &Value, spec: &Value, variables: &[(&str, Variable<'_>)]) -> Denial {
    let text = |field: &str| {
        validation
            .text_at(&[field])
            .map(str::trim)
            .filter(|text| !text.is_empty())
    };
    let said = text("messageExpression").and_then(|expression| {
        let expression = Expression::compile(&with_variables(expression, spec), Library::Kubernetes).ok()?;
        expression
            .text(variables)
            .ok()
            .filter(|message| !message.trim().is_empty())
    });
    let message = said.unwrap_or_else(|| match text("message") {
        Some(message) => message.to_owned(),
        None => format!("failed expression: {}", text("expression").unwrap_or_default()),
    });
    let reason = match text("reason") {
        Some("Forbidden") => "Forbidden",
        Some("Unauthorized") => "Unauthorized",
        Some("RequestEntityTooLarge") => "RequestEntityTooLarge",
        _ => "Invalid",
    };
    Denial { reason, message }
}

/// The expression with the policy's variables put in: they are names for other expressions.
fn with_variables(text: &str, spec: &Value) -> String {
    const PREFIX: &str = "variables.";
    let mut text = text.to_owned();
    // A variable may use those before it.
    for variable in spec.items_at(&["variables"]).iter().rev() {
        let name = variable.text_at(&["name"]).unwrap_or_default();
        let stands_for = format!("({})", variable.text_at(&["expression"]).unwrap_or_default());
        let mut made = String::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find(PREFIX) {
            let (before, found) = rest.split_at(at);
            let after = &found[PREFIX.len()..];
            let is_it = after.strip_prefix(name).is_some_and(|after| {
                !after.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_')
            });
            made.push_str(before);
            if is_it {
                made.push_str(&stands_for);
                rest = &after[name.len()..];
            } else {
                made.push_str(PREFIX);
                rest = after;
            }
        }
        made.push_str(rest);
        text = made;
    }
    text
}

fn refusal(judged: &Judged<'_>, policy: &str, binding: &str, denial: &Denial) -> ApiError {
    let message = format!(
        "{} \"{}\" is forbidden: ValidatingAdmissionPolicy '{policy}' with binding '{binding}' denied request: {}",
        judged.resource.group_resource(),
        judged.id.name,
        denial.message
    );
    let (code, reason) = match denial.reason {
        "Forbidden" => (403, Reason::Forbidden),
        "Unauthorized" => (401, Reason::Unknown),
        "RequestEntityTooLarge" => (413, Reason::Unknown),
        _ => (422, Reason::Invalid),
    };
    ApiError::new(code, reason, message)
}
