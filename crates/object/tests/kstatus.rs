//! The rules of kstatus on objects as a cluster shows them.

use std::sync::Arc;

use firstpass_object::kstatus::{StatusKind, compute, looks_at_pods};
use serde_json::Value;

/// 2026-01-01T00:01:00Z; pods below are created at 00:00:00Z or 00:00:50Z.
const NOW: u64 = 1_767_225_660;

fn parse(text: &str) -> Value {
    let node = firstpass_yaml::parse_one(text).expect("the test's YAML parses");
    node.to_json().expect("the test's YAML converts")
}

#[track_caller]
fn check(rule: &str, text: &str, kind: StatusKind, message: &str) {
    let status = compute(&parse(text), NOW, &[]);
    assert_eq!((status.kind, status.message.as_str()), (kind, message), "{rule}");
}

use StatusKind::{Current, Failed, InProgress, Terminating, Unknown};

#[test]
fn generic_rules_come_in_order() {
    check(
        "F-510: deletion decides before anything else",
        "
apiVersion: v1
kind: Namespace
metadata: {name: media, generation: 2, deletionTimestamp: '2026-01-01T00:00:00Z'}
status: {phase: Terminating, observedGeneration: 1}",
        Terminating,
        "Resource scheduled for deletion",
    );
    check(
        "F-511: a generation that was not observed",
        "
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {generation: 2}
status: {observedGeneration: 1, conditions: [{type: Ready, status: 'True'}]}",
        InProgress,
        "HelmRelease generation is 2, but latest observed generation is 1",
    );
    check(
        "F-511: passed over if either is missing",
        "
apiVersion: cdi.kubevirt.io/v1beta1
kind: CDI
metadata: {generation: 2}
status: {phase: Deploying}",
        Current,
        "Resource is current",
    );
    check(
        "F-512: the first of Reconciling and Stalled decides",
        "
apiVersion: example.com/v1
kind: Thing
status:
  conditions:
  - {type: Ready, status: 'True'}
  - {type: Stalled, status: 'True', message: gave up}
  - {type: Reconciling, status: 'True', message: still at it}",
        Failed,
        "gave up",
    );
    check(
        "F-512: False does not count",
        "
apiVersion: example.com/v1
kind: Thing
status:
  conditions:
  - {type: Stalled, status: 'False'}
  - {type: Reconciling, status: 'True', message: still at it}",
        InProgress,
        "still at it",
    );
}

#[test]
fn other_kinds_go_by_their_ready_condition() {
    for (status, kind, message) in [
        ("'True'", Current, "Resource is Ready"),
        ("'False'", InProgress, "waiting"),
        ("Unknown", InProgress, "waiting"),
    ] {
        let text = format!(
            "{{apiVersion: cert-manager.io/v1, kind: ClusterIssuer, status: {{conditions: [{{type: Ready, status: {status}, message: waiting}}]}}}}"
        );
        check("F-514", &text, kind, message);
    }
    check(
        "F-515: a StorageProfile without conditions",
        "{apiVersion: cdi.kubevirt.io/v1beta1, kind: StorageProfile, metadata: {name: a}, spec: {}}",
        Current,
        "Resource is current",
    );
    check(
        "F-515: only Accepted",
        "{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, status: {conditions: [{type: Accepted, status: Unknown}]}}",
        Current,
        "Resource is current",
    );
    check(
        "F-536: a failing child Kustomization is in progress",
        "
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {generation: 1}
status:
  observedGeneration: -1
  conditions: [{type: Ready, status: 'False', reason: ReconciliationFailed, message: nope}]",
        InProgress,
        "Kustomization generation is 1, but latest observed generation is -1",
    );
}

fn deployment(status: &str) -> String {
    format!(
        "
apiVersion: apps/v1
kind: Deployment
metadata: {{generation: 1}}
spec: {{replicas: 2, progressDeadlineSeconds: 600}}
status:
  observedGeneration: 1
{status}"
    )
}

