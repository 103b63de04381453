//! Webhook configurations and admission policies.

use std::collections::BTreeSet;

use firstpass_object::ObjectExt;
use serde_json::Value;

use super::{Checker, Path, names, selector};
use crate::cel::{Expression, Library};

/// Variables of expressions about requests.
const VARIABLES: [&str; 8] = [
    "object",
    "oldObject",
    "request",
    "params",
    "namespaceObject",
    "variables",
    "authorizer",
    "authorizer.requestResource",
];

pub(super) fn check(checker: &mut Checker<'_>, object: &Value) {
    match object.kind() {
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => check_webhooks(checker, object),
        "ValidatingAdmissionPolicy" => check_policy(checker, object),
        "ValidatingAdmissionPolicyBinding" => check_binding(checker, object),
        _ => {}
    }
}

fn check_webhooks(checker: &mut Checker<'_>, object: &Value) {
    let path = Path::ROOT.field("webhooks");
    for (index, webhook) in object.items_at(&["webhooks"]).iter().enumerate() {
        let path = path.index(index);
        if let Some(name) = checker.required_text(webhook, &path, "name") {
            checker.text(path.field("name"), name, names::dns1123_subdomain(name));
            if name.split('.').count() < 3 {
                let message = "should be a domain with at least three segments separated by dots";
                checker.invalid_text(path.field("name"), name, message);
            }
        }
        review_versions(checker, webhook, &path.field("admissionReviewVersions"));
        match webhook.text_at(&["sideEffects"]) {
            None => checker.required(
                path.field("sideEffects"),
                "must specify one of None, NoneOnDryRun",
            ),
            Some(effects) => checker.one_of(path.field("sideEffects"), effects, &["None", "NoneOnDryRun"]),
        }
        checker.pointer_one_of(webhook, &path, "failurePolicy", &["Fail", "Ignore"]);
        checker.pointer_one_of(webhook, &path, "matchPolicy", &["Equivalent", "Exact"]);
        if object.kind() == "MutatingWebhookConfiguration" {
            checker.pointer_one_of(webhook, &path, "reinvocationPolicy", &["IfNeeded", "Never"]);
        }
        if let Some(seconds) = checker
            .number(webhook, "timeoutSeconds")
            .filter(|seconds| !(1..=30).contains(seconds))
        {
            let message = "the timeout value must be between 1 and 30 seconds";
            checker.invalid(path.field("timeoutSeconds"), &Value::from(seconds), message);
        }
        selectors(checker, webhook, &path);
        rules(checker, webhook.items_at(&["rules"]), &path.field("rules"));
        match_conditions(checker, webhook, &path.field("matchConditions"));
        client(checker, &webhook["clientConfig"], &path.field("clientConfig"));
    }
}

fn review_versions(checker: &mut Checker<'_>, webhook: &Value, path: &Path<'_>) {
    let versions = webhook.items_at(&["admissionReviewVersions"]);
    if versions.is_empty() {
        return checker.required(path, "must specify one of v1, v1beta1");
    }
    let mut is_known = false;
    for (index, version) in versions.iter().enumerate() {
        let text = version.as_str().unwrap_or_default();
        if versions[..index].contains(version) {
            checker.invalid_text(path.index(index), text, "duplicate version");
        }
        checker.text(path.index(index), text, names::dns1035_label(text));
        is_known |= matches!(text, "v1" | "v1beta1");
    }
    if !is_known {
        let message = "must include at least one of v1, v1beta1";
        checker.invalid(path, &webhook["admissionReviewVersions"], message);
    }
}

fn selectors(checker: &mut Checker<'_>, parent: &Value, path: &Path<'_>) {
    for field in ["namespaceSelector", "objectSelector"] {
        selector::label_selector(checker, &parent[field], &path.field(field));
    }
}

