//! Security contexts of pods and containers.

use std::collections::BTreeSet;

use firstpass_object::ObjectExt;
use serde_json::Value;

use super::containers::relative_path;
use super::{Checker, Path};

pub(super) fn check_container(checker: &mut Checker<'_>, context: &Value, path: &Path<'_>) {
    let is = |field: &str, wanted: bool| context.get(field) == Some(&Value::Bool(wanted));
    for field in ["runAsUser", "runAsGroup"] {
        user(checker, context.get(field), &path.field(field));
    }
    checker.pointer_one_of(context, path, "procMount", &["Default", "Unmasked"]);
    seccomp(checker, &context["seccompProfile"], &path.field("seccompProfile"));
    if is("allowPrivilegeEscalation", false) {
        if is("privileged", true) {
            checker.invalid(
                path,
                context,
                "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
            );
        }
        let added = context.items_at(&["capabilities", "add"]);
        if added
            .iter()
            .any(|name| matches!(name.as_str(), Some("SYS_ADMIN" | "CAP_SYS_ADMIN")))
        {
            checker.invalid(
                path,
                context,
                "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
            );
        }
    }
}

pub(super) fn check_pod(checker: &mut Checker<'_>, context: &Value, path: &Path<'_>) {
    for field in ["fsGroup", "runAsUser", "runAsGroup"] {
        user(checker, context.get(field), &path.field(field));
    }
    let groups = path.field("supplementalGroups");
    for (index, group) in context.items_at(&["supplementalGroups"]).iter().enumerate() {
        user(checker, Some(group), &groups.index(index));
    }
    let mut seen = BTreeSet::new();
    let sysctls = path.field("sysctls");
    for (index, sysctl) in context.items_at(&["sysctls"]).iter().enumerate() {
        let path = sysctls.index(index);
        let path = path.field("name");
        match sysctl.text_at(&["name"]).unwrap_or_default() {
            "" => checker.required(path, ""),
            name if !is_sysctl(name) => checker.invalid_text(
                path,
                name,
                r"must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$",
            ),
            name if !seen.insert(name) => checker.duplicate(path, &Value::from(name)),
            _ => {}
        }
    }
    checker.pointer_one_of(
        context,
        path,
        "fsGroupChangePolicy",
        &["Always", "OnRootMismatch"],
    );
    checker.pointer_one_of(context, path, "supplementalGroupsPolicy", &["Merge", "Strict"]);
    seccomp(checker, &context["seccompProfile"], &path.field("seccompProfile"));
}

fn is_sysctl(name: &str) -> bool {
    let edge = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |part: &str| {
        let bytes = part.as_bytes();
        bytes.first().is_some_and(|byte| edge(*byte))
            && bytes.last().is_some_and(|byte| edge(*byte))
            && bytes
                .iter()
                .all(|byte| edge(*byte) || matches!(byte, b'-' | b'_'))
    };
    name.len() <= 253 && name.split(['.', '/']).all(is_part)
}

fn user(checker: &mut Checker<'_>, id: Option<&Value>, path: &Path<'_>) {
    let most = i64::from(i32::MAX);
    if let Some(id) = id
        && id.as_i64().is_some_and(|number| !(0..=most).contains(&number))
    {
        checker.invalid(path, id, format!("must be between 0 and {most}, inclusive"));
    }
}

fn seccomp(checker: &mut Checker<'_>, profile: &Value, path: &Path<'_>) {
    if !profile.is_object() {
        return;
    }
    let kind = profile.text_at(&["type"]).unwrap_or_default();
    if kind.is_empty() {
        checker.required(path.field("type"), "type is required when seccompProfile is set");
    } else {
        checker.one_of(
            path.field("type"),
            kind,
            &["Localhost", "RuntimeDefault", "Unconfined"],
        );
    }
    let local = path.field("localhostProfile");
    match profile.text_at(&["localhostProfile"]) {
        None if kind == "Localhost" => {
            checker.required(local, "must be set when seccomp type is Localhost");
        }
        Some(file) if kind == "Localhost" => relative_path(checker, file, &local),
        Some(_) => checker.invalid(local, profile, "can only be set when seccomp type is Localhost"),
        None => {}
    }
}
