//! Roles and bindings.

use firstpass_object::ObjectExt;
use serde_json::Value;

use super::selector::label_selector;
use super::{Checker, Path, names};

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn check(checker: &mut Checker<'_>, object: &Value) {
    match object.kind() {
        "Role" | "ClusterRole" => check_rules(checker, object),
        "RoleBinding" | "ClusterRoleBinding" => check_binding(checker, object),
        _ => {}
    }
}

fn check_rules(checker: &mut Checker<'_>, object: &Value) {
    let path = Path::ROOT.field("rules");
    for (index, rule) in object.items_at(&["rules"]).iter().enumerate() {
        let path = path.index(index);
        let has = |field: &str| !rule.items_at(&[field]).is_empty();
        if !has("verbs") {
            checker.required(path.field("verbs"), "verbs must contain at least one value");
        }
        if has("nonResourceURLs") {
            if object.kind() == "Role" {
                let message = "namespaced rules cannot apply to non-resource URLs";
                checker.invalid(path.field("nonResourceURLs"), &rule["nonResourceURLs"], message);
            }
            if has("apiGroups") || has("resources") || has("resourceNames") {
                let message = "rules cannot apply to both regular resources and non-resource URLs";
                checker.invalid(path.field("nonResourceURLs"), &rule["nonResourceURLs"], message);
            }
            continue;
        }
        if !has("apiGroups") {
            checker.required(
                path.field("apiGroups"),
                "resource rules must supply at least one api group",
            );
        }
        if !has("resources") {
            checker.required(
                path.field("resources"),
                "resource rules must supply at least one resource",
            );
        }
    }
    let aggregation = Path::ROOT.field("aggregationRule");
    let selectors = aggregation.field("clusterRoleSelectors");
    if object["aggregationRule"].is_object()
        && object
            .items_at(&["aggregationRule", "clusterRoleSelectors"])
            .is_empty()
    {
        checker.required(
            selectors,
            "at least one clusterRoleSelector required if aggregationRule is non-nil",
        );
    }
    for (index, selector) in object
        .items_at(&["aggregationRule", "clusterRoleSelectors"])
        .iter()
        .enumerate()
    {
        let path = selectors.index(index);
        if !label_selector(checker, selector, &path) {
            checker.invalid(path, selector, "invalid label selector.");
        }
    }
}

fn check_binding(checker: &mut Checker<'_>, object: &Value) {
    let role = &object["roleRef"];
    let path = Path::ROOT.field("roleRef");
    checker.one_of(
        path.field("apiGroup"),
        given(role, "apiGroup").unwrap_or(GROUP),
        &[GROUP],
    );
    let kinds: &[&str] = if object.kind() == "RoleBinding" {
        &["ClusterRole", "Role"]
    } else {
        &["ClusterRole"]
    };
    checker.one_of(
        path.field("kind"),
        role.text_at(&["kind"]).unwrap_or_default(),
        kinds,
    );
    if let Some(name) = checker.required_text(role, &path, "name") {
        checker.text(path.field("name"), name, names::path_segment(name));
    }
    let subjects = Path::ROOT.field("subjects");
    for (index, subject) in object.items_at(&["subjects"]).iter().enumerate() {
        // A RoleBinding takes the namespace that it lies in.
        let needs_namespace = object.kind() == "ClusterRoleBinding";
        check_subject(checker, subject, &subjects.index(index), needs_namespace);
    }
}

/// A text that is not empty: to Go's types an empty one is none.
fn given<'v>(parent: &'v Value, field: &str) -> Option<&'v str> {
    parent.text_at(&[field]).filter(|text| !text.is_empty())
}

fn check_subject(checker: &mut Checker<'_>, subject: &Value, path: &Path<'_>, needs_namespace: bool) {
    let group = given(subject, "apiGroup");
    checker.required_text(subject, path, "name");
    match subject.text_at(&["kind"]).unwrap_or_default() {
        "ServiceAccount" => {
            if let Some(name) = subject.text_at(&["name"]).filter(|name| !name.is_empty()) {
                checker.text(path.field("name"), name, names::dns1123_subdomain(name));
            }
            checker.one_of(path.field("apiGroup"), group.unwrap_or_default(), &[""]);
            if needs_namespace {
                checker.required_text(subject, path, "namespace");
            }
        }
        "User" | "Group" => checker.one_of(path.field("apiGroup"), group.unwrap_or(GROUP), &[GROUP]),
        other => checker.one_of(path.field("kind"), other, &["ServiceAccount", "User", "Group"]),
    }
}