fn rules(checker: &mut Checker<'_>, rules: &[Value], path: &Path<'_>) {
    const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
    for (index, rule) in rules.iter().enumerate() {
        let path = path.index(index);
        let operations_path = path.field("operations");
        let operations = rule.items_at(&["operations"]);
        if operations.is_empty() {
            checker.required(operations_path, "");
        }
        if operations.len() > 1 && operations.iter().any(|operation| operation == "*") {
            let message = "if '*' is present, must not specify other operations";
            checker.invalid(operations_path, &rule["operations"], message);
        }
        for (index, operation) in operations.iter().enumerate() {
            let operation = operation.as_str().unwrap_or_default();
            checker.one_of(operations_path.index(index), operation, &OPERATIONS);
        }
        for field in ["apiGroups", "apiVersions", "resources"] {
            let list = path.field(field);
            let items = rule.items_at(&[field]);
            if items.is_empty() {
                checker.required(list, "");
            }
            for (index, item) in items.iter().enumerate() {
                if item == "" && field != "apiGroups" {
                    checker.required(list.index(index), "");
                }
            }
            let is_all = |item: &Value| item == "*";
            if field != "resources" && items.len() > 1 && items.iter().any(is_all) {
                let what = if field == "apiGroups" {
                    "API groups"
                } else {
                    "API versions"
                };
                let message = format!("if '*' is present, must not specify other {what}");
                checker.invalid(list, &rule[field], message);
            }
        }
        checker.pointer_one_of(rule, &path, "scope", &["*", "Cluster", "Namespaced"]);
    }
}

fn match_conditions(checker: &mut Checker<'_>, parent: &Value, path: &Path<'_>) {
    let mut seen = BTreeSet::new();
    for (index, condition) in parent.items_at(&["matchConditions"]).iter().enumerate() {
        let path = path.index(index);
        expression(checker, condition, &path, "expression", true);
        let name = condition.text_at(&["name"]).unwrap_or_default();
        if name.is_empty() {
            checker.required(path.field("name"), "");
        } else {
            checker.text(path.field("name"), name, names::qualified_name(name));
            if !seen.insert(name) {
                checker.duplicate(path.field("name"), &Value::from(name));
            }
        }
    }
}

/// An expression that must be there and compile.
fn expression(checker: &mut Checker<'_>, parent: &Value, path: &Path<'_>, field: &str, is_condition: bool) {
    let text = parent.text_at(&[field]).unwrap_or_default().trim();
    let path = path.field(field);
    if text.is_empty() {
        let detail = if field == "expression" && !is_condition {
            "expression is not specified"
        } else {
            ""
        };
        return checker.required(path, detail);
    }
    let compiled = if is_condition {
        Expression::compile_condition(text, Library::Kubernetes, &VARIABLES).map(|_| ())
    } else {
        Expression::compile(text, Library::Kubernetes).map(|_| ())
    };
    if let Err(message) = compiled {
        match message.split_once("expected bool, got ") {
            Some((_, got)) => {
                checker.invalid_text(path, text, format!("must evaluate to bool but got {got}"));
            }
            None => checker.invalid_text(path, text, format!("compilation failed: {message}")),
        }
    }
}

fn client(checker: &mut Checker<'_>, client: &Value, path: &Path<'_>) {
    let has_url = client.text_at(&["url"]).is_some();
    let service = &client["service"];
    if has_url == service.is_object() {
        return checker.required(path, "exactly one of url or service is required");
    }
    if let Some(url) = client.text_at(&["url"]) {
        return client_url(checker, url, &path.field("url"));
    }
    let path = path.field("service");
    checker.required_text(service, &path, "name");
    checker.required_text(service, &path, "namespace");
    if let Some(text) = service.text_at(&["path"]) {
        service_path(checker, text, &path.field("path"));
    }
    if let Some(port) = checker
        .number(service, "port")
        .filter(|port| !names::port_number(*port).is_empty())
    {
        let message = "port is not valid: must be between 1 and 65535, inclusive";
        checker.invalid(path.field("port"), &Value::from(port), message);
    }
}

fn client_url(checker: &mut Checker<'_>, url: &str, path: &Path<'_>) {
    let form = "desired format: https://host[/path]";
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if scheme != "https" {
        let message = format!("'https' is the only allowed URL scheme; {form}");
        checker.invalid_text(path, scheme, message);
    }
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if scheme.is_empty() || host.is_empty() {
        checker.invalid_text(path, "", format!("host must be specified; {form}"));
    }
}

fn service_path(checker: &mut Checker<'_>, text: &str, path: &Path<'_>) {
    if text.is_empty() || text == "/" {
        return;
    }
    if text == "//" {
        return checker.invalid_text(path, text, "segment[0] may not be empty");
    }
    let Some(rest) = text.strip_prefix('/') else {
        return checker.invalid_text(path, text, "must start with a '/'");
    };
    for (index, segment) in rest.strip_suffix('/').unwrap_or(rest).split('/').enumerate() {
        if segment.is_empty() {
            checker.invalid_text(path, text, format!("segment[{index}] may not be empty"));
            continue;
        }
        for message in names::dns1123_subdomain(segment) {
            checker.invalid_text(path, text, format!("segment[{index}]: {message}"));
        }
    }
}

