//! What a controller cannot do without: its object is not Ready before that is there.

#[allow(dead_code, reason = "each test file uses its part")]
mod common;

use std::sync::Arc;

use common::{How, rehearse};
use firstpass_diagnostics::{ClusterReport, TierState};
use firstpass_testing::BOOTSTRAP;

const ISSUER: &str = "apiVersion: cert-manager.io/v1
kind: ClusterIssuer
metadata: {name: internal}
spec: {selfSigned: {}}
";

const CERTIFICATE: &str = "apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: web, namespace: cert-manager}
spec: {secretName: web, dnsNames: [example.org], issuerRef: {kind: ClusterIssuer, name: internal}}
";

fn tier(name: &str, after: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: {name}, namespace: flux-system}}
spec:
  interval: 10m
  retryInterval: 1m
  timeout: 3m
  path: ./{name}
  prune: true
  wait: true
  sourceRef: {{kind: GitRepository, name: flux-system}}
  dependsOn: [{after}]
---
"
    )
}

/// A cluster in which the issuer comes after the certificate, or beside it.
fn cluster(issuer_in: &str) -> ClusterReport {
    let tiers = [
        tier("cert-manager", ""),
        tier("certificates", "{name: cert-manager}"),
        tier("issuers", "{name: certificates}"),
    ];
    let fixture = format!(
        "{BOOTSTRAP}--- clusters/prod/tiers.yaml
{}
--- cert-manager/release.yaml
apiVersion: v1
kind: Namespace
metadata: {{name: cert-manager}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {{name: jetstack, namespace: cert-manager}}
spec: {{interval: 2h, url: \"https://charts.jetstack.io\"}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: cert-manager, namespace: cert-manager}}
spec:
  interval: 1h
  chart: {{spec: {{chart: cert-manager, version: v1.18.2, sourceRef: {{kind: HelmRepository, name: jetstack}}}}}}
  values: {{crds: {{enabled: true}}}}
--- certificates/web.yaml
{CERTIFICATE}--- issuers/settings.yaml
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings, namespace: default}}
--- {issuer_in}/internal.yaml
{ISSUER}",
        tiers.concat()
    );
    rehearse(
        Arc::new(firstpass_testing::tree(&fixture)),
        "clusters/prod",
        &How::default(),
    )
    .report
}

fn state(report: &ClusterReport, name: &str) -> TierState {
    let found = report.tiers.iter().find(|tier| tier.name.name == name);
    found.unwrap().state
}

#[test]
fn a_certificate_waits_for_its_issuer() {
    let report = cluster("issuers");
    assert_eq!(state(&report, "certificates"), TierState::Failed);
    assert_eq!(state(&report, "issuers"), TierState::Waiting);
    let waiting = report
        .tiers
        .iter()
        .find(|tier| tier.name.name == "certificates")
        .unwrap();
    assert_eq!(
        waiting.waiting_on[0].tier.as_ref().unwrap().name,
        "issuers",
        "{:?}",
        waiting.waiting_on
    );
}

#[test]
fn an_issuer_of_the_same_tier_is_in_time() {
    let report = cluster("certificates");
    assert_eq!(state(&report, "issuers"), TierState::Ready);
    assert_eq!(
        report
            .findings
            .iter()
            .filter(|finding| finding.verdict.is_some())
            .count(),
        0
    );
}
