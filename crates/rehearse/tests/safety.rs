//! Safety first: under every fault and in many schedules no law is broken, and what heals ends like a run without faults.

#[allow(dead_code, reason = "each test file uses its part")]
mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::{How, directory, script};
use firstpass_rehearse::{Options, Rehearsal, Script};
use firstpass_sim::laws::Law;

fn example() -> Script {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/home-network");
    script(directory(&path), "clusters/prod", &How::default())
}

fn play(script: &Script, faults: &str, schedules: u32) -> Rehearsal {
    let options = Options {
        troubles: script.faults(&[faults.to_owned()]).unwrap(),
        schedules,
        ..Options::default()
    };
    let rehearsal = script.rehearse(&options);
    let broken: Vec<String> = rehearsal
        .broken
        .iter()
        .map(|law| format!("seed {}: {}", law.seed, law.broken))
        .collect();
    assert!(broken.is_empty(), "{faults}: {broken:#?}");
    rehearsal
}

#[test]
fn no_fault_breaks_a_law() {
    let script = example();
    let mut cases: BTreeMap<Law, u64> = BTreeMap::new();
    for faults in [
        "source-down=10m",
        "slow-image=20m",
        "slow-operator=30m",
        "webhook-dies=cert-manager-webhook",
        "restart-controller=kustomize-controller@2m,restart-controller=helm-controller@1m",
        "restart-controller=source-controller@60s",
        "crash-loop=Deployment/homepage/homepage",
        "crash-loop=Deployment/homepage/homepage+never",
        "stuck=CDI/cdi",
    ] {
        for (law, count) in play(&script, faults, 1).cases {
            *cases.entry(law).or_default() += count;
        }
    }
    for law in [
        Law::VersionsGrow,
        Law::DependenciesFirst,
        Law::InventoryTrue,
        Law::ReadyMeansHealthy,
        Law::WorkersBound,
        Law::HealsAlike,
    ] {
        assert!(
            cases.contains_key(&law),
            "{} never had a case: {cases:?}",
            law.text()
        );
    }
}

#[test]
fn no_schedule_breaks_a_law() {
    let script = example();
    let calm = play(&script, "", 6);
    assert!(calm.cases[&Law::DependenciesFirst] > 6 * 5);
    let troubled = play(&script, "random=4", 8);
    assert!(troubled.cases.contains_key(&Law::HealsAlike));
}

/// Two tiers hold a claim. One of them loses interest in it when its variables come, and takes it away from the other.
#[test]
fn a_claim_that_is_deleted_although_it_is_declared_is_an_error() {
    let tree = firstpass_testing::tree(
        "
--- clusters/prod/all.yaml
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, ref: {branch: main}, url: 'https://git.example.com/home.git'}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 10m, path: ./clusters/prod, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: holder, namespace: flux-system}
spec: {interval: 1h, path: ./holder, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: fickle, namespace: flux-system}
spec:
  interval: 2m
  path: ./fickle
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
  dependsOn: [{name: holder}]
  postBuild: {substitute: {ANY: thing}, substituteFrom: [{kind: ConfigMap, name: late, optional: true}]}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: late, namespace: flux-system}
spec:
  interval: 1h
  path: ./late
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
  dependsOn: [{name: fickle}]
--- holder/claim.yaml
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
--- fickle/claim.yaml
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: '${NAME:=data}', namespace: default}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
--- late/variables.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: late, namespace: flux-system, labels: {reconcile.fluxcd.io/watch: Enabled}}
data: {NAME: other}
",
    );
    let script = script(std::sync::Arc::new(tree), "clusters/prod", &How::default());
    let played = play(&script, "", 3);
    let report = &played.report;
    let found = report
        .findings
        .iter()
        .find(|finding| finding.rule == "declared-object-deleted");
    let found = found.unwrap_or_else(|| panic!("{}", played.trace()));
    assert_eq!(
        found.object.as_deref(),
        Some("PersistentVolumeClaim/default/data")
    );
    assert_eq!(found.tier.as_ref().unwrap().name, "fickle");
    assert_eq!(found.severity, firstpass_diagnostics::Severity::Error);
    assert!(
        found.why.contains("`flux-system/holder` declares it"),
        "{}",
        found.why
    );
    assert_eq!(found.location.as_ref().unwrap().file, "holder/claim.yaml");
    assert_eq!(report.verdict, firstpass_diagnostics::Verdict::Hazard);
}