fn check_policy(checker: &mut Checker<'_>, object: &Value) {
    let spec = &object["spec"];
    let path = Path::ROOT.field("spec");
    checker.pointer_one_of(spec, &path, "failurePolicy", &["Fail", "Ignore"]);
    if spec["paramKind"].is_object() {
        let path = path.field("paramKind");
        checker.required_text(&spec["paramKind"], &path, "apiVersion");
        checker.required_text(&spec["paramKind"], &path, "kind");
    }
    if spec["matchConstraints"].is_object() {
        let path = path.field("matchConstraints");
        resources(checker, &spec["matchConstraints"], &path);
        if spec.items_at(&["matchConstraints", "resourceRules"]).is_empty() {
            checker.required(path.field("resourceRules"), "");
        }
    } else {
        checker.required(path.field("matchConstraints"), "");
    }
    match_conditions(checker, spec, &path.field("matchConditions"));
    let variables = path.field("variables");
    for (index, variable) in spec.items_at(&["variables"]).iter().enumerate() {
        let path = variables.index(index);
        let name = variable.text_at(&["name"]).unwrap_or_default();
        if name.is_empty() {
            checker.required(path.field("name"), "name is not specified");
        } else if !is_identifier(name) {
            checker.invalid_text(path.field("name"), name, "name is not a valid CEL identifier");
        }
        expression(checker, variable, &path, "expression", false);
    }
    let validations = spec.items_at(&["validations"]);
    let annotations = spec.items_at(&["auditAnnotations"]);
    if validations.is_empty() && annotations.is_empty() {
        for field in ["validations", "auditAnnotations"] {
            let message = "validations or auditAnnotations must contain at least one item";
            checker.required(path.field(field), message);
        }
    }
    let list = path.field("validations");
    for (index, validation) in validations.iter().enumerate() {
        let path = list.index(index);
        if validation
            .text_at(&["expression"])
            .unwrap_or_default()
            .trim()
            .is_empty()
        {
            checker.required(path.field("expression"), "expression is not specified");
        } else {
            expression(checker, validation, &path, "expression", true);
        }
        checker.pointer_one_of(
            validation,
            &path,
            "reason",
            &["Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge"],
        );
        if let Some(message) = validation.text_at(&["message"])
            && !message.is_empty()
            && message.trim().is_empty()
        {
            checker.invalid_text(
                path.field("message"),
                message,
                "message must be non-empty if specified",
            );
        }
    }
}

fn check_binding(checker: &mut Checker<'_>, object: &Value) {
    let spec = &object["spec"];
    let path = Path::ROOT.field("spec");
    match spec.text_at(&["policyName"]).unwrap_or_default() {
        "" => checker.required(path.field("policyName"), ""),
        name => checker.text(path.field("policyName"), name, names::dns1123_subdomain(name)),
    }
    if spec["paramRef"].is_object() {
        let reference = &spec["paramRef"];
        let path = path.field("paramRef");
        let name = reference.text_at(&["name"]).unwrap_or_default();
        if name.is_empty() && !reference["selector"].is_object() {
            checker.required(path, "one of name or selector must be specified");
        } else if !name.is_empty() {
            checker.text(path.field("name"), name, names::path_segment(name));
        }
        match reference.text_at(&["parameterNotFoundAction"]) {
            None => checker.required(path.field("parameterNotFoundAction"), ""),
            Some(action) => {
                checker.one_of(path.field("parameterNotFoundAction"), action, &["Deny", "Allow"]);
            }
        }
    }
    resources(checker, &spec["matchResources"], &path.field("matchResources"));
    let list = path.field("validationActions");
    let actions = spec.items_at(&["validationActions"]);
    if actions.is_empty() {
        checker.required(list, "at least one validation action is required");
    }
    for (index, action) in actions.iter().enumerate() {
        let action = action.as_str().unwrap_or_default();
        checker.one_of(list.index(index), action, &["Audit", "Deny", "Warn"]);
    }
    let has = |wanted: &str| actions.iter().any(|action| action == wanted);
    if has("Deny") && has("Warn") {
        let message = "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
        checker.invalid(list, &spec["validationActions"], message);
    }
}

fn resources(checker: &mut Checker<'_>, resources: &Value, path: &Path<'_>) {
    selectors(checker, resources, path);
    checker.pointer_one_of(resources, path, "matchPolicy", &["Equivalent", "Exact"]);
    for field in ["resourceRules", "excludeResourceRules"] {
        rules(checker, resources.items_at(&[field]), &path.field(field));
    }
}

fn is_identifier(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