#[test]
fn deployments() {
    let rule = "F-520";
    let conditions = "
  conditions:
  - {type: Progressing, status: 'True', reason: NewReplicaSetAvailable}
  - {type: Available, status: 'True'}";
    let counts = |replicas, updated, available, ready| {
        format!(
            "  replicas: {replicas}\n  updatedReplicas: {updated}\n  availableReplicas: {available}\n  readyReplicas: {ready}"
        )
    };
    for (counts, kind, message) in [
        (counts(1, 2, 2, 2), InProgress, "Replicas: 1/2"),
        (counts(2, 1, 2, 2), InProgress, "Updated: 1/2"),
        (counts(3, 2, 2, 2), InProgress, "Pending termination: 1"),
        (counts(2, 2, 1, 2), InProgress, "Available: 1/2"),
        (counts(2, 2, 2, 1), InProgress, "Ready: 1/2"),
        (
            counts(2, 2, 2, 2),
            Current,
            "Deployment is available. Replicas: 2",
        ),
    ] {
        check(rule, &deployment(&format!("{counts}{conditions}")), kind, message);
    }
    let full = counts(2, 2, 2, 2);
    check(
        rule,
        &deployment(&format!(
            "{full}\n  conditions: [{{type: Available, status: 'True'}}]"
        )),
        InProgress,
        "ReplicaSet not Available",
    );
    check(
        rule,
        &deployment(&format!(
            "{full}\n  conditions: [{{type: Progressing, status: 'True', reason: NewReplicaSetAvailable}}]"
        )),
        InProgress,
        "Deployment not Available",
    );
    check(
        "F-520: only the deadline fails it",
        &deployment("  conditions: [{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded}]"),
        Failed,
        "Progress deadline exceeded",
    );
    check(
        "F-520: without a deadline Progressing is waived",
        "
apiVersion: apps/v1
kind: Deployment
status: {replicas: 1, updatedReplicas: 1, availableReplicas: 1, readyReplicas: 1, conditions: [{type: Available, status: 'True'}]}",
        Current,
        "Deployment is available. Replicas: 1",
    );
}

#[test]
fn stateful_sets() {
    let rule = "F-521";
    let set = |spec: &str, status: &str| {
        format!("{{apiVersion: apps/v1, kind: StatefulSet, spec: {{{spec}}}, status: {{{status}}}}}")
    };
    check(
        rule,
        &set("updateStrategy: {type: OnDelete}", ""),
        Current,
        "StatefulSet is using the ondelete update strategy",
    );
    check(
        rule,
        &set("replicas: 2", "replicas: 1"),
        InProgress,
        "Replicas: 1/2",
    );
    check(
        rule,
        &set("replicas: 2", "replicas: 2, readyReplicas: 1"),
        InProgress,
        "Ready: 1/2",
    );
    check(
        rule,
        &set("replicas: 1", "replicas: 2, readyReplicas: 1"),
        InProgress,
        "Pending termination: 1",
    );
    let partition = "replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}";
    check(
        rule,
        &set(partition, "replicas: 3, readyReplicas: 3, updatedReplicas: 1"),
        InProgress,
        "updated: 1/2",
    );
    check(
        rule,
        &set(partition, "replicas: 3, readyReplicas: 3, updatedReplicas: 2"),
        Current,
        "Partition rollout complete. updated: 2",
    );
    check(
        rule,
        &set("", "replicas: 1, readyReplicas: 1, currentReplicas: 0"),
        InProgress,
        "current: 0/1",
    );
    check(
        rule,
        &set(
            "",
            "replicas: 1, readyReplicas: 1, currentReplicas: 1, currentRevision: a, updateRevision: b",
        ),
        InProgress,
        "Waiting for updated revision to match current",
    );
    check(
        rule,
        &set(
            "",
            "replicas: 1, readyReplicas: 1, currentReplicas: 1, currentRevision: b, updateRevision: b",
        ),
        Current,
        "All replicas scheduled as expected. Replicas: 1",
    );
}

