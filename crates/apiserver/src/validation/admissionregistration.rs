//! Webhook configurations.

use firstpass_object::ObjectExt;
use serde_json::Value;

use super::{Checker, Path, names};

pub(super) fn check(checker: &mut Checker<'_>, object: &Value) {
    if !object.kind().ends_with("WebhookConfiguration") {
        return;
    }
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
        if webhook.items_at(&["admissionReviewVersions"]).is_empty() {
            checker.required(
                path.field("admissionReviewVersions"),
                "must specify one of v1, v1beta1",
            );
        }
        match webhook.text_at(&["sideEffects"]) {
            None => checker.required(
                path.field("sideEffects"),
                "must specify one of None, NoneOnDryRun",
            ),
            Some(effects) => checker.one_of(path.field("sideEffects"), effects, &["None", "NoneOnDryRun"]),
        }
        checker.field_one_of(webhook, &path, "failurePolicy", &["Fail", "Ignore"]);
        checker.in_range(webhook, &path, "timeoutSeconds", 1, 30);
        client(checker, &webhook["clientConfig"], &path.field("clientConfig"));
    }
}

fn client(checker: &mut Checker<'_>, client: &Value, path: &Path<'_>) {
    let has_url = client.text_at(&["url"]).is_some();
    let service = &client["service"];
    if has_url == service.is_object() {
        checker.required(path, "exactly one of url or service is required");
    } else if !has_url {
        let path = path.field("service");
        checker.required_text(service, &path, "name");
        checker.required_text(service, &path, "namespace");
    }
}
