//! Pods that run as an account which nothing makes.

use std::collections::BTreeSet;

use firstpass_baseline::Release;
use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_object::{ObjectExt, ObjectId};
use firstpass_order::How;
use firstpass_render::{RenderedObject, Tier};

use super::waited_for::never_healthy;
use super::{missing, release};
use crate::input::At as _;
use crate::pods::{self, PodNeed};
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "service-account-missing",
    summary: "pods that run as a ServiceAccount which nothing makes",
    severity: Severity::Error,
    verdict: Some(Verdict::NeverReady),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/service-account-missing.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let accounts: BTreeSet<ObjectId> = input
        .cluster
        .objects()
        .map(|(_, object)| &object.object)
        .chain(input.stage.objects.iter().map(|(object, _)| object))
        .filter(|object| object.gvk().group_kind().is("", "ServiceAccount"))
        .map(|object| object.id())
        .collect();
    let mut findings = Vec::new();
    for (tier, object) in input.cluster.objects() {
        for need in pods::needs(&object.object) {
            let account = &need.object;
            let is_missing =
                account.is("", "ServiceAccount") && account.name != "default" && !accounts.contains(account);
            if is_missing && object.is_certain(&["spec"]) {
                findings.push(finding(input, tier, object, &need));
            }
        }
    }
    findings
}

fn finding(input: &CheckInput<'_>, tier: &Tier, object: &RenderedObject, need: &PodNeed) -> Finding {
    let id = object.id();
    let message = format!("nothing makes `{}`, as which the pods of `{id}` run", need.object);
    let why =
        format!("Kubernetes admits no pod whose ServiceAccount does not exist, so `{id}` never has one");
    let help = format!(
        "add the ServiceAccount, or correct `serviceAccountName`: `{}`",
        need.object.name
    );
    let field: Vec<&str> = need.path.iter().map(String::as_str).collect();
    let finding = RULE
        .finding(message)
        .with_tier(&tier.name)
        .with_object(&id)
        .with_related([need.object.to_string()])
        .with_why(why)
        .with_help(help)
        .at(input.repository.locate(&object.origin, &field));
    let finding = never_healthy(input, tier, &id, finding);
    missing::weigh(finding, is_provable(input, &need.object))
}

/// Charts and operators make accounts as well: nothing unseen may be there, and no release in the namespace.
fn is_provable(input: &CheckInput<'_>, account: &ObjectId) -> bool {
    let in_namespace = || {
        release::all(input).any(|(_, object)| {
            let release = Release::of_object(&object.object, &|_| None);
            account.namespace.as_deref() == Some(&release.namespace)
        })
    };
    let by_operator = || {
        let providers = input.graph.needs.iter().filter_map(|need| need.answer.provider());
        let mut ways = providers.map(|provider| &provider.how);
        ways.any(|how| matches!(how, How::OperatorObject { .. }))
    };
    input.graph.unknowns.is_empty() && !in_namespace() && !by_operator()
}