#[test]
fn daemon_sets() {
    let rule = "F-522";
    let set = |status: &str| {
        format!("{{apiVersion: apps/v1, kind: DaemonSet, metadata: {{generation: 1}}, status: {{{status}}}}}")
    };
    check(rule, &set(""), InProgress, "Missing .status.observedGeneration");
    check(
        rule,
        &set("observedGeneration: 1"),
        InProgress,
        "Missing .status.desiredNumberScheduled",
    );
    let counted = "observedGeneration: 1, desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 2";
    check(rule, &set(counted), InProgress, "Ready: 0/2");
    check(
        rule,
        &set(&format!("{counted}, numberReady: 2")),
        Current,
        "All replicas scheduled as expected. Replicas: 2",
    );
}

#[test]
fn replica_sets() {
    let rule = "F-523";
    let set = |status: &str| format!("{{apiVersion: apps/v1, kind: ReplicaSet, status: {{{status}}}}}");
    check(rule, &set(""), InProgress, "Labelled: 0/1");
    check(
        rule,
        &set("replicas: 1, fullyLabeledReplicas: 1, availableReplicas: 1, readyReplicas: 1"),
        Current,
        "ReplicaSet is available. Replicas: 1",
    );
    check(
        rule,
        &set("conditions: [{type: ReplicaFailure, status: 'True'}]"),
        InProgress,
        "Replica Failure condition. Check Pods",
    );
}

#[test]
fn pods() {
    let rule = "F-524";
    let pod = |status: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{creationTimestamp: '2026-01-01T00:00:00Z'}}, status: {{{status}}}}}"
        )
    };
    check(
        rule,
        &pod("phase: Succeeded"),
        Current,
        "Pod has completed successfully",
    );
    check(
        rule,
        &pod("phase: Failed"),
        Current,
        "Pod has completed, but not successfully",
    );
    check(
        rule,
        &pod("phase: Running, conditions: [{type: Ready, status: 'True'}]"),
        Current,
        "Pod is Ready",
    );
    check(
        rule,
        &pod("phase: Running"),
        InProgress,
        "Pod is running but is not Ready",
    );
    check(
        rule,
        &pod(
            "phase: Running, containerStatuses: [{name: web, state: {waiting: {reason: CrashLoopBackOff}}}]",
        ),
        Failed,
        "Containers in CrashLoop state: web",
    );
    check(
        "F-531: init containers are not looked at",
        &pod(
            "phase: Pending, initContainerStatuses: [{name: init, state: {waiting: {reason: CrashLoopBackOff}}}]",
        ),
        InProgress,
        "Pod is in the Pending phase",
    );
    let unschedulable =
        "phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable}]";
    check(rule, &pod(unschedulable), Failed, "Pod could not be scheduled");
    let young = pod(unschedulable).replace("00:00:00Z", "00:00:50Z");
    check(
        "F-524, F-1112: 15 s of grace",
        &young,
        InProgress,
        "Pod has not been scheduled",
    );
}

#[test]
fn claims_services_definitions() {
    check(
        "F-525",
        "{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Pending}}",
        InProgress,
        "PVC is not Bound. phase: Pending",
    );
    check(
        "F-525",
        "{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Bound}}",
        Current,
        "PVC is Bound",
    );
    check(
        "F-526",
        "{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}}",
        InProgress,
        "ClusterIP not set. Service type: LoadBalancer",
    );
    check(
        "F-526: the load balancer's address is not looked at",
        "{apiVersion: v1, kind: Service, spec: {type: LoadBalancer, clusterIP: 10.0.0.1}, status: {loadBalancer: {}}}",
        Current,
        "Service is ready",
    );
    let crd = |conditions: &str| {
        format!(
            "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {{conditions: [{conditions}]}}}}"
        )
    };
    check("F-527", &crd(""), InProgress, "Install in progress");
    check(
        "F-527",
        &crd("{type: NamesAccepted, status: 'True'}, {type: Established, status: 'True'}"),
        Current,
        "CRD is established",
    );
    check(
        "F-527",
        &crd("{type: NamesAccepted, status: 'False', message: taken}"),
        Failed,
        "taken",
    );
    check(
        "F-527",
        &crd("{type: Established, status: 'False', reason: NotAccepted, message: no}"),
        Failed,
        "no",
    );
    check(
        "F-527",
        &crd("{type: Established, status: 'False', reason: Installing}"),
        InProgress,
        "Install in progress",
    );
}

