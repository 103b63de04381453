//! An API version that no API server serves unasked.

use std::collections::BTreeSet;

use firstpass_diagnostics::{Finding, Severity};
use firstpass_object::ObjectExt;
use firstpass_schema::kinds::{Served, served};

use crate::input::At as _;
use crate::{Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "api-version-off",
    summary: "an alpha or beta version that Kubernetes serves only if `--runtime-config` asks for it, and no file here does",
    severity: Severity::Info,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/api-version-off.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let asked = input.repository.runtime_config();
    let minor = input.stage.kubernetes_minor();
    let mut seen = BTreeSet::new();
    let mut findings = Vec::new();
    for (tier, object) in input.cluster.objects() {
        let content = &*object.object;
        let api_version = content.api_version();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        if served(group, version, content.kind(), minor) != Served::OptIn {
            continue;
        }
        let level = if version.contains("alpha") {
            "api/alpha"
        } else {
            "api/beta"
        };
        let is_on = [api_version, level, "api/all"]
            .iter()
            .any(|word| asked.contains(*word));
        if is_on || !seen.insert((&tier.name, api_version, content.kind())) {
            continue;
        }
        let id = object.id();
        let finding = RULE
            .finding(format!("`{api_version}` is off by default, and `{id}` is written in it"))
            .with_tier(&tier.name)
            .with_object(&id)
            .with_why(
                "new alpha and beta versions are served only by an API server with `--runtime-config`. No file of the repository sets \
                 it; without it the dry-run fails with `no matches for kind`, and with it the whole pass",
            )
            .with_help(format!(
                "write a version that is served by default, or set `runtime-config: {api_version}=true` (Talos: \
                 `cluster.apiServer.extraArgs`; k3s: `kube-apiserver-arg`)"
            ))
            .at(input.repository.locate(&object.origin, &["apiVersion"]));
        findings.push(finding);
    }
    findings
}