#[test]
fn jobs_are_read_by_flux_itself() {
    let job = |spec: &str, status: &str| {
        format!(
            "{{apiVersion: batch/v1, kind: Job, metadata: {{generation: 2, deletionTimestamp: '2026-01-01T00:00:00Z'}}, spec: {{{spec}}}, status: {{{status}}}}}"
        )
    };
    let rule = "F-528: neither deletion nor generation count";
    check(
        rule,
        &job("", "observedGeneration: 1"),
        InProgress,
        "Job in progress",
    );
    check(rule, &job("suspend: true", ""), Current, "Job is suspended");
    check(
        rule,
        &job("", "succeeded: 1, conditions: [{type: Complete, status: 'True'}]"),
        Current,
        "Job Completed. succeeded: 1",
    );
    check(
        rule,
        &job("", "failed: 7, conditions: [{type: Failed, status: 'True'}]"),
        Failed,
        "Job Failed. failed: 7",
    );
}

#[test]
fn some_kinds_are_always_ready() {
    for (api_version, kind) in [
        ("v1", "Secret"),
        ("v1", "ConfigMap"),
        ("batch/v1", "CronJob"),
        ("policy/v1", "PodDisruptionBudget"),
    ] {
        check(
            "F-529",
            &format!(
                "{{apiVersion: {api_version}, kind: {kind}, status: {{conditions: [{{type: Ready, status: 'False'}}]}}}}"
            ),
            Current,
            "Resource is always ready",
        );
    }
}

#[test]
fn a_failed_pod_fails_its_stateful_set() {
    // F-530
    let set = |api_version: &str, kind: &str| {
        parse(&format!(
            "{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: db, namespace: a}}, spec: {{selector: {{matchLabels: {{app: db}}}}}}}}"
        ))
    };
    let crashing = parse(
        "
apiVersion: v1
kind: Pod
metadata: {name: db-0, namespace: a, labels: {app: db}}
status: {phase: Running, containerStatuses: [{name: db, state: {waiting: {reason: CrashLoopBackOff}}}]}",
    );
    let mut elsewhere = crashing.clone();
    elsewhere["metadata"]["namespace"] = "b".into();
    let mut going = crashing.clone();
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    let unschedulable = parse(
        "
apiVersion: v1
kind: Pod
metadata: {name: db-1, namespace: a, labels: {app: db}, creationTimestamp: '2026-01-01T00:00:00Z'}
status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable}]}",
    );
    let status = |object: &Value, pods: &[&Value]| {
        let pods: Vec<Arc<Value>> = pods.iter().map(|pod| Arc::new((*pod).clone())).collect();
        compute(object, NOW, &pods)
    };
    let database = set("apps/v1", "StatefulSet");
    assert!(looks_at_pods(&database));
    assert_eq!(status(&database, &[&crashing]).kind, Failed);
    assert_eq!(status(&database, &[&crashing]).message, "1 pods have failed");
    assert_eq!(
        status(&database, &[&elsewhere, &going, &unschedulable]).kind,
        InProgress
    );
    let deployment = set("apps/v1", "Deployment");
    assert!(!looks_at_pods(&deployment));
    assert_eq!(status(&deployment, &[&crashing]).kind, InProgress);
}

#[test]
fn what_cannot_be_read_is_unknown() {
    // F-532
    for text in [
        "{apiVersion: a.b/v1, kind: A, status: {conditions: {type: Ready}}}",
        "{apiVersion: a.b/v1, kind: A, status: {conditions: [{type: Ready, status: true}]}}",
        "{apiVersion: a.b/v1, kind: A, metadata: {generation: 1}, status: {observedGeneration: one}}",
    ] {
        assert_eq!(compute(&parse(text), NOW, &[]).kind, Unknown, "{text}");
    }
}
